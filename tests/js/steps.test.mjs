// @ts-check
// Facts about the steps inside a gate: which storage calls a request made, what its strategy said.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { gateSource } from '../../static/js/core/trace/facts.js';
import { passedUnseen } from '../../static/js/core/cluster/objects.js';
import { hexdump } from '../../static/js/core/text/hexdump.js';
import { storageSteps, strategySteps } from '../../static/js/core/request/steps.js';
import { must, recorded } from './traces.mjs';

const KEY = '/registry/pods/default/a';
const PATH = '/api/v1/namespaces/default/pods';
const starts = (/** @type {any} */ one) => one.name === 'apiserver' && one.state === 'starting';
/** what the API server told of its make-up when it started */
const BUILT = /** @type {any} */ (must(recorded('full').find(starts))).detail;
const ROUTED = { word: 'kube-apiserver' };
/** @typedef {import('../../static/js/types.js').Detail} Detail */

/** @param {string} name @param {Detail} [detail] */
const gate = (name, detail = {}, verdict = 'allow') => ({
  kind: 'gate',
  gate: name,
  verdict,
  detail,
});
/** @param {Detail} detail */
const etcd = (detail, verdict = 'allow') => gate('etcd', { key: KEY, ...detail }, verdict);
/** @param {number} code */
const answer = (code) => ({ kind: 'response', code, reason: '', message: '', rev: 0 });
const object = { metadata: { name: 'a', generation: 1 }, status: { phase: 'Pending' } };
/** @param {string} op @param {number} rev @param {number} prev */
const write = (op, rev, prev) => ({
  kind: 'write',
  rev,
  op,
  prev,
  resource: 'pods',
  namespace: 'default',
  name: 'a',
  subresource: '',
  object,
});

/** The trace of one request. @param {string} verb @param {Detail[]} records */
function told(verb, records, ask = {}) {
  const history = new History();
  const open = { client: 'kubectl', outside: true, parent: 0, verb, path: PATH, resource: 'pods' };
  const all = [
    { kind: 'component', name: 'apiserver', state: 'starting', detail: BUILT },
    { kind: 'request', ...open, subresource: '', namespace: 'default', name: 'a', ...ask },
    gate('routing', ROUTED),
    ...records,
  ];
  const full = all.map((one, i) => ({ seq: i + 1, t: i, span: i ? 2 : 0, ...one }));
  history.append(/** @type {any[]} */ (full));
  return { index: history.index, span: must(history.index.spans.get(2)), seq: history.last };
}

test('the upstream function that is named is that of the verb, or of the subresource', () => {
  const { index } = told('create', []);
  const at = (/** @type {string} */ name, /** @type {string} */ verb, subresource = '') =>
    gateSource(index, name, { verb, subresource }).split('/').at(-1);
  assert.equal(at('etcd', 'create'), 'store.go Create');
  assert.equal(at('etcd', 'patch'), 'store.go Update');
  assert.equal(at('etcd', 'delete'), 'store.go Delete');
  assert.equal(at('etcd', 'list'), 'store.go List');
  assert.equal(at('etcd', 'patch', 'status'), 'store.go Update');
  assert.equal(at('etcd', 'create', 'binding'), 'storage.go BindingREST.setPodNodeAndMetadata');
  assert.equal(at('etcd', 'create', 'eviction'), 'eviction.go EvictionREST.Create');
  assert.equal(at('decode', 'create', 'binding'), 'create.go createHandler');
  assert.equal(at('decode', 'patch'), 'patch.go PatchResource');
  assert.equal(at('authorization', 'create'), at('authorization', 'delete'));
});

/** @param {string} verb @param {Detail[]} records @param {Detail} [ask] */
const calls = (verb, records, ask) => {
  const { index, span, seq } = told(verb, records, ask);
  const line = (/** @type {import('../../static/js/core/request/steps.js').Step} */ one) =>
    `${'.'.repeat(one.depth)}${one.call} ${one.verdict} ${one.key}`;
  return storageSteps(index, span, seq).map(line);
};

