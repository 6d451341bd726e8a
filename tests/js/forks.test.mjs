// @ts-check
// Facts about forks: whose they are by their names, and a difference in a few words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  byObject,
  differenceText,
  isFork,
  originOf,
  otherOf,
  pairOf,
} from '../../static/js/core/cluster/forks.js';
import { SecondTrack, partedNodes, partedPods } from '../../static/js/core/timeline/secondtrack.js';
import { wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

const names = { origin: 'demo', fork: 'demo-fork-1' };

/** @param {any} parts @returns {import('../../static/js/core/cluster/forks.js').Difference} */
const difference = (parts) => ({
  key: 'pods/default/web',
  kind: 'Pod',
  name: 'web',
  name_there: 'web',
  what: 'spec.nodeName',
  there: null,
  here: null,
  after: 0,
  asked: false,
  seq_there: null,
  seq_here: null,
  ...parts,
});

/** @param {any} parts */
const text = (parts) => differenceText(difference(parts), wordsFor('en'), names);

test('a fork is known by its name, and so is what it was made from', () => {
  assert.deepEqual(['demo-fork-12', 'demo', 'my-fork-1-fork-2'].map(originOf), [
    'demo',
    'demo',
    'my-fork-1',
  ]);
  assert.deepEqual(['demo-fork-12', 'demo', 'a-fork'].map(isFork), [true, false, false]);
});

test('two clusters are compared when one is a fork of the other', () => {
  assert.equal(pairOf('demo-fork-1', 'demo'), 'demo-fork-1');
  assert.equal(pairOf('demo', 'demo-fork-1'), 'demo-fork-1');
  assert.equal(pairOf('demo-fork-1', 'demo-fork-1-fork-2'), 'demo-fork-1-fork-2');
  for (const other of ['', 'demo', 'demo-fork-1-fork-2', 'other-fork-1'])
    assert.equal(pairOf('demo', other), '', other);
  assert.equal(otherOf('demo-fork-1', 'demo-fork-1'), 'demo');
  assert.equal(otherOf('demo-fork-1', 'demo'), 'demo-fork-1');
  for (const cluster of ['demo-fork-2', 'demo-fork-1-fork-2'])
    assert.equal(otherOf('demo-fork-1', cluster), '', cluster);
});

test('a difference says what was there and what is here', () => {
  assert.equal(text({ there: 'node-2', here: 'node-3' }), 'node-2 → node-3');
  assert.equal(text({ there: null, here: { a: 1 } }), '— → {"a":1}');
  assert.equal(text({ there: false, here: 'x'.repeat(60) }), `false → ${'x'.repeat(40)}…`);
  assert.equal(text({ what: 'existence', there: true, here: false }), 'only in demo');
  assert.equal(text({ what: 'existence', there: false, here: true }), 'only in demo-fork-1');
});

test('the fields of one object are told together, in their order', () => {
  const list = [
    difference({}),
    difference({ key: 'nodes/node-1' }),
    difference({ what: 'status.phase' }),
  ];
  const grouped = byObject(list).map((some) => some.map((one) => one.what));
  assert.deepEqual(grouped, [['spec.nodeName', 'status.phase'], ['spec.nodeName']]);
});

test('a pod that came out otherwise is known by its name and node on either side', () => {
  const moved = difference({
    key: 'pods/default/web-b',
    name: 'web-b',
    name_there: 'web-a',
    there: 'node-2',
    here: 'node-3',
    after: 40,
    seq_there: 7,
    seq_here: 9,
  });
  const asked = difference({ key: 'pods/default/mine', name: 'mine', asked: true });
  const found = { fork: 'demo-fork-1', from: 5, until: 90, first: moved, more: 0 };
  const comparison = { ...found, differences: [moved, asked] };
  const [here, there] = [partedPods(comparison, true, 40), partedPods(comparison, false, 40)];
  assert.deepEqual(
    [...here],
    [['pods/default/web-b', { name: 'web-a', node: 'node-2', seq: 7, first: true }]],
  );
  assert.deepEqual(
    [...there],
    [['pods/default/web-a', { name: 'web-b', node: 'node-3', seq: 9, first: true }]],
  );
  assert.equal(partedPods(comparison, true, 39).size, 0); // it lies ahead
});

test('the bars of the other cluster are those of its records behind the fork', () => {
  const records = recorded('full');
  const from = must(records.find((one) => one.kind === 'request' && one.outside)).seq;
  const second = new SecondTrack('demo', from);
  assert.equal(second.next, from + 1);
  second.append(records.slice(0, 3)); // what both have is left out
  assert.equal(second.next, from + 1);
  const rest = records.filter((one) => one.seq > from);
  second.append(rest);
  second.append(rest);
  assert.equal(second.next, must(records.at(-1)).seq + 1);
  const bars = second.bars({ from: 0, to: must(records.at(-1)).t });
  for (const lane of ['etcd', 'deployment', 'scheduler', 'node-2']) assert.ok(bars.has(lane), lane);
  const since = must(records.find((one) => one.seq > from)).t;
  for (const bar of [...bars.values()].flat()) assert.ok(bar.seq > from && bar.to >= since);
});

test('the other cluster stands at the same time, but not before the fork or after its end', () => {
  const records = recorded('full');
  const last = must(records.at(-1));
  const from = must(records.find((one) => one.kind === 'request' && one.outside)).seq;
  const second = new SecondTrack('demo', from);
  second.append(records);
  assert.equal(second.isWhole, false);
  second.begin(
    null,
    records.filter((one) => one.seq <= from),
  );
  assert.equal(second.isWhole, true);
  const middle = must(records.find((one) => one.seq === from + 40));
  const stateAt = (/** @type {number} */ t) => second.playerAt(t).state();
  assert.equal(stateAt(0).seq, from);
  assert.ok(stateAt(middle.t).t === middle.t && stateAt(middle.t).seq >= middle.seq);
  assert.equal(stateAt(last.t + 1e6).seq, last.seq);
  assert.ok(stateAt(0).objects.has('nodes'), 'with what there was before the fork');
});

test('a node that somebody changed is marked from then on', () => {
  const tainted = difference({ key: 'nodes/node-2', kind: 'Node', name: 'node-2', after: 4 });
  const found = { fork: 'demo-fork-1', from: 5, until: 90, first: null, more: 0 };
  const images = { ...tainted, name: 'node-3', what: 'status.images' };
  const comparison = { ...found, differences: [{ ...tainted, asked: true }, images] };
  assert.deepEqual([...partedNodes(comparison, 3)], []);
  assert.deepEqual([...partedNodes(comparison, 4)], ['node-2']);
});
