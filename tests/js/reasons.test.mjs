// @ts-check
// Facts about the reasons of each gate: who was asked, by which rule, and what came back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOf } from '../../static/js/core/trace/records.js';
import { ownerTree } from '../../static/js/core/cluster/objects.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { explain } from '../../static/js/core/explain/index.js';
import { startupBlocks } from '../../static/js/core/explain/startup.js';
import { History } from '../../static/js/core/trace/history.js';
import { streamOf } from '../../static/js/core/cluster/streams.js';
import { wordsFor } from './languages.mjs';
import { must } from './traces.mjs';

const TOKENS = { name: 'TokenCache', of: [{ name: 'TokenFile' }, { name: 'ServiceAccount' }] };
const BUILT = {
  authentication: [
    {
      name: 'Union',
      of: [
        { name: 'X509' },
        { name: 'BearerToken', of: [TOKENS] },
        { name: 'WebSocket', of: [TOKENS] },
      ],
    },
    { name: 'Anonymous' },
  ],
  admission: { mutating: [['Priority', 'defaulting']], validating: [['PodSecurity', 'security']] },
};
const ASK = {
  client: 'kubectl',
  outside: true,
  parent: 0,
  verb: 'create',
  path: '/api/v1/namespaces/default/pods',
  resource: 'pods',
  subresource: '',
  namespace: 'default',
  name: 'a',
};

/** @typedef {import('../../static/js/types.js').Detail} Detail */
/** @typedef {import('../../static/js/core/explain/index.js').Block} Block */
/** @typedef {ReturnType<typeof explain>} Explanation */

/**
 * A trace of a start and one request, and the explanation of its last record.
 * @param {Detail[]} records
 */
function told(records, { ask = ASK, selected = null, lang = 'en' } = {}) {
  const started = { kind: 'component', name: 'apiserver', state: 'starting', detail: BUILT };
  const history = new History();
  /** @type {Detail[]} */ const all = [started, { kind: 'request', ...ask }, ...records];
  const full = all.map((one, i) => ({
    seq: i + 1,
    t: i * 10,
    span: i && one.span !== 0 ? 2 : 0,
    ...one,
  }));
  history.append(/** @type {any[]} */ (full));
  const state = history.stateAt(history.last);
  const { index } = history;
  const current = currentAt(index, {}, state.seq);
  const model = { index, state, current, selected, crowd: false, version: '1.33', clock: 0 };
  return { ...explain(model, wordsFor(lang)), index, state };
}

/** @param {string} name @param {Detail} detail */
const gate = (name, detail, verdict = 'allow') => ({ kind: 'gate', gate: name, verdict, detail });
/** @param {Explanation} said */
const why = (said) => must(said.tabs.find((tab) => tab.id === 'why')).blocks;
/**
 * @template {Block['type']} T @param {Explanation} said @param {T} type
 * @returns {Extract<Block, {type: T}>[]}
 */
const find = (said, type) => /** @type {any} */ (why(said).filter((block) => block.type === type));
/** @param {Explanation} said */
const factsOf = (said) => Object.fromEntries(find(said, 'facts').flatMap((block) => block.rows));
/** @param {{text: string}[]} pieces */
const plain = (pieces) => pieces.map((piece) => piece.text).join('');

test('a request that has just come is not said to have written nothing, one that read is', () => {
  const answer = { kind: 'response', verb: 'get', code: 200, message: '' };
  const first = (/** @type {Detail[]} */ records) => plain(find(told(records), 'p')[0].text);
  assert.equal(first([]), 'No gate has looked at it yet.');
  assert.equal(first([answer]), 'It wrote nothing.');
});

test('authenticators stand as they are nested, each with what it answered', () => {
  const tries = [
    { name: 'X509', verdict: 'skip', why: 'no client certificate' },
    { name: 'TokenCache', verdict: 'allow', why: 'cache hit', detail: { cached: true } },
  ];
  const [tree] = find(
    told([gate('authentication', { tries, user: { name: 'ann' }, dropped: ['authorization'] })]),
    'tree',
  );
  assert.deepEqual(
    tree.items.map((item) => [item.depth, plain(item.title), item.verdict]),
    [
      [0, 'Union', 'allow'],
      [1, 'X509', 'skip'],
      [1, 'BearerToken', 'allow'],
      [2, 'TokenCache', 'allow'],
      [3, 'TokenFile', 'wait'],
      [3, 'ServiceAccount', 'wait'],
      [1, 'WebSocket', 'wait'],
      [0, 'Anonymous', 'wait'],
    ],
  );
});

