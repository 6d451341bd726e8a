// @ts-check
/**
 * Which part of time is on the axis: as it is chosen for the story, all of it, or a window that
 * somebody chose, from microseconds to hours. Pure.
 */
import { trailOf } from '../story/follow.js';
import { lastAtMost } from '../trace/index.js';
import { duration } from '../text/words.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../story/follow.js').Follow} Follow */

/**
 * @typedef {Object} Window  a part of time that was chosen
 * @property {number} from
 * @property {number} to
 * @property {number} origin  times are read from here on
 * @property {number} head    where the cursor was when it was drawn last
 * @property {boolean} all    it grows with what is known
 */

/**
 * @typedef {Object} Range  what is on the axis
 * @property {number} from
 * @property {number} to
 * @property {number} origin
 * @property {number} t       where the head stands
 * @property {boolean} empty
 * @property {boolean} rests
 */

export const WINDOW_US_MIN = 20;
export const WINDOW_US_MAX = 48 * 3600 * 1e6;
const WIDTH_US_MIN = 1000;
const LOOK_BACK = 3000;
const END_ROOM = 0.06; // behind the end of all

/**
 * Closer by a factor, around a time that stays where it is.
 * @param {{from: number, to: number}} window @param {number} factor @param {number} at
 */
export function zoomed({ from, to }, factor, at) {
  const wanted = (to - from) / factor;
  const width = Math.max(WINDOW_US_MIN, Math.min(WINDOW_US_MAX, wanted));
  const before = ((at - from) / (to - from)) * width;
  return { from: at - before, to: at - before + width };
}

/** On by a share of its width. @param {{from: number, to: number}} window @param {number} share */
export function panned({ from, to }, share) {
  const by = (to - from) * share;
  return { from: from + by, to: to + by };
}

/**
 * All that is known, with room to grow. What lies before the first record is part of it.
 * @param {Index} index @param {Window|null} before @returns {Window}
 */
export function allOf(index, before) {
  const first = index.first > 1 ? 0 : index.records[0]?.t || 0;
  const { t } = index.record(index.last) || { t: first };
  const fits = before?.all && before.from === first && t < before.to;
  if (fits && t > first + (before.to - first) * (1 - 2 * END_ROOM)) return before;
  const to = first + Math.max(WIDTH_US_MIN, (t - first) * (1 + END_ROOM));
  return { from: first, to, origin: first, head: t, all: true };
}

/**
 * A window goes along with a cursor that leaves it; one that stands elsewhere is left alone.
 * @param {Window} window @param {number} head @param {boolean} jumped  somebody went there
 * @returns {Window}
 */
export function goneAlong(window, head, jumped) {
  const { from, to } = window;
  const isIn = (/** @type {number} */ t) => t >= from && t <= to;
  const leaves = head !== window.head && !isIn(head) && (jumped || isIn(window.head));
  const start = head - (to - from) * (jumped ? 0.5 : 0.7);
  return { ...window, ...(leaves ? { from: start, to: start + to - from } : {}), head };
}

/**
 * What is drawn: one way, or in a window that was chosen all that went on there.
 * @param {Window|null} window @param {Follow} follow
 * @returns {import('./timeline.js').Seen}
 */
export const seenIn = (window, follow) =>
  window && !follow.pod ? { ...follow, all: true } : follow;

/**
 * A time on the axis, as exact as it takes to tell it from one that lies a step beside it.
 * @param {number} us @param {number} step
 */
export function axisTime(us, step) {
  const abs = Math.abs(us);
  if (abs < 1000) return `${Math.round(us)} µs`;
  const digits = (/** @type {number} */ unit) =>
    Math.max(0, Math.min(unit, unit - Math.floor(Math.log10(Math.max(1, step)))));
  if (abs < 1e6) return `${(us / 1000).toFixed(digits(3))} ms`;
  if (abs < 60e6) return `${(us / 1e6).toFixed(digits(6))} s`;
  if (step >= 1e6) return duration(us).replace(/ 0 (s|min)$/, '');
  return `${Math.floor(abs / 60e6)} min ${((abs % 60e6) / 1e6).toFixed(digits(6))} s`;
}

