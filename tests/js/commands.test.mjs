// @ts-check
// Facts about the field for commands: what is a manifest, what a line, what is said of the rest.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actsOf } from '../../static/js/core/commands/acts.js';
import { commandOf, isLine, KUBECTL } from '../../static/js/core/commands/commands.js';
import { madeOf } from '../../static/js/core/commands/generators.js';
import { meet } from '../../static/js/core/trace/records.js';

const NOW = Date.UTC(2026, 0, 2);

/** @param {string} resource @param {string} namespace @param {any} object */
function write(resource, namespace, object) {
  meet(resource, object);
  const { name } = object.metadata;
  return { resource, namespace, name, key: `${resource}/${namespace}/${name}`, object };
}
const WEB = write('deployments.apps', 'shop', {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas: 3 },
});
const NODE = write('nodes', '', {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node-1' },
  spec: { unschedulable: true },
});
const STATE = /** @type {any} */ ({
  objects: new Map([WEB, NODE].map((one) => [one.resource, new Map([[one.key, one]])])),
});
function read(/** @type {string} */ text, namespace = 'default') {
  const command = commandOf(text, { state: STATE, now: NOW, namespace });
  return command.line ? madeOf(command.line, { version: '1.33', namespace }) : command;
}
const said = (/** @type {string} */ text) => read(text).text;

test('what is indented, in braces or has a key is a manifest', () => {
  for (const text of ['kind: Pod', '{"kind": "Pod"}', '---', '# of mine', 'a\nb', '"kind": "Pod"'])
    assert.equal(read(text).sort, 'manifest', text);
  assert.equal(read('kind: [').manifest, 'kind: ['); // whether it is YAML the server says
});

test('a line is sent by Enter, a manifest is not', () => {
  assert.ok(isLine(' etcdctl get / --prefix '));
  assert.ok(isLine('kubectl run web --image=nginx:1.27'));
  assert.ok(!isLine('kind: Pod'));
  assert.ok(!isLine('  '));
});

test('etcdctl is left to etcdctl', () => {
  assert.equal(read('  etcdctl get /registry --prefix').sort, 'etcdctl');
  assert.equal(read('etcdctlx').sort, 'none');
});

test('kubectl works in the namespace of who sends the line, unless it names another', () => {
  const where = (/** @type {string[]} */ lines) =>
    lines.map((line) => /** @type {any} */ (read(line, 'student')).act.request.namespace);
  assert.deepEqual(
    where(['kubectl delete deploy web', 'kubectl delete deploy web -n default']),
    ['student', 'default'],
  );
});

test('every line that an object has in its menu can be typed', () => {
  const acts = [WEB, NODE].flatMap((one) =>
    actsOf(/** @type {any} */ (one), { replicas: 5, now: NOW }),
  );
  assert.deepEqual(
    acts.map(({ command }) => read(command)),
    acts.map((act) => ({ sort: 'act', act })),
  );
  assert.ok(acts.every(({ name }) => KUBECTL.some((one) => one.endsWith(name))));
});

test('names of types are taken as kubectl takes them', () => {
  const types = ['deployment', 'deployments', 'deployment.apps', 'deployments.apps', 'deploy'];
  for (const type of types)
    for (const line of [`${type}/web`, `${type} web`])
      assert.equal(read(`kubectl delete ${line} --namespace shop`).act?.request.name, 'web', line);
});

test('an object that is not there is asked for all the same, so that the server says so', () => {
  const { act } = read('kubectl scale deploy/none --replicas 2');
  assert.deepEqual(act?.request, {
    verb: 'patch',
    api_version: 'apps/v1',
    resource: 'deployments',
    subresource: 'scale',
    namespace: 'default',
    name: 'none',
    patch: { spec: { replicas: 2 } },
  });
});

