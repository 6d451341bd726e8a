// @ts-check
/**
 * What went on in the other cluster since a fork, for the thin bars beneath one's own: its records
 * behind the fork, as far as they were read, and where its pods are. Pure.
 */
import { Index } from './index.js';
import { timelineAt } from './timeline.js';

/** @typedef {import('./timeline.js').Bar} Bar */
/** @typedef {import('./forks.js').Comparison} Comparison */
/** @typedef {import('./records.js').TraceRecord} TraceRecord */

// as many as the server compares
const RECORDS_MAX = 20_000;

export class SecondTrack {
  /** @param {string} cluster @param {number} from  the last record that both have */
  constructor(cluster, from) {
    this.cluster = cluster;
    this.from = from;
    this.index = new Index();
  }

  /** The record to read on from; 0 when that is enough. */
  get next() {
    const { index, from } = this;
    return index.records.length < RECORDS_MAX ? from + 1 + index.records.length : 0;
  }

  /** @param {TraceRecord[]} records  those that follow */
  append(records) {
    for (const record of records) if (record.seq === this.next) this.index.add(record);
  }

  /**
   * The bars of each lane in a window of time.
   * @param {{from: number, to: number}} range @returns {Map<string, Bar[]>}
   */
  bars(range) {
    const { index } = this;
    if (!index.records.length) return new Map();
    const { lanes } = timelineAt(index, { all: true }, index.last, range);
    return new Map(
      lanes.filter(({ bars }) => bars.length).map(({ id, bars }) => [id, bars]),
    );
  }
}

/**
 * Pods that came out otherwise, by their keys here, once that has come to pass: their names and
 * nodes in the other cluster ('' where they are on none), the record of that, and which was first.
 * @param {Comparison} comparison @param {boolean} here  whether the fork is the one that is open
 * @param {number} after  µs since the fork
 * @returns {Map<string, {name: string, node: string, seq: number, first: boolean}>}
 */
export function partedPods(comparison, here, after) {
  const parted = new Map();
  for (const one of comparison.differences) {
    if (one.kind !== 'Pod' || one.asked || one.after > after) continue;
    const names = here ? [one.name, one.name_there] : [one.name_there, one.name];
    const key = one.key.replace(/[^/]*$/, names[0]);
    const known = parted.get(key) || { name: names[1], node: '', seq: 0, first: false };
    const other = here ? one.there : one.here;
    if (one.what === 'spec.nodeName') known.node = other || '';
    known.seq ||= (here ? one.seq_there : one.seq_here) || 0;
    known.first ||= one.key === comparison.first?.key;
    parted.set(key, known);
  }
  return parted;
}