test('an allowed request shows rule, role and binding, and where they were read', () => {
  const detail = {
    binding: { kind: 'RoleBinding', namespace: 'default', name: 'b' },
    role: { kind: 'Role', name: 'r' },
    rule: { verbs: ['create'], apiGroups: [''], resources: ['pods'] },
    read: { from: 'cache', etcd: 0 },
  };
  const said = told([
    gate('authorization', { tries: [{ name: 'RBAC', verdict: 'allow', detail }] }),
  ]);
  assert.equal(factsOf(said).Binding, 'RoleBinding default/b');
  assert.match(find(said, 'code')[0].text, /verbs:\n\s+- create/);
  assert.ok(find(said, 'p').some((block) => plain(block.text).includes('etcd was asked 0 times')));
});

test('a refusal names the smallest rule and the role that is there already', () => {
  const detail = {
    bindings: [],
    smallest_rule: { apiGroups: ['apps'], resources: ['deployments'], verbs: ['create'] },
    role_that_would_do: 'edit',
    read: { from: 'cache', etcd: 0 },
  };
  const said = told([
    gate('authorization', { tries: [{ name: 'RBAC', verdict: 'noop', detail }] }, 'deny'),
  ]);
  assert.match(find(said, 'code')[0].text, /deployments/);
  assert.ok(find(said, 'p').some((block) => plain(block.text).endsWith('would do, too: edit.')));
});

test('flow control says what a request waited for, and when to come again', () => {
  const level = { flowSchema: 'global-default', priorityLevel: 'global-default', limit: 2 };
  const waited = factsOf(
    told([gate('flowcontrol', { ...level, seats: 1, queue: 4, position: 2, waited: 21_000 })]),
  );
  assert.deepEqual([waited.Queue, waited.Waited], ['4', '21 ms']);
  const refused = factsOf(
    told([gate('flowcontrol', { ...level, word: '429', retryAfter: 3, executing: 2 }, 'deny')]),
  );
  assert.deepEqual([refused['Retry-After'], refused['Executing now']], ['3 s', '2']);
});

test('the audit gate has the rule, and the event once it is logged', () => {
  const about = { level: 'Metadata', rule: 3, id: 'x' };
  const said = told([
    gate('audit', { word: 'Metadata', ...about }),
    gate('audit', { word: 'logged', ...about, event: { kind: 'Event', verb: 'create' } }),
  ]);
  assert.equal(factsOf(said).Level, 'Metadata');
  assert.match(find(said, 'code')[0].text, /verb: create/);
});

test('a webhook shows target, patch, question and answer; a policy each expression', () => {
  const plugin = (/** @type {string} */ name, /** @type {Detail} */ detail) => ({
    kind: 'plugin',
    phase: 'validating',
    plugin: name,
    verdict: 'deny',
    why: 'no',
    ops: [],
    passed: [],
    detail,
  });
  const call = {
    webhook: 'w.example.com',
    to: 'service a/b:443/x',
    micros: 1500,
    verdict: 'ignored',
    patch: [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }],
    request: { uid: '1' },
    response: { allowed: true },
  };
  const hook = told([plugin('ValidatingAdmissionWebhook', { calls: [call] })]);
  assert.equal(factsOf(hook).To, 'service a/b:443/x');
  assert.match(factsOf(hook).Result, /failurePolicy is Ignore/);
  assert.equal(find(hook, 'fold').length, 2);
  assert.equal(find(hook, 'diff').length, 1);

  const validations = [
    { expression: 'object.spec.replicas <= variables.max', result: false, message: 'too many' },
    { expression: 'true', result: true },
  ];
  const policy = { policy: 'limit', binding: 'b', params: 'default/p', variables: { max: 5 } };
  const judged = told([
    plugin('ValidatingAdmissionPolicy', { policies: [{ ...policy, validations }] }),
    gate('validating', { word: '422', message: 'no' }, 'deny'),
  ]);
  assert.equal(judged.title, 'The ValidatingAdmissionPolicy plugin refused this.');
  const [rules] = find(judged, 'rules');
  assert.deepEqual(
    rules.items.map((item) => [item.verdict, item.small]),
    [
      ['deny', 'is false · too many'],
      ['allow', 'is true'],
    ],
  );
  assert.equal(factsOf(judged)['variables.max'], '5');
});

test('plugins have their class, and those with nothing to say are listed too', () => {
  const passed = [['PodSecurity', 'skip', 'not for this kind']];
  const rules = find(told([gate('validating', { passed })]), 'rules');
  assert.equal(plain(rules[0].items[0].title), 'PodSecurity · security');
});

