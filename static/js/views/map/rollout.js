// @ts-check
/**
 * The rollout of a Deployment in place of the nodes: its ReplicaSets side by side, their pods as
 * squares, between them how many must be ready and may be there, and why the last step was taken.
 */
import { deploymentOf, progressOf, rolloutOf } from '../../core/outcome/rollout.js';
import { shortPath } from '../../core/text/yaml.js';
import { writeOf } from '../../core/request/corridor.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { podOfHop } from './nodes.js';
import { say } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/outcome/rollout.js').Rollout} Rollout */
/** @typedef {import('../../core/outcome/rollout.js').Side} Side */
/** @typedef {import('../../core/cluster/objects.js').Pod} Pod */

const SQUARES_MAX = 60;
// so many are drawn larger
const FEW = 12;
// the order in which a pod comes, or goes
const COMES = ['ready', 'failing', 'starting', 'stored', 'succeeded', 'ending'];
/** @type {Record<string, string>} */
const SIGN = { ready: 'podRun', failing: 'deny', stored: 'podNew', ending: 'podEnd' };

/**
 * What is shown: of a Deployment that is chosen the rollout it is in, or was in last; else the one
 * that the followed command brought about, or that is not over. Null for none.
 * @param {Pick<Context, 'index'|'state'|'ui'|'current'|'player'>} ctx
 */
export function rolloutAt({ index, state, ui, current, player }) {
  const chosen = chosenOf({ ui, state });
  const isPod = ui.selected?.type === 'pod';
  const root = index.spans.get(current.root);
  const followed = player.follow.pod || (root && writeOf(root)?.key) || podOfHop(current);
  const key = chosen || (isPod ? '' : deploymentOf(state, followed));
  const rollout = key ? rolloutOf(index, state, key) : null;
  if (!rollout || rollout.phase !== 'done') return rollout;
  return (chosen && !isPod) || (!chosen && rollout.began > current.root) ? rollout : null;
}

/** The Deployment of what is selected. @param {Pick<Context, 'ui'|'state'>} ctx */
function chosenOf({ ui, state }) {
  const { selected } = ui;
  const isOne = selected?.type === 'object' || selected?.type === 'pod';
  return isOne ? deploymentOf(state, selected.key) : '';
}

/** Whether somebody chose to look at it. @param {Pick<Context, 'ui'|'state'>} ctx */
export const isRolloutChosen = (ctx) => !!chosenOf(ctx);

/** @param {Context} ctx @param {Rollout} rollout */
export function rolloutBoard(ctx, rollout) {
  const { words, act } = ctx;
  const { key, name, old, next, bounds } = rollout;
  return h(
    'section.comp.rollout',
    { id: 'rollout', key: 'rollout', 'aria-label': words.t('rollout.title', { name }) },
    h(
      'header',
      null,
      h('h2', null, h('button', { onClick: () => act.select({ type: 'object', key }) }, name)),
      changeLine(ctx, rollout),
    ),
    h(
      'div.sides',
      null,
      h(
        'div.side',
        { key: 'old' },
        old.map((side) => sideView(ctx, side, 'old', side.had - side.pods.length)),
      ),
      gauge(ctx, rollout),
      h(
        'div.side',
        { key: 'new' },
        next
          ? sideView(ctx, next, 'new', bounds.of - next.pods.length)
          : h('p.note', null, words.t('rollout.noSet')),
      ),
    ),
    stepLine(ctx, rollout),
    phaseLine(ctx, rollout),
    more(ctx, rollout),
  );
}

/** The template's difference in one line. @param {Context} ctx @param {Rollout} rollout */
function changeLine({ words }, { changes }) {
  const [first, ...rest] = [...changes].sort((a, b) => rank(a.path) - rank(b.path));
  if (!first) return null;
  return h(
    'span.change',
    { title: changes.map((change) => `${change.path}: ${change.from} → ${change.to}`).join('\n') },
    glyph('change'),
    h(
      'span',
      null,
      h('code', null, shortPath(`/${first.path}`).replace(/^…\[0\]\./, '')),
      ' ',
      h('del', null, first.from || '∅'),
      ' → ',
      h('ins', null, first.to || '∅'),
      rest.length ? ` ${words.t('rollout.changes', { n: rest.length })}` : '',
    ),
  );
}

/** An image says more than anything else. @param {string} path */
const rank = (path) => (path.endsWith('/image') ? 0 : 1);

/**
 * @param {Context} ctx @param {Side} side @param {'old'|'new'} which
 * @param {number} rest  places without a pod: of those that are gone, or not there yet
 */
function sideView(ctx, side, which, rest) {
  const { words, act, state } = ctx;
  const absent = Math.max(0, rest);
  const pods = side.pods.map((pod) => ({ pod, is: progressOf(state, pod) }));
  pods.sort((a, b) => COMES.indexOf(a.is) - COMES.indexOf(b.is));
  const stages = pods.map(({ is }) => is);
  const shown = pods.slice(0, SQUARES_MAX);
  const places = Math.min(absent, SQUARES_MAX - shown.length);
  const over = pods.length + absent - shown.length - places;
  return [
    h(
      'h3',
      { key: `h-${side.key}` },
      h('span.second', null, words.t(`rollout.${which}`, { n: side.revision })),
      ' ',
      h(
        'button',
        { title: side.name, onClick: () => act.select({ type: 'object', key: side.key }) },
        side.hash || side.name,
      ),
    ),
    h('code.second', { key: `i-${side.key}`, title: side.image }, side.image),
    h('p.counts', { key: `c-${side.key}` }, countsText(words, stages, which, absent)),
    h(
      'ul.squares',
      {
        key: `s-${side.key}`,
        class: pods.length + absent > FEW ? '' : 'is-few',
        'aria-label': side.name,
      },
      shown.map(({ pod, is }) => square(ctx, pod, is)),
      Array.from({ length: places }, (_, i) =>
        h('li.is-absent', { key: `absent-${i}`, 'aria-hidden': 'true' }, glyph('podNone')),
      ),
      over ? h('li.more', { key: 'more' }, words.t('map.more', { n: over })) : null,
    ),
  ];
}

