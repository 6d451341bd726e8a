// @ts-check
/** The nodes of a crowd: every node a bay, every pod a square. */
import { nodesOf } from '../../core/cluster/objects.js';
import { h } from '../kit/dom.js';
import { followedPod } from './nodes.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/objects.js').Pod} Pod */
/** @typedef {import('../../core/cluster/objects.js').Node} NodeView */

const BAYS_MAX = 48;

/** Every node a bay, every pod a square. @param {Context} ctx */
export function yard(ctx) {
  const nodes = nodesOf(ctx.state);
  const mine = followedPod(ctx);
  const shown = nodes.slice(0, BAYS_MAX);
  const columns = shown.length > 24 ? 6 : shown.length > 6 ? 4 : shown.length > 3 ? 2 : 1;
  return h(
    'div.yard',
    { key: 'yard', style: { 'grid-template-columns': `repeat(${columns}, minmax(0, 1fr))` } },
    shown.map((node) => bay(ctx, node, mine)),
    nodes.length > shown.length
      ? h('p.note', { key: 'rest' }, ctx.words.t('crowd.more', { n: nodes.length - shown.length }))
      : null,
  );
}

/** @param {Context} ctx @param {NodeView} node @param {Pod|null} mine */
function bay(ctx, node, mine) {
  const { words, act } = ctx;
  const pods = node.pods.filter((pod) => !pod.system);
  const has = mine && mine.node === node.name;
  const across = Math.max(7, Math.ceil(Math.sqrt(pods.length * 1.8)));
  const down = Math.max(4, Math.ceil(pods.length / across));
  const running = pods.filter((p) => p.stage === 'ready' || p.stage === 'running').length;
  const label = words.t('crowd.node', {
    node: node.name,
    running,
    starting: pods.length - running,
  });
  return h(
    'div.bay',
    { key: node.name, id: has ? 'bay-mine' : false, class: has ? 'has-followed' : '' },
    h(
      'header',
      null,
      h(
        'b',
        null,
        h('button', { onClick: () => act.select({ type: 'node', name: node.name }) }, node.name),
      ),
      h('span', null, String(pods.length)),
    ),
    h(
      'svg',
      {
        viewBox: `-2 -2 ${across * 14 + 4} ${down * 14 + 4}`,
        role: 'img',
        'aria-label': label,
        onClick: (/** @type {{target: SVGElement}} */ e) => {
          const { key } = e.target.dataset;
          if (key) act.selectPod(key);
        },
      },
      squares(`${ctx.meta.cluster} ${node.name}`, pods, across, mine),
    ),
  );
}

/**
 * A bay whose pods did not change is not described again.
 * @type {Map<string, {sign: string, drawn: import('../kit/dom.js').VNode[]}>}
 */
const bays = new Map();

/** @param {string} name @param {Pod[]} pods @param {number} across @param {Pod|null} mine */
function squares(name, pods, across, mine) {
  const stages = pods.map((p) => p.key[p.key.length - 1] + p.stage.slice(0, 2)).join('');
  const sign = `${across} ${mine ? mine.key : ''} ${stages}`;
  const kept = bays.get(name);
  if (kept && kept.sign === sign) return kept.drawn;
  const drawn = pods.map((pod, i) =>
    square(pod, (i % across) * 14 + 2, Math.floor(i / across) * 14 + 2, mine),
  );
  bays.set(name, { sign, drawn });
  return drawn;
}

/** @param {Pod} pod @param {number} x @param {number} y @param {Pod|null} mine */
function square(pod, x, y, mine) {
  const key = pod.key;
  if (mine && mine.key === key) {
    return h(
      'g',
      { key },
      h('rect.me', { x, y, width: 10, height: 10, rx: 2 }),
      h('rect.ring', { x: x - 3, y: y - 3, width: 16, height: 16, rx: 4 }),
    );
  }
  const data = { key, 'data-key': key };
  if (pod.stage === 'ready' || pod.stage === 'running' || pod.stage === 'succeeded') {
    return h('rect.run', { ...data, x, y, width: 10, height: 10, rx: 2 });
  }
  if (pod.stage === 'failed') return h('rect.bad', { ...data, x, y, width: 10, height: 10, rx: 4 });
  return h(
    'g',
    { key },
    h('rect.start', { 'data-key': key, x: x + 0.8, y: y + 0.8, width: 8.4, height: 8.4, rx: 1.6 }),
    h('rect.startfill', { 'data-key': key, x: x + 1, y: y + 5, width: 8, height: 4 }),
  );
}
