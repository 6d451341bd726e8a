// @ts-check
/**
 * In which order a way is told: one thing at a time. A request is followed to its answer, a
 * reconcile to its end with all that it asked for, and only then comes what began meanwhile.
 * Virtual time overlaps; a viewer cannot. A kubelet's steps take long, so each is one thing.
 * Pure questions to an Index and a trail: seqs in, seqs out.
 */
import { lastAtMost } from '../trace/index.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../trace/records.js').TraceRecord} TraceRecord */

// kinds of record at which a step stops
const STOPS = new Set(['request', 'gate', 'plugin', 'stream', 'work', 'schedule', 'kubelet']);

/** Whether stepping hop by hop stops here. @param {TraceRecord} record */
export function isStop(record) {
  if (STOPS.has(record.kind)) return true;
  return record.kind === 'response' && /** @type {any} */ (record).code >= 400;
}

// something that has not ended after so long in virtual time is not waited for
const PATIENCE_US = 2_000_000;

/** @param {number[]} trail @param {number} seq */
const has = (trail, seq) => trail[lastAtMost(trail, seq)] === seq;

/** @param {Span|null|undefined} span */
const isKubelets = (span) => span?.type === 'work' && span.open.component.startsWith('kubelet/');

/** The thing that a record belongs to: the seq it begins with, 0 for what is not told. */
export function thingOf(
  /** @type {Index} */ index,
  /** @type {number[]} */ trail,
  /** @type {TraceRecord} */ record,
) {
  if (record.kind === 'kubelet') return record.seq;
  const span = index.spanOf(record);
  if (!span || span.cls === 'minor' || span.cls === 'beat') return 0;
  const maker = span.type === 'request' ? index.spans.get(span.parent) : null;
  const isPart = maker?.type === 'work' && !isKubelets(maker) && has(trail, maker.seq);
  return isPart ? maker.seq : span.seq;
}

/** The stops of a thing, in the order of telling. */
function stopsOf(
  /** @type {Index} */ index,
  /** @type {number[]} */ trail,
  /** @type {number} */ thing,
) {
  const span = index.spans.get(thing);
  if (!span || index.record(thing)?.kind === 'kubelet' || isKubelets(span)) return [thing];
  /** @type {[number, number[]][]} each with the seq it begins with */
  const parts = ownStops(span).map((seq) => [seq, [seq]]);
  for (const seq of span.type === 'work' ? span.requests : []) {
    const made = index.spans.get(seq);
    if (made?.cls === 'change' && has(trail, seq)) parts.push([seq, ownStops(made)]);
  }
  return parts.sort((a, b) => a[0] - b[0]).flatMap(([, stops]) => stops);
}

/** @param {Span} span */
const ownStops = (span) => [
  span.seq,
  ...span.records
    .filter((record) => record.kind !== 'kubelet' && isStop(record))
    .map((record) => record.seq),
];

/** Where the thing at a seq is told on: its stops, and the place among them. */
function placeAt(
  /** @type {Index} */ index,
  /** @type {number[]} */ trail,
  /** @type {number} */ seq,
) {
  for (let i = lastAtMost(trail, seq); i >= 0; i -= 1) {
    const record = index.record(trail[i]);
    const thing = record ? thingOf(index, trail, record) : 0;
    if (!thing) continue;
    const stops = stopsOf(index, trail, thing);
    const exact = stops.indexOf(seq);
    return { thing, stops, at: exact < 0 ? stops.findLastIndex((s) => s <= seq) : exact };
  }
  return null;
}

/** The first stop of the next thing, or the last one of the thing before; 0 for none. */
function neighbour(
  /** @type {Index} */ index,
  /** @type {number[]} */ trail,
  /** @type {number} */ thing,
  /** @type {1|-1} */ direction,
) {
  const from = lastAtMost(trail, thing) + (direction > 0 ? 1 : -1);
  for (let i = from; i >= 0 && i < trail.length; i += direction) {
    const record = index.record(trail[i]);
    const other = record && thingOf(index, trail, record) === trail[i] ? trail[i] : 0;
    if (!other) continue;
    const stops = stopsOf(index, trail, other);
    return direction > 0 ? stops[0] : stops[stops.length - 1];
  }
  return 0;
}

/**
 * The stop that is told after a seq, or before it; 0 if there is none.
 * @param {Index} index @param {number[]} trail @param {number} seq @param {1|-1} direction
 */
export function toldNext(index, trail, seq, direction) {
  const place = placeAt(index, trail, seq);
  if (!place) return direction > 0 ? trail[0] || 0 : 0;
  const { thing, stops, at } = place;
  if (stops[at] !== seq) {
    // between two stops: on with whatever comes, or back to what was
    if (direction < 0) return stops[at];
    for (let i = lastAtMost(trail, seq) + 1; i < trail.length; i += 1) {
      const record = index.record(trail[i]);
      if (record && isStop(record) && thingOf(index, trail, record)) return trail[i];
    }
    return 0;
  }
  return stops[at + direction] || neighbour(index, trail, thing, direction);
}

/**
 * Whether the thing at a seq goes on: its next stop has yet to come, and nothing else is told
 * before it.
 * @param {Index} index @param {number[]} trail @param {number} seq
 */
export function isUnderWay(index, trail, seq) {
  const place = placeAt(index, trail, seq);
  if (!place || place.stops[place.at] !== seq || place.at < place.stops.length - 1) return false;
  const span = index.spans.get(place.thing);
  if (!span || span.close || isKubelets(span)) return false;
  const now = index.record(index.last)?.t || 0;
  return now - (index.record(seq)?.t || 0) < PATIENCE_US;
}
