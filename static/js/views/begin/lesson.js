// @ts-check
/** Over the map while a scenario is on: the question before a decision, and what can follow. */
import { copyOf } from '../../core/cluster/forks.js';
import { nextAfter } from '../../core/commands/scenarios.js';
import { outcome } from '../../core/cluster/schedule.js';
import { leaveCopy } from '../forks/forks.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { doneBefore, titleOf } from './questions.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/schedule.js').Cycle} Cycle */

// who only wants to see it
const NO_GUESS = '-';

/**
 * The nodes between which one may guess: the filters have run, nothing is scored yet.
 * @param {Context} ctx @param {Cycle|null} cycle
 */
export function guessable({ ui, current, player }, cycle) {
  const { lesson } = ui;
  const waits = lesson?.name === 'node' && !lesson.guess && !player.isRunning && player.drives;
  if (!waits || !cycle || current.root !== lesson.root || cycle.phase !== 'filter') return [];
  const { feasible } = outcome(cycle);
  return feasible.length > 1 ? feasible : [];
}

/** @param {Context} ctx @param {Cycle|null} cycle */
export function lessonBanner(ctx, cycle) {
  const { ui, words, act, current, player } = ctx;
  const { lesson } = ui;
  if (!lesson || current.root !== lesson.root) return null;
  if (guessable(ctx, cycle).length)
    return banner('star', 'hold', words.t('predict.which'), words.t('predict.how'), [
      h('button.act', { key: 'no', onClick: () => act.guess(NO_GUESS) }, words.t('predict.skip')),
    ]);
  if (lesson.done) return over(ctx, lesson);
  if (!cycle?.chosen || !lesson.guess || lesson.guess === NO_GUESS) return null;
  const isRight = lesson.guess === cycle.chosen;
  return banner(
    isRight ? 'allow' : 'deny',
    isRight ? 'allow' : 'deny',
    words.t(isRight ? 'predict.right' : 'predict.wrong', {
      node: cycle.chosen,
      guess: lesson.guess,
    }),
    verdict(ctx, cycle, lesson.guess),
    player.isRunning
      ? []
      : [
          h(
            'button.act.first',
            { key: 'on', onClick: () => act.toggle() },
            glyph('play'),
            words.t('bar.play'),
          ),
        ],
  );
}

/**
 * Why one was right, or not, in points.
 * @param {Context} ctx @param {Cycle} cycle @param {string} guess
 */
function verdict({ words }, cycle, guess) {
  const { winner, second, margin, parts, points = 0 } = outcome(cycle);
  const other = guess === winner ? second : guess;
  const params = { guess, node: winner, other, points, less: cycle.total[other] ?? 0 };
  if (cycle.ties.includes(other) || (guess === winner && !margin))
    return words.t('predict.tie', params);
  const text = words.t('predict.points', params);
  const [most] = other === second ? parts : [];
  return most ? `${text} ${words.t('predict.most', { plugin: most.name })}` : text;
}

/** It was told to its end. @param {Context} ctx @param {import('./questions.js').Lesson} lesson */
function over(ctx, { name }) {
  const { words, act, meta, ui } = ctx;
  const next = nextAfter(name, doneBefore());
  const title = titleOf(ctx, next.name);
  const copy = copyOf(meta.cluster, ui.forks);
  const where = copy ? ` ${words.t('fork.copy', { cluster: copy.cluster })}` : '';
  return banner('allow', 'allow', words.t('lesson.done'), `${titleOf(ctx, name)}${where}`, [
    leaveCopy(ctx, 'button.act'),
    h(
      'button.act',
      { key: 'again', onClick: () => act.card(name) },
      glyph('again'),
      words.t('lesson.again'),
    ),
    h(
      'button.act',
      { key: 'change', onClick: () => act.changeOne() },
      glyph('change'),
      words.t('lesson.change'),
    ),
    h(
      'button.act.first',
      { key: 'next', title, onClick: () => act.card(next.name) },
      glyph('play'),
      words.t('lesson.next', { title }),
    ),
  ]);
}

/**
 * @param {string} sign @param {string} tone @param {string} strong @param {string} text
 * @param {import('../kit/dom.js').Child[]} acts
 */
function banner(sign, tone, strong, text, acts) {
  return h(
    'div.banner.lesson',
    { key: 'lesson', role: 'status' },
    h(`span.v.is-${tone}`, null, glyph(sign)),
    h('span', null, h('b', null, strong), ' ', text),
    h('span.acts', null, acts),
  );
}
