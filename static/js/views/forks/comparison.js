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
  const { comparison: compared } = ui;
  if (!ui.compares || !player.live || !compared) return null;
  const { fork, first, differences, until, more } = compared;
  const names = { origin: originOf(fork), fork };
  const asked = byObject(differences.filter((difference) => difference.asked));
  const came = byObject(differences.filter((difference) => !difference.asked));
  const title = first
    ? words.t('fork.first', { ...titleOf(first, ctx, names), name: shortName(first) })
    : words.t('fork.same', { time: duration(until) });
  const list = (/** @type {string} */ key, /** @type {Difference[][]} */ objects) =>
    objects.length
      ? [
          h('h2', { key }, words.t(key, { n: objects.length })),
          h(
            'ol.parted',
            { key: `${key}-list` },
            objects.map((parted) => row(ctx, parted, names, parted === came[0])),
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

/**
 * @param {Difference} difference @param {Context} ctx
 * @param {{origin: string, fork: string}} names
 */
const titleOf = (difference, { words }, names) => ({
  what: differenceText(difference, words, names),
  time: duration(difference.after),
});

/** @param {Difference} difference */
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
  const [first, ...others] = all;
  const { kind, name, what, after, key } = first;
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
      h('b', null, unbroken(differenceText(first, words, names))),
      ' ',
      h('span.second.whole', null, words.t('fork.after', { time: duration(after) })),
      h(
        'small',
        { title: others.map((it) => `${it.what}: ${differenceText(it, words, names)}`).join('\n') },
        `${kind} ${name}${field}`,
        others.length ? `, ${words.t('fork.fields', { n: others.length })}` : '',
      ),
    ),
    h('span.acts', null, go(names.origin, first.seq_there), go(names.fork, first.seq_here)),
  );
}
