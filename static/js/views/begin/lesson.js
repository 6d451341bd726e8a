// @ts-check
/** Over the map while a scenario is on: the question before a decision, and what can follow. */
import { copyOf } from '../../core/cluster/forks.js';
import { nextAfter } from '../../core/commands/scenarios.js';
import { outcome } from '../../core/cluster/schedule.js';
import { leaveCopy } from '../forks/forks.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { answerOf, countsOf, isAsked, sumOf } from './ballot.js';
import { doneBefore, titleOf } from './questions.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/schedule.js').Cycle} Cycle */

// who only wants to see it
const NO_GUESS = '-';

/**
 * The nodes between which one may guess: the filters have run, nothing is scored yet. Who only
 * watches is asked while the cluster stands there.
 * @param {Context} ctx @param {Cycle|null} cycle
 */
export function guessable(ctx, cycle) {
  const { ui, current, player } = ctx;
  const { lesson } = ui;
  if (!cycle || cycle.phase !== 'filter' || player.isRunning) return [];
  const isOn = player.drives
    ? lesson?.name === 'node' && !lesson.guess && current.root === lesson.root
    : isAsked(ctx, cycle);
  const { feasible } = outcome(cycle);
  return isOn && feasible.length > 1 ? feasible : [];
}

/** What it will be, from who drives or from who only watches. @param {Context} ctx */
export function guess({ act, player }, /** @type {Cycle} */ cycle, /** @type {string} */ node) {
  return player.drives ? act.guess(node) : act.vote(cycle, node);
}

/** @param {Context} ctx @param {Cycle|null} cycle */
export function lessonBanner(ctx, cycle) {
  const { ui, current } = ctx;
  const lesson = current.root === ui.lesson?.root ? ui.lesson : null;
  if (cycle && guessable(ctx, cycle).length) return question(ctx, cycle);
  if (lesson?.done) return over(ctx, lesson);
  return cycle?.chosen ? answer(ctx, cycle, lesson) : null;
}

/** @param {Context} ctx @param {Cycle} cycle */
function question(ctx, cycle) {
  const { words, act, player } = ctx;
  const node = answerOf(ctx, cycle);
  const n = sumOf(countsOf(ctx, cycle));
  const skip = () => act.guess(NO_GUESS);
  const how = words.t(node ? 'predict.voted' : 'predict.how', { node });
  return banner(
    'star',
    'hold',
    words.t('predict.which'),
    n ? `${how} ${words.t('predict.answers', { n })}` : how,
    player.drives ? [h('button.act', { key: 'no', onClick: skip }, words.t('predict.skip'))] : [],
  );
}

/**
 * Which it is, and why, to all who were asked.
 * @param {Context} ctx @param {Cycle} cycle @param {import('./questions.js').Lesson|null} lesson
 */
function answer(ctx, cycle, lesson) {
  const { words, act, player } = ctx;
  const { chosen } = cycle;
  const said = player.drives ? lesson?.guess : answerOf(ctx, cycle);
  const own = said === NO_GUESS ? '' : said;
  const counts = countsOf(ctx, cycle);
  const n = sumOf(counts);
  const isWatched = !player.drives && player.server.breakpoints.some(({ id }) => id === 'predict');
  if (!own && !n && !isWatched) return null;
  const isRight = !own || own === chosen;
  const strong = own ? words.t(isRight ? 'predict.right' : 'predict.wrong', {
    node: chosen,
    guess: own,
  }) : words.t('predict.is', { node: chosen });
  const why = verdict(ctx, cycle, own || chosen);
  return banner(
    isRight ? 'allow' : 'deny',
    isRight ? 'allow' : 'deny',
    strong,
    n ? `${why} ${words.t('predict.class', { right: counts[chosen] || 0, n })}` : why,
    player.isRunning || !player.drives
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
