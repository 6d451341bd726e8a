// @ts-check
// Facts about rollouts: bounds as upstream rounds them, and steps as the controller itself says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { boundsOf, progressOf, rolloutOf } from '../../static/js/core/outcome/rollout.js';
import { wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

const KEY = 'deployments.apps/default/nginx';
const words = wordsFor('en');

/** @param {string} name */
function load(name) {
  const history = new History();
  history.append(recorded(name));
  return history;
}

/** The rollout at a record. @param {History} history @param {number} seq */
const at = (history, seq) => rolloutOf(knownAt(history.index, seq), history.stateAt(seq), KEY);

/** @param {import('../../static/js/core/outcome/rollout.js').Step} step */
const text = (step) => step.parts.map((one) => words.t(one.key, one.params)).join('; ');

/** The record by which the Deployment was given what a test asks for. @param {History} history */
const when = (history, /** @type {(object: any) => any} */ is) =>
  must((history.index.histories.get(KEY) || []).find((one) => is(one.object))).seq;

test('the surge is rounded up, what may be missing down, and never both to nothing', () => {
  const of = (/** @type {number} */ replicas, /** @type {any} */ rollingUpdate = {}) => {
    const { least, most } = boundsOf({ replicas, strategy: { rollingUpdate } });
    return [least, most];
  };
  assert.deepEqual(of(30), [23, 38]);
  assert.deepEqual(of(3), [3, 4]);
  assert.deepEqual(of(1), [1, 2]);
  assert.deepEqual(of(3, { maxSurge: 0, maxUnavailable: '25%' }), [2, 3]);
  assert.deepEqual(of(10, { maxSurge: 0, maxUnavailable: 4 }), [6, 10]);
  assert.deepEqual(of(2, { maxSurge: 1, maxUnavailable: 5 }), [0, 3]);
});

test('at each record of a rollout as many are ready and there as the bounds allow', () => {
  const history = load('surge');
  let seen = 0;
  for (const write of history.index.writes) {
    const rollout = at(history, write.seq);
    if (!rollout) continue;
    seen += 1;
    assert.deepEqual([rollout.bounds.least, rollout.bounds.most], [5, 8]);
    assert.ok(rollout.ready >= 5, `r${write.rev}: ${rollout.ready} ready`);
    assert.ok(rollout.all <= 8, `r${write.rev}: ${rollout.all} in all`);
  }
  assert.ok(seen > 100);
});

test('every step says how many come and go as the controller itself has it', () => {
  const history = load('surge');
  const { index } = history;
  const undone = when(history, ({ metadata }) => metadata.generation === 3);
  let compared = 0;
  for (const end of [undone - 1, index.last])
    for (const { seq, parts } of must(at(history, end)).steps) {
      const { close } = must(index.work(must(index.spanOf(must(index.record(seq)))).parent));
      if (close?.result !== 'ok') continue; // of one that met a conflict it says that alone
      compared += 1;
      const told = [...close.said.matchAll(/scales \S+ (up|down) from (\d+) to (\d+)/g)];
      assert.deepEqual(
        parts.map(({ key, params }) => [/up|room|gone/.test(key) ? 'up' : 'down', params.n]),
        told.map(([, way, from, to]) => [way, Math.abs(Number(to) - Number(from))]),
        close.said,
      );
    }
  assert.ok(compared > 9, String(compared));
});

test('a step says why: by the room there was, by who was ready, by who had gone', () => {
  const history = load('surge');
  const rollout = must(at(history, when(history, ({ metadata }) => metadata.generation === 3) - 1));
  assert.equal(
    text(rollout.steps[0]),
    'at most 8 in all, so 2 new may come; 6 ready and 5 must stay, so 1 old may go',
  );
  const texts = rollout.steps.map(text);
  assert.ok(texts.some((one) => /^(\d+) old gone or going, so \1 new may come$/.test(one)));
  assert.ok(texts.some((one) => /^(\d+) new ready, so \1 old may go$/.test(one)));
  assert.equal(rollout.phase, 'done');
});

test('an undo swaps the sides at once, and counts its own steps', () => {
  const history = load('surge');
  const seq = when(history, ({ metadata }) => metadata.generation === 3);
  const before = must(at(history, seq - 1));
  const after = must(at(history, seq));
  assert.equal(after.old[0].key, before.next?.key);
  assert.equal(after.next?.key, before.old[0].key);
  assert.deepEqual(after.steps, []);
  const [change] = after.changes;
  const { path, from, to } = change;
  assert.deepEqual([path, from, to], ['spec/containers/0/image', 'httpd', 'nginx']);
  const end = must(at(history, history.last));
  assert.deepEqual([end.next?.pods.length, end.old[0].pods.length, end.old[0].had], [6, 0, 6]);
});

test('Recreate lets all old ones go, and makes new ones when none is left', () => {
  const history = load('recreate');
  const rolling = when(history, ({ spec }) => spec.strategy.type === 'RollingUpdate');
  const rollout = must(at(history, rolling - 1));
  assert.ok(rollout.recreates);
  assert.deepEqual(rollout.steps.map(text), [
    'Recreate: all 3 old go first',
    'no old pod is left, so 3 new may come',
  ]);
  for (const { seq } of history.index.writes) {
    const then = seq < rolling ? at(history, seq) : null;
    if (then?.next) assert.ok(!then.next.pods.length || !then.old[0].pods.length, `at ${seq}`);
  }
});

test('what is late is late only once it is said, and a pause is one', () => {
  const history = load('recreate');
  const late = when(history, ({ status }) =>
    status?.conditions?.some(
      (/** @type {any} */ one) => one.reason === 'ProgressDeadlineExceeded',
    ),
  );
  assert.equal(must(at(history, late - 1)).phase, 'moving');
  assert.equal(must(at(history, late)).phase, 'late');
  assert.equal(must(at(history, late)).deadline, 5);
});

test('a pod whose image cannot be pulled is not told as one that is starting', () => {
  const history = load('rollout');
  const rollout = must(at(history, history.last));
  const state = history.stateAt(history.last);
  const stages = (/** @type {any} */ side) =>
    side.pods.map((/** @type {any} */ pod) => progressOf(state, pod));
  assert.deepEqual(stages(rollout.old[0]), ['ready', 'ready', 'ready']);
  assert.deepEqual(stages(rollout.next), ['failing']);
});
