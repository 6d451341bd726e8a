// @ts-check
/**
 * How long each hop is shown when the page tells what already happened: a command's own request in
 * full, the first of each sort at half length, repetitions quickly, and all of it faster when much
 * is waiting. Pure; wall time comes in as numbers.
 */

import { isStop } from './follow.js';

/** @typedef {import('./records.js').TraceRecord} TraceRecord */
/** @typedef {import('./index.js').Index} Index */
/** @typedef {import('./index.js').Span} Span */

// milliseconds at ×1: [command's own, first of its sort, repetition]
/** @type {Readonly<Record<string, number[]>>} */
const DWELL = Object.freeze({
  request: [350, 200, 30],
  gate: [440, 190, 22],
  change: [620, 300, 12],
  plugin: [60, 20, 2],
  work: [520, 300, 60],
  filter: [1300, 1300, 140],
  score: [1700, 1700, 160],
  select: [1200, 1200, 160],
  schedule: [160, 90, 20],
  kubelet: [420, 260, 60],
  refusal: [900, 900, 400],
  stream: [1200, 900, 400],
  response: [900, 900, 400],
});

// what is shown at least so long is never left out
const DRAWN_MS_MIN = 100;
// stops waiting above which everything goes faster, and above which telling makes no sense
const BACKLOG_EASY = 260;
export const BACKLOG_MAX = 4000;
// above this speed counts are shown and nothing travels
export const SPEED_TOLD_MAX = 10;

/** Which sorts of hop were shown already. */
export class Pace {
  constructor() {
    /** @type {Map<string, number>} sort -> span that showed it first */
    this.seen = new Map();
  }

  /**
   * How long to rest at a stop, in ms.
   * @param {Index} index @param {TraceRecord} record @param {number} backlog @param {number} speed
   */
  dwell(index, record, backlog, speed) {
    const span = index.spanOf(record);
    if (span && span.cls === 'minor') return 0;
    const level = this._level(record, span);
    const ms = DWELL[sortOf(record)]?.[level] ?? 0;
    const hurry = 1 + Math.max(0, backlog - BACKLOG_EASY) / BACKLOG_EASY;
    return ms / hurry / Math.max(1, speed);
  }

  /**
   * Whether a hop repeats a sort that was shown in full before.
   * @param {Index} index @param {TraceRecord} record
   */
  isRepeated(index, record) {
    return this._level(record, index.spanOf(record)) === 2;
  }

  /**
   * Whether a hop is drawn before the next one comes, however slow the machine is.
   * @param {Index} index @param {TraceRecord} record
   */
  isDrawn(index, record) {
    const span = index.spanOf(record);
    if (!isStop(record) || (span && span.cls === 'minor')) return false;
    const level = this._level(record, span);
    return level < 2 && DWELL[sortOf(record)]?.[level] >= DRAWN_MS_MIN;
  }

  /** 0 the command's own, 1 first of its sort, 2 seen before. */
  _level(/** @type {TraceRecord} */ record, /** @type {Span|null} */ span) {
    if (span && span.type === 'request' && span.roots[0] === span.seq) return 0;
    const sort = spanSort(record, span);
    const owner = span ? span.seq : record.seq;
    const first = this.seen.get(sort);
    if (first === undefined) this.seen.set(sort, owner);
    return first === undefined || first === owner ? 1 : 2;
  }
}

/** @param {any} record */
function sortOf(record) {
  if (record.kind === 'plugin') return record.verdict === 'change' ? 'change' : 'plugin';
  if (record.kind === 'gate' && record.verdict === 'deny') return 'refusal';
  if (record.kind === 'schedule') {
    const own = ['filter', 'preempt', 'score', 'select'].includes(record.phase);
    return own ? record.phase : 'schedule';
  }
  return record.kind;
}

/** @param {any} record @param {Span|null} span */
function spanSort(record, span) {
  if (record.kind === 'kubelet') return `kubelet ${record.step} ${record.state}`;
  const open = /** @type {any} */ (span ? span.open : record);
  if (open.kind === 'work') return `work ${open.component.split('/')[0]}`;
  return `${open.verb} ${open.resource}/${open.subresource || ''}`;
}
