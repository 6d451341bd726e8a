// @ts-check
/** In place of the inspector: what came out otherwise in a fork, to be seen in either cluster. */
import { shortPod } from '../../core/cluster/objects.js';
import { byObject, differenceText, originOf } from '../../core/cluster/forks.js';
import { duration } from '../../core/text/words.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/forks.js').Difference} Difference */
/** @typedef {import('../../core/cluster/forks.js').Comparison} Comparison */

/** Null where nothing is compared. @param {Context} ctx */
export function comparison(ctx) {
  const { ui, words, act, player } = ctx;
  const { comparison: found } = ui;
  if (!ui.compares || !player.live || !found) return null;
  const { fork, first, differences, until, more } = found;
  const names = { origin: originOf(fork), fork };
  const asked = byObject(differences.filter((one) => one.asked));
  const came = byObject(differences.filter((one) => !one.asked));
  const title = first
    ? words.t('fork.first', { ...titleOf(first, ctx, names), name: shortName(first) })
    : words.t('fork.same', { time: duration(until) });
  const list = (/** @type {string} */ key, /** @type {Difference[][]} */ some) =>
    some.length
      ? [
          h('h2', { key }, words.t(key, { n: some.length })),
          h(
            'ol.parted',
            { key: `${key}-list` },
            some.map((one) => row(ctx, one, names, one === came[0])),
          ),
        ]
      : null;
  return [
    h(
      'div.head',
      { key: 'head' },
      h('div.crumb', null, words.t('fork.compared', names)),
      h('h1', null, unbroken(title)),
    ),
    h(
      'div.scroll',
      { key: 'parted', tabindex: '0', role: 'region', 'aria-label': title },
      list('fork.came', came),
      list('fork.asked', asked),
      more ? h('p.note', { key: 'more' }, words.t('fork.more', { n: more })) : null,
      h('p.note', { key: 'until' }, words.t('fork.until', { time: duration(until) })),
    ),
    h(
      'div.action',
      { key: 'action' },
      h(
        'button.go.quiet',
        { 'aria-pressed': String(ui.split), onClick: () => act.split() },
        glyph('layers'),
        words.t('fork.split'),
      ),
      h(
        'button.go.quiet',
        { onClick: () => act.compare() },
        glyph('back'),
        words.t('fork.closeCompared'),
      ),
    ),
  ];
}

/** @param {Difference} one @param {Context} ctx @param {{origin: string, fork: string}} names */
const titleOf = (one, { words }, names) => ({
  what: differenceText(one, words, names),
  time: duration(one.after),
});

/** @param {Difference} one */
export const shortName = ({ kind, name }) => (kind === 'Pod' ? shortPod(name) : name);

/** The name of a node is not broken at its hyphen. @param {string} text */
const unbroken = (text) =>
  text.split(/(\S*-\S*)/).map((part, i) => (i % 2 ? h('span.whole', null, part) : part));

/**
 * One object: what says most, and how many more of its fields.
 * @param {Context} ctx @param {Difference[]} all @param {{origin: string, fork: string}} names
 * @param {boolean} isFirst
 */
function row(ctx, all, names, isFirst) {
  const { words, act, meta, state } = ctx;
  const [one, ...others] = all;
  const { kind, name, what, after, key } = one;
  const go = (/** @type {string} */ cluster, /** @type {number|null} */ seq) =>
    seq === null
      ? null
      : h(
          'button.act',
          {
            'aria-label': words.t('fork.see', { name, cluster }),
            'aria-current': cluster === meta.cluster && state.seq === seq ? 'true' : false,
            onClick: () => act.openCluster(cluster, seq),
          },
          cluster,
        );
  const field = what === 'existence' ? '' : ` · ${what}`;
  return h(
    'li',
    { key, class: isFirst ? 'is-first' : '' },
    h(
      'span',
      null,
      h('b', null, unbroken(differenceText(one, words, names))),
      ' ',
      h('span.second.whole', null, words.t('fork.after', { time: duration(after) })),
      h(
        'small',
        { title: others.map((it) => `${it.what}: ${differenceText(it, words, names)}`).join('\n') },
        `${kind} ${name}${field}`,
        others.length ? `, ${words.t('fork.fields', { n: others.length })}` : '',
      ),
    ),
    h('span.acts', null, go(names.origin, one.seq_there), go(names.fork, one.seq_here)),
  );
}
