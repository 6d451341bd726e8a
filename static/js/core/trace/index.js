// @ts-check
/**
 * Everything known of a trace, arranged for asking: spans, writes, object histories, scheduling
 * cycles, pod steps, and for each outside request the trail of all that it caused.
 * Append-only: it holds the whole trace, past and future of the cursor alike. What speaks of one
 * moment is given what was known then: `knownAt` in known.js.
 */
import { Facts, componentOf } from './facts.js';
import { keyOf, objectKey, isBeat, meet, requestClass } from './records.js';

/** @typedef {import('./records.js').TraceRecord} TraceRecord */
/** @typedef {import('./records.js').WriteRecord} WriteRecord */

/**
 * A request or a piece of work, from its opening record to its closing one.
 * @typedef {Object} Opened
 * @property {number} seq
 * @property {number} t
 * @property {number} parent       span that made it, 0 for none
 * @property {number[]} roots      outside requests it goes back to, oldest first
 * @property {number[]} requests   of a work: the requests it made
 * @property {TraceRecord[]} records  everything between opening and closing
 * @property {string} cls          of a request: beat, read, minor, change; of a work: work
 * @property {number} promoted     the record by which it turned out to be a root, else 0
 */

/** @typedef {Opened & {type: 'request', open: import('../../types.js').RequestRecord,
 *   close: import('../../types.js').ResponseRecord|null, user: User|null}} RequestSpan */
/** @typedef {Opened & {type: 'work', open: import('../../types.js').WorkRecord,
 *   close: import('../../types.js').DoneRecord|null, user: null, cycle: number}} WorkSpan */
/** @typedef {RequestSpan | WorkSpan} Span */
/** @typedef {{name: string, groups?: string[]}} User  who a request turned out to come from */

const ROOTS_MAX = 4;

/** The last index whose value is <= wanted, or -1. @param {number[]} list @param {number} wanted */
export function lastAtMost(list, wanted) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** As lastAtMost, for records by seq. @param {{seq:number}[]} list @param {number} seq */
export function lastRecordAt(list, seq) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Finds requests and work among the spans that are known.
 * @template {{get: (seq: number) => Span | undefined}} Spans
 */
export class SpanLookup {
  /** @param {Spans} spans */
  constructor(spans) {
    this.spans = spans;
  }

  /** The request that began there. @param {number} seq */
  request(seq) {
    const span = this.spans.get(seq);
    return span && span.type === 'request' ? span : null;
  }

  /** The work that began there. @param {number} seq */
  work(seq) {
    const span = this.spans.get(seq);
    return span && span.type === 'work' ? span : null;
  }

  /** The span a record belongs to. @param {TraceRecord} record */
  spanOf(record) {
    return this.spans.get(record.span || record.seq) || null;
  }
}

/** @extends {SpanLookup<Map<number, Span>>} */
export class Index extends SpanLookup {
  constructor() {
    super(new Map());
    /** @type {TraceRecord[]} without gaps */ this.records = [];
    this.first = 1;
    /** @type {Map<number, TraceRecord>} those before them that are still in force */
    this.standing = new Map();
    /** @type {RequestSpan[]} requests that are neither heartbeats nor reads */ this.requests = [];
    /** @type {WorkSpan[]} */ this.works = [];
    /** @type {WriteRecord[]} in order of revision */ this.writes = [];
    /** @type {Map<number, WriteRecord>} */ this.byRev = new Map();
    /** @type {Map<string, WriteRecord[]>} */ this.histories = new Map();
    /** @type {Map<string, number[]>} object -> roots of its newest write that has any */
    this.rooted = new Map();
    /** @type {Map<number, number[]>} rev -> works it caused */ this.caused = new Map();
    /** @type {number[]} */ this.roots = [];
    /** @type {Map<number, number[]>} root -> seqs of its hops */ this.trails = new Map();
    /** @type {Map<string, TraceRecord[]>} pod key -> kubelet records */ this.steps = new Map();
    /** @type {Map<string, WorkSpan[]>} pod key -> scheduling cycles */ this.cycles = new Map();
    /** @type {number} */ this.cycleCount = 0;
    /** what the cluster told of its make-up */ this.facts = new Facts();
    /** @type {import('./facts.js').Telling[]} the records that told something new of it */
    this.told = [];
    this.injected = 0; // the newest record of an error that somebody had etcd answer
  }

  get last() {
    return this.first + this.records.length - 1;
  }

