// @ts-check
/** What is not as wanted, in one line over the map; a click leads to the hop that failed. */
import { sayOutcome, sinceOf, summaryOf } from '../../core/outcome/index.js';
import { duration } from '../../core/text/words.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */

const SHOWN = 3;

/** @param {Context} ctx */
export function wantedStrip(ctx) {
  const { words, act, state, index, clock } = ctx;
  const { unmet } = summaryOf(state);
  if (!unmet.length) return null;
  return h(
    'ul.wanted',
    { key: 'wanted', 'aria-label': words.t('wanted.label') },
    unmet.slice(0, SHOWN).map((outcome) => {
      const text = sayOutcome(outcome, words, clock);
      const age = duration(Math.floor((state.t - sinceOf(index, state, outcome)) / 1e6) * 1e6);
      return h(
        'li',
        { key: outcome.write.key },
        h(
          'button',
          { title: text, onClick: () => act.failure(outcome, index) },
          glyph('deny'),
          h('b', null, outcome.write.name),
          h('span.why', null, text),
          index.hasAllOf((outcome.because || outcome).write.key)
            ? h('span.soft', null, words.t('wanted.since', { time: age }))
            : null,
        ),
      );
    }),
    unmet.length > SHOWN
      ? h('li.soft', { key: 'more' }, words.t('wanted.more', { n: unmet.length - SHOWN }))
      : null,
  );
}

/** At the map's foot, while nothing is wrong. @param {Context} ctx */
export function allAsWanted({ words, state }) {
  const { unmet, count, settled } = summaryOf(state);
  if (unmet.length || !count || !state.rev) return null;
  return h('span.soft', null, words.t(settled ? 'wanted.all' : 'wanted.underway', { n: count }));
}
