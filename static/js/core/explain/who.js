// @ts-check
/** Who does something, as the subject of a sentence: a component or somebody's program. Pure. */
import { isController } from '../cluster/objects.js';

/** @typedef {import('../text/words.js').Words} Words */

const PROGRAM = /[/ (]/; // "kubectl/v1.33.2 (linux/amd64) kubernetes/…"

/** @param {string} component @param {Words} words */
export function whoIs(component, words) {
  if (component.startsWith('kubelet/'))
    return words.t('who.kubelet', { node: component.slice('kubelet/'.length) });
  if (component === 'scheduler') return words.t('who.scheduler');
  return words.t(isController(component) ? 'who.controller' : 'who.other', { component });
}

// those that ask in their own name, and for no controller
const PROGRAMS = new Set([
  'kube-apiserver',
  'kube-aggregator',
  'api-priority-and-fairness-config-consumer-v1',
]);

/**
 * Whoever sent a request: inside the cluster a component, outside of it a program.
 * @param {{client: string, outside?: boolean}} open @param {Words} words
 */
export function whoAsks({ client, outside }, words) {
  if (client === 'page') return words.t('who.page');
  if (client === 'controllermanager') return words.t('who.manager');
  if (!outside && !PROGRAMS.has(client)) return whoIs(client, words);
  return words.t('who.other', { component: client.split(PROGRAM, 1)[0] || 'client' });
}