  /** @param {number} seq @returns {TraceRecord|undefined} */
  record(seq) {
    return this.records[seq - this.first] || this.standing.get(seq);
  }

  /**
   * What came before the records that follow.
   * @param {import('../../types.js').Keyframe} keyframe
   */
  begin({ seq, counts, command, records }) {
    this.first = seq + 1;
    for (const record of [...records, ...command].sort((a, b) => a.seq - b.seq)) {
      if (this.standing.has(record.seq)) continue;
      this.standing.set(record.seq, record);
      this._take(record);
    }
    this.cycleCount = counts.cycles;
  }

  /** Whether all that came of a request is here. @param {number} root */
  covers(root) {
    return root >= this.first;
  }

  /** Whether an object's past is here from its beginning on. @param {string} key */
  hasAllOf(key) {
    const [oldest] = this.histories.get(key) || [];
    return !oldest || oldest.seq >= this.first || oldest.op === 'create';
  }

  /** @param {TraceRecord} record  must be the next one */
  add(record) {
    if (!this.records.length) this.first = record.seq;
    this.records.push(record);
    this._take(record);
  }

  /** @param {TraceRecord} record */
  _take(record) {
    const take = /** @type {any} */ (this)[`_${record.kind}`];
    if (take) take.call(this, record);
    else this._inSpan(record);
  }

  /** The state of an object at a seq. @param {string} key @param {number} seq */
  objectAt(key, seq) {
    const history = this.histories.get(key);
    if (!history) return null;
    const at = lastRecordAt(history, seq);
    return at < 0 ? null : history[at];
  }

  /** The write before this one to the same object. @param {WriteRecord} write */
  before(write) {
    const history = this.histories.get(write.key) || [];
    const at = history.indexOf(write);
    return at > 0 && history[at - 1].op !== 'delete' ? history[at - 1] : null;
  }

  /** The newest root at or before seq, 0 if there is none. @param {number} seq */
  rootAt(seq) {
    const at = lastAtMost(this.roots, seq);
    return at < 0 ? 0 : this.roots[at];
  }

  // -- one method a kind ------------------------------------------------------------------------

  /** @param {any} record */
  _request(record) {
    const cls = requestClass(record);
    const parent = record.parent ? this.spans.get(record.parent) : null;
    const isRoot = record.roots
      ? record.roots.includes(record.seq)
      : record.outside && cls === 'change';
    const roots = record.roots || (isRoot ? [record.seq] : parent ? parent.roots : []);
    const span = this._open('request', record, record.parent, roots, cls);
    if (isRoot) this._root(record.seq);
    if (parent) parent.requests.push(record.seq);
    if (cls === 'change' || cls === 'minor') this.requests.push(span);
    this._hop(record, span);
  }

  /** @param {any} record */
  _work(record) {
    const revs = record.revs || [];
    const { resource } = componentOf(this, record.component);
    let roots = record.roots || this._rootsOf(revs);
    if (!roots.length && resource) roots = this._rootsOfObject(keyOf(resource, record.key));
    const span = this._open('work', record, 0, roots, 'work');
    this.works.push(span);
    for (const rev of revs) push(this.caused, rev, record.seq);
    if (record.component === 'scheduler') {
      push(this.cycles, keyOf('pods', record.key), span);
      this.cycleCount += 1;
      /** @type {any} */ (span).cycle = this.cycleCount;
    }
    this._hop(record, span);
  }

  /** @param {any} record */
  _gate(record) {
    const span = this._inSpan(record);
    if (!span) return;
    const detail = record.detail || {};
    if (detail.user) span.user = detail.user;
    if (detail.end === 'injected') this.injected = record.seq;
    this._tell(record, span.cls === 'read');
    const refused =
      record.verdict === 'deny' &&
      (record.gate === 'authentication' || record.gate === 'authorization');
    if (refused && /** @type {any} */ (span.open).outside && !span.roots.length)
      this._promote(span, record.seq);
  }

  /** @param {any} record */
  _component(record) {
    this._tell(record);
    for (const [resource, kind] of Object.entries(record.detail?.kinds || {}))
      meet(resource, { kind });
  }

  /**
   * Whoever reaches into a node is followed, though he changes nothing in the store.
   * @param {any} record
   */
  _stream(record) {
    const span = this._inSpan(record);
    if (span && /** @type {any} */ (span.open).outside && !span.roots.length)
      this._promote(span, record.seq);
  }

  /** @param {any} record */
  _plugin(record) {
    this._inSpan(record);
    this._tell(record);
  }