test('create deployment and run send what kubectl generates', () => {
  const line = 'kubectl create deployment web --image=repo/nginx:1.27 --replicas=3 -n shop';
  const made = JSON.parse(read(line).manifest || '');
  assert.deepEqual(made.metadata, { name: 'web', labels: { app: 'web' }, namespace: 'shop' });
  assert.equal(made.spec.replicas, 3);
  assert.equal(made.spec.template.spec.containers[0].name, 'nginx');
  const pod = JSON.parse(read("kubectl run lone '--image=nginx'").manifest || '');
  assert.deepEqual([pod.kind, pod.metadata.labels], ['Pod', { run: 'lone' }]);
});

test('what is wrong in a line is told in the words of kubectl', () => {
  assert.equal(said('kubectl run web'), 'error: required flag(s) "image" not set');
  assert.equal(said('kubectl scale deploy/web'), 'error: required flag(s) "replicas" not set');
  assert.match(
    said('kubectl scale deploy/web --replicas=two') || '',
    /invalid argument "two" for "--replicas" flag/,
  );
  assert.match(said('kubectl delete pod') || '', /no name was specified/);
  assert.match(said('kubectl delete cat/tom') || '', /doesn't have a resource type "cat"/);
  assert.equal(said('kubectl cordon node-1'), 'node/node-1 already cordoned');
  assert.equal(read('kubectl cordon node-1').failed, undefined);
});

test('run with the flags of old is refused, and told what makes a Deployment', () => {
  const line = read('kubectl run --image=docker.io/library/nginx:1.8 --replicas=3 -n shop');
  assert.equal(line.text, "error: unknown flag: --replicas\nSee 'kubectl run --help' for usage.");
  assert.equal(line.key, 'commands.formerly');
  const made = JSON.parse(read(line.instead || '').manifest || '');
  assert.deepEqual([made.kind, made.metadata.name], ['Deployment', 'nginx']);
  assert.deepEqual([made.spec.replicas, made.metadata.namespace], [3, 'shop']);
  const named = read('kubectl run web --image=nginx --generator=deployment/v1beta1');
  assert.match(named.instead || '', /^kubectl create deployment web --image=nginx --replicas=1$/);
});

test('a flag that kubectl has and the field has not is not called unknown', () => {
  for (const line of ['run web --image=nginx --port=80', 'delete deploy web --now']) {
    const { key, text, params } = read(`kubectl ${line}`);
    assert.deepEqual([key, text], ['commands.flags', undefined], line);
    assert.match(params?.flags || '', /--namespace/);
  }
});

test('get takes types, names and the flags by which one looks elsewhere', () => {
  const nothing = { names: [], namespace: '', all_namespaces: false, selector: '', output: '' };
  const asked = (/** @type {string} */ line) => read(`kubectl get ${line}`).get;
  assert.deepEqual(asked('pods'), { types: ['pods'], ...nothing });
  assert.deepEqual(asked('po,svc -A -owide'), {
    ...nothing,
    types: ['po', 'svc'],
    all_namespaces: true,
    output: 'wide',
  });
  assert.deepEqual(asked('deploy/web'), { ...nothing, types: ['deploy'], names: ['web'] });
  assert.deepEqual(asked('-n shop deploy web db -o name'), {
    ...nothing,
    types: ['deploy'],
    names: ['web', 'db'],
    namespace: 'shop',
    output: 'name',
  });
  assert.equal(asked('--all-namespaces pods -l app=web')?.selector, 'app=web');
  assert.equal(said('kubectl get'), 'error: Required resource not specified.');
  assert.equal(read('kubectl get pods --watch').key, 'commands.flags');
});

test('what is not known names what is', () => {
  assert.equal(read('').key, 'commands.nothing');
  assert.equal(read('hello').key, 'commands.unknown');
  assert.equal(read('kubectl attach web').key, 'commands.kubectl');
  for (const line of ['logs web', 'describe pod web', 'get pods -o yaml', 'get pod/a svc/b'])
    assert.equal(read(`kubectl ${line}`).key, 'commands.read', line);
  assert.equal(read('kubectl create -f nginx_pod.yaml').key, 'commands.file');
  assert.equal(read('kubectl delete --filename=x').key, 'commands.file');
  assert.equal(read('kubectl delete deploy web db').key, 'commands.one');
  assert.equal(read('kubectl rollout restart node/node-1').key, 'commands.not');
});
