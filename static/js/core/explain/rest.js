// @ts-check
/** Everything a command caused has come to rest: what became of it, and whose story to read. */
import { countStages, shortPod, objectsOf, ownerTree, podsOf } from '../cluster/objects.js';
import { nameOf } from '../request/corridor.js';
import { outcomeOf, rootOutcome, sayOutcome, sinceOf } from '../outcome/index.js';
import { kindOf } from '../trace/records.js';
import { duration } from '../text/words.js';
import { explanation, facts, h, p, tab } from './blocks.js';
import { objectBlocks } from './request.js';

/** @typedef {import('./index.js').Model} Model */

/**
 * Whether nothing on the followed way is under way: what was asked for is there, or is stuck.
 * @param {Pick<Model, 'index'|'state'|'current'>} model
 */
export function isAtRest(model) {
  const { current, state, index } = model;
  const root = index.spans.get(current.root);
  const hop = current.span;
  if (!root || !current.hop || state.held || !firstRev(root)) return false;
  const close = /** @type {any} */ (root.close);
  if (!close || close.code >= 400) return false;
  if (hop ? !hop.close : /** @type {any} */ (current.hop).state === 'begin') return false;
  for (const [component, open] of state.working) {
    if (component.startsWith('kubelet/')) continue;
    for (const seq of open) if (index.spans.get(seq)?.roots.includes(current.root)) return false;
  }
  const became = rootOutcome(model.index, model.state, model.current.root);
  return became !== null && became.state !== 'underway';
}

/** The pods that hang below the object of the command. @param {Model} model */
function podsOfRoot(model) {
  const root = model.index.spans.get(model.current.root);
  const open = /** @type {any} */ (root?.open || {});
  const key = `${open.resource}/${open.namespace || ''}/${root ? nameOf(model.index, root) : ''}`;
  const item = ownerTree(model.state, open.namespace || 'default').find((i) => i.key === key);
  const keys = new Set();
  const walk = (/** @type {any} */ branch) => {
    keys.add(branch.key);
    branch.kids.forEach(walk);
  };
  if (item) walk(item);
  return podsOf(model.state).filter((pod) => keys.has(pod.key));
}

/** @param {Model} model @param {import('../text/words.js').Words} words */
export function explainRest(model, words) {
  const root = /** @type {import('../trace/index.js').Span} */ (
    model.index.spans.get(model.current.root)
  );
  const open = /** @type {any} */ (root.open);
  const pods = podsOfRoot(model);
  const counts = countStages(pods);
  const name = `${kindOf(open.resource)} ${nameOf(model.index, root)}`;
  const became = /** @type {import('../outcome/sentence.js').Outcome} */ (
    rootOutcome(model.index, model.state, model.current.root)
  );
  const took = duration(Math.max(0, sinceOf(model.index, model.state, became) - root.t));
  const isMet = became.state === 'met';
  const title = !isMet
    ? sayOutcome(became, words, model.clock)
    : became.key === 'outcome.jobDone'
      ? words.t(became.key, became.params)
      : pods.length && counts.ready === pods.length
        ? words.t('rest.pods', { n: counts.ready, of: pods.length, time: took })
        : words.t('rest.done', { name, time: took });
  return explanation({
    crumb: words.t('crumb.rest', { name }),
    title,
    tabs: [
      tab(words, 'why', [
        p(words, isMet ? 'rest.body' : 'rest.unmet'),
        ...(pods.length
          ? [
              h(words.t('rest.stories')),
              {
                type: /** @type {'pods'} */ ('pods'),
                items: pods.slice(0, 12).map((pod) => ({
                  key: pod.key,
                  text: shortPod(pod.name),
                  ...podLine(model, pod, words),
                })),
              },
            ]
          : []),
        h(words.t('rest.numbers')),
        facts([
          ...(model.index.covers(root.seq) ? countsOf(model, root, words) : []),
          [words.t('fact.took'), took],
        ]),
      ]),
      tab(words, 'object', objectBlocks(model, root, null, words)),
    ],
    badge: words.t('badge.recorded'),
    source: words.t('source.recorded'),
  });
}

/**
 * @param {Model} model @param {import('../trace/index.js').Span} root
 * @param {import('../text/words.js').Words} words @returns {[string, string|number][]}
 */
function countsOf(model, root, words) {
  const mine = model.index.requests.filter((r) => r.cls === 'change' && r.roots.includes(root.seq));
  return [
    [words.t('rest.requests'), mine.length],
    [words.t('rest.revisions'), `${firstRev(root)} – ${lastRev(model)}`],
  ];
}

/** A pod that is broken says so; its stage alone would be "starting". */
function podLine(
  /** @type {Model} */ model,
  /** @type {import('../cluster/objects.js').Pod} */ pod,
  /** @type {import('../text/words.js').Words} */ words,
) {
  const write = objectsOf(model.state, 'pods').get(pod.key);
  const became = write && outcomeOf(model.state, write);
  if (became?.state === 'unmet')
    return { small: sayOutcome(became, words, model.clock), stage: 'failed' };
  const small = [words.t(`stage.${pod.stage}`), pod.node].filter(Boolean).join(' · ');
  return { small, stage: pod.stage };
}

/** The newest revision this command led to. @param {Model} model */
function lastRev(model) {
  const { writes, spans } = model.index;
  for (let i = writes.length - 1; i >= 0; i -= 1) {
    if (spans.get(writes[i].span)?.roots.includes(model.current.root)) return writes[i].rev;
  }
  return '';
}

/** @param {import('../trace/index.js').Span} root */
function firstRev(root) {
  const write = root.records.find((r) => r.kind === 'write');
  return write ? String(/** @type {any} */ (write).rev) : '';
}
