// A trace that begins with a keyframe tells the same from there on as the whole one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { componentOf, gatesOf, lanesAtRest } from '../../static/js/core/trace/facts.js';
import { trailOf } from '../../static/js/core/story/follow.js';
import { podsOf } from '../../static/js/core/cluster/objects.js';
import { keyframes, recorded } from './traces.mjs';

// objects of these do not travel in a keyframe
const UNSEEN = ['events'];

/** @param {import('../../static/js/core/trace/reducer.js').State} state */
const told = (state) => ({
  seq: state.seq,
  t: state.t,
  rev: state.rev,
  held: state.held,
  clock: state.clock,
  counts: state.counts,
  open: [...state.requests].sort(),
  streams: [...state.streams].sort(),
  working: [...state.working].sort(),
  queues: [...state.queues].sort(),
  components: [...state.components].sort(),
  emptied: [...state.emptied],
  pods: podsOf(state).map((pod) => [pod.key, pod.stage, pod.rev]),
  objects: [...state.objects]
    .filter(([resource, map]) => !UNSEEN.includes(resource) && map.size)
    .map(([resource, map]) => [resource, [...map].map(([key, write]) => [key, write.rev, write.t])])
    .sort(),
});

/**
 * As deepEqual, but the difference of two large values takes it minutes to print.
 * @param {any} is @param {any} wanted @param {string} where
 */
function same(is, wanted, where) {
  for (const name of Object.keys(wanted)) {
    const [one, other] = [JSON.stringify(is[name]), JSON.stringify(wanted[name])];
    let at = 0;
    while (at < one.length && one[at] === other[at]) at += 1;
    const differ = [one, other].map((text) => text.slice(Math.max(0, at - 80), at + 80));
    assert.ok(one === other, `${where} ${name}: ${differ.join(' IS NOT ')}`);
  }
}

/** @param {any} keyframe @param {any[]} records */
function joined(keyframe, records) {
  const history = new History();
  history.begin(keyframe);
  history.append(records.slice(keyframe.seq));
  return history;
}

for (const name of ['full', 'scheduling', 'refused', 'namespace', 'rollout']) {
  const records = recorded(name);
  const whole = new History();
  whole.append(records);
  const all = keyframes(name).sort((one, other) => other.seq - one.seq);

  test(`what follows a keyframe of ${name} is what follows in the whole trace`, () => {
    assert.ok(all.length > 1);
    const root = whole.index.rootAt(whole.last);
    for (const keyframe of all.slice(0, 3)) {
      const where = `${keyframe.seq}, at`;
      const history = joined(keyframe, records);
      const { index } = history;
      assert.deepEqual([history.first, history.last], [keyframe.seq + 1, whole.last]);
      for (const seq of [keyframe.seq, (keyframe.seq + whole.last) >> 1, whole.last])
        same(told(history.stateAt(seq)), told(whole.stateAt(seq)), `${where} ${seq}`);
      assert.equal(index.rootAt(whole.last), root);
      assert.equal(index.cycleCount, whole.index.cycleCount);
      const { seq } = keyframe;
      same(after(index, seq, whole.last), after(whole.index, seq, whole.last), where);
    }
  });

  test(`what a keyframe of ${name} leaves out can be put before it`, () => {
    const late = joined(all[0], records);
    const longer = late.from(null, records.slice(0, late.first - 1));
    assert.equal(longer.first, 1);
    same(told(longer.stateAt(longer.last)), told(whole.stateAt(whole.last)), 'at the end');
    same({ trails: [...longer.index.trails] }, { trails: [...whole.index.trails] }, '');
  });
}

/**
 * What comes after a record, and which commands it goes back to.
 * @param {import('../../static/js/core/trace/index.js').Index} index @param {number} seq
 * @param {number} last
 */
const after = (index, seq, last) => ({
  trail: trailOf(index, {}, last).filter((one) => one > seq),
  roots: [...index.works, ...index.requests]
    .filter((span) => span.seq > seq)
    .map((span) => [span.seq, ...span.roots]),
});

test('a keyframe tells how the cluster is made', () => {
  const records = recorded('full');
  const whole = new History();
  whole.append(records);
  for (const keyframe of keyframes('full').filter(({ seq }) => seq > 6000)) {
    const { index } = joined(keyframe, records);
    assert.deepEqual(gatesOf(index), gatesOf(whole.index));
    assert.deepEqual(lanesAtRest(index), lanesAtRest(whole.index));
    assert.deepEqual(componentOf(index, 'replicaset'), componentOf(whole.index, 'replicaset'));
  }
});
