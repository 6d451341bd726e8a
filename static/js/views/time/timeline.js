// @ts-check
/** The timeline: lanes of bars, causes as curved arrows, the head that can be dragged, the zoom. */
import { amountIn, countsIn } from '../../core/timeline/activity.js';
import {
  allOf, goneAlong, niceWidth, rangeAt, seenIn, widthTime,
} from '../../core/timeline/axis.js';
import { areasAt, sortLanes, timelineAt } from '../../core/timeline/timeline.js';
import { crowdCounts } from '../../core/explain/crowd.js';
import { shortPod } from '../../core/cluster/objects.js';
import { numberOf } from '../../core/explain/request.js';
import { duration } from '../../core/text/words.js';
import { h, remPixels, render } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { bookmarkField, canMark, pennants } from './bookmarks.js';
import { chapterStrip } from './chapters.js';
import { chips, findField } from './find.js';
import { drawing } from './plot.js';
import { secondOf } from '../forks/secondtrack.js';
import { say } from '../kit/parts.js';
import { followedPod } from '../map/nodes.js';
import { allAsWanted } from '../map/wanted.js';
import { clientLabel } from '../map/requesters.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('./plot.js').Lane & {name: string}} NamedLane */
/** @typedef {import('../../core/timeline/axis.js').Range} Range */

// of the ticks, and of the lowest lane whose name can be read
const TOP_REM = 1.5;
const LANE_REM_MIN = 0.78;
const SLICES = 90;
const DENSE_SLICES = 180;
// more than this in a window would be bars on top of each other
const BARS_MAX = 320;

/** How much room there is for the axis. @param {HTMLElement} host */
export function roomOf(host) {
  const plot = host.querySelector('.plot');
  const { width, height } = plot ? plot.getBoundingClientRect() : { width: 800, height: 140 };
  return { width, height, rem: remPixels() };
}

/** @param {HTMLElement} host @param {Context} ctx */
export function renderTimeline(host, ctx) {
  const range = rangeOf(ctx);
  const crowd = ctx.focus === 'crowd' && !range.empty;
  const { room: size } = ctx;
  const lanes = Math.floor((size.height / size.rem - TOP_REM) / LANE_REM_MIN);
  const most = Math.min(ctx.compact ? 7 : 9, Math.max(4, lanes));
  /** @type {{lanes: NamedLane[], arrows: import('../../core/timeline/timeline.js').Arrow[]}} */
  const model = crowd ? crowdLanes(ctx, range) : lanesOf(ctx, range, most);
  render(
    host,
    tools(ctx, range),
    pennants(ctx, range, size),
    h(
      'ol.names',
      { key: 'names' },
      model.lanes.map((lane) =>
        h(
          'li',
          { key: lane.id, class: lane.on ? 'on' : '' },
          h('span', { title: lane.name }, lane.name),
          lane.came && lane.came !== 'work'
            ? glyph(lane.came, ctx.words.t(`lane.came.${lane.came}`), 'came')
            : null,
        ),
      ),
    ),
    h(
      'div.plot',
      {
        key: 'plot',
        role: 'slider',
        tabindex: '0',
        'aria-label': ctx.words.t('time.scrub'),
        'aria-valuemin': String(ctx.whole.first),
        'aria-valuemax': String(ctx.whole.last),
        'aria-valuenow': String(ctx.state.seq),
        'aria-valuetext': range.rests
          ? ctx.words.t('time.rest')
          : duration(ctx.state.t - range.origin),
      },
      range.empty
        ? h('p.empty', { key: 'empty' }, h('span', null, ctx.words.t(emptyText(ctx))))
        : null,
      h('svg', { key: 'svg', 'aria-hidden': 'true' }, drawing(ctx, model, range, size)),
    ),
  );
}

const emptyText = (/** @type {Context} */ { player }) =>
  player.live && !player.drives ? 'time.emptyWatch' : 'time.empty';

/** @type {Range & {root: number}|null} */
let kept = null;

/** What is on the axis: a window that was chosen, else what suits it. @param {Context} ctx */
export const rangeOf = (ctx) => chosenRange(ctx) || storyRange(ctx);

/** @param {Context} ctx @returns {Range|null} */
function chosenRange({ ui, whole, state, player }) {
  if (!ui.window) return null;
  if (ui.window.all) ui.window = allOf(whole, ui.window);
  else if (!ui.dragging) {
    const stands = player.past || !player.live;
    ui.window = goneAlong(ui.window, state.t, ui.moved && stands);
  }
  return { ...ui.window, t: state.t, empty: false, rests: false };
}

