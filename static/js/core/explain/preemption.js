// @ts-check
/** Who has to leave for a pod that no node could take, where, and why there. */
import { h, p } from './blocks.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../cluster/schedule.js').Cycle} Cycle */

const SHOWN_MAX = 12;

/** Without its namespace. @param {string} pod */
export const nameOf = (pod) => pod.slice(pod.indexOf('/') + 1);

/** @param {Cycle} cycle @param {Words} words @returns {Block[]} */
export function preemptionBlocks({ preemption }, words) {
  if (!preemption) return [];
  const { node, victims, by, candidates, refused, ineligible } = preemption;
  if (ineligible) return [h(words.t('cycle.preempt')), p(words, 'cycle.preempt.not')];
  /** @type {Block[]} */ const blocks = [];
  if (node) {
    const names = victims.map(nameOf).join(', ');
    blocks.push(
      h(words.t('cycle.preempt.who', { node, n: victims.length }), 'star', 'hold'),
      p(words, 'cycle.preempt.victims', { victims: names, n: victims.length, node }),
      p(words, `cycle.preempt.by.${by}`, { node, n: candidates.length }),
    );
  }
  if (candidates.length) blocks.push(candidateTable(candidates, words));
  if (!node && refused.length)
    blocks.push(h(words.t('cycle.preempt')), p(words, 'cycle.preempt.nobody'));
  for (const [other, reason] of refused.slice(0, 3))
    blocks.push(p(words, 'cycle.preempt.refused', { node: other, reason }));
  return blocks;
}

/** @param {NonNullable<Cycle['preemption']>['candidates']} candidates @param {Words} words */
function candidateTable(candidates, words) {
  return /** @type {Block} */ ({
    type: 'table',
    head: ['node', 'leave', 'highest', 'violations'].map((column) =>
      words.t(`cycle.preempt.${column}`),
    ),
    rows: candidates
      .slice(0, SHOWN_MAX)
      .map((candidate) => [
        candidate.node,
        candidate.victims.map(nameOf).join(', '),
        words.number(candidate.highest),
        words.number(candidate.violations),
      ]),
  });
}
