// @ts-check
/**
 * The map in two halves: the cluster that was forked and the fork at the same virtual time, both
 * drawn by what draws the map of one. What came out otherwise first is marked in both, and what is
 * the same fades.
 */
import { differenceText, originOf } from '../../core/cluster/forks.js';
import { currentAt } from '../../core/story/follow.js';
import { knownAt } from '../../core/trace/known.js';
import { duration } from '../../core/text/words.js';
import { shortName } from '../forks/comparison.js';
import { h, nameless } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { kindAt, kindBoard } from './kinds.js';
import { funnel, nodeCards } from './nodes.js';
import { rolloutAt, rolloutBoard } from './rollout.js';
import { board, cycleOf } from './scheduling.js';
import { partedOf, secondOf, sinceFork } from '../forks/secondtrack.js';
import { servicesBand } from './services.js';
import { wantedStrip } from './wanted.js';
import { yard } from './yard.js';

/** @typedef {import('../kit/parts.js').Context} Context */

/** Null while the map is that of one. @param {Context} ctx */
export function halves(ctx) {
  const second = ctx.ui.split && secondOf(ctx);
  if (!second || !second.isWhole || sinceFork(ctx) < 0) return null;
  const other = contextOf(ctx, second);
  const own = half(ctx, true);
  const beside = /** @type {import('../kit/dom.js').VNode} */ (nameless(half(other, false)));
  return ctx.meta.cluster === ctx.ui.compares ? [beside, own] : [own, beside];
}

/**
 * What the views are given of the other cluster: it is only looked at, and a click leads there.
 * @param {Context} ctx @param {import('../../core/timeline/secondtrack.js').SecondTrack} second
 * @returns {Context}
 */
function contextOf(ctx, second) {
  const { cluster } = second;
  const player = second.playerAt(ctx.now);
  const state = player.state();
  const whole = player.history.index;
  const index = knownAt(whole, state.seq);
  const go = () => ctx.act.openCluster(cluster, state.seq);
  const visit = (/** @type {number} */ seq) => ctx.act.openCluster(cluster, seq);
  return {
    ...ctx,
    player,
    whole,
    index,
    state,
    current: currentAt(index, {}, state.seq),
    meta: { ...ctx.meta, cluster },
    act: { ...ctx.act, select: go, selectPod: go, failure: go, visit },
  };
}

/** @param {Context} ctx @param {boolean} isOpen  the one in which one is */
function half(ctx, isOpen) {
  const { words, meta, ui } = ctx;
  const { cluster } = meta;
  const time = duration(timeOf(ctx));
  const isParted = partedOf(ctx).size > 0;
  return h(
    'section.half',
    {
      key: `half ${cluster}`,
      class: `${isOpen ? 'is-open' : ''} ${isParted ? 'has-parted' : ''}`,
      'aria-label': words.t('fork.half', { cluster, time }),
    },
    h(
      'header',
      null,
      h('h2', null, cluster),
      h('span.second', null, words.t('fork.after', { time })),
      ui.comparison ? parting(ctx, ui.comparison) : null,
    ),
    h('div.picture', { tabindex: '0', role: 'group', 'aria-label': cluster }, picture(ctx)),
  );
}

/** µs since the fork: the other one may not have come as far. @param {Context} ctx */
function timeOf(ctx) {
  const { ui, meta, player, state, now } = ctx;
  const second = ui.comparison?.second;
  const isAtEnd = second?.cluster === meta.cluster && state.seq >= player.history.last;
  return sinceFork(ctx) + (isAtEnd && second?.isStopped ? 0 : now - state.t);
}

/**
 * What parted first, once it has; it leads to where that was written here.
 * @param {Context} ctx @param {import('../../core/cluster/forks.js').Comparison} comparison
 */
function parting(ctx, { fork, first }) {
  const { words, meta, act } = ctx;
  if (!first || first.after > timeOf(ctx))
    return h('span.first-parted', { key: 'same' }, words.t('fork.sameYet'));
  const names = { origin: originOf(fork), fork };
  const isHere = meta.cluster === fork;
  const seq = isHere ? first.seq_here : first.seq_there;
  const name = shortName(isHere ? first : { ...first, name: first.name_there });
  const time = words.t('fork.after', { time: duration(first.after) });
  const text = `${name}: ${differenceText(first, words, names)} ${time}`;
  const content = [glyph('flag'), h('span', null, text)];
  if (seq === null) return h('span.first-parted.is-parted', { key: 'first' }, content);
  const onClick = () => act.openCluster(meta.cluster, seq);
  return h('button.first-parted.is-parted', { key: 'first', onClick }, content);
}

/** The part of the map that is in the centre; all that runs, where there is no room for it. */
function picture(/** @type {Context} */ ctx) {
  const { focus } = ctx;
  if (focus === 'crowd') return [wantedStrip(ctx), funnel(ctx), yard(ctx)];
  const cycle = focus === 'scheduler' ? cycleOf(ctx) : null;
  if (cycle) return [board(ctx, cycle)];
  const rollout = focus === 'rollout' ? rolloutAt(ctx) : null;
  if (rollout) return [wantedStrip(ctx), rolloutBoard(ctx, rollout), servicesBand(ctx)];
  const chosen = focus === 'kind' ? kindAt(ctx) : null;
  if (chosen) return [wantedStrip(ctx), kindBoard(ctx, chosen)];
  return [wantedStrip(ctx), nodeCards(ctx, null), servicesBand(ctx)];
}
