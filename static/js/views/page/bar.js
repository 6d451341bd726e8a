// @ts-check
/** The top bar: transport, clock, speed, breakpoints, theme, language, help. */
import { STORIES } from '../../core/story/pace.js';
import { clockText, duration } from '../../core/text/words.js';
import { h, render } from '../kit/dom.js';
import { clusterMenu } from '../forks/forks.js';
import { glyph } from '../kit/glyphs.js';
import { menu } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/text/words.js').Words} Words */

/** @type {(number|'max')[]} */ const SPEEDS = [0.1, 0.5, 1, 2, 5, 10, 100, 'max'];
const THEMES = ['light', 'dark', 'projector'];

/** @param {Element} host @param {Context} ctx */
export function renderBar(host, ctx) {
  const { words, meta, act, player } = ctx;
  const begin = words.t('begin.title');
  host.classList.toggle('is-lost', player.live && !meta.connected && meta.opened);
  render(
    host,
    h(
      'button.brand',
      {
        key: 'brand',
        title: begin,
        'aria-label': ctx.compact ? begin : `${begin} · ${words.t('app.name')}`,
        onClick: () => act.begin(),
      },
      glyph('mark'),
      h('span.hide-compact', null, words.t('app.name')),
    ),
    clusterMenu(ctx),
    h(
      'div.fact',
      { key: 'version' },
      h('span.soft.hide-compact', null, 'Kubernetes'),
      ' ',
      h('b', null, meta.version),
    ),
    ...troubles(ctx),
    transport(ctx),
    breakpoints(ctx),
    pick(ctx, 'startup', words.t('startup.title'), [glyph('layers')], () => act.startup()),
    pick(ctx, 'traces', words.t('bar.traces'), [glyph('list')], () => act.openTraces()),
    pick(ctx, 'lang', words.t('bar.language'), [ctx.ui.lang === 'zh' ? '中' : 'EN'], () =>
      act.language(),
    ),
    h(
      'div.anchor',
      { key: 'theme' },
      pick(ctx, 'theme-b', words.t('bar.theme'), [glyph('theme')], () => act.menu('theme')),
      menu(
        ctx,
        'theme',
        THEMES.map((theme) =>
          h(
            'button.item',
            {
              'aria-pressed': String(ctx.ui.theme === theme),
              onClick: () => act.theme(theme),
            },
            words.t(`theme.${theme}`),
          ),
        ),
      ),
    ),
    pick(ctx, 'help', words.t('bar.help'), [h('b', null, '?')], () => act.help(true)),
  );
}

/**
 * @param {Context} ctx @param {string} key @param {string} label
 * @param {import('../kit/dom.js').Child} kids @param {() => void} onClick
 */
function pick(ctx, key, label, kids, onClick) {
  return h('button.pick.plain', { key, 'aria-label': label, title: label, onClick }, kids);
}

/** @param {Context} ctx */
function transport(ctx) {
  const { words, act, player } = ctx;
  const button = (
    /** @type {string} */ name,
    /** @type {string} */ sign,
    /** @type {() => void} */ onClick,
    /** @type {string} */ keys,
    isDriven = false,
  ) =>
    h(
      'button',
      {
        disabled: isDriven,
        'aria-label': words.t(`bar.${name}`),
        title: words.t(isDriven ? 'bench.watch' : `bar.${name}`),
        'aria-keyshortcuts': keys,
        onClick,
      },
      glyph(sign),
    );
  const running = player.isRunning;
  const main = words.t(running ? 'bar.pause' : 'bar.play');
  // at the end who drives decides how it goes on
  const isDriven = player.live && !player.drives && !player.behind;
  const waits = isDriven && player.stopped;
  return h(
    'div.transport',
    { key: 'transport', role: 'toolbar', 'aria-label': words.t('bar.time') },
    button('backRequest', 'first', () => act.step(-1, true), 'Shift+ArrowLeft'),
    button('backHop', 'back', () => act.step(-1, false), 'ArrowLeft'),
    h(
      'button.main',
      {
        disabled: waits,
        title: waits && words.t('bench.watch'),
        'aria-keyshortcuts': 'Space',
        'aria-label': main,
        onClick: () => act.toggle(),
      },
      glyph(running ? 'pause' : 'play'),
      h('span', null, main),
    ),
    button('hop', 'step', () => act.step(1, false), 'ArrowRight', isDriven),
    button('request', 'last', () => act.step(1, true), 'Shift+ArrowRight', isDriven),
    speed(ctx),
    clock(ctx),
  );
}

/** @param {Context} ctx */
function speed(ctx) {
  const { words, act, player } = ctx;
  const now = player.live ? player.server.speed : player.speed;
  const text = (/** @type {number|string} */ value) =>
    value === 'max' ? words.t('bar.max') : `×${value}`;
  return h(
    'div.anchor',
    null,
    h(
      'button.pick',
      {
        'aria-haspopup': 'true',
        'aria-expanded': String(ctx.ui.menu === 'speed'),
        disabled: player.live && !player.drives,
        'aria-label': `${words.t('bar.speed')} ${text(now)}`,
        onClick: () => act.menu('speed'),
      },
      h('b', null, text(now)),
    ),
    menu(
      ctx,
      'speed',
      h('h2', null, words.t('bar.story')),
      STORIES.map((story) =>
        h(
          'button.item',
          {
            'aria-pressed': String(story === player.pace.story),
            onClick: () => act.story(story),
          },
          words.t(`story.${story}`),
        ),
      ),
      h('h2', null, words.t('bar.clusterSpeed')),
      SPEEDS.map((value) =>
        h(
          'button.item',
          {
            'aria-pressed': String(value === now),
            onClick: () => act.speed(value),
          },
          text(value),
        ),
      ),
    ),
  );
}

