// @ts-check
/** What a controller saw and did in one reconcile, or what a component is when it rests. */
import { httpMethod, keyOf, laneOf, pluralOf } from '../trace/records.js';
import { cause } from '../story/follow.js';
import { cacheOf, isController, queueOf } from '../cluster/objects.js';
import { componentOf } from '../trace/facts.js';
import { writeOf } from '../request/corridor.js';
import { outcomeOf, sayOutcome } from '../outcome/index.js';
import { duration } from '../text/words.js';
import { informerBlocks } from './informers.js';
import { explanation, facts, h, json, p, said, sourceText, tab, whyTab } from './blocks.js';
import { whoIs } from './who.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

// some controllers have everything in their caches
const CACHES_SHOWN = 8;

/** @param {Model} model @param {string} component @param {Span|null} span @param {Words} words */
export function explainWork(model, component, span, words) {
  const given = /** @type {import('../trace/index.js').WorkSpan|null} */ (span);
  const work = given || latest(model, component);
  const params = {
    component,
    key: work ? /** @type {any} */ (work.open).key : '',
    who: whoIs(component, words),
  };
  const made = work ? requestsOf(model, work) : [];
  const write = work ? cause(model.index, work) : null;
  const title = !work
    ? words.t('work.idle', params)
    : made.length
      ? words.t('work.acts', { ...params, n: made.length })
      : words.t('work.looks', params);
  /** @type {Block[]} */ const blocks = [];
  if (write) {
    blocks.push(
      p(words, 'work.woken', {
        rev: String(write.rev),
        what: `${write.subresource || write.op} ${write.key}`,
        ...params,
      }),
    );
  }
  const answer = work?.close?.said || '';
  if (answer) blocks.push(said(`${answer[0].toUpperCase()}${answer.slice(1)}.`));
  if (words.has(`work.${component}.why`)) blocks.push(p(words, `work.${component}.why`, params));
  if (made.length) {
    blocks.push(h(words.t('work.requests')), {
      type: 'links',
      items: made.slice(0, 12).map((request) => ({
        text: requestText(request),
        seq: request.seq,
      })),
    });
  } else if (work) blocks.push(idleBlock(model, work, words));
  return explanation({
    crumb: crumbOf(component, words),
    title,
    tabs: [
      whyTab(
        words,
        blocks.length ? blocks : [p(words, 'work.waits', params)],
        whatBlocks(model, component, work, words),
      ),
      ...informersTab(model, component, work, words),
      tab(words, 'raw', work ? [json(work.open), ...(work.close ? [json(work.close)] : [])] : []),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(model.version, componentOf(model.index, component).source || ''),
  });
}

/** @param {string} component @param {Words} words */
function crumbOf(component, words) {
  const node = laneOf(component);
  if (node !== component) return words.t('crumb.kubelet', { node });
  return words.t(isController(component) ? 'crumb.work' : 'crumb.worker', { component });
}

/** How it learns what there is, where the trace tells that. @returns {any[]} */
function informersTab(
  /** @type {Model} */ model,
  /** @type {string} */ component,
  /** @type {Span|null} */ work,
  /** @type {Words} */ words,
) {
  const blocks = informerBlocks(model, component, work, words);
  return blocks.length ? [tab(words, 'informers', blocks)] : [];
}

/**
 * A sync that asked for nothing: because all is as wanted, or because there is nothing it can do.
 * @param {Model} model @param {import('../trace/index.js').WorkSpan} work @param {Words} words
 */
function idleBlock(model, work, words) {
  const { component, key } = work.open;
  const { resource } = componentOf(model.index, component);
  const write = resource ? model.index.objectAt(keyOf(resource, key), work.close?.seq || 0) : null;
  if (!work.close) return p(words, 'work.compares', { component, key });
  const became = write && write.op !== 'delete' ? outcomeOf(model.state, write) : null;
  if (!became || became.state === 'met') return p(words, 'work.nothing', { component, key });
  return p(words, 'work.waitsFor', { text: sayOutcome(became, words, model.clock) });
}

/** @param {Span} request */
function requestText(request) {
  const open = /** @type {any} */ (request.open);
  const write = writeOf(request);
  const what = `${httpMethod(open.verb)} ${open.subresource || pluralOf(open.resource)}`;
  return write ? `${what} → r${write.rev}` : what;
}

/** @param {Model} model @param {string} component */
function latest(model, component) {
  const { works } = model.index;
  return works.findLast((work) => work.open.component === component) || null;
}

/** @param {Model} model @param {Span} work */
function requestsOf(model, work) {
  return work.requests
    .map((seq) => /** @type {Span} */ (model.index.spans.get(seq)))
    .filter((request) => request.cls === 'change');
}

/**
 * @param {Model} model @param {string} component
 * @param {import('../trace/index.js').WorkSpan|null} work
 * @param {Words} words
 */
function whatBlocks(model, component, work, words) {
  const queue = queueOf(model.state, component);
  const caches = cacheOf(model.index, model.state, component);
  const more = caches.length - CACHES_SHOWN;
  return [
    p(words, 'work.what'),
    facts([
      ...caches
        .slice(0, CACHES_SHOWN)
        .map(
          ({ resource, count }) =>
            /** @type {[string, any]} */ ([
              words.t('fact.cached', { what: pluralOf(resource) }),
              count,
            ]),
        ),
      [
        words.t('fact.cached', { what: '…' }),
        more > 0 ? words.t('fact.moreCached', { n: more }) : '',
      ],
      [words.t('fact.queue'), queue.length],
      [words.t('fact.took'), work && work.close ? duration(work.close.t - work.t) : ''],
      [words.t('fact.result'), work?.close?.result],
      [words.t('fact.state'), model.state.components.get(component)?.state],
    ]),
  ];
}
