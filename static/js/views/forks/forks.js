// @ts-check
/** The clusters that run here: the one that is served, its forks, and what one changes there. */
import { nodesOf } from '../../core/cluster/objects.js';
import { copyOf, isFork, originOf, rootOf } from '../../core/cluster/forks.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { menu } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/forks.js').Fork} Fork */

const NODES_MAX = 6;

/** In the bar: which cluster this is, and the others. @param {Context} ctx */
export function clusterMenu(ctx) {
  const { words, meta, act, player, ui } = ctx;
  const origin = rootOf(meta.cluster);
  const own = meta.cluster.slice(origin.length);
  const copy = copyOf(meta.cluster, ui.forks);
  const numbers = own && h('span.only-narrow', null, own.replaceAll('-fork', ''));
  const name = h('b', null, h('span', { class: own ? 'hide-narrow' : '' }, meta.cluster), numbers);
  const label = h('span.soft.hide-compact', null, words.t('bar.cluster'));
  if (!player.live) return h('div.fact', { key: 'cluster' }, label, ' ', name);
  const isOpen = ui.menu === 'clusters';
  return h(
    'div.anchor.fact',
    { key: 'cluster' },
    h(
      'button.pick',
      {
        'aria-haspopup': 'true',
        'aria-expanded': String(isOpen),
        'aria-label': `${words.t('bar.cluster')} ${meta.cluster}`,
        onClick: () => act.clusters(),
      },
      label,
      ' ',
      name,
    ),
    menu(
      ctx,
      'clusters',
      h('h2', null, words.t('fork.clusters')),
      item(ctx, origin, words.t('fork.served'), ''),
      ui.forks.map((fork) => forkItem(ctx, fork)),
      ui.forks.length ? null : h('p.note', null, words.t('fork.none')),
      player.drives && (!own || copy)
        ? command(ctx, 'fork.here', 'layers', () => act.fork())
        : null,
      player.drives
        ? command(ctx, own && !copy ? 'fork.seedAgain' : 'fork.seed', 'again', () =>
            act.forkWithSeed(),
          )
        : null,
      own && !copy
        ? command(ctx, 'fork.compare', 'list', () => act.compare(), {
            origin: originOf(meta.cluster),
          })
        : null,
    ),
  );
}

/** @param {Context} ctx @param {string} key @param {string} sign @param {() => void} onClick */
const command = ({ words }, key, sign, onClick, params = {}) =>
  h(
    'button.item',
    { key: `${key} ${Object.values(params)}`, onClick },
    glyph(sign),
    words.t(key, params),
  );

/** @param {Context} ctx @param {string} name @param {string} about @param {string} why */
function item({ act, meta }, name, about, why) {
  return h(
    'button.item',
    {
      key: name,
      'aria-pressed': String(meta.cluster === name),
      title: why || false,
      onClick: () => act.openCluster(name),
    },
    h('span', null, h('b', null, name), ' ', h('small', null, about)),
  );
}

/** @param {Context} ctx @param {Fork} fork */
function forkItem(ctx, fork) {
  const { words, act, player } = ctx;
  const { name, state, revision, done, why, anew, cluster } = fork;
  const params = { rev: String(revision), done: Math.round(100 * done), cluster };
  const about = words.t(`fork.is.${anew && state === 'ready' ? 'copy' : state}`, params);
  const remove = words.t('fork.remove', { name });
  return h(
    'div.row',
    { key: name },
    state === 'ready' ? item(ctx, name, about, why) : h('p.note', null, `${name} ${about}`),
    player.drives
      ? h(
          'button.remove',
          { title: remove, 'aria-label': remove, onClick: () => act.removeFork(name) },
          '×',
        )
      : null,
  );
}

/** Over the map while one is made, or could not be. @param {Context} ctx */
export function makingBanner(ctx) {
  const { words, ui, act } = ctx;
  const { making, forkError, forks } = ui;
  if (!making && !forkError) return null;
  const fork = forks.find(({ name }) => name === making);
  const done = Math.round(100 * (fork?.done || 0));
  return h(
    'div.banner.making',
    { key: 'banner', role: 'status' },
    h('span.v', { class: making ? 'is-hold' : 'is-deny' }, glyph(making ? 'work' : 'deny')),
    making
      ? h('span', null, makingText(ctx, fork, done))
      : h('span', null, h('b', null, words.t('fork.failed')), ' ', forkError),
    making
      ? h('progress', { max: '100', value: String(done), 'aria-label': words.t('fork.progress') })
      : h(
          'span.acts',
          null,
          h('button.act', { onClick: () => act.noFork() }, words.t('traces.close')),
        ),
  );
}