/** What is wrong with the cluster as a whole. @param {Context} ctx */
function troubles(ctx) {
  const { alarm = '', quarantined = [] } = ctx.player.live ? ctx.player.server : {};
  /** @param {string} key @param {string} text @param {string} title */
  const notice = (key, text, title) =>
    h('div.fact.is-deny', { key, role: 'status', title }, glyph('deny'), ' ', h('b', null, text));
  return [
    alarm && notice('alarm', ctx.words.t('bar.alarm'), alarm),
    quarantined.length &&
      notice(
        'quarantined',
        ctx.words.t('bar.quarantined', { n: quarantined.length }),
        quarantined.join('\n'),
      ),
  ].filter(Boolean);
}

/** @param {Context} ctx */
function clock(ctx) {
  const { words, player, meta, state } = ctx;
  const atEnd = !player.behind;
  const t = atEnd && player.live && !player.stopped ? meta.now() : state.t;
  const digits = player.isRunning && atEnd ? 1 : 3;
  const [cls, sign, key, params] = momentOf(ctx);
  return h(
    'div.clock',
    null,
    h('span.t', null, clockText(meta.epoch, t, digits)),
    h(`span.state.is-${cls}`, null, glyph(sign), words.t(key, params)),
  );
}

/** @param {Context} ctx @returns {[string, string, string, Record<string, string|number>]} */
function momentOf(ctx) {
  const { player, meta, state, current } = ctx;
  const late = duration(Math.max(0, player.newest.head.t - state.t));
  if (player.live && !meta.connected)
    return ['wait', 'back', meta.opened ? 'moment.lost' : 'moment.connecting', {}];
  if (player.heldAt && player.heldAt === player.cursor && !player.playing)
    return ['hold', 'hold', 'moment.held', {}];
  if (player.past) return ['past', 'back', 'moment.past', { time: late }];
  if (!player.live && player.loading) return ['wait', 'list', 'moment.opening', {}];
  if (!player.live) {
    const end = meta.cut ? 'moment.cut' : 'moment.end';
    return ['past', 'list', player.behind ? 'moment.recorded' : end, {}];
  }
  if (state.held && !player.behind) {
    const stepped = player.byRequest ? 'moment.stepRequest' : 'moment.step';
    return ['hold', 'hold', state.held.breakpoint === 'step' ? stepped : 'moment.held', {}];
  }
  if (player.behind && player.playing) return ['hold', 'play', 'moment.telling', { time: late }];
  if (player.behind) return ['hold', 'hold', 'moment.behind', { time: late }];
  if (player.stopped) {
    const hop = current.hop;
    const refused = hop && hop.kind === 'response' && hop.code >= 400;
    return refused ? ['deny', 'deny', 'moment.refused', {}] : ['hold', 'hold', 'moment.paused', {}];
  }
  if (player.rests) return ['hold', 'hold', 'moment.rests', {}];
  return ['allow', 'allow', 'moment.live', {}];
}

/** @param {Context} ctx */
function breakpoints(ctx) {
  const { words, act, player } = ctx;
  const list = player.server.breakpoints || [];
  const set = new Set(list.map((b) => b.id));
  return h(
    'div.anchor',
    { key: 'breaks' },
    h(
      'button.pick',
      {
        'aria-haspopup': 'true',
        'aria-expanded': String(ctx.ui.menu === 'breaks'),
        disabled: player.live && !player.drives,
        'aria-label': words.t('bar.breakpoints', { n: list.length }),
        onClick: () => act.menu('breaks'),
      },
      list.length ? h('span.is-deny.v', null, glyph('flag')) : glyph('flag'),
      ' ',
      h('b', null, String(list.length)),
      h(
        'span.hide-compact',
        null,
        words.t('bar.breakpoints', { n: list.length }).replace(/^\d+ /, ''),
      ),
    ),
    menu(
      ctx,
      'breaks',
      h('h2', null, words.t('breaks.title')),
      act.presets().map((preset) =>
        h(
          'button.item',
          {
            'aria-pressed': String(set.has(preset.id)),
            onClick: () => act.breakpoint(preset),
          },
          glyph(set.has(preset.id) ? 'flag' : 'flagOff', '', set.has(preset.id) ? 'on' : ''),
          words.t(preset.label),
        ),
      ),
      list
        .filter((b) => !act.presets().some((p) => p.id === b.id))
        .map((b) =>
          h(
            'button.item',
            {
              'aria-pressed': 'true',
              onClick: () => act.breakpoint(b),
            },
            glyph('flag', '', 'on'),
            breakpointText(words, b),
          ),
        ),
      h('p.note', null, words.t('breaks.hint')),
      list.length
        ? h('button.item', { onClick: () => act.clearBreakpoints() }, words.t('breaks.clear'))
        : null,
    ),
  );
}

/** @param {Words} words @param {import('../../types.js').Breakpoint} b */
function breakpointText(words, b) {
  const where = b.gate ? words.t(`gate.${b.gate}`) : b.plugin || b.phase || b.step || b.kind;
  return [where, b.verb, b.resource].filter(Boolean).join(' · ');
}
