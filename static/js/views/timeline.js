// @ts-check
/** The timeline: lanes of bars, causes as curved arrows, the head that can be dragged, the zoom. */
import { areasAt, niceWidth, rangeAt, ticksOf, timelineAt } from '../core/timeline.js';
import { crowdCounts } from '../core/explain/crowd.js';
import { lastPart } from '../core/cluster.js';
import { numberOf } from '../core/explain/gates.js';
import { duration } from '../core/words.js';
import { h, remPixels, render } from './dom.js';
import { shapes } from './glyphs.js';
import { say } from './parts.js';
import { followedPod } from './nodes.js';
import { clientLabel } from './requesters.js';

/** @typedef {import('./parts.js').Context} Context */

const SLICES = 90;
// about what one request takes; where that is a speck, arrows between specks say nothing
const REQUEST_US = 1700;

/** @param {HTMLElement} host @param {Context} ctx */
export function renderTimeline(host, ctx) {
  const range = rangeOf(ctx);
  const crowd = ctx.focus === 'crowd' && !range.empty;
  const model = crowd ? crowdLanes(ctx, range) : lanesOf(ctx, range);
  const plot = host.querySelector('.plot');
  const size = plot ? plot.getBoundingClientRect() : { width: 800, height: 140 };
  render(
    host,
    tools(ctx, range),
    h(
      'ol.names',
      { key: 'names' },
      model.lanes.map((lane) => h('li', { key: lane.id, class: lane.on ? 'on' : '' }, lane.name)),
    ),
    h(
      'div.plot',
      {
        key: 'plot',
        role: 'slider',
        tabindex: '0',
        'aria-label': ctx.words.t('time.scrub'),
        'aria-valuemin': String(ctx.index.first),
        'aria-valuemax': String(ctx.index.last),
        'aria-valuenow': String(ctx.state.seq),
        'aria-valuetext': duration(ctx.state.t - range.origin),
      },
      range.empty
        ? h('p.empty', { key: 'empty' }, h('span', null, ctx.words.t('time.empty')))
        : null,
      h('svg', { key: 'svg', 'aria-hidden': 'true' }, drawing(ctx, model, range, size)),
    ),
  );
}

/**
 * @type {{from: number, to: number, origin: number, t: number, empty: boolean, zoom: number,
 *   root: number}|null}
 */
let kept = null;

/** The range holds still while the cursor is well inside it. @param {Context} ctx */
export function rangeOf(ctx) {
  const { index, player, state, ui, current } = ctx;
  const range = rangeAt(index, player.follow, state.seq, ui.zoom);
  const t = range.empty ? ctx.now : range.t;
  if (range.empty)
    return { ...range, from: t - 10_000_000 / ui.zoom, to: t + 400_000 / ui.zoom, origin: t };
  if (ctx.focus === 'crowd') {
    return {
      ...range,
      from: range.origin,
      to: range.origin + niceWidth((t - range.origin) * 1.3 + 1000) / ui.zoom,
    };
  }
  const width = range.to - range.from;
  if (kept && ui.dragging) return kept;
  if (kept && kept.zoom === ui.zoom && kept.root === current.root) {
    const old = kept.to - kept.from;
    const inside = t >= kept.from + old * 0.06 && t <= kept.from + old * 0.86;
    if (inside && width < old * 2.3 && width > old * 0.35) return kept;
  }
  kept = { ...range, zoom: ui.zoom, root: current.root };
  return kept;
}

/**
 * @param {Context} ctx @param {{from: number, to: number, origin: number, empty: boolean}} range
 */
function lanesOf(ctx, range) {
  const { index, player, state, words, compact } = ctx;
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
  const model = timelineAt(index, player.follow, state.seq, range);
  const most = compact ? 7 : 9;
  let lanes = model.lanes.filter(
    (lane) =>
      lane.bars.length ||
      lane.marks.length ||
      (!compact && ['kubectl', 'apiserver', 'etcd'].includes(lane.id)),
  );
  while (lanes.length > most) {
    const spare = lanes.findLastIndex(
      (lane) => !lane.on && !['apiserver', 'etcd'].includes(lane.id),
    );
    lanes = lanes.filter((_, i) => i !== (spare < 0 ? lanes.length - 1 : spare));
  }
  return {
    lanes: lanes.map((lane) => ({ ...lane, name: laneName(ctx, lane.id) })),
    arrows: model.arrows,
  };
}

/** @param {Context} ctx @param {string} id */
function laneName(ctx, id) {
  if (id === 'apiserver') return ctx.words.t('time.api');
  const root = id === 'kubectl' && ctx.index.spans.get(ctx.current.root);
  return root ? clientLabel(ctx.words, /** @type {any} */ (root.open).client) : id;
}

