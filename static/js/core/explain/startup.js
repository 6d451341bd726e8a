// @ts-check
/** How this API server was built, section by section, from what it told when it started. */
import { nested } from '../trace/startup.js';
import { duration } from '../text/words.js';
import { facts, fold, h, p } from './blocks.js';
import { classText } from './request.js';
import { treeItem } from './reasons.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */

/** Parts of the record that have a section of their own, in the order they are built. */
const KNOWN = [
  'version',
  'servers',
  'config',
  'gates',
  'authentication',
  'authorization',
  'admission',
  'plugins',
  'costs',
  'kinds',
  'likeness',
];

// more rows than this are folded
const ROWS_MAX = 24;

/** @param {any} startup @param {Words} words @returns {Block[]} */
export function startupBlocks(startup, words) {
  if (!startup || !Object.keys(startup).length) return [p(words, 'startup.empty')];
  /** @type {Block[]} */ const blocks = [p(words, 'startup.intro')];
  if (startup.servers) blocks.push(h(words.t('startup.servers')), list(startup.servers));
  if (startup.config)
    blocks.push(h(words.t('startup.config')), list(saidSteps(startup.config, words)));
  if (startup.gates) blocks.push(h(words.t('startup.gates')), gateList(startup.gates, words));
  if (startup.authentication) blocks.push(...authenticators(startup.authentication, words));
  if (startup.authorization)
    blocks.push(
      h(words.t('startup.authorization')),
      p(words, 'startup.authorizationWhat'),
      list(startup.authorization),
    );
  for (const [phase, plugins] of Object.entries(startup.admission || {}))
    blocks.push(...pluginBlocks(phase, plugins, words));
  for (const name of Object.keys(startup)) {
    if (KNOWN.includes(name)) continue;
    const key = `startup.${name}`;
    const title = words.has(key) ? words.t(key) : name;
    if (isLong(startup[name])) blocks.push(table(title, startup[name]));
    else blocks.push(h(title), list(startup[name]));
  }
  if (startup.likeness) blocks.push(...likeness(startup.likeness, words));
  return blocks;
}

/** @param {[string, string][]} steps @param {Words} words */
const saidSteps = (steps, words) => steps.map(([step, result]) => [step, words.said(result)]);

/**
 * What was held against a real cluster, and when.
 * @param {{version: string, date: string, compared: Record<string, [number, number]>}} told
 * @param {Words} words @returns {Block[]}
 */
const likeness = ({ version, date, compared }, words) => [
  h(words.t('startup.likeness', { version, date })),
  {
    type: 'table',
    head: ['', words.t('startup.likeness.compared'), words.t('startup.likeness.equal')],
    rows: Object.entries(compared).map(([what, [number, equal]]) => [
      words.t(`startup.likeness.${what}`),
      String(number),
      String(equal),
    ]),
  },
];

/** @param {import('../trace/facts.js').Gate[]} gates @param {Words} words @returns {Block} */
const gateList = (gates, words) => ({
  type: 'tree',
  items: gates.map(({ name, cost = 0, source }) =>
    treeItem(0, words.t(`gate.${name}`), 'podRun', `${duration(cost)} · ${source}`),
  ),
});

/** @param {import('../trace/startup.js').Part[]} parts @param {Words} words @returns {Block[]} */
function authenticators(parts, words) {
  return [
    h(words.t('startup.authentication')),
    p(words, 'startup.authenticationWhat'),
    {
      type: 'tree',
      items: nested(parts).map(({ depth, part, repeats }) => {
        const { name, of, ...more } = part;
        const small = repeats ? words.t('reason.sameBelow') : pairs(more);
        return treeItem(depth, name, of ? 'podNew' : 'podRun', small);
      }),
    },
  ];
}

/**
 * @param {string} phase @param {[string, string][]} plugins @param {Words} words
 * @returns {Block[]}
 */
function pluginBlocks(phase, plugins, words) {
  return [
    h(words.t(`startup.${phase}`, { n: plugins.length })),
    {
      type: 'table',
      head: ['', words.t('startup.plugin'), words.t('fact.class')],
      rows: plugins.map(([name, label], i) => [String(i + 1), name, classText(label, words)]),
    },
  ];
}

/** Rows that nobody reads through are folded away, one a line. @param {any} value */
const isLong = (value) =>
  Array.isArray(value) && value.length > ROWS_MAX && typeof value[0] === 'object';

/** @param {string} title @param {any[]} rows @returns {Block} */
const table = (title, rows) =>
  fold(
    `${title} (${rows.length})`,
    rows
      .map((row) =>
        Object.values(row)
          .filter((cell) => cell !== '' && cell !== 0 && !isNone(cell))
          .map((cell) => (Array.isArray(cell) ? cell.join(' ') : text(cell)))
          .join('  '),
      )
      .join('\n'),
  );

/** @param {any} cell */
const isNone = (cell) => Array.isArray(cell) && !cell.length;

/**
 * Anything that was told, as lines: names, pairs, or branches with what hangs below them.
 * @param {any} value @returns {Block}
 */
function list(value) {
  if (value && typeof value === 'object' && !Array.isArray(value)) {
    const plain = Object.values(value).every((v) => v === null || typeof v !== 'object');
    if (plain) return facts(Object.entries(value));
  }
  return { type: 'tree', items: lines(value, 0) };
}

/** @param {any} value @param {number} depth @returns {import('./index.js').TreeLine[]} */
function lines(value, depth) {
  if (Array.isArray(value)) return value.flatMap((item) => line(item, depth));
  return Object.entries(value || {}).flatMap(([name, below]) =>
    below && typeof below === 'object'
      ? [treeItem(depth, name, 'podNew'), ...lines(below, depth + 1)]
      : [treeItem(depth, name, 'podRun', String(below ?? ''))],
  );
}

/** @param {any} value @param {number} depth @returns {import('./index.js').TreeLine[]} */
function line(value, depth) {
  if (value === null || typeof value !== 'object')
    return [treeItem(depth, String(value), 'podRun')];
  if (Array.isArray(value)) {
    const [name, ...rest] = value;
    if (typeof rest[0] === 'boolean') return [treeItem(depth, name, rest[0] ? 'allow' : 'skip')];
    return [treeItem(depth, String(name), 'podRun', rest.map(text).join(' · '))];
  }
  const { name, of, ...more } = value;
  if (!name) return lines(value, depth);
  const below = of ? lines(of, depth + 1) : [];
  return [treeItem(depth, name, of ? 'podNew' : 'podRun', pairs(more)), ...below];
}

/** @param {any} value */
const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** @param {Record<string, any>} more */
const pairs = (more) =>
  Object.entries(more)
    .filter(([, value]) => !isNone(value))
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : text(value)}`)
    .join(' · ');
