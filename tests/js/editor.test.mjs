// @ts-check
// Facts about the editor: which field stands on which line, what the schema lets stand there, and
// where a refusal of the server's belongs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidatesAt, problemsOf, refusalsOf } from '../../static/js/core/commands/schema.js';
import {
  documentsOf, lineOf, pathOf, placeAt, textOf,
} from '../../static/js/core/commands/yamlsource.js';

const CONTAINER = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string' },
    image: { type: 'string', description: 'What runs.' },
    args: { type: 'array', items: { type: 'string' } },
    tty: { type: 'boolean' },
    imagePullPolicy: { type: 'string', enum: ['Always', 'Never'] },
    cpu: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
};
const API = {
  root: 'Pod',
  message: '',
  schemas: {
    Container: CONTAINER,
    Pod: {
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: {
          properties: {
            name: { type: 'string' },
            labels: { type: 'object', additionalProperties: { type: 'string' } },
          },
        },
        spec: { allOf: [{ $ref: '#/components/schemas/Spec' }], description: 'Wanted.' },
      },
    },
    Spec: {
      type: 'object',
      properties: {
        containers: { type: 'array', items: { $ref: '#/components/schemas/Container' } },
        priority: { type: 'integer' },
        nodeSelector: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
};
const POD = `# a pod
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    example.com/a: "1"
spec:
  priority: high # or low
  containers:
  - name: a
    args:
    - |
      text: not a field
    - last
    imag: nginx
  - image: b
    tty: yes
    imagePullPolicy: Sometimes
    cpu: 2
`;
const [pod] = documentsOf(POD);
/** The line of a text, from 0. @param {string} text */
const at = (text) => POD.slice(0, POD.indexOf(text)).split('\n').length - 1;

test('every field stands on its line, and a block of text has none', () => {
  const lines = new Map(pod.fields.map(({ path, line }) => [textOf(path), line]));
  assert.equal(lines.get('metadata.labels.example.com/a'), at('example.com'));
  assert.equal(lines.get('spec.containers[0].args[1]'), at('- last'));
  assert.equal(lines.get('spec.containers[1].image'), at('- image: b'));
  assert.ok(![...lines.keys()].some((path) => path.includes('text')));
  const two = documentsOf(`${POD}---\nkind: Service\n`);
  assert.equal(two[1].fields[0].line, POD.split('\n').length);
});

test('what is wrong by the schema is told at its line', () => {
  const found = problemsOf(API, pod).map(({ line, key }) => [line, key]);
  assert.deepEqual(found, [
    [at('priority'), 'editor.type'],
    [at('imag: nginx'), 'editor.unknown'],
    [at('- image: b'), 'editor.missing'],
    [at('tty'), 'editor.type'],
    [at('Sometimes'), 'editor.value'],
  ]);
  const [right] = documentsOf('kind: Pod\nspec:\n  containers: []\n  nodeSelector: {a: b}\n');
  assert.deepEqual(problemsOf(API, right), []);
});

/** The names of what can stand where `|` is. @param {string} text */
function names(text) {
  const caret = text.indexOf('|');
  const plain = text.replace('|', '');
  const place = placeAt(plain, caret);
  return candidatesAt(API, place, documentsOf(plain)[0]).map(({ name }) => name);
}

test('at the caret stand the fields of that place, those that are needed first', () => {
  assert.deepEqual(names('kind: Pod\nspec:\n  |'), ['containers', 'nodeSelector', 'priority']);
  assert.deepEqual(names('kind: Pod\nspec:\n  containers:\n  - im|'), ['image', 'imagePullPolicy']);
  assert.equal(names('kind: Pod\nspec:\n  containers:\n  - |')[0], 'name');
  assert.ok(!names('kind: Pod\nspec:\n  containers:\n  - name: a\n    |').includes('name'));
  assert.deepEqual(names('kind: Pod\nspec:\n  containers:\n  - imagePullPolicy: A|'), ['Always']);
  assert.deepEqual(names('kind: Pod\nspec:\n  containers:\n  - tty: |'), ['true', 'false']);
});

test('a refusal of the server stands at the line of its field', () => {
  const line = (/** @type {any} */ said) =>
    refusalsOf(pod, { code: 422, reason: '', ...said })[0].line;
  const causes = [{ field: 'spec.containers[0].image', message: 'Required value' }];
  assert.equal(line({ message: 'invalid', causes }), at('- name: a'));
  assert.equal(
    line({ message: 'strict decoding error: unknown field "spec.containers[0].imag"' }),
    at('imag: nginx'),
  );
  const go = 'json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int';
  assert.equal(line({ message: go }), at('priority'));
  assert.equal(line({ message: 'yaml: line 3: did not find expected key' }), 2);
  assert.equal(line({ message: 'namespaces "x" not found' }), -1);
  assert.equal(lineOf(pod, pathOf('metadata.annotations[a.b/c]')), at('metadata'));
});
