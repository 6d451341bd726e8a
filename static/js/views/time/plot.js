// @ts-check
/** The drawing of the timeline: bars, labels that fit, causes as curves, areas, the head. */
import { axisTime, seenIn, ticksOf } from '../../core/timeline/axis.js';
import { previewAt } from '../../core/timeline/timeline.js';
import { h } from '../kit/dom.js';
import { shapes } from '../kit/glyphs.js';
import { originOf } from '../../core/cluster/forks.js';
import { hitsOf } from './find.js';
import { secondBars, secondOf } from '../forks/secondtrack.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/timeline/timeline.js').Lane & {area?: number[]}} Lane */
/** @typedef {import('../../core/timeline/timeline.js').Arrow} Arrow */
/** @typedef {import('../../core/timeline/axis.js').Range} Range */
/** @typedef {import('../kit/parts.js').Room} Size */

// about what one request takes; where that is a speck, arrows between specks say nothing
const REQUEST_US = 1700;
// so far beyond its edges a bar is drawn that goes on there, in pixels: from close by it would be
// millions of them wide, and of one that is dashed a browser makes every dash
const RIM = 24;

/**
 * Where times and lanes lie, in pixels.
 * @param {Range} range @param {Size} size @param {number} count
 * @param {boolean} [shares]  whether a lane's bars share its height with thin ones beneath them
 */
export function scaleOf(range, size, count, shares = false) {
  const { rem } = size;
  const top = 1.5 * rem;
  const pad = 0.6 * rem;
  const row = (size.height - top) / Math.max(1, count);
  const usable = Math.max(50, size.width - 2 * pad - 3 * rem);
  return {
    range,
    rem,
    top,
    row,
    x: (/** @type {number} */ t) => pad + ((t - range.from) / (range.to - range.from)) * usable,
    t: (/** @type {number} */ x) => range.from + ((x - pad) / usable) * (range.to - range.from),
    y: (/** @type {number} */ i) => top + row * (i + (shares ? 0.38 : 0.5)),
    bar: Math.min(row * (shares ? 0.58 : 0.72), 1.4 * rem),
    end: (/** @type {number} */ i) => top + row * (i + 1),
    seen: (/** @type {number} */ x, /** @type {number} */ width) => {
      const left = Math.max(x, -RIM);
      return { x: left, width: Math.min(x + width, size.width + RIM) - left };
    },
  };
}

/** @typedef {ReturnType<typeof scaleOf>} Scale */

/**
 * @param {Context} ctx @param {{lanes: Lane[], arrows: Arrow[]}} model @param {Range} range
 * @param {Size} size
 */
export function drawing(ctx, model, range, size) {
  const scale = scaleOf(range, size, model.lanes.length, !!secondOf(ctx));
  const head = range.empty ? range.origin : range.rests ? range.t : ctx.state.t;
  const known = ctx.whole.record(ctx.whole.last)?.t || head;
  const begin = ctx.whole.first > 1 ? ctx.whole.record(ctx.whole.first)?.t || range.from : 0;
  const ghost = ctx.player.behind && known > head;
  const where = new Map(
    model.lanes.map((lane, i) => [lane.id, i]),
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
    begin > range.from
      ? h('rect.future', { key: 'earlier', x: 0, y: 0, width: scale.x(begin), height: size.height })
      : null,
    tickLines(ctx, range, size, scale, head),
    model.lanes.map((_, i) =>
      h('line.laneline', {
        key: `l${i}`,
        x1: 0,
        x2: size.width,
        y1: scale.end(i),
        y2: scale.end(i),
      }),
    ),
    model.lanes.map((lane, i) =>
      laneBars(ctx, lane, i, scale, size, head),
    ),
    model.lanes.map((lane, i) => secondBars(ctx, lane, i, scale, size, head)),
    spaced(
      model.arrows.filter((a) => where.has(a.from[0]) && where.has(a.to[0])),
      scale,
    ).map((a, n) => arrow(a, n, where, scale)),
    model.lanes.map((lane, i) =>
      labelled(ctx, lane.marks, scale).map((m) => mark(m, i, scale, size)),
    ),
    hits(ctx, range, scale),
    poles(ctx, range, size, scale),
    partings(ctx, range, size, scale),
    hover(ctx, range, size, scale),
    headLine(ctx, range, size, scale, head),
  ];
}

