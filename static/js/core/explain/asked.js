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
    ...calls.flatMap((/** @type {any} */ one) => call(one, words)),
    ...policies.flatMap((/** @type {any} */ one) => policy(one, words)),
  ];
}

// a verdict of a call, and the sign that stands for it
/** @type {Record<string, string>} */
const SIGNS = { failed: 'deny', ignored: 'noop' };

/** @param {any} one @param {Words} words @returns {Block[]} */
function call(one, words) {
  const sign = SIGNS[one.verdict] || one.verdict;
  const known = `asked.${one.verdict}`;
  /** @type {Block[]} */ const blocks = [
    h(one.webhook, sign, sign),
    facts([
      [words.t('fact.result'), words.has(known) ? words.t(known) : one.verdict],
      [words.t('fact.reason'), one.why],
      [words.t('fact.configuration'), one.configuration],
      [words.t('fact.to'), one.to],
      [words.t('fact.by'), one.by],
      [words.t('fact.took'), one.micros === undefined ? '' : duration(one.micros)],
      [words.t('fact.httpCode'), one.code],
      [words.t('fact.again'), one.round ? one.round : ''],
    ]),
  ];
  const ops = patchOf(one);
  if (ops.length) blocks.push({ type: 'diff', lines: patchLines(ops) });
  if (one.request) blocks.push(fold(words.t('reason.request'), one.request));
  if (one.response) blocks.push(fold(words.t('reason.answer'), one.response));
  return blocks;
}

/** The patch a webhook sent, as operations. @param {any} one @returns {any[]} */
function patchOf(one) {
  const { patch } = one;
  if (Array.isArray(patch)) return patch;
  if (typeof patch !== 'string' || !patch.startsWith('[')) return [];
  try {
    return JSON.parse(patch);
  } catch {
    return []; // it was cut, and the answer below has what there is
  }
}

/** @param {any} one @param {Words} words @returns {Block[]} */
function policy(one, words) {
  const failed =
    !!one.error || (one.validations || []).some((/** @type {any} */ v) => v.result !== true);
  const unmet = (one.matchConditions || []).length > 0;
  const sign = unmet ? 'skip' : failed ? 'deny' : (one.mutations || []).length ? 'change' : 'allow';
  const blocks = [
    h(one.policy, sign, sign),
    facts([
      [words.t('fact.policyBinding'), one.binding],
      [words.t('fact.params'), one.params],
      ...Object.entries(one.variables || {}).map(
        ([name, value]) => /** @type {[string, any]} */ ([`variables.${name}`, show(value)]),
      ),
      ...Object.entries(one.auditAnnotations || {}).map(
        ([name, value]) => /** @type {[string, any]} */ ([name, show(value)]),
      ),
    ]),
  ];
  const items = [
    ...(one.matchConditions || []).map((/** @type {any} */ c) => expression(c, 'skip', words)),
    ...(one.validations || []).map((/** @type {any} */ v) =>
      expression(v, v.result === true ? 'allow' : 'deny', words),
    ),
    ...(one.mutations || []).map((/** @type {any} */ m) =>
      expression(m, m.error ? 'deny' : 'change', words),
    ),
  ];
  if (items.length) blocks.push({ type: 'rules', items });
  if (one.error) blocks.push(said(one.error));
  return blocks;
}

/** @param {any} one @param {string} verdict @param {Words} words */
function expression(one, verdict, words) {
  const value = one.result === undefined ? '' : words.t('asked.is', { value: show(one.result) });
  const small = [value, one.message || one.error || ''].filter(Boolean).join(' · ');
  const text = typeof one === 'string' ? one : one.expression || one.name || '';
  return {
    verdict,
    title: [{ text, as: /** @type {'code'} */ ('code') }],
    small,
  };
}

/** @param {any} value */
const show = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
