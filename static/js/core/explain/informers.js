// @ts-check
/**
 * How a component learns what there is: of each of its informers the list, the watch, the cache and
 * what its handlers put into the queue; and which look-ups of a reconcile these answer.
 */
import { cacheOf, objectsOf, queueOf } from '../cluster/objects.js';
import { componentOf } from '../trace/facts.js';
import { pluralOf } from '../trace/records.js';
import { h, p } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

// some controllers have an informer for everything there is
const SHOWN_MAX = 12;

/**
 * @param {Model} model @param {string} component @param {Span|null} work @param {Words} words
 * @returns {Block[]}
 */
export function informerBlocks(model, component, work, words) {
  const caches = cacheOf(model.index, model.state, component);
  if (!caches.length) return [];
  const more = caches.length - SHOWN_MAX;
  const queue = queueOf(model.state, component);
  return [
    p(words, 'informers.about'),
    {
      type: 'rules',
      items: caches.slice(0, SHOWN_MAX).map(({ resource, count }) => ({
        verdict: handlersOf(model, component, resource) ? 'mark' : 'list',
        title: [{ text: pluralOf(resource), as: /** @type {'b'} */ ('b') }],
        small: small(model, component, resource, count, words),
      })),
    },
    ...(more > 0 ? [p(words, 'informers.more', { n: more })] : []),
    h(words.t('informers.queue')),
    p(words, 'informers.keys', { n: queue.length, open: queue.open.length }),
    ...(work ? lookups(model, work, words) : []),
  ];
}

/** @param {Model} model @param {string} component @param {string} resource */
const handlersOf = (model, component, resource) =>
  componentOf(model.index, component).handlers?.[resource];

/** List, watch, cache and handlers of one informer, a sentence each. */
function small(
  /** @type {Model} */ model,
  /** @type {string} */ component,
  /** @type {string} */ resource,
  /** @type {number} */ count,
  /** @type {Words} */ words,
) {
  const { process = component } = componentOf(model.index, component);
  const listed = model.index.facts.listed.get(`${process} ${resource}`);
  const rev = reached(model, component, resource);
  const [whose, ...events] = handlersOf(model, component, resource) || [];
  const names = events.map((event) => words.t(`informers.${event}`));
  const when = names.join(words.t('informers.comma'));
  return [
    listed ? words.t('informers.list', { listed }) : '',
    rev ? words.t('informers.watch', { rev: String(rev) }) : '',
    words.t('informers.cache', { n: count }),
    when ? words.t(`informers.${whose || 'any'}`, { when }) : words.t('informers.lookup'),
  ]
    .filter(Boolean)
    .join(' ');
}

/** The newest revision of an object that is there which a watch brought to the component. */
function reached(
  /** @type {Model} */ { index, state },
  /** @type {string} */ component,
  /** @type {string} */ resource,
) {
  let newest = null;
  for (const write of objectsOf(state, resource).values())
    if (!newest || write.rev > newest.rev) newest = write;
  const { records = [] } = (newest && index.spans.get(newest.span)) || {};
  const brought = records.find(
    (record) =>
      record.kind === 'watch' &&
      record.rev === newest?.rev &&
      record.seq <= state.seq &&
      record.to.includes(component),
  );
  return brought ? newest?.rev : 0;
}

/**
 * What a reconcile looked up without a request, and what it asked the API server for.
 * @returns {Block[]}
 */
function lookups(
  /** @type {Model} */ { index, state },
  /** @type {Span} */ work,
  /** @type {Words} */ words,
) {
  const done = work.records.find((record) => record.kind === 'done' && record.seq <= state.seq);
  const looked = done && /** @type {import('../../types.js').DoneRecord} */ (done).looked;
  const asked = work.requests
    .map((seq) => /** @type {Span} */ (index.spans.get(seq)))
    .filter((request) => request?.cls === 'read' && request.seq <= state.seq);
  return [
    h(words.t('informers.lookups')),
    looked?.length
      ? { type: 'rules', items: looked.map((lookedUp) => lookup(lookedUp, words)) }
      : p(words, notLooked(done, looked)),
    asked.length
      ? p(words, 'informers.asked', { n: asked.length })
      : p(words, 'informers.notAsked'),
  ];
}

/** @param {import('../../types.js').LookedUp} looked @param {Words} words */
function lookup([resource, how, times, hits], words) {
  const key = { '': 'informers.byKey', '*': 'informers.whole' }[how] || 'informers.byIndex';
  const text = words.t(key, { n: times, index: how, found: hits });
  return {
    verdict: 'allow',
    title: [{ text: pluralOf(resource), as: /** @type {'b'} */ ('b') }],
    small: `${text} ${words.t('informers.fromCache')}`,
  };
}

/** Why nothing stands there. @param {unknown} done @param {unknown} looked */
const notLooked = (done, looked) => {
  if (!done) return 'informers.notYet';
  return looked ? 'informers.notLooked' : 'informers.untold';
};
