// @ts-check
/** The signs: every verdict has an outline of its own, so that it reads without colour. */
import { h } from './dom.js';

const INK = { fill: 'currentColor' };
const CUT = 'var(--cut)';

/** @param {string} d @param {any} more */
const path = (d, more) => ['path', { d, ...more }];
const line = (/** @type {string} */ d, /** @type {number} */ width, stroke = 'currentColor') =>
  path(d, {
    fill: 'none',
    stroke,
    'stroke-width': width,
    'stroke-linecap': 'round',
    'stroke-linejoin': 'round',
  });
const box = (/** @type {any} */ more) => [
  'rect',
  {
    x: 3,
    y: 3,
    width: 18,
    height: 18,
    rx: 4,
    fill: CUT,
    stroke: 'currentColor',
    'stroke-width': 2.2,
    ...more,
  },
];
const ring = (/** @type {any} */ more) => [
  'circle',
  {
    cx: 12,
    cy: 12,
    r: 9,
    fill: CUT,
    stroke: 'currentColor',
    'stroke-width': 2.2,
    ...more,
  },
];

/** @type {Record<string, any[]>} */
const SHAPES = {
  allow: [['circle', { cx: 12, cy: 12, r: 10, ...INK }], line('M7 12.5l3.4 3.4L17 9', 2.6, CUT)],
  deny: [
    path('M7.6 1.5h8.8l6.1 6.1v8.8l-6.1 6.1H7.6l-6.1-6.1V7.6z', INK),
    line('M8 8l8 8M16 8l-8 8', 2.8, CUT),
  ],
  change: [
    path('M12 1.6L23 21.4H1z', { ...INK, stroke: 'currentColor', 'stroke-linejoin': 'round' }),
    line('M12 10v8M8 14h8', 2.5, CUT),
  ],
  again: [line('M20 12a8 8 0 11-2.6-5.9', 2.4), line('M20.6 2.2v5h-5', 2.4)],
  noop: [ring({}), line('M7.5 12h9', 2.4)],
  skip: [
    path('M12 2.5l9.5 9.5-9.5 9.5L2.5 12z', {
      fill: CUT,
      stroke: 'currentColor',
      'stroke-width': 2.2,
      'stroke-linejoin': 'round',
    }),
  ],
  wait: [ring({ 'stroke-dasharray': '1.2 4.46', 'stroke-linecap': 'round' })],
  hold: [
    ['rect', { x: 1.5, y: 1.5, width: 21, height: 21, rx: 4, ...INK }],
    line('M9 7v10M15 7v10', 3, CUT),
  ],
  work: [ring({}), ['circle', { cx: 12, cy: 12, r: 4.5, ...INK }]],
  pennant: [line('M5 2.5v19', 2.4), path('M6 3.5h15l-4.5 5 4.5 5H6z', INK)],
  flag: [line('M5 2v20', 2.6), path('M5 3h15l-4.5 5L20 13H5z', INK)],
  flagOff: [
    line('M5 2v20', 2.6),
    path('M5 3h15l-4.5 5L20 13H5z', { fill: 'none', stroke: 'currentColor', 'stroke-width': 2 }),
  ],
  star: [path('M12 1.8l3.1 6.6 7.1.9-5.2 5 1.3 7.1L12 18l-6.3 3.4L7 14.3l-5.2-5 7.1-.9z', INK)],
  play: [path('M7 4.5v15l12-7.5z', INK)],
  pause: [path('M8 5v14M16 5v14', { stroke: 'currentColor', 'stroke-width': 4 })],
  step: [
    path('M5 4.5v15l10-7.5z', INK),
    path('M18.5 5v14', { stroke: 'currentColor', 'stroke-width': 3 }),
  ],
  back: [
    path('M19 4.5v15L9 12z', INK),
    path('M5.5 5v14', { stroke: 'currentColor', 'stroke-width': 3 }),
  ],
  first: [path('M20 4.5v15L12 12zM12 4.5v15L4 12z', INK)],
  last: [path('M4 4.5v15L12 12zM12 4.5v15L20 12z', INK)],
  theme: [ring({ fill: 'none' }), path('M12 3a9 9 0 010 18z', INK)],
  save: [line('M12 3v12M7 10l5 5 5-5M4 20h16', 2.4)],
  open: [line('M12 16V4M7 9l5-5 5 5M4 20h16', 2.4)],
  find: [
    line('M10 3.5a6.5 6.5 0 110 13 6.5 6.5 0 010-13z', 2.4),
    line('M15 15l6 6', 2.6),
  ],
  link: [
    line('M10 14l4-4', 2.2),
    line('M8.5 11L6 13.5a3.2 3.2 0 004.5 4.5L13 15.5', 2.2),
    line('M11 8.5L13.5 6a3.2 3.2 0 014.5 4.5L15.5 13', 2.2),
  ],
  copy: [box({ x: 8, y: 8, width: 13, height: 13 }), line('M16 4H5a2 2 0 00-2 2v10', 2.4)],
  list: [line('M4 6h16M4 12h16M4 18h16', 2.4)],
  layers: [
    path('M12 3l9 4.6-9 4.6-9-4.6z', INK),
    line('M3 12l9 4.6 9-4.6M3 16.4l9 4.6 9-4.6', 2.2),
  ],
  podNew: [box({ 'stroke-dasharray': '3 2.6' })],
  podHalf: [box({}), path('M4 12h16v5a3 3 0 01-3 3H7a3 3 0 01-3-3z', INK)],
  podRun: [['rect', { x: 2, y: 2, width: 20, height: 20, rx: 4.5, ...INK }]],
  podNone: [box({ 'stroke-width': 1.6, 'stroke-dasharray': '.1 4.3', 'stroke-linecap': 'round' })],
  podEnd: [box({}), line('M8 8l8 8M16 8l-8 8', 2.2)],
  mark: [
    path('M2 12h6M16 12h6', { stroke: 'currentColor', 'stroke-width': 3.4 }),
    ring({ r: 5, fill: 'none', 'stroke-width': 3.4 }),
  ],
};

/** @type {Map<string, any>} a sign without a label never differs, so it is described once */
const plain = new Map();

/**
 * @param {string} name
 * @param {string} [label]  read aloud; without one the sign is decoration
 * @param {string} [cls]
 */
export function glyph(name, label = '', cls = '') {
  const id = label ? '' : `${name} ${cls}`;
  const kept = id && plain.get(id);
  if (kept) return kept;
  const access = label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' };
  const made = h(
    'svg',
    { class: `g g-${name} ${cls}`.trim(), viewBox: '0 0 24 24', ...access },
    shapes(name),
  );
  if (id) plain.set(id, made);
  return made;
}

/** The shapes alone, for use inside another drawing. @param {string} name */
export function shapes(name) {
  return (SHAPES[name] || SHAPES.wait).map(([tag, props]) => h(tag, props));
}

/** The sign of a pod's stage. @param {string} stage */
export function podGlyph(stage) {
  if (stage === 'stored') return 'podNew';
  if (stage === 'failed') return 'deny';
  if (stage === 'ending') return 'podEnd';
  return stage === 'bound' ? 'podHalf' : 'podRun';
}