test('a create is encoded and put once, and its answer is not read again', () => {
  assert.deepEqual(
    calls('create', [write('create', 9, 0), etcd({ call: 'Create', rev: 9 }), answer(201)]),
    [
      'Create allow ',
      '.Versioner allow unversioned',
      '.encode allow encode',
      '.put change putNew',
      '.Get skip readBack',
      'decorate skip decorate',
      'respond allow respond',
    ],
  );
});

test('a create of a taken name asks whether that object is about to go', () => {
  const about = { end: 'exists', expected: 0, found: 7, message: 'exists' };
  const taken = { call: 'Create', word: 'AlreadyExists', ...about };
  const said = calls('create', [etcd(taken, 'deny'), answer(409)]);
  assert.deepEqual(said.slice(3, 5), ['.put deny putStale', '.Get allow deleting']);
  assert.equal(said.at(-1), 'respond deny respond');
});

test('an injected error leaves the transaction undone', () => {
  const failed = { call: 'Create', word: '500', end: 'injected', message: 'etcdserver: timed out' };
  const { index, span, seq } = told('create', [etcd(failed, 'deny'), answer(500)]);
  const put = must(storageSteps(index, span, seq).find((one) => one.call === 'put'));
  assert.deepEqual(
    [put.verdict, put.key, put.said],
    ['deny', 'putInjected', 'etcdserver: timed out'],
  );
});

test('a dry run goes no further than its wrapper', () => {
  const said = calls('create', [etcd({ call: 'Create', word: 'dry run' }, 'skip'), answer(201)]);
  assert.deepEqual(said.slice(0, 4), [
    'Create skip ',
    '.DryRunnableStorage skip dryRun',
    '.Get allow free',
    '.put skip left',
  ]);
});

test('whoever was too slow reads again inside the same GuaranteedUpdate', () => {
  const slow = { call: 'GuaranteedUpdate', word: 'Conflict', end: 'stale', expected: 4, found: 6 };
  const { index, span, seq } = told('patch', [
    etcd(slow, 'deny'),
    write('update', 8, 6),
    etcd({ call: 'GuaranteedUpdate', rev: 8 }),
    answer(200),
  ]);
  const steps = storageSteps(index, span, seq);
  assert.equal(steps.filter((one) => one.call === 'GuaranteedUpdate').length, 1);
  assert.equal(steps[0].verdict, 'allow');
  const puts = steps.filter((one) => one.call === 'put');
  assert.deepEqual(
    puts.map((one) => [one.verdict, one.params.expected]),
    [
      ['deny', '4'],
      ['change', '6'],
    ],
  );
  assert.equal(steps.filter((one) => one.call === 'Get')[1].key, 'readAgain');
});

test('an update that changes nothing is not put', () => {
  const same = etcd({ call: 'GuaranteedUpdate', word: 'no change' }, 'skip');
  assert.ok(calls('update', [same, answer(200)]).includes('.put skip same'));
});

test('a delete with a grace period is an update, and the delete is left to another', () => {
  const marks = etcd({ call: 'GuaranteedUpdate', end: 'marked', rev: 8 });
  const marked = [write('update', 8, 5), marks, answer(200)];
  const said = calls('delete', marked);
  assert.equal(said[0], 'GuaranteedUpdate allow ');
  assert.ok(said.includes('Delete skip later'));
  const gone = calls('delete', [write('delete', 9, 8), etcd({ call: 'Delete', rev: 9 })]);
  assert.deepEqual(gone.slice(0, 3), ['Get allow ', 'Delete allow ', '.delete change putDelete']);
  assert.equal(gone.at(-1), 'respond wait respondWait');
});

test('what is not there is found missing by a Get', () => {
  const about = { word: '404', end: 'absent', message: 'pods "a" not found' };
  const missing = (/** @type {string} */ call) => gate('etcd', { ...about, call }, 'deny');
  assert.deepEqual(calls('patch', [missing('GuaranteedUpdate'), answer(404)]).slice(0, 2), [
    'GuaranteedUpdate deny ',
    '.Get deny absent',
  ]);
  assert.equal(calls('delete', [missing('Get'), answer(404)])[0], 'Get deny ');
});

