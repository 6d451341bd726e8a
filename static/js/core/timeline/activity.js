// @ts-check
/**
 * All that went on, whichever command it goes back to: as one way that the timeline can draw, and,
 * where that would be too many bars, as how much there was on each lane in each slice of time.
 */
import { laneOf } from '../trace/records.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {{from: number, to: number}} Window */

/**
 * @typedef {Object} Activity
 * @property {number[]} trail
 * @property {Map<string, number[]>} lanes  times of what there was on each
 * @property {import('../trace/records.js').WriteRecord[]} writes  those that are no heartbeats
 * @property {number} next
 */

/** @type {WeakMap<Index, Activity>} */
const known = new WeakMap();

/** @param {Index} index @returns {Activity} */
export function activityOf(index) {
  let activity = known.get(index);
  if (!activity) {
    known.set(index, (activity = { trail: [], lanes: new Map(), writes: [], next: index.first }));
  }
  // who joins late asks before the first record is there
  activity.next = Math.max(activity.next, index.first);
  for (; activity.next <= index.last; activity.next += 1) take(activity, index);
  return activity;
}

/** @param {Activity} activity @param {Index} index */
function take({ trail, lanes, writes, next }, index) {
  const record = /** @type {import('../trace/records.js').TraceRecord} */ (index.record(next));
  const add = (/** @type {string} */ lane) => {
    const times = lanes.get(lane);
    if (times) times.push(record.t);
    else lanes.set(lane, [record.t]);
  };
  if (record.kind === 'request') {
    const { cls = '' } = index.request(next) || {};
    if (cls === 'change') add('apiserver');
    if (cls === 'change' && record.outside) add('kubectl');
    // what only reads is drawn when it turns out to be followed
    if (cls === 'change' || record.outside) trail.push(next);
  } else if (record.kind === 'write') {
    const write = /** @type {import('../trace/records.js').WriteRecord} */ (record);
    if (write.beat) return;
    add('etcd');
    writes.push(write);
  } else if (record.kind === 'work') {
    if (record.component.startsWith('kubelet/')) return;
    add(record.component);
    trail.push(next);
  } else if (record.kind === 'kubelet') {
    if (record.state === 'begin') add(laneOf(record.node));
    trail.push(next);
  }
}

/** How much there was in a window. @param {Index} index @param {Window} window */
export function amountIn(index, window) {
  let amount = 0;
  for (const times of activityOf(index).lanes.values()) {
    amount += placeOf(times, window.to) - placeOf(times, window.from);
  }
  return amount;
}

/**
 * How much there was on each lane in each slice of a window; lanes without anything are left out.
 * @param {Index} index @param {Window} window @param {number} slices
 */
export function countsIn(index, { from, to }, slices) {
  /** @type {Map<string, number[]>} */ const counts = new Map();
  const width = (to - from) / slices;
  for (const [lane, times] of activityOf(index).lanes) {
    let before = placeOf(times, from);
    if (before === placeOf(times, to)) continue;
    const list = [];
    for (let i = 1; i <= slices; i += 1) {
      const until = placeOf(times, from + i * width);
      list.push(until - before);
      before = until;
    }
    counts.set(lane, list);
  }
  return counts;
}

/** How many come before a time. @param {number[]} times @param {number} t */
function placeOf(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}
