// @ts-check
/**
 * What was known of a trace at a record: an Index that ends there, whatever follows in the one it
 * is made from. Everything that speaks of a moment is given this one, so that none of it can say
 * what only comes later. Lists are cut when they are asked for.
 */
import { Facts } from './facts.js';
import { lastAtMost, lastRecordAt, SpanLookup } from './index.js';

/** @typedef {import('./index.js').Index} Index */
/** @typedef {import('./index.js').Span} Span */

/** @type {WeakMap<Index, {seq: number, end: number, known: Index}>} the one asked for last */
const kept = new WeakMap();

/** @type {WeakMap<Index, {news: number, facts: Facts}>} what was made last of so many tellings */
const told = new WeakMap();

/** @param {Index} index @param {number} seq @returns {Index} */
export function knownAt(index, seq) {
  if (seq >= index.last) return index;
  const last = kept.get(index);
  if (last && last.seq === seq && last.end === index.last) return last.known;
  const known = /** @type {Index} */ (/** @type {unknown} */ (new Known(index, seq)));
  kept.set(index, { seq, end: index.last, known });
  return known;
}

/**
 * What an Index is read by; it is never added to.
 * @extends {SpanLookup<{get: (seq: number) => Span | undefined}>}
 */
class Known extends SpanLookup {
  /** @type {Index} nobody who is handed this one reaches it */ #whole;

  /** @param {Index} whole @param {number} seq */
  constructor(whole, seq) {
    super({ get: (seq) => this.span(whole.spans.get(seq)) });
    this.#whole = whole;
    this.first = whole.first;
    this.last = Math.max(seq, whole.first - 1);
    /** @type {Map<number, Span>} the spans that were cut */ this.cut = new Map();
    this.byRev = { get: (/** @type {number} */ rev) => this.upTo(whole.byRev.get(rev)) };
    this.histories = lists(whole.histories, (list) => this.records(list));
    this.steps = lists(whole.steps, (list) => this.records(list));
    this.cycles = lists(whole.cycles, (list) => this.spanList(list));
    this.caused = lists(whole.caused, (list) => this.seqs(list));
    this.trails = {
      get: (/** @type {number} */ root) =>
        this.isRoot(root) ? this.seqs(whole.trails.get(root) || []) : undefined,
    };
  }

  get roots() {
    return this.keep('roots', () =>
      this.seqs(this.#whole.roots).filter((root) => this.isRoot(root)),
    );
  }

  get requests() {
    return this.keep('requests', () => this.spanList(this.#whole.requests));
  }

  get works() {
    return this.keep('works', () => this.spanList(this.#whole.works));
  }

  get writes() {
    return this.keep('writes', () => this.records(this.#whole.writes));
  }

  get facts() {
    return this.keep('facts', () => this.factsOf(this.#whole));
  }

  /** @param {number} seq */
  record(seq) {
    return seq <= this.last ? this.#whole.record(seq) : undefined;
  }

  /** @param {string} key @param {number} seq */
  objectAt(key, seq) {
    return this.#whole.objectAt(key, Math.min(seq, this.last));
  }

  /** @param {number} root */
  covers(root) {
    return this.#whole.covers(root);
  }

  /** @param {string} key */
  hasAllOf(key) {
    return this.#whole.hasAllOf(key);
  }

  /** @param {import('./records.js').WriteRecord} write */
  before(write) {
    return this.#whole.before(write);
  }

  /** @param {number} seq */
  rootAt(seq) {
    const at = lastAtMost(this.roots, seq);
    return at < 0 ? 0 : this.roots[at];
  }

  // -- inside -----------------------------------------------------------------------------------

  /** The fields are made when they are asked for. @template T @param {string} name */
  keep(name, /** @type {() => T} */ make) {
    const value = make();
    Object.defineProperty(this, name, { value });
    return value;
  }

  /** Nothing new is told between most moments. @param {Index} whole */
  factsOf(whole) {
    const news = whole.told.findLastIndex(({ record }) => record.seq <= this.last) + 1;
    const last = told.get(whole);
    if (last && last.news === news) return last.facts;
    const facts = Facts.of(whole.told, this.last);
    told.set(whole, { news, facts });
    return facts;
  }

  /** Some requests are found to be worth following only later. @param {number} root */
  isRoot(root) {
    const span = this.#whole.spans.get(root);
    return !!span && span.seq <= this.last && span.promoted <= this.last;
  }

  /** @template {{seq: number}} T @param {T|undefined} record */
  upTo(record) {
    return record && record.seq <= this.last ? record : undefined;
  }

  /** @param {number[]} list */
  seqs(list) {
    return list.slice(0, lastAtMost(list, this.last) + 1);
  }

  /** @template {{seq: number}} T @param {T[]} list */
  records(list) {
    return list.slice(0, lastRecordAt(list, this.last) + 1);
  }

  /** @template {Span} T @param {T[]} list */
  spanList(list) {
    const known = this.records(list);
    for (let at = 0; at < known.length; at += 1)
      if (newestOf(known[at]) > this.last) known[at] = /** @type {T} */ (this.span(known[at]));
    return known;
  }

  /** @param {Span|undefined} span @returns {Span|undefined} */
  span(span) {
    if (!span || span.seq > this.last) return undefined;
    if (newestOf(span) <= this.last) return span;
    const { records, requests } = span;
    const known = this.cut.get(span.seq);
    if (known) return known;
    const own = this.records(records);
    const made = /** @type {Span} */ ({
      ...span,
      records: own,
      requests: this.seqs(requests),
      close: this.upTo(span.close || undefined) || null,
      ...(span.promoted > this.last ? { promoted: 0, roots: [] } : {}),
      user: own.reduce(
        (user, record) => (record.kind === 'gate' && record.detail?.user) || user,
        /** @type {import('./index.js').User|null} */ (null),
      ),
    });
    this.cut.set(span.seq, made);
    return made;
  }
}

/** The newest record of a span. @param {Span} span */
function newestOf({ records, requests }) {
  const record = records.length ? records[records.length - 1].seq : 0;
  const request = requests.length ? requests[requests.length - 1] : 0;
  return record > request ? record : request;
}

/** @template K, V, W @param {Map<K, V[]>} map @param {(list: V[]) => W[]} cut */
function lists(map, cut) {
  return {
    get(/** @type {K} */ key) {
      const list = map.get(key);
      const known = list && cut(list);
      return known && known.length ? known : undefined;
    },
  };
}