/** How wide the axis is, in one unit. @param {number} us */
export function widthTime(us) {
  return us < 1000 ? `${Math.round(us)} µs` : duration(us).replace(/ (h|min) .*/, ' $1');
}

/** A width that reads well: 1, 2 or 5 times a power of ten. @param {number} us */
export function niceWidth(us) {
  const power = 10 ** Math.floor(Math.log10(Math.max(us, 1)));
  for (const step of [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) if (us <= step * power) return step * power;
  return 10 * power;
}

/**
 * What part of time to show so that the last hops can be told apart.
 * @param {Index} index @param {Follow} follow @param {number} seq
 */
export function rangeAt(index, follow, seq) {
  const trail = trailOf(index, follow, seq);
  const at = lastAtMost(trail, seq);
  // long after its last hop a way is shown as it came to rest, not as a speck in the past
  const now = index.record(seq)?.t || 0;
  if (at < 0) return { from: 0, to: 0, origin: 0, t: 0, empty: true, rests: false };
  const isOver = at === trail.length - 1 && !isAtWork(index, trail, at);
  const t = isOver ? Math.min(now, restOf(index, trail, at)) : now;
  const origin = index.record(trail[0])?.t || 0;
  const isPast = now > t;
  const back = isPast ? origin : index.record(trail[Math.max(0, at - 170)])?.t || origin;
  const ahead = index.record(trail[Math.min(trail.length - 1, at + 60)])?.t || t;
  const room = Math.min(Math.max(ahead - t, (t - back) * 0.35), (t - back) * 0.6 + 300);
  const width = niceWidth(Math.max(WIDTH_US_MIN, (t - back + room) * 1.08));
  const from = t - origin < width * 0.8 ? origin : t - width * 0.68;
  return { from, to: from + width, origin, t, empty: false, rests: isPast };
}

/**
 * Whether its last request waits for its answer, or a kubelet is still at a step of this way, such
 * as pulling an image.
 * @param {Index} index @param {number[]} trail @param {number} at
 */
function isAtWork(index, trail, at) {
  const span = index.spanOf(/** @type {any} */ (index.record(trail[at])));
  if (span?.type === 'request' && !span.close) return true;
  const ended = new Set();
  for (let i = at; i >= 0 && i > at - LOOK_BACK; i -= 1) {
    const record = /** @type {any} */ (index.record(trail[i]));
    if (!record || record.kind !== 'kubelet') continue;
    const id = `${record.pod} ${record.step}`;
    if (record.state === 'begin' && !ended.has(id)) return true;
    ended.add(id);
  }
  return false;
}

/** @param {Index} index @param {number[]} trail @param {number} at */
function restOf(index, trail, at) {
  const last = index.record(trail[at])?.t || 0;
  const first = index.record(trail[0])?.t || 0;
  return last + (last - first) * 0.15 + WIDTH_US_MIN;
}

/** @param {{from: number, to: number, origin: number}} range @param {number} most */
export function ticksOf(range, most) {
  const step = Math.max(1, niceStep((range.to - range.from) / most));
  const ticks = /** @type {number[]} */ ([]);
  const first = Math.ceil((range.from - range.origin) / step) * step;
  for (let at = first; range.origin + at <= range.to; at += step) ticks.push(at);
  return { ticks, step };
}

// above ten seconds a step is of the clock
const SECOND = 1e6;
const CLOCK_STEPS = [10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200];

/** @param {number} us */
function niceStep(us) {
  const power = 10 ** Math.floor(Math.log10(Math.max(us, 1)));
  const clock = CLOCK_STEPS.find((s) => s * SECOND >= us);
  if (us > 5 * SECOND) return (clock || 86_400) * SECOND;
  return [1, 2, 5, 10].map((s) => s * power).find((s) => s >= us) || power * 10;
}
