// @ts-check
// Facts about what became of it: what was wanted, compared with what is, in runs that really fail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectsOf } from '../../static/js/core/cluster/objects.js';
import { History } from '../../static/js/core/trace/history.js';
import {
  failedAt,
  outcomeOf,
  sayOutcome,
  sinceOf,
  summaryOf,
} from '../../static/js/core/outcome/index.js';
import { wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

const EPOCH = Date.parse('2025-01-01T00:00:00Z');

/** @param {string} name */
function load(name) {
  const history = new History();
  history.append(recorded(name));
  return history;
}

/**
 * What is said of an object at its first write of which a test is true.
 * @param {History} history @param {string} key @param {(object: any) => any} is
 */
function saidWhen(history, key, is, lang = 'en') {
  const write = must((history.index.histories.get(key) || []).find((one) => is(one.object)));
  const state = history.stateAt(write.seq);
  const one = outcomeOf(state, write);
  return { one, text: sayOutcome(one, wordsFor(lang), EPOCH + state.t / 1000), state };
}

/** @param {any} object @param {string} type */
const condition = (object, type) =>
  (object.status?.conditions || []).find((/** @type {any} */ one) => one.type === type);
/** @param {any} object */
const waiting = (object) => object.status?.containerStatuses?.[0]?.state?.waiting;

test('a crash loop says how often it exited, with what code, and when it is tried again', () => {
  const history = load('crash');
  const key = 'pods/default/crash';
  const { one, text } = saidWhen(
    history,
    key,
    (o) =>
      waiting(o)?.reason === 'CrashLoopBackOff' &&
      o.status.containerStatuses[0].restartCount === 3,
  );
  assert.equal(one.state, 'unmet');
  assert.match(text, /^0 of 1 runs: crash has exited 4 times, code 1; next try in (\d+) s$/);
  const wait = Number(/in (\d+) s/.exec(text)?.[1]);
  const next = must(
    history.index.steps
      .get(key)
      ?.find((step) => step.seq > one.write.seq && /** @type {any} */ (step).state === 'begin'),
  );
  // a kubelet looks again at its next sync after the back-off
  const late = (next.t - one.write.t) / 1e6 - wait;
  assert.ok(late > -1.5 && late < 20, `${wait} s, really ${late} s later`);
  const failed = /** @type {any} */ (
    history.index.record(failedAt(history.index, one.write))
  );
  assert.deepEqual([failed.kind, failed.state, failed.detail.exitCode], ['kubelet', 'fail', 1]);
});

test('an image that nobody has is named, in both languages', () => {
  const history = load('image');
  const backs = (/** @type {any} */ o) => waiting(o)?.reason === 'ImagePullBackOff';
  const key = 'pods/default/typo';
  assert.equal(
    saidWhen(history, key, backs).text,
    '0 of 1 runs: image ngnix cannot be pulled (access denied)',
  );
  assert.match(saidWhen(history, key, backs, 'zh').text, /镜像 ngnix 拉取失败/);
});

test('a pending pod says what no node has, and how much the largest has left', () => {
  const history = load('pending');
  const is = (/** @type {any} */ o) => condition(o, 'PodScheduled');
  const { text, state } = saidWhen(history, 'pods/default/huge', is);
  const found = /^Pending: no node has 64 CPU free; the largest has ([\d.]+)$/.exec(text);
  assert.ok(found, text);
  const nodes = [...objectsOf(state, 'nodes').values()];
  const most = Math.max(...nodes.map((node) => Number(node.object.status?.allocatable.cpu)));
  assert.ok(Number(found[1]) > 0 && Number(found[1]) <= most, text);
  const { text: claimed } = saidWhen(history, 'pods/default/keeps', is);
  assert.equal(claimed, 'Pending: its claim has no volume');
});

test('a claim without a class, and an autoscaler that nothing measures for', () => {
  const claim = saidWhen(load('pending'), 'persistentvolumeclaims/default/data', () => true);
  assert.equal(claim.text, 'Pending: it names no class, and no volume fits');
  const key = 'horizontalpodautoscalers.autoscaling/default/nginx';
  const scaler = saidWhen(load('autoscaler'), key, (o) => condition(o, 'ScalingActive'));
  assert.equal(scaler.text, 'Not scaling: no metrics API');
});

test('a job has finished or failed, and its finished pods are as wanted', () => {
  const history = load('jobs');
  const done = saidWhen(history, 'jobs.batch/default/pi', (o) => condition(o, 'Complete'));
  assert.equal(done.text, 'Job pi has finished: 1 of 1');
  const failed = saidWhen(history, 'jobs.batch/default/broken', (o) => condition(o, 'Failed'));
  assert.match(failed.text, /^Job broken has failed \d times?: Job has reached the specified/);
  const names = summaryOf(history.head).unmet.map((one) => one.write.name);
  assert.deepEqual(names, ['broken']);
});

test('a namespace tells how many kinds are gone and what holds the rest', () => {
  const history = load('namespace');
  const held = (/** @type {any} */ o) =>
    condition(o, 'NamespaceFinalizersRemaining')?.status === 'True';
  const { text } = saidWhen(history, 'namespaces//shop', held);
  assert.match(
    text,
    /^shop is being deleted: (\d) of (\d) kinds gone, example.com\/keep holds the rest$/,
  );
  const [, n, of] = must(/(\d) of (\d)/.exec(text));
  assert.equal(Number(of) - Number(n), 1); // the config map that is kept
});

test('a rollout that is stuck is not covered by the old pods that are ready', () => {
  const history = load('rollout');
  const { unmet } = summaryOf(history.head);
  const [one] = unmet;
  assert.equal(unmet.length, 1);
  const text = sayOutcome(one, wordsFor('en'), EPOCH + history.head.t / 1000);
  assert.match(text, /^0 of 3 new ones ready, 3 old: image ngnix cannot be pulled/);
  assert.ok(sinceOf(history.index, history.head, one) < history.head.t);
});

test('what is there as wanted is counted, and nothing is called wrong that is on its way', () => {
  const history = load('full');
  const { unmet, settled, count } = summaryOf(history.head);
  assert.deepEqual([unmet.length, settled], [0, true]);
  // the Deployment, its ReplicaSet, three pods and three nodes
  assert.equal(count, 8);
  for (let { seq } = must(history.index.record(1)); seq < history.last; seq += 10)
    assert.deepEqual(
      summaryOf(history.stateAt(seq)).unmet.filter((one) => one.write.resource !== 'nodes'),
      [],
    );
});
