// @ts-check
/**
 * One request's way through the gates as it stands at a record: each gate's verdict, its
 * tries and plugins, where the ticket stands and what is written on it. Pure.
 */
import { gatesOf, pluginsOf } from '../trace/facts.js';
import { httpMethod, kindOf } from '../trace/records.js';
import { shortPath } from '../text/yaml.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */

/**
 * @typedef {Object} GateRow
 * @property {string} gate
 * @property {string} verdict   allow, change, skip, noop, deny, again (an ordinary conflict), hold,
 *   work (being passed), wait
 * @property {string} said      the gate's own verdict once it has one
 * @property {any} detail
 * @property {any} record       the gate's record, or the plugin's while plugins are asked
 * @property {any[]} plugins
 * @property {boolean} passed
 */

/**
 * @param {Index} index @param {Span|null} span @param {number} seq
 * @param {{at: number}|null} held @returns {GateRow[]}
 */
export function gateRows(index, span, seq, held) {
  const all = gatesOf(index);
  /** @type {Map<string, any>} */ const gates = new Map();
  /** @type {Record<string, any[]>} */ const plugins = {};
  let answered = false;
  let isBeyond = false; // refused by whom it was to reach, not by a gate
  for (const record of span ? span.records : []) {
    if (record.seq > seq) break;
    const any = /** @type {any} */ (record);
    if (record.kind === 'stream') isBeyond = any.state === 'refused';
    else if (record.kind === 'gate' && (!isBeyond || any.verdict !== 'deny')) {
      gates.set(any.gate, any);
      (plugins[any.gate] ||= []).push(...agreed(any, any.gate, any.detail?.passed));
    } else if (record.kind === 'plugin') {
      (plugins[any.phase] ||= []).push(...agreed(any, any.phase, any.passed), any);
    } else if (record.kind === 'response') answered = true;
  }
  const isRead = span ? span.cls === 'read' : false;
  const isRefused = [...gates.values()].some((record) => record.verdict === 'deny');
  const furthest = all.findLastIndex(({ name }) => gates.has(name));
  return all.map(({ name: gate, reads }, at) => {
    const record = gates.get(gate) || null;
    const asked = plugins[gate] || [];
    const last = asked[asked.length - 1];
    const inside = !record && asked.length > 0;
    const heldHere = !!held && (held.at === record?.seq || asked.some((p) => p.seq === held.at));
    const ended = record && isOrdinary(span, record) ? 'again' : record?.verdict;
    let verdict = ended || (inside ? 'work' : 'wait');
    if (inside && last.verdict === 'deny') verdict = 'deny';
    if (heldHere) verdict = 'hold';
    const isLeftOut = at < furthest || (answered && isRead && !reads && !isRefused);
    if (!record && !inside && isLeftOut) verdict = 'skip';
    return {
      gate,
      verdict,
      said: ended || '',
      detail: (record && record.detail) || {},
      record: record || last || null,
      plugins: asked,
      passed:
        (!!record && !heldHere && !STOPPED.includes(verdict)) ||
        (verdict === 'skip' && at < furthest),
    };
  });
}

// at these gates a request ends
export const STOPPED = ['deny', 'again'];

/**
 * Whether a refusal is everyday work: a component wrote over what somebody else had changed in
 * between. It reads again and tries once more.
 * @param {Span|null} span @param {any} record  of the etcd gate, or the answer
 */
export function isOrdinary(span, record) {
  const code = record?.kind === 'response' ? String(record.code) : record?.detail?.word;
  return (
    !!span &&
    span.type === 'request' &&
    !span.open.outside &&
    code === '409' &&
    span.open.verb !== 'create'
  );
}

/**
 * Plugins that only agreed, or had nothing to do, are told with the next record of their phase.
 * @param {any} record @param {string} phase @param {[string, string, string][]|undefined} passed
 */
export function agreed(record, phase, passed) {
  const names = (passed || []).flatMap(([plugins, verdict, why]) =>
    plugins.split(',').map((plugin) => ({ plugin, verdict, why })),
  );
  return names.map((answer, i) => ({
    kind: 'plugin',
    seq: record.seq - 1 + (i + 1) / (names.length + 1),
    t: record.t,
    span: record.span,
    phase,
    ops: [],
    ...answer,
  }));
}

