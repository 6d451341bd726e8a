// @ts-check
/**
 * A trace with its index and keyframes: the state at any record, backwards and forwards, in a few
 * milliseconds. Live feed and saved file fill it the same way. Never drops a record in between.
 * It may begin with a keyframe of the server instead of the first record.
 */
import { Index } from './index.js';
import { begin, emptyState, reduce, snapshot, weight } from './reducer.js';

/** @typedef {import('./records.js').TraceRecord} TraceRecord */
/** @typedef {import('./reducer.js').State} State */

// records between two keyframes; heavier states are kept further apart
const KEYFRAME_EVERY = 1000;

export class History {
  constructor() {
    this.index = new Index();
    /** @type {State[]} */ this.keyframes = [];
    /** @type {State} state at the last record */ this.head = emptyState();
    /** @type {State} state last asked for */ this._at = emptyState();
  }

  get first() {
    return this.index.first;
  }

  get last() {
    return this.index.last;
  }

  /**
   * What came before the records that follow.
   * @param {import('../../types.js').Keyframe} keyframe
   */
  begin(keyframe) {
    this.index.begin(keyframe);
    begin(this.head, keyframe);
    this.keyframes.push(snapshot(this.head));
  }

  /**
   * This trace from further back on.
   * @param {import('../../types.js').Keyframe|null} keyframe @param {TraceRecord[]} records
   */
  from(keyframe, records) {
    const longer = new History();
    if (keyframe) longer.begin(keyframe);
    longer.append(records);
    longer.append(this.index.records);
    return longer;
  }

  /**
   * Append what follows; records already known are left out, a gap is refused.
   * @param {TraceRecord[]} records @returns {number} how many were new
   */
  append(records) {
    let added = 0;
    for (const record of records) {
      if (this.last && record.seq <= this.last) continue;
      if (this.last && record.seq !== this.last + 1) {
        throw new RangeError(`record ${record.seq} does not follow ${this.last}`);
      }
      if (!this.keyframes.length) this._start(record);
      this.index.add(record);
      reduce(this.head, record);
      added += 1;
      const kept = this.keyframes[this.keyframes.length - 1];
      const every = Math.max(KEYFRAME_EVERY, weight(this.head) >> 1);
      if (record.seq - kept.seq >= every) this.keyframes.push(snapshot(this.head));
    }
    return added;
  }

  /**
   * The state right after a record. The caller may read it until the next call.
   * @param {number} seq @returns {State}
   */
  stateAt(seq) {
    const wanted = Math.max(this.first - 1, Math.min(seq, this.last));
    if (wanted === this.last) return this.head;
    const base = this._keyframe(wanted);
    if (this._at.seq > wanted || this._at.seq < base.seq) this._at = snapshot(base);
    for (let next = this._at.seq + 1; next <= wanted; next += 1) {
      const record = this.index.record(next);
      if (record) reduce(this._at, record);
    }
    return this._at;
  }

  /** The last record at or before a virtual time. @param {number} t */
  seqAtTime(t) {
    const { records } = this.index;
    let low = 0;
    let high = records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (records[middle].t <= t) low = middle + 1;
      else high = middle;
    }
    return this.first + low - 1;
  }

  /** @param {TraceRecord} record */
  _start(record) {
    for (const state of [this.head, this._at]) state.seq = record.seq - 1;
    this.keyframes.push(snapshot(this.head));
  }

  /** @param {number} seq */
  _keyframe(seq) {
    let low = 0;
    let high = this.keyframes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.keyframes[middle].seq <= seq) low = middle + 1;
      else high = middle;
    }
    return this.keyframes[Math.max(0, low - 1)] || emptyState();
  }
}