/**
 * "24 ready · 2 leaving · 4 gone"
 * @param {import('../../core/text/words.js').Words} words @param {string[]} stages
 * @param {'old'|'new'} which @param {number} absent
 */
function countsText(words, stages, which, absent) {
  /** @type {Record<string, number>} */ const counts = {};
  for (const stage of stages) counts[stage] = (counts[stage] || 0) + 1;
  counts[which === 'old' ? 'gone' : 'missing'] = absent;
  return [...COMES, 'gone', 'missing']
    .filter((name) => counts[name])
    .map((name) => words.t(`rollout.n.${name}`, { n: counts[name] }))
    .join(' · ');
}

/** @param {Context} ctx @param {Pod} pod @param {string} is  how far it is */
function square({ words, act }, pod, is) {
  const label = [pod.name, words.t(`rollout.pod.${is}`), pod.node].filter(Boolean).join(', ');
  return h(
    'li',
    { key: pod.key, class: `is-${is}` },
    h(
      'button',
      { title: label, 'aria-label': label, onClick: () => act.selectPod(pod.key) },
      glyph(SIGN[is] || 'podHalf'),
    ),
  );
}

/** How many are ready and there, between the least and the most. */
function gauge(/** @type {Context} */ { words }, /** @type {Rollout} */ rollout) {
  const { bounds, all, ready, recreates } = rollout;
  const { most, least } = bounds;
  const full = Math.max(1, all, recreates ? bounds.of : most);
  const at = (/** @type {number} */ n) => `${(100 * n) / full}%`;
  const now = words.t('rollout.now', { ready, all });
  const isFew = ready < least && !recreates;
  const bound = (/** @type {string} */ key, /** @type {number} */ n) =>
    h(
      `div.bound.is-${key}`,
      { key, style: { bottom: at(n) } },
      h('span', null, words.t(`rollout.${key}`, { n })),
    );
  return h(
    'div.gauge',
    { key: 'gauge' },
    h(
      'div.scale',
      { role: 'img', 'aria-label': now },
      h('i.all', { style: { height: at(all) } }),
      h('i.ready', { class: isFew ? 'is-deny' : '', style: { height: at(ready) } }),
      recreates ? null : [bound('most', most), bound('least', least)],
    ),
    h('p', null, now),
  );
}

/** What the Deployment's last reconcile that scaled went by. */
function stepLine(/** @type {Context} */ { words, act }, /** @type {Rollout} */ rollout) {
  const { steps, isWhole } = rollout;
  const step = steps.at(-1);
  if (!step) return null;
  const number = h(
    'b',
    null,
    words.t(isWhole ? 'rollout.step' : 'rollout.lastStep', { n: steps.length }),
  );
  const onClick = () => act.visit(step.seq);
  return h(
    'p.step',
    null,
    h('button', { onClick }, number, ' ', h('span', null, stepText(words, step))),
  );
}

/** @param {Context['words']} words @param {import('../../core/outcome/rollout.js').Step} step */
const stepText = (words, { parts }) =>
  parts.map(({ key, params }, i) => [i ? words.t('rollout.and') : '', say(words, key, params)]);

/** @type {Record<Rollout['phase'], [string, string]>} */
const PHASES = {
  moving: ['work', ''],
  done: ['allow', 'is-allow'],
  paused: ['hold', 'is-hold'],
  late: ['deny', 'is-deny'],
};

/** @param {Context} ctx @param {Rollout} rollout */
function phaseLine({ words }, { phase, recreates, next, bounds, deadline }) {
  if (phase === 'moving' && !recreates) return null;
  const [sign, tone] = PHASES[phase];
  const ready = next?.pods.filter((pod) => pod.stage === 'ready').length || 0;
  const params = { n: ready, of: bounds.of, seconds: deadline };
  const key = phase === 'moving' ? 'rollout.recreates' : `rollout.${phase}`;
  return h('p.phase', { class: tone }, glyph(sign), h('span', null, words.t(key, params)));
}

/** Before it is rounded. @param {string} value @param {number} of */
const shareOf = (value, of) => String((parseInt(value, 10) * of) / 100);

/** The arithmetic, and every step so far. @param {Context} ctx @param {Rollout} rollout */
function more({ words, act }, { bounds, steps, recreates }) {
  const { of, surge, unavailable, more: extra, fewer, most, least, both0 } = bounds;
  const sum = (/** @type {string} */ key, /** @type {any} */ params) =>
    h('li', null, say(words, key, params));
  const share = (/** @type {string|number} */ value) =>
    typeof value === 'string'
      ? words.t('rollout.share', { value, of, is: shareOf(value, of) })
      : String(value);
  return h(
    'details.fold',
    { key: 'more' },
    h('summary', null, words.t('rollout.more')),
    recreates
      ? null
      : h(
          'ul',
          null,
          sum('rollout.sumMost', { value: share(surge), extra, of, most }),
          sum('rollout.sumLeast', { value: share(unavailable), fewer, of, least }),
          both0 ? sum('rollout.sumBoth', {}) : null,
        ),
    h(
      'ol',
      null,
      steps.map((step) =>
        h(
          'li',
          { key: step.seq },
          h(
            'button',
            { onClick: () => act.visit(step.seq) },
            stepText(words, step),
          ),
        ),
      ),
    ),
  );
}
