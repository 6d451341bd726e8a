// @ts-check
/**
 * Requests found by words, or by `kind:pod ns:default verb:patch code:409 user:student`. What is
 * answered is looked at once; heartbeats, reads and status updates only where they are shown. Pure.
 */
import { nameOf, writeOf } from './corridor.js';
import { kindOf, pluralOf } from '../trace/records.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').RequestSpan} RequestSpan */
/** @typedef {'beat'|'read'|'status'} Sort  what is left out unless it is asked for */
/** @typedef {{text: string, shows: Sort[]}} Query */
/** @typedef {{seq: number, to: number, t: number, span: RequestSpan}} Hit  to: the record to see */

/** @type {Sort[]} */
export const SORTS = ['beat', 'read', 'status'];
export const HITS_MAX = 1000;

/** @type {Record<string, (span: RequestSpan, wanted: string) => boolean>} */
const FIELDS = {
  kind: ({ open }, wanted) =>
    [kindOf(open.resource).toLowerCase(), pluralOf(open.resource)].includes(wanted),
  ns: ({ open }, wanted) => open.namespace === wanted,
  verb: ({ open }, wanted) => open.verb === wanted,
  code: ({ close }, wanted) => String(close?.code || '').startsWith(wanted),
  user: (span, wanted) => whoOf(span).includes(wanted),
  name: (span, wanted) => nameOf(null, span).toLowerCase().includes(wanted),
};

/** What is typed, as tests that all must hold. @param {string} text */
function testsOf(text) {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .map((part) => {
      const [, field, wanted] = /^(\w+):(.+)$/.exec(part) || [];
      const test = field && FIELDS[field];
      if (test) return (/** @type {RequestSpan} */ span) => test(span, wanted);
      return (/** @type {RequestSpan} */ span) => textOf(span).includes(part);
    });
}

/** @param {RequestSpan} span */
function whoOf({ user, open }) {
  return `${user?.name || ''} ${open.client}`.toLowerCase();
}

/** @param {RequestSpan} span */
function textOf(span) {
  const { open, close } = span;
  const text = close ? `${close.code} ${close.reason} ${close.message}` : '';
  const what = `${open.verb} ${open.path} ${kindOf(open.resource)} ${nameOf(null, span)}`;
  return `${what} ${whoOf(span)} ${text}`.toLowerCase();
}

/** @param {RequestSpan} span @returns {Sort|'change'} */
function sortOf({ cls, open }) {
  if (cls === 'beat' || cls === 'read') return cls;
  return open.subresource === 'status' ? 'status' : 'change';
}

/** The hits of one query, which goes on with what is appended to the trace. */
export class Finder {
  constructor() {
    /** @type {Hit[]} */ this.hits = [];
    this._key = '';
    this._next = 0;
    /** @type {Index|null} */ this._index = null;
  }

  /**
   * In the order in which they were asked; the first HITS_MAX of them.
   * @param {Index} index @param {Query} query @returns {Hit[]}
   */
  find(index, query) {
    const key = JSON.stringify(query);
    if (index !== this._index || key !== this._key) {
      Object.assign(this, { _index: index, _key: key, _next: index.first, hits: [] });
    }
    const tests = testsOf(query.text);
    if (!tests.length && !query.shows.length) return this.hits;
    const before = this.hits.length;
    for (; this._next <= index.last && this.hits.length < HITS_MAX; this._next += 1) {
      const record = index.record(this._next);
      const span = record?.kind === 'response' ? index.request(record.span) : null;
      if (span && this._isHit(span, query, tests)) this.hits.push(hitOf(span));
    }
    if (this.hits.length > before) this.hits.sort((a, b) => a.seq - b.seq);
    return this.hits;
  }

  /** Of what is shown besides only those sorts are hits when nothing is typed. */
  _isHit(
    /** @type {RequestSpan} */ span,
    /** @type {Query} */ { shows },
    /** @type {ReturnType<typeof testsOf>} */ tests,
  ) {
    const sort = sortOf(span);
    const isShown = sort === 'change' ? !!tests.length : shows.includes(sort);
    return isShown && tests.every((test) => test(span));
  }
}

/** Where its outcome is seen: its refusal, its write, else its answer. @param {RequestSpan} span */
function hitOf(span) {
  const denied = span.records.find((record) => record.kind === 'gate' && record.verdict === 'deny');
  const to = denied || writeOf(span) || span.close || span.open;
  return { seq: span.seq, to: to.seq, t: span.t, span };
}

/**
 * The hit beside the one that was visited, around the ends; first of all the newest up to the
 * cursor.
 * @param {Hit[]} hits @param {number} visited  its seq, 0 for none @param {number} cursor
 * @param {1|-1} direction
 */
export function hitBeside(hits, visited, cursor, direction) {
  if (!visited) return hits.findLast((hit) => hit.seq <= cursor) || hits[0] || null;
  const at =
    direction > 0
      ? hits.findIndex((hit) => hit.seq > visited)
      : hits.findLastIndex((hit) => hit.seq < visited);
  return hits.at(at < 0 ? (direction > 0 ? 0 : -1) : at) || null;
}
