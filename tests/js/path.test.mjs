// @ts-check
// Facts about the path of a request: its parts, and what older texts say beside today's facts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../static/js/core/explain/index.js';
import { pathBlocks } from '../../static/js/core/explain/path.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { wordsFor } from './languages.mjs';
import { must, names, recorded } from './traces.mjs';

const WORDS = wordsFor('en');
const PARTS = ['group', 'core', 'namespace', 'collection', 'name', 'subresource'].map((part) =>
  WORDS.t(`path.${part}`),
);

/** @param {string} name */
function load(name) {
  const history = new History();
  history.append(recorded(name));
  return history;
}

/** Its rows, by their names. @param {any} open @returns {Record<string, string>} */
function rows(open) {
  const told = pathBlocks(open, WORDS).find((block) => block.type === 'facts');
  return told?.type === 'facts' ? Object.fromEntries(told.rows) : {};
}

/** All that is said where a story stands at a seq. */
function said(
  /** @type {History} */ history,
  /** @type {number} */ seq,
  { lang = 'en', version = '1.33' } = {},
) {
  const index = knownAt(history.index, seq);
  const [state, current] = [history.stateAt(seq), currentAt(index, {}, seq)];
  const model = { index, state, current, selected: null, crowd: false, version, clock: 0 };
  return JSON.stringify(explain(model, wordsFor(lang)).tabs[0].blocks);
}

test('the parts of a path make the path, for every request of every story', () => {
  let told = 0;
  for (const story of names()) {
    for (const { open } of load(story).index.requests) {
      const given = rows(open);
      if (!Object.keys(given).length) continue;
      const parts = PARTS.map((part) => given[part] || '').filter((part) => part.startsWith('/'));
      assert.equal(parts.join(''), open.path);
      told += 1;
    }
  }
  assert.ok(told > 1000, String(told));
});

test('a kind is told with its resource, its method and whether it has a namespace', () => {
  const { requests } = load('full').index;
  const created = requests.map(({ open }) => open).filter(({ verb }) => verb === 'create');
  const of = (/** @type {string} */ resource) =>
    rows(must(created.find((open) => open.resource === resource)));
  const { Kind, Method, Namespace, 'Its resource': resource } = of('deployments.apps');
  assert.deepEqual([Kind, resource], ['apps/v1 Deployment', 'deployments']);
  assert.deepEqual([Method, Namespace], ['POST (create)', '/namespaces/default']);
  const role = of('clusterroles.rbac.authorization.k8s.io');
  assert.equal(role.Namespace, 'none: the kind belongs to the cluster');
});

test('kubectl is said to have asked for the kinds before, a controller is not', () => {
  const open = { path: '/api/v1/pods', resource: 'pods', subresource: '', name: '', verb: 'list' };
  const told = (/** @type {string} */ client) =>
    JSON.stringify(pathBlocks({ ...open, namespace: '', client }, WORDS));
  assert.match(told('kubectl/v1.33.1 (linux/amd64)'), /cache\/discovery/);
  assert.doesNotMatch(told('replicaset'), /discovery/);
});

test('a new request shows its path; gates and the kubelet say where older texts differ', () => {
  const history = load('full');
  const { index } = history;
  const root = must(index.request(index.roots[0]));
  assert.match(said(history, root.seq), /How the client made its path/);
  const gate = (/** @type {string} */ name) =>
    must(root.records.find((one) => one.kind === 'gate' && one.gate === name)).seq;
  assert.match(said(history, gate('etcd')), /Initializers/);
  // a cluster of that time has them
  assert.doesNotMatch(said(history, gate('etcd'), { version: '1.10' }), /In older texts/);
  assert.match(said(history, gate('authentication'), { lang: 'zh' }), /旧资料/);
  const step = must([...index.steps.values()][0].find((one) => one.kind === 'kubelet'));
  assert.match(said(history, step.seq), /volumes \(CSI\) first, then the sandbox \(CRI\)/);
});
