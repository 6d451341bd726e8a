// @ts-check
/** The clusters that run here: the one that is served, its forks, and what one changes there. */
import { nodesOf } from '../../core/cluster/objects.js';
import { isFork, originOf } from '../../core/cluster/forks.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { menu } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/forks.js').Fork} Fork */

const NODES_MAX = 6;

/** In the bar: which cluster this is, and the others. @param {Context} ctx */
export function clusterMenu(ctx) {
  const { words, meta, act, player, ui } = ctx;
  const origin = originOf(meta.cluster);
  const own = meta.cluster.slice(origin.length);
  const name = h('b', null, h('span', { class: own ? 'hide-narrow' : '' }, origin), own);
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
      player.drives && !own ? command(ctx, 'fork.here', 'layers', () => act.fork()) : null,
      player.drives
        ? command(ctx, own ? 'fork.seedAgain' : 'fork.seed', 'again', () => act.forkWithSeed())
        : null,
      own
        ? command(ctx, 'fork.compare', 'list', () => act.compare(), { origin })
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
  const { name, state, revision, done, why } = fork;
  const params = { rev: String(revision), done: Math.round(100 * done) };
  const about = words.t(`fork.is.${state}`, params);
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
export function makingBanner({ words, ui, act }) {
  const { making, forkError, forks } = ui;
  if (!making && !forkError) return null;
  const fork = forks.find((one) => one.name === making);
  const done = Math.round(100 * (fork?.done || 0));
  return h(
    'div.banner.making',
    { key: 'banner', role: 'status' },
    h('span.v', { class: making ? 'is-hold' : 'is-deny' }, glyph(making ? 'work' : 'deny')),
    making
      ? h('span', null, words.t('fork.making', { rev: String(fork?.revision || ''), done }))
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

/** Over the map of a fork: where it comes from, what one can change, and the way back. */
export function forkBanner(/** @type {Context} */ ctx) {
  const { words, meta, act, player, ui } = ctx;
  if (!player.live || !isFork(meta.cluster)) return null;
  const origin = originOf(meta.cluster);
  const fork = ui.forks.find((one) => one.name === meta.cluster);
  return h(
    'div.banner.fork',
    { key: 'banner' },
    h('span.v.is-change', null, glyph('layers')),
    h(
      'span',
      null,
      h('b', null, words.t('fork.of', { origin, rev: String(fork?.revision || '') })),
      ' ',
      fork?.how === 'objects'
        ? words.t('fork.inexact', { why: fork.why })
        : words.t(player.stopped ? 'fork.waits' : 'fork.goes'),
    ),
    h(
      'span.acts',
      null,
      player.drives ? changes(ctx) : null,
      h(
        'button.act',
        { 'aria-pressed': String(ui.compares), onClick: () => act.compare() },
        words.t('fork.compare', { origin }),
      ),
      h(
        'button.act.first',
        { onClick: () => act.openCluster(origin) },
        words.t('fork.back', { origin }),
      ),
    ),
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
