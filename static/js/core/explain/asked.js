// @ts-check
/** Whom an admission plugin asked: webhooks with request and answer, policies with expressions. */
import { duration } from '../text/words.js';
import { patchLines } from '../text/yaml.js';
import { facts, fold, h, said } from './blocks.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */

/** @param {any} record  a plugin's @param {Words} words @returns {Block[]} */
export function askedBlocks(record, words) {
  const { calls = [], policies = [] } = record?.detail || {};
  return [
    ...calls.flatMap((/** @type {any} */ asked) => call(asked, words)),
    ...policies.flatMap((/** @type {any} */ checked) => policy(checked, words)),
  ];
}

// a verdict of a call, and the sign that stands for it
/** @type {Record<string, string>} */
const SIGNS = { failed: 'deny', ignored: 'noop' };

/** @param {any} asked @param {Words} words @returns {Block[]} */
function call(asked, words) {
  const sign = SIGNS[asked.verdict] || asked.verdict;
  const known = `asked.${asked.verdict}`;
  /** @type {Block[]} */ const blocks = [
    h(asked.webhook, sign, sign),
    facts([
      [words.t('fact.result'), words.has(known) ? words.t(known) : asked.verdict],
      [words.t('fact.reason'), asked.why],
      [words.t('fact.configuration'), asked.configuration],
      [words.t('fact.to'), asked.to],
      [words.t('fact.by'), asked.by],
      [words.t('fact.took'), asked.micros === undefined ? '' : duration(asked.micros)],
      [words.t('fact.httpCode'), asked.code],
      [words.t('fact.again'), asked.round ? asked.round : ''],
    ]),
  ];
  const ops = patchOf(asked);
  if (ops.length) blocks.push({ type: 'diff', lines: patchLines(ops) });
  if (asked.request) blocks.push(fold(words.t('reason.request'), asked.request));
  if (asked.response) blocks.push(fold(words.t('reason.answer'), asked.response));
  return blocks;
}

/** The patch a webhook sent, as operations. @param {any} asked @returns {any[]} */
function patchOf(asked) {
  const { patch } = asked;
  if (Array.isArray(patch)) return patch;
  if (typeof patch !== 'string' || !patch.startsWith('[')) return [];
  try {
    return JSON.parse(patch);
  } catch {
    return []; // it was cut, and the answer below has what there is
  }
}

/** @param {any} checked @param {Words} words @returns {Block[]} */
function policy(checked, words) {
  const failed =
    !!checked.error ||
    (checked.validations || []).some((/** @type {any} */ v) => v.result !== true);
  const unmet = (checked.matchConditions || []).length > 0;
  const sign = unmet
    ? 'skip'
    : failed
      ? 'deny'
      : (checked.mutations || []).length
        ? 'change'
        : 'allow';
  const blocks = [
    h(checked.policy, sign, sign),
    facts([
      [words.t('fact.policyBinding'), checked.binding],
      [words.t('fact.params'), checked.params],
      ...Object.entries(checked.variables || {}).map(
        ([name, value]) => /** @type {[string, any]} */ ([`variables.${name}`, show(value)]),
      ),
      ...Object.entries(checked.auditAnnotations || {}).map(
        ([name, value]) => /** @type {[string, any]} */ ([name, show(value)]),
      ),
    ]),
  ];
  const items = [
    ...(checked.matchConditions || []).map((/** @type {any} */ c) => expression(c, 'skip', words)),
    ...(checked.validations || []).map((/** @type {any} */ v) =>
      expression(v, v.result === true ? 'allow' : 'deny', words),
    ),
    ...(checked.mutations || []).map((/** @type {any} */ m) =>
      expression(m, m.error ? 'deny' : 'change', words),
    ),
  ];
  if (items.length) blocks.push({ type: 'rules', items });
  if (checked.error) blocks.push(said(checked.error));
  return blocks;
}

/** @param {any} evaluated @param {string} verdict @param {Words} words */
function expression(evaluated, verdict, words) {
  const value =
    evaluated.result === undefined ? '' : words.t('asked.is', { value: show(evaluated.result) });
  const small = [value, evaluated.message || evaluated.error || ''].filter(Boolean).join(' · ');
  const text =
    typeof evaluated === 'string' ? evaluated : evaluated.expression || evaluated.name || '';
  return {
    verdict,
    title: [{ text, as: /** @type {'code'} */ ('code') }],
    small,
  };
}

/** @param {any} value */
const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
