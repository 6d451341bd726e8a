// @ts-check
/** Everything a command caused has come to rest: what became of it, and whose story to read. */
import { countStages, lastPart, ownerTree, podsOf } from '../cluster.js';
import { nameOf } from '../corridor.js';
import { kindOf } from '../records.js';
import { duration } from '../words.js';
import { explanation, facts, h, p, tab } from './blocks.js';
import { objectBlocks } from './gates.js';

/** @typedef {import('./index.js').Model} Model */

/** Whether nothing on the followed way is under way any more. @param {Model} model */
export function isAtRest(model) {
  const { current, state, index } = model;
  const root = index.spans.get(current.root);
  if (!root || !current.hop || state.seq < index.last || state.held) return false;
  if (!firstRev(root)) return false;
  const close = /** @type {any} */ (root.close);
  if (!close || close.code >= 400) return false;
  for (const [component, open] of state.working) {
    if (component.startsWith('kubelet/')) continue;
    for (const seq of open) if (index.spans.get(seq)?.roots.includes(current.root)) return false;
  }
  return podsOfRoot(model).every((pod) => ['ready', 'succeeded', 'failed'].includes(pod.stage));
}

/** The pods that hang below the object of the command. @param {Model} model */
function podsOfRoot(model) {
  const root = model.index.spans.get(model.current.root);
  const open = /** @type {any} */ (root?.open || {});
  const key = `${open.resource}/${open.namespace || ''}/${root ? nameOf(model.index, root) : ''}`;
  const item = ownerTree(model.state, open.namespace || 'default').find((i) => i.key === key);
  const keys = new Set();
  const walk = (/** @type {any} */ one) => {
    keys.add(one.key);
    one.kids.forEach(walk);
  };
  if (item) walk(item);
  return podsOf(model.state).filter((pod) => keys.has(pod.key));
}

/** @param {Model} model @param {import('../words.js').Words} words */
export function explainRest(model, words) {
  const root = /** @type {import('../index.js').Span} */ (
    model.index.spans.get(model.current.root)
  );
  const open = /** @type {any} */ (root.open);
  const pods = podsOfRoot(model);
  const counts = countStages(pods);
  const took = duration((model.current.hop?.t || root.t) - root.t);
  const name = `${kindOf(open.resource)} ${nameOf(model.index, root)}`;
  const title = pods.length
    ? words.t('rest.pods', { n: counts.ready, of: pods.length, time: took })
    : words.t('rest.done', { name, time: took });
  return explanation({
    crumb: words.t('crumb.rest', { name }),
    title,
    tabs: [
      tab(words, 'why', [
        p(words, 'rest.body'),
        ...(pods.length
          ? [
              h(words.t('rest.stories')),
              {
                type: /** @type {'pods'} */ ('pods'),
                items: pods.slice(0, 12).map((pod) => ({
                  key: pod.key,
                  text: lastPart(pod.name),
                  small: `${words.t(`stage.${pod.stage}`)} · ${pod.node}`,
                  stage: pod.stage,
                })),
              },
            ]
          : []),
        h(words.t('rest.numbers')),
        facts([
          [
            words.t('rest.requests'),
            model.index.requests.filter((r) => r.cls === 'change' && r.roots.includes(root.seq))
              .length,
          ],
          [words.t('rest.revisions'), `${firstRev(root)} – ${lastRev(model)}`],
          [words.t('fact.took'), took],
        ]),
      ]),
      tab(words, 'object', objectBlocks(model, root, null, words)),
    ],
    badge: words.t('badge.recorded'),
    source: words.t('source.recorded'),
  });
}

/** The newest revision this command led to. @param {Model} model */
function lastRev(model) {
  const { writes, spans } = model.index;
  for (let i = writes.length - 1; i >= 0; i -= 1) {
    if (spans.get(writes[i].span)?.roots.includes(model.current.root)) return writes[i].rev;
  }
  return '';
}

/** @param {import('../index.js').Span} root */
function firstRev(root) {
  const write = root.records.find((r) => r.kind === 'write');
  return write ? String(/** @type {any} */ (write).rev) : '';
}
