// @ts-check
/** Small pieces that several views draw. */
import { h } from './dom.js';
import { glyph } from './glyphs.js';

/** @typedef {import('../../core/text/words.js').Words} Words */

/** @typedef {{width: number, height: number, rem: number}} Room  in pixels */
/**
 * @typedef {Object} Context  everything a view may read, and the actions it may call
 * @property {import('../../core/story/player.js').Player} player
 * @property {import('../../core/trace/index.js').Index} index  what is known at the cursor
 * @property {import('../../core/trace/index.js').Index} whole  with what lies ahead
 * @property {import('../../core/trace/reducer.js').State} state
 * @property {import('../../core/story/follow.js').Current} current
 * @property {import('../../core/text/words.js').Words} words
 * @property {import('../page/app.js').App['ui']} ui
 * @property {number} clock  the same, ms since 1970
 * @property {number} now    virtual time shown, µs since the epoch
 * @property {import('../page/app.js').App['meta']} meta
 * @property {boolean} compact
 * @property {Room} room  of the axis, as it was measured before anything was drawn
 * @property {(place: () => void) => void} after  what is measured and moved once all is drawn
 * @property {string} focus
 * @property {import('../page/app.js').App['act']} act
 */

/**
 * Rich text.
 * @param {Words} words @param {string} key @param {any} [params]
 */
export const say = (words, key, params) => piecesOf(words.rich(key, params));

/** @param {import('../../core/text/words.js').Piece[]} pieces */
export function piecesOf(pieces) {
  return pieces.map((piece) => (piece.as ? h(piece.as, null, piece.text) : piece.text));
}

// a name with hyphens, such as node-2, with what ends a sentence, and a number with its unit
const NAME =
  /("?[\w.:/]+(?:-[\w.:/?]+)+"?[,.;:?。，：；？]*|\d[\d.]* (?:µs|ms|s|min)(?!\w)[,.。，]?)/;
const LONG = /([^\s]{20,})/;
const PART = /(?<=[a-z])(?=[A-Z])|(?<=[/:])(?=\w)/;

/**
 * A name with hyphens moves to the next line as a whole, unless it is longer than that.
 * @param {string} text
 */
export const named = (text) =>
  text
    .split(NAME)
    .map((part, at) => (at % 2 ? h('span.named', null, breakable(part)) : breakable(part)));

/** Long words break where their parts begin. @param {string} text */
export const breakable = (text) =>
  text
    .split(LONG)
    .flatMap((part, at) => (at % 2 ? part.split(PART) : [part]).filter(Boolean))
    .map((part, at) => (at ? [h('wbr', null), part] : part));

/**
 * Four slots of a queue, and a number when more wait.
 * @param {Words} words @param {number} queued @param {number} work
 */
export function slots(words, queued, work) {
  const cells = [];
  for (let i = 0; i < 4; i += 1)
    cells.push(h(i < work ? 'i.work' : i < work + queued ? 'i.full' : 'i', null));
  const more = work + queued - 4;
  return h(
    'span.slots',
    { role: 'img', 'aria-label': words.t('lane.queued', { n: queued, work }) },
    cells,
    more > 0 ? h('b', null, `+${more}`) : null,
  );
}

/** @param {any[][]} list  [verdict, text] */
export function tries(list) {
  return h(
    'ul.tries',
    null,
    list.map(([verdict, text, title]) =>
      h(`li.is-${verdict}`, { title: title || false }, glyph(verdict), h('span', null, text)),
    ),
  );
}

/** @param {Pick<Context, 'ui'|'words'>} ctx @param {string} name @param {any} kids */
export function menu({ ui, words }, name, ...kids) {
  if (ui.menu !== name) return null;
  return h(
    'div.menu',
    {
      key: `menu-${name}`,
      role: 'dialog',
      'aria-label': words.t(`menu.${name}`),
    },
    kids,
  );
}

/** @type {Record<string, string>} who answers, where there is little room */
const SHORT = { X509: 'x509', PrivilegedGroup: 'group', RequestHeader: 'proxy' };

/** @param {string} name */
export const shortTry = (name) =>
  /token|service ?account/i.test(name) ? 'token' : SHORT[name] || name.split(' ')[0];

/** @param {string} name */
export const shortUser = (name) => name.replace('system:serviceaccount:kube-system:', '…:');

/** @type {Record<string, string>} */
const SERVERS = {
  'kube-aggregator': 'aggregator',
  'kube-apiserver': 'kube',
  'apiextensions-apiserver': 'extensions',
};

/** The servers a request was offered, the one that answers set off. */
export function junction(/** @type {string[]} */ chain, /** @type {string} */ set) {
  return h(
    'div.junction',
    { title: chain.join(' › ') },
    chain.map((name, i) => [
      h(
        name === set ? 'span.set' : 'span',
        null,
        chain.length < 3 && name === set ? name : SERVERS[name] || name,
      ),
      i < chain.length - 1 ? h('span', { 'aria-hidden': 'true' }, '›') : null,
    ]),
  );
}

/**
 * In place of what would change the cluster, in a recording or for those who only watch.
 * @param {Context} ctx
 */
export function readOnly({ words, player }) {
  return h('p.hint', { key: 'hint' }, words.t(player.live ? 'bench.watch' : 'bench.replay'));
}
