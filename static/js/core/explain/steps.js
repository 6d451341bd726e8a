// @ts-check
/** The steps inside a gate in words: the strategy's at `prepare`, etcd's at `etcd`. */
import { readCall, storageSteps, strategySteps } from '../request/steps.js';
import { h, p } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../request/steps.js').Step} Step */

const STRATEGY = ['prepare', 'validation'];

/**
 * What happened inside a gate, step by step; nothing for a gate that has no steps of its own.
 * @param {Model} model @param {Span} span @param {string} gate  '' for the request as a whole
 * @param {Words} words @returns {Block[]}
 */
export function stepBlocks(model, span, gate, words) {
  const { verb } = /** @type {any} */ (span.open);
  const isRead = !!readCall(model.index, verb);
  if (STRATEGY.includes(gate)) {
    const steps = strategySteps(model.index, span, model.state.seq);
    return steps.length ? [p(words, 'steps.strategy'), tree(steps, words)] : [];
  }
  if (gate !== 'etcd' && gate !== '' && !(isRead && gate === 'routing')) return [];
  const steps = storageSteps(model.index, span, model.state.seq);
  if (!steps.length) return [];
  const blocks = [h(words.t('steps.storage')), tree(steps, words), p(words, 'steps.storageWhat')];
  return isRead || gate !== 'etcd' ? blocks : [...blocks, faultOf(span)];
}

const OPS = { create: 'create', delete: 'delete', deletecollection: 'delete' };

/** What could be made to fail: a write like this one. @param {Span} span @returns {Block} */
function faultOf(span) {
  const { verb, resource } = /** @type {any} */ (span.open);
  const write = /** @type {any} */ (span.records.findLast((record) => record.kind === 'write'));
  const op = write ? write.op : /** @type {any} */ (OPS)[verb] || 'update';
  return { type: 'fault', resource: write ? write.resource : resource, op };
}

/** @param {Step[]} steps @param {Words} words @returns {Block} */
function tree(steps, words) {
  return {
    type: 'tree',
    items: steps.map(({ depth, verdict, call, key, params, said }) => ({
      depth,
      verdict,
      title: [{ text: words.has(`call.${call}`) ? words.t(`call.${call}`) : call, as: 'b' }],
      small: [key ? words.t(`step.${key}`, params) : '', said].filter(Boolean).join(' · '),
    })),
  };
}
