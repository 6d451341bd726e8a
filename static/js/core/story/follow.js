// @ts-check
/**
 * What the page follows, and where it is on that way. By default the newest request from outside
 * that changes something, and all that it caused; or one pod, from its creation on.
 * Pure questions to an Index; nothing here is remembered but the pods' trails.
 */
import { isStop, toldNext } from './film.js';
import { lastAtMost } from '../trace/index.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../trace/index.js').RequestSpan} RequestSpan */
/** @typedef {import('../trace/index.js').WorkSpan} WorkSpan */
/** @typedef {import('../trace/records.js').TraceRecord} TraceRecord */

/** @typedef {{pod?: string, root?: number}} Follow  empty: the newest root */

/**
 * @typedef {Object} Current  where the followed way is at a seq
 * @property {number} root
 * @property {TraceRecord|null} hop
 * @property {Span|null} span      the hop's span
 * @property {RequestSpan|null} request   the newest followed request
 * @property {WorkSpan|null} work      the newest followed work
 */

// a record belongs to one of the newest commands, or to none that is looked for
const ROOTS_LOOKED_AT = 8;
/** Whether stepping by request stops here. @param {Index} index @param {TraceRecord} record */
function isRequestStop(index, record) {
  if (record.kind === 'work') return true;
  const span = record.kind === 'request' ? index.spans.get(record.seq) : null;
  return !!span && span.cls !== 'beat' && span.cls !== 'read';
}

/**
 * The seqs of the followed way, ascending.
 * @param {Index} index @param {Follow} follow @param {number} seq @returns {number[]}
 */
export function trailOf(index, follow, seq) {
  if (follow.pod) return podTrail(index, follow.pod);
  return index.trails.get(follow.root || rootOf(index, seq)) || [];
}

/**
 * The command that a record goes back to; where it goes back to none, the newest.
 * @param {Index} index @param {number} seq
 */
export function rootOf(index, seq) {
  const { roots } = index;
  const newest = lastAtMost(roots, seq);
  for (let i = newest; i >= 0 && i > newest - ROOTS_LOOKED_AT; i -= 1) {
    const trail = index.trails.get(roots[i]) || [];
    if (trail[lastAtMost(trail, seq)] === seq) return roots[i];
  }
  return newest < 0 ? 0 : roots[newest];
}

/**
 * @param {Index} index @param {Follow} follow @param {number} seq @returns {Current}
 */
export function currentAt(index, follow, seq) {
  const trail = trailOf(index, follow, seq);
  const root = follow.root || rootOf(index, seq);
  /** @type {Current} */
  const current = { root, hop: null, span: null, request: null, work: null };
  const newest = lastAtMost(trail, seq);
  for (let i = newest; i >= 0; i -= 1) {
    const record = index.record(trail[i]);
    if (!record) break;
    const span = index.spanOf(record);
    if (span && span.cls === 'minor') continue;
    const { kind } = record;
    if (!current.hop && (isStop(record) || kind === 'response' || kind === 'write')) {
      current.hop = record;
      current.span = span;
      // its maker comes first, whatever went on beside it
      const maker = span?.type === 'request' ? index.work(span.parent) : null;
      if (maker && trail[lastAtMost(trail, maker.seq)] === maker.seq) current.work = maker;
    }
    if (!span || !current.hop) continue;
    if (span.type === 'request' && !current.request) current.request = span;
    if (span.type === 'work' && !current.work) current.work = span;
    if (current.request && (current.work || i < newest - 400)) break;
  }
  return current;
}

/**
 * A request that belongs to no way, a read mostly, but at which the cluster is held: then this is
 * where we are. Null otherwise.
 * @param {Index} index @param {{at: number}|null} held @returns {Current|null}
 */
export function heldAside(index, held) {
  const record = held && index.record(held.at);
  const span = record ? index.spanOf(record) : null;
  if (!record || !span || span.type !== 'request' || span.roots.length) return null;
  if (!(/** @type {any} */ (span.open).outside)) return null;
  return { root: span.seq, hop: record, span, request: span, work: null };
}

/**
 * The next stop after seq in a direction, in the order of telling; 0 if there is none.
 * @param {Index} index @param {Follow} follow @param {number} seq @param {1|-1} direction
 * @param {boolean} byRequest
 */
export function nextStop(index, follow, seq, direction, byRequest) {
  const trail = trailOf(index, follow, seq);
  let next = seq;
  while ((next = toldNext(index, trail, next, direction))) {
    const record = index.record(next);
    if (record && (byRequest ? isRequestStop(index, record) : isStop(record))) return next;
  }
  return follow.pod || follow.root ? 0 : beyond(index, seq, direction);
}

/** The neighbouring root when the newest trail has come to its end. */
function beyond(
  /** @type {Index} */ index,
  /** @type {number} */ seq,
  /** @type {1|-1} */ direction,
) {
  const at = index.roots.indexOf(rootOf(index, seq));
  const root = index.roots[at + direction] || 0;
  if (direction > 0 || !root) return root;
  const trail = index.trails.get(root) || [];
  return trail[trail.length - 1] || 0;
}

/** @type {WeakMap<Index, Map<string, {last:number, trail:number[]}>>} */
const podTrails = new WeakMap();

/** The hops of one pod's own way: made, scheduled, bound, started. */
function podTrail(/** @type {Index} */ index, /** @type {string} */ key) {
  let known = podTrails.get(index);
  if (!known) podTrails.set(index, (known = new Map()));
  const kept = known.get(key);
  if (kept && kept.last === index.last) return kept.trail;
  /** @type {Set<number>} */ const seqs = new Set();
  const take = (/** @type {Span|null|undefined} */ span) => {
    if (!span || seqs.has(span.seq)) return;
    seqs.add(span.seq);
    for (const record of span.records) {
      if (record.kind !== 'queue' && record.kind !== 'watch') seqs.add(record.seq);
    }
  };
  for (const write of index.histories.get(key) || []) take(index.spans.get(write.span));
  for (const cycle of index.cycles.get(key) || []) {
    take(cycle);
    for (const request of cycle.requests) {
      const span = index.spans.get(request);
      if (span && span.cls === 'change') take(span);
    }
  }
  for (const step of index.steps.get(key) || []) seqs.add(step.seq);
  const trail = [...seqs].sort((a, b) => a - b);
  known.set(key, { last: index.last, trail });
  return trail;
}

/**
 * The chain that led to a span: itself, the work that made it, the write that woke that work, …
 * newest first.
 * @param {Index} index @param {Span|null} span
 * @returns {{span: Span, rev: number}[]}  rev: the revision that woke this work, 0 for none
 */
export function ancestry(index, span) {
  /** @type {{span: Span, rev: number}[]} */ const chain = [];
  let here = span;
  while (here && chain.length < 64) {
    if (here.type === 'request') {
      chain.push({ span: here, rev: 0 });
      here = index.spans.get(here.parent) || null;
      continue;
    }
    const write = cause(index, here);
    chain.push({ span: here, rev: write ? write.rev : 0 });
    here = write ? index.spans.get(write.span) || null : null;
  }
  return chain;
}

/** The write that woke a work: the newest of its causes that goes back to a root. */
export function cause(/** @type {Index} */ index, /** @type {Span} */ work) {
  const revs = /** @type {any} */ (work.open).revs || [];
  for (let i = revs.length - 1; i >= 0; i -= 1) {
    const write = index.byRev.get(revs[i]);
    const span = write && index.spans.get(write.span);
    if (write && span && span.roots.length) return write;
  }
  return index.byRev.get(revs[revs.length - 1]) || null;
}