/** How far a time is from where it is read from. @param {number} t @param {Range} range */
function timeOf(t, { from, to, origin }) {
  const time = axisTime(Math.abs(t - origin), (to - from) / 200);
  return `${t < origin ? '−' : '+'}${time}`;
}

/**
 * What is there where the pointer is.
 * @param {Context} ctx @param {Range} range @param {Size} size @param {Scale} scale
 */
function hover({ ui, whole, player, state }, range, size, scale) {
  const t = ui.hover;
  if (t === null || ui.dragging || range.empty || t < range.from || t > range.to) return null;
  const preview = previewAt(whole, seenIn(ui.window, player.follow), state.seq, t);
  if (!preview) return null;
  const label = `${timeOf(t, range)} · r${preview.rev} · ${preview.what}`;
  const x = scale.x(t);
  const width = label.length * 0.52 * scale.rem + scale.rem;
  const left = Math.max(0, Math.min(x - width / 2, size.width - width));
  return h(
    'g.hover',
    { key: 'hover' },
    h('line', { x1: x, x2: x, y1: scale.top, y2: size.height }),
    h('rect', { x: left, y: 0, width, height: 1.4 * scale.rem, rx: 3 }),
    h('text', { x: left + width / 2, y: 1.02 * scale.rem, 'text-anchor': 'middle' }, label),
  );
}

/**
 * What was found, as marks on the axis.
 * @param {Context} ctx @param {Range} range @param {Scale} scale
 */
function hits(ctx, range, scale) {
  return hitsOf(ctx)
    .filter(({ t }) => t >= range.from && t <= range.to)
    .map(({ seq, t }) => {
      const x = scale.x(t);
      const down = scale.top - 1;
      return h('path.hit', {
        key: `h${seq}`,
        class: seq === ctx.ui.found ? 'here' : '',
        d: `M${x - 4} ${down - 7}h8l-4 7z`,
      });
    });
}

/**
 * Where the pennants above stand.
 * @param {Context} ctx @param {Range} range @param {Size} size @param {Scale} scale
 */
function poles({ ui }, range, size, scale) {
  return ui.bookmarks
    .filter(({ t }) => t >= range.from && t <= range.to)
    .map(({ seq, t }) => {
      const x = scale.x(t);
      return h('line.pole', { key: `pole${seq}`, x1: x, x2: x, y1: 0, y2: size.height });
    });
}

/**
 * Where a fork begins, and where what came of it parts from the other cluster.
 * @param {Context} ctx @param {Range} range @param {Size} size @param {Scale} scale
 */