/** It holds still while the cursor is well inside it. @param {Context} ctx @returns {Range} */
function storyRange(ctx) {
  const { whole, player, state, ui, current } = ctx;
  const range = rangeAt(whole, player.follow, state.seq);
  const t = range.empty ? ctx.now : range.t;
  if (range.empty) return { ...range, from: t - 10_000_000, to: t + 400_000, origin: t };
  if (ctx.focus === 'crowd') {
    return {
      ...range,
      from: Math.max(range.origin, whole.records[0]?.t || 0),
      to: range.origin + niceWidth((t - range.origin) * 1.3 + 1000),
    };
  }
  const width = range.to - range.from;
  if (kept && ui.dragging) return { ...kept, t, rests: false };
  if (kept && kept.root === current.root) {
    const old = kept.to - kept.from;
    const inside = t >= kept.from + old * 0.06 && t <= kept.from + old * 0.86;
    if (inside && width < old * 2.3 && width > old * 0.35)
      return { ...kept, t, rests: range.rests };
  }
  kept = { ...range, root: current.root };
  return kept;
}

/** @param {Context} ctx @param {Range} range @param {number} most */
function lanesOf(ctx, range, most) {
  const { whole, state, words, compact } = ctx;
  if (range.empty) {
    const names = [
      'kubectl',
      words.t('time.api'),
      'etcd',
      words.t('time.controllers'),
      'scheduler',
      words.t('time.kubelets'),
    ];
    return {
      lanes: names.map((name) => ({ id: name, name, bars: [], marks: [], on: false })),
      arrows: [],
    };
  }
  const seen = seenIn(ctx.ui.window, ctx.player.follow);
  if (seen.all && amountIn(whole, range) > BARS_MAX) return denseLanes(ctx, range, most);
  const model = timelineAt(whole, seen, state.seq, range);
  let lanes = withSecond(ctx, model.lanes, range).filter(
    (lane) =>
      lane.bars.length ||
      lane.second?.length ||
      lane.marks.length ||
      ((!compact || ctx.ui.window) && ['kubectl', 'apiserver', 'etcd'].includes(lane.id)),
  );
  if (lanes.length > most) {
    // those where something happened last
    const latest = (/** @type {import('../../core/timeline/timeline.js').Lane} */ lane) =>
      lane.on || ['apiserver', 'etcd'].includes(lane.id)
        ? Infinity
        : [...lane.bars, ...(lane.second || [])].reduce(
            (t, bar) =>
              bar.tone === 'ghost' ? t : Math.max(t, bar.from),
            -Infinity,
          );
    const at = new Map(lanes.map((lane) => [lane.id, latest(lane)]));
    const time = (/** @type {{id: string}} */ lane) => /** @type {number} */ (at.get(lane.id));
    const kept = new Set(
      [...lanes].sort((a, b) => (time(a) === time(b) ? 0 : time(b) - time(a))).slice(0, most),
    );
    lanes = lanes.filter((lane) => kept.has(lane));
  }
  return {
    lanes: lanes.map((lane) => ({ ...lane, name: laneName(ctx, lane.id) })),
    arrows: model.arrows,
  };
}

/**
 * With the bars of the cluster that this one is compared with, and the lanes that only it has.
 * @param {Context} ctx @param {import('./plot.js').Lane[]} lanes @param {Range} range
 * @returns {import('./plot.js').Lane[]}
 */
function withSecond(ctx, lanes, range) {
  const second = secondOf(ctx)?.bars(range);
  if (!second?.size) return lanes;
  const known = new Map(
    lanes.map((lane) => [lane.id, { ...lane, second: second.get(lane.id) }]),
  );
  for (const [id, bars] of second) {
    if (!known.has(id)) known.set(id, { id, bars: [], on: false, marks: [], second: bars });
  }
  return sortLanes(ctx.whole, [...known.keys()]).map((id) => /** @type {any} */ (known.get(id)));
}

/**
 * Where single bars would lie on each other: how much there was, the commands as before.
 * @param {Context} ctx @param {Range} range @param {number} most
 * @returns {{lanes: NamedLane[], arrows: import('../../core/timeline/timeline.js').Arrow[]}}
 */
function denseLanes(ctx, range, most) {
  const { whole } = ctx;
  const counts = countsIn(whole, range, DENSE_SLICES);
  const total = (/** @type {string} */ id) =>
    ['kubectl', 'apiserver', 'etcd'].includes(id)
      ? Infinity
      : (counts.get(id) || []).reduce((sum, n) => sum + n, 0);
  const busy = [...counts.keys()].sort((a, b) => total(b) - total(a) || (a < b ? -1 : 1));
  const lanes = sortLanes(whole, busy.slice(0, most)).map((id) => ({
    id,
    name: laneName(ctx, id),
    // so that the little beside much is seen
    area: counts.get(id)?.map(Math.sqrt),
    bars: [],
    marks: [],
    on: false,
  }));
  return { lanes, arrows: [] };
}

/** @param {Context} ctx @param {string} id */
function laneName(ctx, id) {
  if (id === 'apiserver') return ctx.words.t('time.api');
  if (ctx.ui.window && id === 'kubectl') return ctx.words.t('time.commands');
  const root = id === 'kubectl' && ctx.index.request(ctx.current.root);
  return root ? clientLabel(ctx, root.open.client) : id;
}

