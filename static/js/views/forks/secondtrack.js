// @ts-check
/** What is drawn of the cluster that this one is compared with: its bars, thin, and its pods. */
import { shortPod } from '../../core/cluster/objects.js';
import { partedNodes, partedPods } from '../../core/timeline/secondtrack.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../time/plot.js').Scale} Scale */
/** @typedef {import('../time/plot.js').Size} Size */
/** @typedef {ReturnType<typeof partedPods>} Parted */

const ELSEWHERE_MAX = 4;

/** What this cluster is compared with; null where nothing is. @param {Context} ctx */
export function secondOf({ ui, meta, player }) {
  const second = ui.compares && player.live && ui.comparison?.second;
  return second && second.cluster !== meta.cluster ? second : null;
}

/**
 * The same lane in the other cluster since the fork: thin, and hollow beyond the head.
 * @param {Context} ctx
 * @param {import('../../core/timeline/timeline.js').Lane} lane @param {number} i
 * @param {Scale} scale @param {Size} size @param {number} head
 */
export function secondBars(ctx, lane, i, scale, size, head) {
  const { cluster = '' } = secondOf(ctx) || {};
  const high = Math.max(3, scale.row * 0.16);
  return (lane.second || []).map((bar) => {
    const x = scale.x(bar.from);
    const width = Math.max(3, scale.x(bar.to) - x);
    if (x > size.width || x + width < 0) return null;
    return h(
      'rect.second-bar',
      {
        key: `s${lane.id}${bar.seq}`,
        class: bar.from > head ? 'ghost' : '',
        ...scale.seen(x, width),
        y: scale.end(i) - high - 1.5,
        height: high,
        onClick: () => ctx.act.openCluster(cluster, bar.seq),
      },
      h('title', null, `${cluster}: ${bar.title}`),
    );
  });
}

/**
 * The pods that came out otherwise than in the cluster this one is compared with.
 * @param {Context} ctx @returns {Parted}
 */
export function partedOf(ctx) {
  const { ui, meta } = ctx;
  if (!ui.compares || !ui.comparison) return new Map();
  return partedPods(ui.comparison, meta.cluster === ui.comparison.fork, sinceFork(ctx));
}

/** Whether another is wanted in the other half. @param {Context} ctx @param {string} name */
export const isNodeParted = (ctx, name) =>
  ctx.ui.split && !!ctx.ui.comparison && partedNodes(ctx.ui.comparison, sinceFork(ctx)).has(name);

/** µs since the fork that is compared; below 0 before it. @param {Context} ctx */
export function sinceFork({ ui, state }) {
  const fork = ui.forks.find(({ name }) => name === ui.comparison?.fork);
  return fork ? state.t - fork.t : -1;
}

/** @param {{first: boolean}|undefined} parted */
export const partedClass = (parted) => {
  if (!parted) return '';
  return parted.first ? 'is-parted is-first' : 'is-parted';
};

/** Those that are on this node over there. */
export function elsewhere(
  /** @type {Context} */ ctx,
  /** @type {import('../../core/cluster/objects.js').Node} */ node,
  /** @type {Parted} */ parted,
) {
  const { words, act, ui } = ctx;
  if (ui.split) return []; // they have a half of their own
  const { cluster = '' } = secondOf(ctx) || {};
  return [...parted]
    .filter(([, pod]) => pod.node === node.name)
    .slice(0, ELSEWHERE_MAX)
    .map(([key, { name, seq, first }]) => {
      const text = words.t('fork.there', { pod: shortPod(name), cluster });
      return h(
        'li.is-parted',
        { key: `there ${key}`, class: first ? 'is-first' : '' },
        h(
          'button',
          { title: `${name}: ${cluster}`, onClick: () => act.openCluster(cluster, seq) },
          glyph('podNew'),
          text,
        ),
      );
    });
}
