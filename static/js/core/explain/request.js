// @ts-check
/** What is said of a request at any of its gates: which it is, what it carries, what it changed. */
import { gateOf, gatesOf } from '../trace/facts.js';
import { httpMethod, pluralOf } from '../trace/records.js';
import { duration } from '../text/words.js';
import { difference, patchLines } from '../text/yaml.js';
import { writeOf } from '../request/corridor.js';
import { asYaml, facts, h, p } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */

/** @param {Model} model @param {Span} span @param {string} gate @param {Words} words */
export function crumb(model, span, gate, words) {
  const open = /** @type {any} */ (span.open);
  const gates = gatesOf(model.index);
  if (!gate)
    return words.t('crumb.request', {
      number: numberOf(model.index, span) || '…',
      what: `${httpMethod(open.verb)} ${open.subresource || pluralOf(open.resource)}`,
    });
  return words.t('crumb.gate', {
    number: numberOf(model.index, span) || '…',
    what: `${httpMethod(open.verb)} ${open.subresource || pluralOf(open.resource)}`,
    at: gates.findIndex(({ name }) => name === gate) + 1,
    of: gates.length,
  });
}

/**
 * Which request of its command this is, from 1; 0 when those before it are not here.
 * @param {Index} index @param {Span} span
 */
export function numberOf(index, span) {
  const root = span.roots[span.roots.length - 1];
  if (root !== span.seq && !index.covers(root)) return 0;
  let number = 0;
  const { requests } = index;
  for (let i = requests.length - 1; i >= 0 && requests[i].seq >= root; i -= 1) {
    const other = requests[i];
    if (other.seq <= span.seq && other.cls === 'change' && other.roots.includes(root)) number += 1;
  }
  return Math.max(1, number);
}

/** @param {string} label @param {Words} words */
export function classText(label, words) {
  const key = `class.${label.replace(/ /g, '')}`;
  return words.has(key) ? words.t(key) : label;
}

/** @param {Model} model @param {Span} span @param {string} gate @param {Words} words */
export function whatBlocks(model, span, gate, words) {
  const { cost } = gateOf(model.index, gate);
  return [
    p(words, `gate.${gate}.what`),
    ...requestFacts(model, span, words, [
      [words.t('fact.modelledCost'), cost ? duration(cost) : ''],
    ]),
  ];
}

/**
 * @param {Model} model @param {Span} span @param {Words} words @param {[string, any][]} [more]
 * @returns {Block[]}
 */
export function requestFacts(model, span, words, more = []) {
  const open = /** @type {any} */ (span.open);
  return [
    facts([
      [words.t('fact.request'), `${httpMethod(open.verb)} ${open.path}`],
      [words.t('fact.client'), open.client],
      [words.t('fact.user'), span.user?.name],
      [words.t('fact.groups'), (span.user?.groups || []).join(', ')],
      [
        words.t('fact.answer'),
        span.close ? /** @type {any} */ (span.close).code : words.t('fact.open'),
      ],
      ...more,
    ]),
  ];
}

/** @param {Model} model @param {Span} span @param {any} record @param {Words} words */
export function objectBlocks(model, span, record, words) {
  const ops = record && (record.ops || record.detail?.ops);
  const write = writeOf(span);
  /** @type {Block[]} */ const blocks = [];
  if (ops && ops.length) {
    blocks.push(h(words.t('object.step')), { type: 'diff', lines: patchLines(ops) });
  }
  if (write) {
    const before = model.index.before(write);
    const lines = before ? difference(before.object, write.object) : [];
    if (lines.length) {
      blocks.push(
        h(words.t('object.diff', { rev: String(write.rev), before: String(before?.rev) })),
        { type: 'diff', lines },
      );
    } else blocks.push(h(words.t('object.at', { rev: String(write.rev) })), asYaml(write.object));
  } else {
    const all = span.records.flatMap((r) => opsOf(r));
    if (all.length > (ops || []).length) {
      blocks.push(h(words.t('object.sofar')), { type: 'diff', lines: patchLines(all) });
    }
  }
  return blocks.length ? blocks : [p(words, 'object.none')];
}

/** What a gate or a plugin changed. @param {import('../trace/records.js').TraceRecord} record */
function opsOf(record) {
  if (record.kind === 'plugin') return record.ops;
  return record.kind === 'gate' ? record.detail?.ops || [] : [];
}

// where bytes become an object, and where an object becomes bytes
const FORMED = ['', 'decode', 'etcd'];

/**
 * The forms of what a request carried: only where it carried something.
 * @param {Span} span @param {string} gate @returns {Block[]}
 */
export function formBlocks(span, gate) {
  const carries = span.records.some((r) => r.kind === 'write' || opsOf(r).length > 0);
  return carries && FORMED.includes(gate) ? [{ type: 'forms', seq: span.seq }] : [];
}