/** Where the ticket stands: the gate that comes next, or the one it is in. -1 when it is gone. */
export function ticketStop(
  /** @type {GateRow[]} */ rows,
  /** @type {Span|null} */ span,
  /** @type {number} */ seq,
) {
  if (!span || span.seq > seq || (span.close && span.close.seq <= seq)) return -1;
  const here = rows.findIndex((row) => row.verdict === 'hold' || row.verdict === 'work');
  if (here >= 0) return here;
  if (rows.some((row) => STOPPED.includes(row.verdict))) return -1;
  const next = rows.findIndex((row) => row.verdict === 'wait');
  return next < 0 ? rows.length - 1 : next;
}

/**
 * The plugins not asked yet in the phase the request is in.
 * @param {Index} index @param {GateRow} row
 */
export function stillToAsk(index, row) {
  if (!row.plugins.length) return [];
  const order = pluginsOf(index, row.gate);
  const asked = new Set(row.plugins.flatMap((p) => p.plugin.split(',')));
  return order.slice(order.findLastIndex((/** @type {string} */ name) => asked.has(name)) + 1);
}

/**
 * What is written on the ticket.
 * @param {Index} index @param {Span} span @param {GateRow[]} rows @param {number} [seq]
 */
export function ticketOf(index, span, rows, seq = Infinity) {
  const { verb, resource, subresource } = /** @type {any} */ (span.open);
  const changes = rows.flatMap((row) => row.plugins).filter((p) => p.verdict === 'change');
  const last = changes[changes.length - 1];
  const punches = rows.filter((row) => row.passed).map((row) => row.said);
  if (last && rows.some((row) => row.verdict === 'hold')) punches.push('change');
  const prepared = rows.some((row) => row.gate === 'prepare' && row.passed);
  return {
    verb: `${httpMethod(verb)} ${subresource ? subresource : kindOf(resource)}`,
    name: nameOf(index, span, seq),
    unnamed: verb === 'create' && !subresource && !prepared && span.parent > 0,
    punches: punches.slice(-5),
    changed: last
      ? [...new Set((last.ops || []).map((/** @type {any} */ o) => shortPath(o.path)))]
      : [],
  };
}

/** What stands for a name that nothing tells of. */
export const UNNAMED = '?';

/** A name that is not given yet is told by its maker's, with a question mark. */
export function nameOf(/** @type {Index|null} */ index, /** @type {Span} */ span, seq = Infinity) {
  const { name, verb } = /** @type {any} */ (span.open);
  if (name || verb !== 'create') return name || '';
  const given = givenName(span, seq);
  if (given) return given;
  const maker = index?.spans.get(span.parent);
  const key = maker && maker.type === 'work' ? /** @type {any} */ (maker.open).key : '';
  return key ? `${key.slice(key.indexOf('/') + 1)}-?` : UNNAMED;
}

/**
 * The name the object got in `prepare`, or was stored under.
 * @param {Span} span @param {number} seq
 */
function givenName(span, seq) {
  for (const record of span.records) {
    if (record.seq > seq) return '';
    if (record.kind === 'gate' && record.detail?.name) return record.detail.name;
    if (record.kind === 'write') return /** @type {any} */ (record).name;
  }
  return '';
}

/** The write a request made at or before seq, if it made one. @param {Span} span */
export function writeOf(span, seq = Infinity) {
  return (
    /** @type {import('../trace/records.js').WriteRecord|undefined} */ (
      span.records.find((r) => r.kind === 'write' && r.seq <= seq)
    ) || null
  );
}

/** How many answers came when, for the crowd's corridor: requests per virtual second. */
export function rateAt(
  /** @type {Index} */ index,
  /** @type {number} */ seq,
  /** @type {number} */ windowUs,
) {
  const record = index.record(seq);
  if (!record) return 0;
  const from = record.t - windowUs;
  let count = 0;
  for (let i = lastStarted(index.requests, seq); i >= 0; i -= 1) {
    if (index.requests[i].t < from) break;
    count += 1;
  }
  return (count * 1e6) / windowUs;
}

/** @param {Span[]} spans @param {number} seq */
function lastStarted(spans, seq) {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].seq <= seq) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