/** @param {Context} ctx @param {any} range */
function crowdLanes(ctx, range) {
  const { index, state, words } = ctx;
  const areas = areasAt(index, state.seq, range, SLICES);
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
  const mine = timelineAt(index, { pod: pod.key }, state.seq, range);
  const bars = mine.lanes
    .filter((lane) => !['kubectl', 'apiserver', 'etcd'].includes(lane.id))
    .flatMap((lane) => lane.bars);
  return {
    lanes: [...lanes, { id: pod.key, name: lastPart(pod.name), bars, marks: [], on: true }],
    arrows: [],
  };
}

/** @param {Context} ctx @param {any} range */
function tools(ctx, range) {
  const { words, state, player, act, current } = ctx;
  const { request } = current;
  const number = request ? numberOf(/** @type {any} */ (ctx), request) : 0;
  const follow = player.follow.pod;
  const what = follow
    ? say(words, 'time.following', { name: lastPart(follow) })
    : ctx.focus === 'crowd'
      ? words.t('time.grouped', {
          pods: crowdCounts(/** @type {any} */ (ctx)).made,
          n: state.counts.requests,
        })
      : number
        ? words.t('time.command', { n: number })
        : '';
  const zoom = (
    /** @type {string} */ label,
    /** @type {string} */ sign,
    /** @type {number} */ factor,
  ) =>
    h(
      'button.zoom',
      {
        'aria-label': words.t(label),
        title: words.t(label),
        onClick: () => act.zoom(factor),
      },
      sign,
    );
  return h(
    'div.tools',
    { key: 'tools' },
    h('span', null, say(words, 'time.shown')),
    h('span', null, what),
    follow ? h('button.link', { onClick: () => act.unfollow() }, words.t('time.unfollow')) : null,
    h('span.soft', null, words.t('time.hidden', { n: state.counts.beats })),
    h(
      'span.right',
      null,
      zoom('time.out', '−', 0.5),
      h('span', null, words.t('time.zoom', { time: duration(range.to - range.from) })),
      zoom('time.in', '+', 2),
    ),
  );
}

// -- the drawing --------------------------------------------------------------------------------

/**
 * Where times and lanes lie, in pixels.
 * @param {any} range @param {{width: number, height: number}} size @param {number} count
 */
export function scaleOf(range, size, count) {
  const rem = remPixels();
  const top = 1.5 * rem;
  const pad = 0.6 * rem;
  const row = (size.height - top) / Math.max(1, count);
  const usable = Math.max(50, size.width - 2 * pad - 3 * rem);
  return {
    rem,
    top,
    row,
    x: (/** @type {number} */ t) => pad + ((t - range.from) / (range.to - range.from)) * usable,
    t: (/** @type {number} */ x) => range.from + ((x - pad) / usable) * (range.to - range.from),
    y: (/** @type {number} */ i) => top + row * (i + 0.5),
    bar: Math.min(row * 0.72, 1.4 * rem),
  };
}

/** @typedef {ReturnType<typeof scaleOf>} Scale */

/**
 * @param {Context} ctx @param {any} model @param {any} range
 * @param {{width: number, height: number}} size
 */
function drawing(ctx, model, range, size) {
  const scale = scaleOf(range, size, model.lanes.length);
  const head = range.empty ? range.origin : ctx.state.t;
  const known = ctx.index.record(ctx.index.last)?.t || head;
  const ghost = ctx.player.behind && known > head;
  const where = new Map(
    model.lanes.map((/** @type {any} */ lane, /** @type {number} */ i) => [lane.id, i]),
  );
  return [
    tips(),
    ghost
      ? h('rect.future', {
          key: 'future',
          x: scale.x(head),
          y: 0,
          width: Math.max(0, size.width - scale.x(head)),
          height: size.height,
        })
      : null,
    ticks(ctx, range, size, scale, head),
    model.lanes.map((/** @type {any} */ _, /** @type {number} */ i) =>
      h('line.laneline', {
        key: `l${i}`,
        x1: 0,
        x2: size.width,
        y1: scale.y(i) + scale.row / 2,
        y2: scale.y(i) + scale.row / 2,
      }),
    ),
    model.lanes.map((/** @type {any} */ lane, /** @type {number} */ i) =>
      laneBars(ctx, lane, i, scale, size, head),
    ),
    spaced(
      model.arrows.filter((/** @type {any} */ a) => where.has(a.from[0]) && where.has(a.to[0])),
      scale,
    ).map((/** @type {any} */ a, /** @type {number} */ n) => arrow(a, n, where, scale)),
    model.lanes.map((/** @type {any} */ lane, /** @type {number} */ i) =>
      lane.marks.map((/** @type {any} */ m) => mark(ctx, m, i, scale, size)),
    ),
    headLine(ctx, range, size, scale, head),
  ];
}