test('an eviction writes the budget, the condition and the end of the pod', () => {
  const said = calls(
    'create',
    [
      { ...write('update', 7, 3), resource: 'poddisruptionbudgets.policy' },
      write('update', 8, 5),
      write('update', 9, 8),
      etcd({ call: 'GuaranteedUpdate', rev: 9 }),
      answer(201),
    ],
    { subresource: 'eviction' },
  );
  assert.equal(said.filter((one) => one.startsWith('GuaranteedUpdate')).length, 3);
});

test('a read is one call, and the trace says whether it reached etcd', () => {
  const { index, span, seq } = told('get', [
    gate('routing', { ...ROUTED, read: { by: 'etcd', why: 'the latest is wanted' } }),
    answer(200),
  ]);
  span.records.shift();
  const [first, last] = storageSteps(index, span, seq);
  assert.deepEqual([first.call, first.key], ['Get', 'fromEtcd']);
  assert.equal(first.said, 'the latest is wanted');
  assert.equal(last.call, 'respond');
});

test('a list has the objects counted first, for flow control', () => {
  const wide = gate('flowcontrol', { seats: 3 });
  const { index, span, seq } = told('list', [wide, answer(200)], { name: '' });
  const [count, list] = storageSteps(index, span, seq);
  assert.deepEqual([count.call, count.params.n, list.call], ['Count', 3, 'GetList']);
});

test('the strategy of a pod is asked in upstream’s order', () => {
  const { index, span, seq } = told('create', [
    gate('decode'),
    gate('prepare', { name: 'a-x7', generateName: 'a-', uid: 'u' }, 'change'),
    gate('validation', { word: 'legal' }),
    write('create', 9, 0),
  ]);
  const steps = strategySteps(index, span, seq);
  assert.deepEqual(
    steps.map((one) => `${one.call} ${one.verdict} ${one.key}`),
    [
      'podStrategy allow strategy',
      'ObjectTyper allow typer',
      'NamespaceScoped allow scoped',
      'GenerateName change named',
      'PrepareForCreate change prepare.own',
      'Validate allow validate.own',
    ],
  );
  assert.equal(steps[4].said, 'generation: 1, phase: Pending');
});

test('a kind without rules of its own says so, and what is not reached waits', () => {
  const { index, span, seq } = told(
    'update',
    [gate('decode'), gate('prepare', { word: 'unchanged name' })],
    { subresource: 'status' },
  );
  const steps = strategySteps(index, span, seq);
  assert.equal(steps[0].call, 'podStatusStrategy');
  assert.ok(!steps.some((one) => one.call === 'GenerateName'));
  assert.deepEqual(
    steps.slice(-2).map((one) => one.verdict),
    ['change', 'wait'],
  );
});

test('a refusal counts the fields', () => {
  const { index, span, seq } = told('create', [
    gate('decode'),
    gate('prepare', { name: 'a', uid: 'u' }, 'change'),
    gate('validation', { errors: [{}, {}] }, 'deny'),
  ]);
  const steps = strategySteps(index, span, seq);
  assert.deepEqual(steps.at(-1)?.params, { n: 2 });
  assert.equal(steps.at(-1)?.verdict, 'deny');
});

test('bytes are shown with the letters among them, and how many are left out', () => {
  assert.equal(hexdump('6b3873000a0909ff', 8), '0000  6b 38 73 00 0a 09 09 ff  k8s·····');
  assert.equal(hexdump('6b38', 40), '0000  6b 38                    k8\n…     +38');
});

test('a trace from before reads and forms were told says neither, and plays', () => {
  const { reads, json, ...before } = BUILT.storage;
  assert.ok(reads && json);
  BUILT.storage = before;
  try {
    assert.deepEqual(calls('get', [answer(200)]), []);
    const made = [write('create', 9, 0), etcd({ call: 'Create', rev: 9 }), answer(201)];
    assert.ok(calls('create', made).includes('.encode allow '));
  } finally {
    BUILT.storage = { ...before, reads, json };
  }
});

test('stops ahead of one that is recorded were passed, and all of a pod that runs', () => {
  const stops = ['volumes', 'sandbox', 'network', 'image', 'container'];
  const steps = new Map([['image', {}]]);
  assert.deepEqual([...passedUnseen(steps, stops)], stops.slice(0, 3));
  assert.deepEqual([...passedUnseen(new Map(), stops)], []);
  assert.deepEqual([...passedUnseen(new Map(), stops, true)], stops);
});