  /** @param {any} record */
  _write(record) {
    record.key = objectKey(record.resource, record.namespace, record.name);
    record.beat = isBeat(record.resource, record.subresource, record.op);
    meet(record.resource, record.object);
    // the revisions between those of a keyframe are not here
    if (record.seq >= this.first) this.writes.push(record);
    this.byRev.set(record.rev, record);
    push(this.histories, record.key, record);
    const roots = record.roots || this.spans.get(record.span)?.roots || [];
    if (roots.length) this.rooted.set(record.key, roots);
    this._inSpan(record);
  }

  /** @param {TraceRecord} record */
  _response(record) {
    this._close(record);
  }

  /** @param {TraceRecord} record */
  _done(record) {
    this._close(record);
  }

  /** @param {any} record */
  _kubelet(record) {
    const key = keyOf('pods', record.pod);
    push(this.steps, key, record);
    this._tell(record);
    const span = this.spans.get(record.span) || null;
    if (span) span.records.push(record);
    const roots = span && span.roots.length ? span.roots : this._rootsOfObject(key);
    this._trail(record, roots);
  }

  // -- inside -----------------------------------------------------------------------------------

  /** @param {any} record @param {boolean} [isRead] */
  _tell(record, isRead = false) {
    const { news } = this.facts;
    this.facts.take(record, isRead);
    if (this.facts.news > news) this.told.push({ record, isRead });
  }

  /**
   * @param {'request'|'work'} type @param {TraceRecord} record @param {number} parent
   * @param {number[]} roots @param {string} cls @returns {any}
   */
  _open(type, record, parent, roots, cls) {
    const span = /** @type {any} */ ({
      type,
      seq: record.seq,
      t: record.t,
      open: record,
      close: null,
      parent,
      roots,
      requests: [],
      records: [],
      cls,
      user: null,
      cycle: 0,
      promoted: 0,
    });
    this.spans.set(record.seq, span);
    return span;
  }

  /** @param {TraceRecord} record */
  _close(record) {
    const span = this._inSpan(record);
    if (span) span.close = /** @type {any} */ (record);
  }

  /** @param {TraceRecord} record @returns {Span|null} */
  _inSpan(record) {
    const span = this.spans.get(record.span) || null;
    if (!span || span.seq === record.seq) return span;
    span.records.push(record);
    this._hop(record, span);
    return span;
  }

  /** @param {TraceRecord} record @param {Span} span */
  _hop(record, span) {
    if (
      span.type === 'request' &&
      (span.cls === 'beat' || span.cls === 'read') &&
      !this.trails.has(span.seq)
    )
      return;
    if (record.kind !== 'queue' && record.kind !== 'watch') this._trail(record, span.roots);
  }

  /** @param {TraceRecord} record @param {number[]} roots */
  _trail(record, roots) {
    for (const root of roots) {
      const trail = this.trails.get(root);
      if (trail) trail.push(record.seq);
    }
  }

  /** @param {number} seq */
  _root(seq) {
    this.roots.push(seq);
    this.trails.set(seq, []);
  }

  /**
   * A refused read from outside, and what reaches into a node, is worth following too.
   * @param {Span} span @param {number} seq  of the record by which that turned out
   */
  _promote(span, seq) {
    span.promoted = seq;
    const at = lastAtMost(this.roots, span.seq) + 1;
    this.roots.splice(at, 0, span.seq);
    span.roots = [span.seq];
    this.trails.set(span.seq, [span.seq, ...span.records.map((r) => r.seq)]);
  }

  /** A write is told together with its gate, right after it. @param {number} seq */
  settled(seq) {
    const record = this.record(seq);
    const span = record && record.kind === 'write' ? this.spans.get(record.span) : null;
    const gate = span && span.records.find((r) => r.seq > seq && r.kind === 'gate');
    return gate ? gate.seq : seq;
  }

  /** @param {number[]} revs */
  _rootsOf(revs) {
    /** @type {number[]} */ const roots = [];
    for (const rev of revs) {
      const write = this.byRev.get(rev);
      const from = write?.roots || (write && this.spans.get(write.span)?.roots) || [];
      for (const root of from) if (!roots.includes(root)) roots.push(root);
    }
    roots.sort((a, b) => a - b);
    return roots.slice(-ROOTS_MAX);
  }

  /** @param {string} key */
  _rootsOfObject(key) {
    return this.rooted.get(key) || [];
  }
}

/** @template K, V @param {Map<K, V[]>} map @param {K} key @param {V} value */
function push(map, key, value) {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
