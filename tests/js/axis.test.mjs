// @ts-check
// Facts about which part of time is on the axis, and what is drawn of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activityOf, amountIn, countsIn } from '../../static/js/core/timeline/activity.js';
import * as axis from '../../static/js/core/timeline/axis.js';
import { History } from '../../static/js/core/trace/history.js';
import { timelineAt } from '../../static/js/core/timeline/timeline.js';
import { commandAt, must, recorded } from './traces.mjs';

const history = new History();
history.append(recorded('full'));
const { index } = history;
const end = must(index.record(index.last)).t;

test('zooming keeps the time under the pointer where it is, from microseconds to hours', () => {
  const window = axis.zoomed({ from: 1000, to: 2000 }, 4, 1250);
  assert.deepEqual(window, { from: 1187.5, to: 1437.5 });
  const closest = axis.zoomed(window, 1e9, 1250);
  assert.equal(closest.to - closest.from, axis.WINDOW_US_MIN);
  const widest = axis.zoomed(window, 1e-12, 1250);
  assert.equal(widest.to - widest.from, axis.WINDOW_US_MAX);
  assert.deepEqual(axis.panned({ from: 0, to: 100 }, 0.5), { from: 50, to: 150 });
});

test('all begins with the first record, ends after the last and stays while there is room', () => {
  const all = axis.allOf(index, null);
  assert.equal(all.from, index.records[0].t);
  assert.ok(all.to > end);
  assert.equal(axis.allOf(index, all), all);
});

test('a window goes along with a cursor that leaves it, and with nobody else', () => {
  const window = { from: 0, to: 100, origin: 0, head: 50, all: false };
  assert.equal(axis.goneAlong(window, 60, false).from, 0);
  assert.equal(axis.goneAlong(window, 120, false).from, 50);
  const elsewhere = { ...window, head: 400 };
  assert.equal(axis.goneAlong(elsewhere, 420, false).from, 0);
  assert.equal(axis.goneAlong(elsewhere, 420, true).from, 370);
});

test('times beside each other are told apart, and from ten seconds on ticks are a clock’s', () => {
  assert.equal(axis.axisTime(7, 1), '7 µs');
  assert.equal(axis.axisTime(171_205, 5), '171.205 ms');
  assert.equal(axis.axisTime(2_000_000, 500_000), '2.0 s');
  assert.equal(axis.axisTime(300_000_000, 60_000_000), '5 min');
  assert.equal(axis.axisTime(300_000_000, 5000), '5 min 0.000 s');
  const { ticks } = axis.ticksOf({ from: 0, to: 7_200_000_000, origin: 0 }, 8);
  assert.deepEqual(ticks.map((at) => at / 60e6), [0, 15, 30, 45, 60, 75, 90, 105, 120]);
});

test('a window that was chosen shows what every command led to, the story one way', () => {
  const range = { from: 0, to: 1e15 };
  const all = axis.seenIn({ ...axis.allOf(index, null) }, {});
  const bars = (/** @type {import('../../static/js/core/timeline/timeline.js').Seen} */ seen) =>
    timelineAt(index, seen, index.last, range).lanes.reduce((n, { bars }) => n + bars.length, 0);
  assert.ok(bars(all) > bars({}));
  assert.deepEqual(axis.seenIn(null, {}), {});
  const pod = { pod: 'pods/default/x' };
  assert.equal(axis.seenIn(axis.allOf(index, null), pod), pod);
});

test('where there are too many bars each lane tells how much there was, and none is lost', () => {
  const window = { from: 0, to: end + 1 };
  const counts = countsIn(index, window, 40);
  const sum = [...counts.values()].flat().reduce((a, b) => a + b, 0);
  assert.equal(sum, amountIn(index, window));
  const writes = index.writes.filter((one) => !one.beat).length;
  assert.equal(must(counts.get('etcd')).reduce((a, b) => a + b, 0), writes);
  assert.equal(activityOf(index), activityOf(index));
});

test('what is asked before the first record came begins with it', () => {
  const late = new History();
  assert.deepEqual(activityOf(late.index).trail, []);
  late.append(index.records.slice(500, 900));
  assert.ok(activityOf(late.index).trail.every((seq) => seq > 500));
  assert.ok(activityOf(late.index).trail.length);
});

test('a way whose request waits for its answer is not at rest, however long that takes', () => {
  const all = recorded('full');
  const asked = all[commandAt(all)];
  const answer = must(all.find(({ kind, span }) => kind === 'response' && span === asked.seq));
  const later = answer.t + 30e6;
  const waiting = new History();
  waiting.append(all.filter(({ seq }) => seq < answer.seq));
  const clock = { seq: answer.seq, t: later, kind: 'clock', span: 0, mode: 'run', speed: 1 };
  waiting.append([/** @type {any} */ (clock)]);
  const range = axis.rangeAt(waiting.index, {}, answer.seq);
  assert.equal(range.rests, false);
  assert.equal(range.t, later);
});
