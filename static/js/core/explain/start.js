// @ts-check
/** Nothing has been asked yet: what is there, and what to ask. */
import { nodesOf } from '../cluster/objects.js';
import { explanation, h, p, tab } from './blocks.js';

/** @param {import('./index.js').Model} model @param {import('../text/words.js').Words} words */
export function explainStart(model, words) {
  if (model.loading) {
    return explanation({
      crumb: words.t('start.crumb'),
      title: words.t('loading.text', { n: model.read ?? model.index.last - model.index.first + 1 }),
      tabs: [tab(words, 'why', [p(words, 'start.emptyBody')])],
      badge: words.t('badge.what'),
    });
  }
  const nodes = nodesOf(model.state).length;
  return explanation({
    crumb: words.t('start.crumb'),
    title: words.t(nodes ? 'start.title' : 'start.empty'),
    tabs: [
      tab(words, 'why', [
        p(words, nodes ? 'start.body' : 'start.emptyBody', { n: nodes }),
        h(words.t('start.questions')),
        { type: 'cards' },
        h(words.t('start.signs')),
        { type: 'legend' },
      ]),
    ],
    badge: words.t('badge.what'),
    source: words.t('start.simulated'),
  });
}