/** @param {Context} ctx @param {Fork|undefined} fork @param {number} done */
function makingText({ words, ui }, fork, done) {
  if (ui.copying) return words.t('fork.copying', { origin: ui.copying, done });
  return words.t('fork.making', { rev: String(fork?.revision || ''), done });
}

/** Over the map of a fork: where it comes from, what one can change, and the way back. */
export function forkBanner(/** @type {Context} */ ctx) {
  const { words, meta, act, player, ui } = ctx;
  if (!player.live || !isFork(meta.cluster)) return null;
  const origin = originOf(meta.cluster);
  const fork = ui.forks.find(({ name }) => name === meta.cluster);
  if (!fork) return null; // it is being read
  if (fork.anew) return copyBanner(ctx, fork);
  const text = fork.how === 'objects'
    ? words.t('fork.inexact', { why: fork.why })
    : words.t(player.stopped ? 'fork.waits' : 'fork.goes');
  return banner(
    words.t('fork.of', { origin, rev: String(fork.revision) }),
    text,
    player.drives ? changes(ctx) : null,
    h(
      'button.act',
      { 'aria-pressed': String(!!ui.compares), onClick: () => act.compare() },
      words.t('fork.compare', { origin }),
    ),
    h(
      'button.act.first',
      { onClick: () => act.openCluster(origin) },
      words.t('fork.back', { origin }),
    ),
  );
}

/** Over the map of a copy: what it is, and the way back. @param {Context} ctx @param {Fork} copy */
function copyBanner(ctx, { cluster }) {
  const { words } = ctx;
  return banner(
    words.t('fork.copy', { cluster }),
    words.t('fork.copyText', { cluster }),
    leaveCopy(ctx, 'button.act.first'),
  );
}

/**
 * What is looked at, and what one can do there.
 * @param {string} title @param {string} text @param {import('../../types.js').Child[]} acts
 */
function banner(title, text, ...acts) {
  return h(
    'div.banner.fork',
    { key: 'banner' },
    h('span.v.is-change', null, glyph('layers')),
    h('span', null, h('b', null, title), ' ', text),
    h('span.acts', null, ...acts),
  );
}

/**
 * Back from a copy that is open, which nobody needs then.
 * @param {Context} ctx @param {string} as
 */
export function leaveCopy({ words, meta, ui, act, player }, as) {
  const copy = copyOf(meta.cluster, ui.forks);
  if (!copy) return null;
  const { name, cluster } = copy;
  return h(
    as,
    {
      key: 'leave',
      onClick: () => (player.drives ? act.removeFork(name) : act.openCluster(cluster)),
    },
    words.t('fork.back', { origin: cluster }),
  );
}

/** A fork may end while one looks at it. @param {Context} ctx */
export function wayBack({ words, meta, act }) {
  const origin = originOf(meta.cluster);
  if (origin === meta.cluster) return null;
  const onClick = () => act.openCluster(origin);
  return h(
    'span.acts',
    null,
    h('button.act.first', { onClick }, words.t('fork.back', { origin })),
  );
}

/** @param {Context} ctx */
function changes(ctx) {
  const { words, ui, state, act } = ctx;
  const nodes = nodesOf(state).slice(0, NODES_MAX);
  return h(
    'div.anchor',
    null,
    h(
      'button.act',
      {
        'aria-haspopup': 'true',
        'aria-expanded': String(ui.menu === 'change'),
        onClick: () => act.menu('change'),
      },
      words.t('fork.change'),
    ),
    menu(
      ctx,
      'change',
      nodes.map(({ name }) =>
        command(ctx, 'fork.taint', 'flag', () => act.taint(name), { name }),
      ),
      command(ctx, 'fork.fault', 'deny', () => act.refuseNext()),
      command(ctx, 'fork.write', 'open', () => act.write()),
    ),
  );
}
