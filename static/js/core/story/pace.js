// @ts-check
/**
 * What of a way is told, and how long each stop is shown. The first of each sort is told in full;
 * gates with nothing to say only when they appear for the first time; what repeats is counted.
 * A stop is shown as long as its sentence takes to read. Pure; wall time comes in as numbers.
 */
import { isStop } from './film.js';
import { isOrdinary, writeOf } from '../request/corridor.js';

/** @typedef {import('../trace/records.js').TraceRecord} TraceRecord */
/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */

/** @typedef {'read'|'watch'|'fast'} Story  how fast it is told */

/** @type {Readonly<Record<Story, number>>} ms a word */
const WORD_MS = Object.freeze({ read: 250, watch: 75, fast: 20 });
export const STORIES = /** @type {Story[]} */ (Object.keys(WORD_MS));
// tables take longer to look at than their headline to read, in words
/** @type {Readonly<Record<string, number>>} */
const WORDS_MIN = Object.freeze({ filter: 14, score: 18, select: 14, preempt: 18 });
const WORDS_LEAST = 4;
// of what repeats, each but the last
const REPEAT_MS = 60;

// stops waiting above which everything goes faster, and above which telling makes no sense
const BACKLOG_EASY = 1500;
export const BACKLOG_MAX = 4000;
// above this speed counts are shown and nothing travels
export const SPEED_TOLD_MAX = 10;

/** Which sorts of hop were shown already. */
export class Pace {
  constructor() {
    /** @type {Story} */ this.story = 'watch';
    /** @type {Map<string, number|string>} sort -> the span, or the pod, that showed it first */
    this.seen = new Map();
  }

  /**
   * How long to rest at a stop, in ms.
   * @param {TraceRecord} record @param {number} words  of its headline @param {number} backlog
   * @param {number} speed
   */
  dwell(record, words, backlog, speed) {
    const least = WORDS_MIN[/** @type {any} */ (record).phase] || WORDS_LEAST;
    const ms = Math.max(words, least) * WORD_MS[this.story];
    if (this.story === 'read') return ms / Math.min(1, speed);
    return ms / this.hurry(backlog) / speed;
  }

  /** How long one of many is shown. @param {number} backlog @param {number} speed */
  dwellOfRepeat(backlog, speed) {
    return REPEAT_MS / this.hurry(backlog) / Math.max(1, speed);
  }

  /** @param {number} backlog */
  hurry(backlog) {
    return 1 + Math.max(0, backlog - BACKLOG_EASY) / BACKLOG_EASY;
  }

  /**
   * Whether a stop is told in full ('full'), as one more of its sort ('more'), or not ('').
   * @param {Index} index @param {TraceRecord} record
   * @param {number} [root]  the command: each is told anew @returns {'full'|'more'|''}
   */
  toldAs(index, record, root = 0) {
    const span = index.spanOf(record);
    if (!isStop(record) || (span && span.cls === 'minor')) return '';
    const isNew = record.kind === 'gate' && this._isFirst(`gate ${record.gate}`, record.span);
    const isFirst =
      record.kind === 'kubelet'
        ? this._isFirst(`${root} kubelet`, record.pod) && // of a command's pods one is followed
          this._isFirst(`${root} ${record.step} ${record.state}`, record.seq)
        : this._isFirst(`${root} ${sortOf(index, record, span)}`, span ? span.seq : record.seq);
    if (!isFirst) return isLastOf(record, span) ? 'more' : '';
    return isNew || this._says(record, span) ? 'full' : '';
  }

  /** @param {string} sort @param {number|string} owner */
  _isFirst(sort, owner) {
    const first = this.seen.get(sort);
    if (first === undefined) this.seen.set(sort, owner);
    return first === undefined || first === owner;
  }

  /** @param {TraceRecord} record @param {Span|null} span */
  _says(record, span) {
    switch (record.kind) {
      case 'gate':
        return record.gate === 'etcd' || ['change', 'deny'].includes(record.verdict);
      case 'plugin':
        return record.verdict === 'change' || record.verdict === 'deny';
      case 'schedule':
        return record.phase !== 'bind';
      case 'kubelet':
        return record.state !== 'begin' || !!record.detail?.image; // what takes long, twice
      case 'response': // the gate that refused it has said so
        return !span?.records.some((record) => record.kind === 'gate' && record.verdict === 'deny');
      default:
        return true;
    }
  }
}

/** Whether one of many is counted with this record. @param {any} record @param {Span|null} span */
function isLastOf(record, span) {
  if (record.kind === 'kubelet')
    return record.state === 'fail' || (record.state === 'end' && record.step === 'container');
  if (record.kind !== 'gate') return false;
  return record.gate === 'etcd' ? !isOrdinary(span, record) : record.verdict === 'deny';
}

/**
 * What makes two hops the same to a viewer.
 * @param {Index} index @param {any} record @param {Span|null} span
 */
export function sortOf(index, record, span) {
  const open = /** @type {any} */ (span ? span.open : record);
  if (open.kind === 'work') return `work ${open.component.split('/')[0]}`;
  if (open.outside) return `command ${open.seq}`;
  const maker = /** @type {any} */ (span && index.spans.get(span.parent)?.open);
  const ended = record.verdict === 'deny' ? ' refused' : '';
  const client = (maker?.component || open.client).split('/')[0];
  const news = open.subresource === 'status' && span && tellsOfRunning(span) ? ' runs' : '';
  return `${client} ${open.verb} ${open.resource}/${open.subresource || ''}${ended}${news}`;
}

/** Whether a status says that something runs, or has run. @param {Span} span */
function tellsOfRunning(span) {
  const { status = {} } = writeOf(span)?.object || {};
  return (
    !!status.readyReplicas ||
    (status.containerStatuses || []).some(
      (/** @type {any} */ container) => container.state?.running || container.state?.terminated,
    )
  );
}