function partings({ ui, words, meta, player }, range, size, scale) {
  const { comparison, forks } = ui;
  const name = comparison?.fork || meta.cluster;
  const fork = player.live && forks.find((known) => known.name === name);
  if (!fork || originOf(meta.cluster) !== fork.cluster) return null;
  const isIn = (/** @type {number} */ t) => t >= range.from && t <= range.to;
  const times = new Map(
    (comparison?.differences || [])
      .filter((difference) => !difference.asked)
      .map((difference) => [fork.t + difference.after, difference.name]),
  );
  const from = scale.x(fork.t);
  return h(
    'g.partings',
    { key: 'partings' },
    isIn(fork.t)
      ? [
          h('line', { x1: from, x2: from, y1: scale.top, y2: size.height }),
          h('text', { x: from + 4, y: size.height - 0.3 * scale.rem }, words.t('fork.begins')),
        ]
      : null,
    [...times].filter(([t]) => isIn(t)).map(([t, what]) => {
      const x = scale.x(t);
      const y = scale.top - 4;
      return h('path', { key: `p${t}`, d: `M${x} ${y - 6}l5 5-5 5-5-5z` }, h('title', null, what));
    }),
  );
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
 * @param {Context} ctx @param {Range} range @param {Size} size @param {Scale} scale
 * @param {number} head
 */
function tickLines(ctx, range, size, scale, head) {
  const most = Math.max(3, Math.floor(size.width / (9 * scale.rem)));
  const { ticks, step } = ticksOf(range, most);
  const time = (/** @type {number} */ at) => axisTime(at, step);
  return ticks.map((at) => {
    const x = scale.x(range.origin + at);
    const covered =
      Math.abs(x + 2 * scale.rem - scale.x(head)) < 4.4 * scale.rem &&
      x < scale.x(head) + 3 * scale.rem;
    const label = at === 0 ? (range.empty ? '' : '0') : at < 0 ? `−${time(-at)}` : time(at);
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
 * @param {Context} ctx @param {Lane} lane @param {number} i @param {Scale} scale @param {Size} size
 * @param {number} head
 */
function laneBars(ctx, lane, i, scale, size, head) {
  if (lane.area) return area(lane.id, lane.area, i, scale, head);
  // a bar lower than text has its label beside it, in smaller type; a lane lower still has none
  const isLow = scale.bar < 0.95 * scale.rem;
  const small = isLow ? Math.min(0.8, (scale.row * 0.95) / scale.rem) : 0;
  const isTiny = isLow && small < 0.7;
  const wide = (isLow ? 0.5 : 0.56) * scale.rem;
  let free = -1e9;
  const refusals = labelled(ctx, lane.marks, scale);
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
        ...scale.seen(x, width),
        y: scale.y(i) - scale.bar / 2,
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
    if (isTiny || (lane.marks.length && bar.tone === 'deny')) return drawn;
    const text = textOf(ctx, bar);
    const needed = signsIn(text) * wide;
    const beyond = next ? scale.x(next.from) : 1e9;
    const label = text && labelPlace(bar, x, width, beyond, needed, free, scale.x(head), !isLow);
    if (!label) return drawn;
    const end = label.x + needed;
    if (refusals.some((one) => label.x < one.end && end > one.x - 0.6 * scale.rem)) return drawn;
    free = end;
    return [
      drawn,
      h(
        `text.${label.cls}`,
        {
          key: `x${lane.id}${bar.seq}`,
          x: label.x,
          y: scale.y(i) + (isLow ? 0.36 * small : 0.32) * scale.rem,
          style: isLow ? { 'font-size': `${small}rem` } : null,
        },
        text,
      ),
    ];
  });
}

/** What stands at a bar. @param {Context} ctx @param {Lane['bars'][number]} bar */
const textOf = ({ words }, { label, step }) =>
  step ? `${label}: ${words.t(`step.${step}`)}` : label;

/** How wide a text is, in letters: a Chinese sign is two of them. @param {string} text */
const signsIn = (text) => text.replace(/[\u3400-\u9fff]/g, 'xx').length;

/**
 * @param {Lane['bars'][number]} bar @param {number} x @param {number} width @param {number} next
 * @param {number} needed @param {number} free @param {number} headX
 * @param {boolean} inside  whether the bar is high enough for text
 */
function labelPlace(bar, x, width, next, needed, free, headX, inside) {
  if (inside && needed < width - 6 && x + 6 > free)
    return { cls: bar.tone === 'ghost' ? 'ghostlabel' : 'inlabel', x: Math.max(x, 0) + 6 };
  const end = x + width;
  if (end < free + 4 || needed > next - end - 4) return null;
  if (end < headX && end + needed + 5 > headX) return null;
  return { cls: bar.tone === 'ghost' ? 'ghostlabel' : 'outlabel', x: end + 5 };
}

/**
 * How much there was, and beyond the head what is yet to come.
 * @param {string} id @param {number[]} counts @param {number} i @param {Scale} scale
 * @param {number} head
 */
function area(id, counts, i, scale, head) {
  const most = Math.max(1, ...counts);
  const base = scale.y(i) + scale.row * 0.44;
  const { range } = scale;
  const step = (range.to - range.from) / counts.length;
  const at = (/** @type {number} */ n) => range.from + (n + 0.5) * step;
  const shape = (/** @type {number} */ first, /** @type {number} */ end) => {
    const high = [];
    for (let n = first; n < end; n += 1) {
      high.push(`${scale.x(at(n))},${base - (counts[n] / most) * scale.row * 0.8}`);
    }
    const [left, right] = [scale.x(at(first) - step / 2), scale.x(at(end) - step / 2)];
    return `${left},${base} ${high.join(' ')} ${right},${base}`;
  };
  const past = Math.max(0, Math.min(counts.length, Math.ceil((head - range.from) / step - 0.5)));
  const tone = id === 'ready' ? 'allow' : id === 'failed' ? 'bad' : '';
  return [
    past ? h('polygon.area', { key: `a${id}`, class: tone, points: shape(0, past) }) : null,
    past < counts.length
      ? h('polygon.area.ghost', { key: `g${id}`, points: shape(past, counts.length) })
      : null,
  ];
}

/**
 * Arrows that would lie on each other say nothing: only those of the chain stay then.
 * @param {Arrow[]} arrows @param {Scale} scale
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

/** @param {Arrow} a @param {number} n @param {Map<string, number>} where @param {Scale} scale */
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

/**
 * The refusals of a lane, and what stands at each: nothing where the next one is too near.
 * @param {Context} ctx @param {Lane['marks']} marks @param {Scale} scale
 */
function labelled({ words }, marks, scale) {
  const inOrder = [...marks].sort((a, b) => a.t - b.t);
  return inOrder.map(({ t, gate, code }, n) => {
    const x = scale.x(t) + 0.9 * scale.rem;
    const text = gate
      ? words.t('time.refused', {
          code: String(code),
          gate: words.t(`gate.${gate}`).toLowerCase(),
        })
      : String(code);
    const end = x + (0.9 + signsIn(text) * 0.56) * scale.rem;
    const next = inOrder[n + 1];
    const hasRoom = !next || end < scale.x(next.t);
    return hasRoom ? { t, x, text, end } : { t, x, text: '', end: x + 0.9 * scale.rem };
  });
}

/**
 * @param {ReturnType<typeof labelled>[number]} m @param {number} i @param {Scale} scale
 * @param {Size} size
 */
function mark({ t, x, text }, i, scale, size) {
  if (x < 0 || x > size.width) return null;
  const half = 0.6 * scale.rem;
  return h(
    'g.mark',
    { key: `m${t}` },
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
    text
      ? h('text.outlabel', { x: x + 0.9 * scale.rem, y: scale.y(i) + 0.32 * scale.rem }, text)
      : null,
  );
}

/**
 * @param {Context} ctx @param {Range} range @param {Size} size @param {Scale} scale
 * @param {number} head
 */
function headLine(ctx, range, size, scale, head) {
  const time = range.empty
    ? ctx.words.t('time.now')
    : ctx.player.past
      ? `r${ctx.state.rev}`
      : range.rests
        ? ctx.words.t('time.rest')
        : timeOf(head, range);
  const isOut = head > range.to ? 1 : head < range.from ? -1 : 0;
  const label = isOut > 0 ? `${time} ›` : isOut ? `‹ ${time}` : time;
  const x = Math.max(0, Math.min(scale.x(head), size.width));
  const width = label.length * 0.58 * scale.rem + scale.rem;
  const left = Math.max(0, Math.min(x - width / 2, size.width - width));
  return h(
    'g',
    { key: 'head' },
    isOut ? null : h('line.head', { x1: x, x2: x, y1: 0.5 * scale.rem, y2: size.height }),
    h('rect.headbox', { x: left, y: 0, width, height: 1.4 * scale.rem, rx: 3 }),
    h(
      'text.headtext',
      { x: left + width / 2, y: 1.02 * scale.rem, 'text-anchor': 'middle' },
      label,
    ),
  );
}