test('a stream of a read is followed, is open until its end, and says how it ended', () => {
  const ask = { ...ASK, verb: 'get', subresource: 'exec' };
  const open = {
    kind: 'stream',
    state: 'open',
    detail: { word: 'exec', carrier: 'WebSocket', protocol: 'v5.channel.k8s.io' },
  };
  const begun = told([open, { kind: 'response', code: 101, rev: 0 }], { ask });
  assert.equal(begun.title, 'A command runs in a, and its output flows back here.');
  assert.deepEqual([...begun.state.streams], [2]);
  const end = {
    kind: 'stream',
    state: 'end',
    detail: { why: 'it ended', exit: 7, in: 0, out: 214 },
  };
  const ended = told([open, { kind: 'response', code: 101, rev: 0 }, end], { ask });
  assert.equal(ended.title, 'The process in a ended with exit code 7.');
  assert.equal(ended.state.streams.size, 0);
  assert.equal(factsOf(ended)['From the node'], '214 B');
  const stream = must(streamOf(ended.state, must(ended.index.spans.get(2))));
  assert.equal(stream.detail.protocol, 'v5.channel.k8s.io');
});

test('the server’s start is told in order; without its record the page says so', () => {
  const words = wordsFor('en');
  const blocks = startupBlocks(
    { ...BUILT, authorization: ['Node', 'RBAC'], flags: { a: 1 } },
    words,
  );
  const heads = blocks.filter((block) => block.type === 'h').map((block) => block.text);
  assert.deepEqual(heads, [
    'Authenticators, nested as they are asked',
    'Authorizers, in order',
    'Mutating admission: 1 plugin, in order',
    'Validating admission: 1 plugin, in order',
    'Flags in force',
  ]);
  assert.equal(startupBlocks(null, words).length, 1);
});

test('what was held against a real cluster is told with its version, day and figures', () => {
  const likeness = { version: 'v1.33.4', date: '2026-11-23', compared: { stories: [34, 12] } };
  for (const lang of /** @type {const} */ (['en', 'zh'])) {
    const words = wordsFor(lang);
    const [, title, table] = startupBlocks({ likeness }, words);
    assert.ok(title.type === 'h' && table.type === 'table');
    assert.match(title.text, /v1\.33\.4.*2026-11-23/);
    assert.deepEqual(table.rows, [[words.t('startup.likeness.stories'), '34', '12']]);
  }
});

test('a custom resource has its own kind and hangs in the tree of objects', () => {
  /**
   * @param {string} resource @param {string} namespace @param {string} name @param {number} rev
   * @param {Detail} object
   */
  const write = (resource, namespace, name, rev, object) => ({
    kind: 'write',
    rev,
    prev: 0,
    op: 'create',
    resource,
    namespace,
    name,
    subresource: '',
    object,
  });
  const definitions = 'customresourcedefinitions.apiextensions.k8s.io';
  const { state } = told([
    write(definitions, '', 'crontabs.example.com', 1, { kind: 'CustomResourceDefinition' }),
    write('crontabs.example.com', 'default', 'mine', 2, { kind: 'CronTab', metadata: {} }),
  ]);
  assert.equal(kindOf('crontabs.example.com'), 'CronTab');
  assert.deepEqual(
    ownerTree(state, 'default').map((item) => `${item.kind} ${item.name}`),
    ['CronTab mine'],
  );
});

test('a write that is hidden says who is waited for, the last one that it is seen', () => {
  const text = (/** @type {Detail} */ detail, lang = 'en') =>
    plain(find(told([gate('etcd', { rev: 7, ...detail })], { lang }), 'p')[0].text);
  const hidden = { hidden: ['podimage.example.com', 'proxy.example.com'] };
  assert.match(text(hidden), /the first one first: podimage.example.com, proxy.example.com\.$/);
  assert.match(text(hidden, 'zh'), /podimage.example.com, proxy.example.com。$/);
  assert.match(text({ initialized: true }), /^The last initializer has acted\./);
  assert.match(text({ initialized: true }, 'zh'), /^最后一个初始化器已完成。/);
});

test('a create that was never initialized is not said to have lost a race', () => {
  const detail = { call: 'Watch', end: 'uninitialized', word: '504', message: 'Timeout: no' };
  const answer = { kind: 'response', verb: 'create', code: 504, message: 'Timeout: no' };
  const stored = gate('etcd', { rev: 7, hidden: ['podimage.example.com'] });
  const said = told([stored, gate('etcd', detail, 'deny'), answer], {
    selected: /** @type {any} */ ({ type: 'gate', span: 2, gate: 'etcd', seq: 0 }),
  });
  assert.equal(said.title, 'It was stored, but not initialized.');
});