function tips() {
  const tip = (/** @type {string} */ id, /** @type {string} */ color) =>
    h(
      'marker',
      {
        key: id,
        id: `tip${id}`,
        viewBox: '0 0 8 8',
        refX: 6,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        orient: 'auto',
        markerUnits: 'userSpaceOnUse',
      },
      h('path', { d: 'M0 0l8 4-8 4z', fill: `var(--${color})` }),
    );
  return h('defs', { key: 'defs' }, tip('', 'ink'), tip('-ghost', 'ink-3'), tip('-now', 'now'));
}

/**
 * @param {Context} ctx @param {any} range @param {any} size @param {Scale} scale
 * @param {number} head
 */
function ticks(ctx, range, size, scale, head) {
  const most = Math.max(3, Math.floor(size.width / (9 * scale.rem)));
  return ticksOf(range, most).map((at) => {
    const x = scale.x(range.origin + at);
    const covered =
      Math.abs(x + 2 * scale.rem - scale.x(head)) < 4.4 * scale.rem &&
      x < scale.x(head) + 3 * scale.rem;
    const label = at === 0 ? (range.empty ? '' : '0') : at < 0 ? `−${duration(-at)}` : duration(at);
    return [
      h('line.tick', {
        key: `t${at}`,
        x1: x,
        x2: x,
        y1: scale.top - 0.3 * scale.rem,
        y2: size.height,
      }),
      covered || !label
        ? null
        : h('text', { key: `tt${at}`, x: x + 4, y: 0.95 * scale.rem }, label),
    ];
  });
}

/**
 * @param {Context} ctx @param {any} lane @param {number} i @param {Scale} scale @param {any} size
 * @param {number} head
 */
function laneBars(ctx, lane, i, scale, size, head) {
  if (lane.area) return area(lane, i, scale, size, head, ctx);
  const wide = 0.56 * scale.rem;
  let free = -1e9;
  const bars = [...lane.bars].sort((a, b) => a.from - b.from);
  return bars.map((bar, n) => {
    const x = scale.x(bar.from);
    const width = Math.max(3, scale.x(bar.to) - x);
    if (x > size.width || x + width < 0) return null;
    const drawn = h(
      'rect.bar-box',
      {
        key: `b${lane.id}${bar.seq}${bar.from}`,
        class: bar.tone,
        x,
        y: scale.y(i) - scale.bar / 2,
        width,
        height: scale.bar,
        rx: 2,
        onClick: (/** @type {Event} */ e) => {
          e.stopPropagation();
          ctx.act.visit(bar.seq);
        },
      },
      h('title', null, bar.title),
    );
    const next = bars[n + 1];
    if (lane.marks.length && bar.tone === 'deny') return drawn;
    const label = barLabel(
      bar,
      x,
      width,
      next ? scale.x(next.from) : 1e9,
      wide,
      free,
      scale.x(head),
    );
    if (!label) return drawn;
    free = label.x + bar.label.length * wide;
    return [
      drawn,
      h(
        `text.${label.cls}`,
        { key: `x${lane.id}${bar.seq}`, x: label.x, y: scale.y(i) + 0.32 * scale.rem },
        bar.label,
      ),
    ];
  });
}

/**
 * @param {any} bar @param {number} x @param {number} width @param {number} next
 * @param {number} wide @param {number} free @param {number} headX
 */
function barLabel(bar, x, width, next, wide, free, headX) {
  if (!bar.label) return null;
  const needed = bar.label.length * wide;
  if (needed < width - 6)
    return { cls: bar.tone === 'ghost' ? 'ghostlabel' : 'inlabel', x: Math.max(x, 0) + 6 };
  const end = x + width;
  if (end < free + 4 || needed > next - end - 4) return null;
  if (end < headX && end + needed + 5 > headX) return null;
  return { cls: bar.tone === 'ghost' ? 'ghostlabel' : 'outlabel', x: end + 5 };
}

/**
 * @param {any} lane @param {number} i @param {Scale} scale @param {any} size @param {number} head
 * @param {Context} ctx
 */
