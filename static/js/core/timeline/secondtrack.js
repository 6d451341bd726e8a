// @ts-check
/**
 * What went on in the other cluster since a fork: its records behind the fork, as far as they were
 * read, for the thin bars beneath one's own; what it was at the fork, for its half of the map; and
 * where its pods are. Pure.
 */
import { History } from '../trace/history.js';
import { Player } from '../story/player.js';
import { timelineAt } from './timeline.js';

/** @typedef {import('./timeline.js').Bar} Bar */
/** @typedef {import('../cluster/forks.js').Comparison} Comparison */
/** @typedef {import('../trace/records.js').TraceRecord} TraceRecord */

// as many as the server compares
const RECORDS_MAX = 20_000;

export class SecondTrack {
  /** @param {string} cluster @param {number} from  the last record that both have */
  constructor(cluster, from) {
    this.cluster = cluster;
    this.from = from;
    this.history = new History();
    /** whether what it was at the fork is known */ this.isWhole = false;
    /** whether its clock stands still */ this.isStopped = false;
  }

  /** The last record that is known; that of the fork when none is. */
  get last() {
    return Math.max(this.from, this.history.last);
  }

  /** The record to read on from; 0 when that is enough. */
  get next() {
    return this.last - this.from < RECORDS_MAX ? this.last + 1 : 0;
  }

  /** @param {TraceRecord[]} records  those that follow */
  append(records) {
    this.history.append(records.filter(({ seq }) => seq > this.last));
  }

  /**
   * What it was at the fork: the end of what both have.
   * @param {import('../../types.js').Keyframe|null} keyframe @param {TraceRecord[]} records
   */
  begin(keyframe, records) {
    this.history = this.history.from(keyframe, records);
    this.isWhole = true;
  }

  /**
   * Standing at the last record up to a time, but not before the fork.
   * @param {number} t  virtual µs
   */
  playerAt(t) {
    const player = new Player(this.history, { live: true, watches: true });
    player.seek(Math.max(this.from, this.history.seqAtTime(t)));
    return player;
  }

  /**
   * The bars of each lane in a window of time.
   * @param {{from: number, to: number}} range @returns {Map<string, Bar[]>}
   */
  bars(range) {
    const { index } = this.history;
    if (this.last === this.from) return new Map();
    const { lanes } = timelineAt(index, { all: true }, index.last, range);
    const since = lanes.map(({ id, bars }) => ({
      id,
      bars: bars.filter(({ seq }) => seq > this.from),
    }));
    return new Map(since.filter(({ bars }) => bars.length).map(({ id, bars }) => [id, bars]));
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
  for (const difference of comparison.differences) {
    if (difference.kind !== 'Pod' || difference.asked || difference.after > after) continue;
    const names = here
      ? [difference.name, difference.name_there]
      : [difference.name_there, difference.name];
    const key = difference.key.replace(/[^/]*$/, names[0]);
    const known = parted.get(key) || { name: names[1], node: '', seq: 0, first: false };
    const other = here ? difference.there : difference.here;
    if (difference.what === 'spec.nodeName') known.node = other || '';
    known.seq ||= (here ? difference.seq_there : difference.seq_here) || 0;
    known.first ||= difference.key === comparison.first?.key;
    parted.set(key, known);
  }
  return parted;
}

/**
 * The nodes of which something else is wanted in the other cluster, once that is so: what their
 * kubelets say of them follows from their pods.
 * @param {Comparison} comparison @param {number} after  µs since the fork
 */
export function partedNodes(comparison, after) {
  const parted = comparison.differences.filter(
    (record) =>
      record.kind === 'Node' &&
      record.after <= after &&
      (record.asked || record.what.startsWith('spec.')),
  );
  return new Set(parted.map(({ name }) => name));
}