/** @param {Context} ctx @param {Range} range */
function crowdLanes(ctx, range) {
  const { whole, state, words } = ctx;
  const areas = areasAt(whole, state.seq, range, SLICES);
  const names = /** @type {(keyof typeof areas)[]} */ (['created', 'bound', 'ready', 'failed']);
  const lanes = names.map((id) => ({
    id,
    name: words.t(id === 'failed' ? 'crowd.failedN' : `crowd.${id}`),
    area: areas[id],
    bars: [],
    marks: [],
    on: false,
  }));
  const pod = followedPod(ctx);
  if (!pod) return { lanes, arrows: [] };
  const mine = timelineAt(whole, { pod: pod.key }, state.seq, range);
  const bars = mine.lanes
    .filter((lane) => !['kubectl', 'apiserver', 'etcd'].includes(lane.id))
    .flatMap((lane) => lane.bars);
  return {
    lanes: [...lanes, { id: pod.key, name: shortPod(pod.name), bars, marks: [], on: true }],
    arrows: [],
  };
}

/** @param {Context} ctx @param {Range} range */
function tools(ctx, range) {
  const { words, player, act, current, ui } = ctx;
  if (ui.find !== null) return h('div.tools', { key: 'tools' }, findField(ctx));
  if (ui.bookmark) return h('div.tools', { key: 'tools' }, bookmarkField(ctx));
  const { request } = current;
  const number = request ? numberOf(ctx.index, request) : 0;
  const follow = player.follow.pod;
  const what = follow
    ? say(words, 'time.following', { name: shortPod(follow) })
    : ctx.focus === 'crowd'
      ? words.t('time.grouped', {
          pods: crowdCounts(ctx.state).made,
          n: ctx.state.counts.requests,
        })
      : number
        ? words.t('time.command', { n: number })
        : '';
  const strip = follow || ctx.focus === 'crowd' ? null : chapterStrip(ctx);
  const second = secondOf(ctx);
  return h(
    'div.tools',
    { key: 'tools' },
    strip || (follow && ctx.compact ? null : h('span', null, say(words, 'time.shown'))),
    strip ? null : h('span', null, what),
    follow ? h('button.link', { onClick: () => act.unfollow() }, words.t('time.unfollow')) : null,
    (strip || follow) && ctx.compact ? null : chips(ctx),
    ctx.ui.reaching ? h('span.soft', null, words.t('loading.earlier')) : null,
    second ? h('span.thin', null, words.t('fork.thin', { cluster: second.cluster })) : null,
    allAsWanted(ctx),
    h(
      'span.right',
      null,
      h(
        'button.zoom',
        {
          'aria-label': words.t('find.label'),
          title: words.t('find.label'),
          'aria-keyshortcuts': '/',
          onClick: () => act.openFind(),
        },
        glyph('find'),
      ),
      canMark(ctx)
        ? h(
            'button.zoom',
            {
              'aria-label': words.t('mark.add'),
              title: words.t('mark.add'),
              'aria-keyshortcuts': 'm',
              onClick: () => act.mark(),
            },
            glyph('pennant'),
          )
        : null,
      h(
        'button.zoom',
        {
          'aria-label': words.t(ui.copied ? 'link.copied' : 'link.copy'),
          title: words.t(ui.copied ? 'link.copied' : 'link.copy'),
          onClick: () => act.copyLink(),
        },
        glyph(ui.copied ? 'allow' : 'link'),
      ),
      zoomButtons(ctx, range),
    ),
  );
}

/**
 * Closer, wider, all of it, and back to what suits the story.
 * @param {Context} ctx @param {Range} range
 */
function zoomButtons({ words, act, ui }, range) {
  const step = (
    /** @type {string} */ label,
    /** @type {string} */ sign,
    /** @type {number} */ factor,
  ) =>
    h(
      'button.zoom',
      {
        'aria-label': words.t(label),
        title: words.t(label),
        'aria-keyshortcuts': sign,
        onClick: () => act.zoom(factor),
      },
      sign === '-' ? '−' : sign,
    );
  const time = widthTime(range.to - range.from);
  return [
    step('time.out', '-', 0.5),
    h(
      'button.zoom.width',
      {
        'aria-pressed': String(!ui.window),
        'aria-label': words.t('time.zoom', { time }),
        title: words.t('time.zoom', { time }),
        onClick: () => act.showStory(),
      },
      time,
    ),
    step('time.in', '+', 2),
    h(
      'button.zoom.width',
      {
        'aria-pressed': String(!!ui.window?.all),
        title: words.t('time.allText'),
        'aria-keyshortcuts': '0',
        onClick: () => act.showAll(),
      },
      words.t('time.all'),
    ),
  ];
}