function area(lane, i, scale, size, head, ctx) {
  const most = Math.max(1, ...lane.area);
  const base = scale.y(i) + scale.row * 0.44;
  const range = rangeOf(ctx);
  const step = (range.to - range.from) / lane.area.length;
  const points = [];
  for (let n = 0; n < lane.area.length; n += 1) {
    const t = range.from + (n + 0.5) * step;
    if (t > head) break;
    points.push(`${scale.x(t)},${base - (lane.area[n] / most) * scale.row * 0.8}`);
  }
  if (!points.length) return null;
  const end = Math.min(scale.x(head), size.width);
  return h('polygon.area', {
    key: `a${lane.id}`,
    class: lane.id === 'ready' ? 'allow' : lane.id === 'failed' ? 'bad' : '',
    points: `${scale.x(range.from)},${base} ${points.join(' ')} ${end},${base}`,
  });
}

/**
 * Arrows that would lie on each other say nothing: only those of the chain stay then.
 * @param {any[]} arrows @param {Scale} scale
 */
function spaced(arrows, scale) {
  const isFine = scale.x(REQUEST_US) - scale.x(0) < 7;
  /** @type {Map<string, number>} */ const taken = new Map();
  return arrows.filter((a) => {
    const id = `${a.from[0]} ${a.to[0]}`;
    const x = scale.x(a.to[1]);
    const free = !isFine && x - (taken.get(id) ?? -1e9) > 16;
    if (free || a.tone === 'now') taken.set(id, x);
    return free || a.tone === 'now';
  });
}

/** @param {any} a @param {number} n @param {Map<string, number>} where @param {Scale} scale */
function arrow(a, n, where, scale) {
  const i = /** @type {number} */ (where.get(a.from[0]));
  const j = /** @type {number} */ (where.get(a.to[0]));
  if (i === j) return null;
  const d = j > i ? 1 : -1;
  const x1 = scale.x(a.from[1]);
  const x2 = scale.x(a.to[1]);
  const y1 = scale.y(i) + (d * scale.bar) / 2;
  const y2 = scale.y(j) - d * (scale.bar / 2 + 3);
  const steep = Math.abs(x2 - x1) < 14;
  if (steep && Math.abs(y2 - y1) < 8) return null;
  if (steep)
    return h('path.cause', {
      key: `c${n}`,
      class: a.tone,
      'marker-end': `url(#tip${a.tone ? `-${a.tone}` : ''})`,
      d: `M${x2} ${y1}V${y2}`,
    });
  return h('path.cause', {
    key: `c${n}`,
    class: a.tone,
    'marker-end': `url(#tip${a.tone ? `-${a.tone}` : ''})`,
    d: [
      `M${x1} ${y1} C${x1 + 6} ${y1 + d * scale.row * 0.5}`,
      `${x2} ${y2 - d * scale.row * 0.6} ${x2} ${y2}`,
    ].join(' '),
  });
}

/** @param {Context} ctx @param {any} m @param {number} i @param {Scale} scale @param {any} size */
function mark(ctx, m, i, scale, size) {
  const { words } = ctx;
  const x = scale.x(m.t) + 0.9 * scale.rem;
  if (x < 0 || x > size.width) return null;
  const half = 0.6 * scale.rem;
  return h(
    'g.mark',
    { key: `m${m.t}` },
    h(
      'svg',
      {
        x: x - half,
        y: scale.y(i) - half,
        width: 2 * half,
        height: 2 * half,
        viewBox: '0 0 24 24',
      },
      shapes('deny'),
    ),
    h(
      'text.outlabel',
      { x: x + 0.9 * scale.rem, y: scale.y(i) + 0.32 * scale.rem },
      words.t('time.refused', {
        code: String(m.code),
        gate: m.gate ? words.t(`gate.${m.gate}`).toLowerCase() : '',
      }),
    ),
  );
}

/**
 * @param {Context} ctx @param {any} range @param {any} size @param {Scale} scale
 * @param {number} head
 */
function headLine(ctx, range, size, scale, head) {
  const label = range.empty
    ? ctx.words.t('time.now')
    : ctx.player.past
      ? `r${ctx.state.rev}`
      : `+${duration(head - range.origin)}`;
  const x = Math.max(0, Math.min(scale.x(head), size.width));
  const width = label.length * 0.58 * scale.rem + scale.rem;
  const left = Math.max(0, Math.min(x - width / 2, size.width - width));
  return h(
    'g',
    { key: 'head' },
    h('line.head', { x1: x, x2: x, y1: 0.5 * scale.rem, y2: size.height }),
    h('rect.headbox', { x: left, y: 0, width, height: 1.4 * scale.rem, rx: 3 }),
    h(
      'text.headtext',
      { x: left + width / 2, y: 1.02 * scale.rem, 'text-anchor': 'middle' },
      label,
    ),
  );
}
