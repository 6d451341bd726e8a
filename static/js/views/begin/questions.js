// @ts-check
/**
 * What one can begin with, and what follows. Each scenario runs at any time, whatever became of the
 * cluster: in a copy that is as it was when it was ready, unless nobody has changed anything in it.
 * It is ticked in this browser once it was told to its end.
 */
import * as scenarios from '../../core/commands/scenarios.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {{name: string, since: number, root: number, done: boolean, guess: string}} Lesson
 *   the scenario that is on: since which record, its command, whether it was told to its end, and
 *   the node that was guessed */

// what was told to its end before, to whoever uses this browser
const ASKED = 'asked';
export const doneBefore = () => (localStorage.getItem(ASKED) || '').split(' ').filter(Boolean);

/**
 * @param {App} app
 * @param {import('../bench/commandactions.js').Apply} apply
 */
export function questionActions(app, apply) {
  const { ui } = app;
  return {
    /** The panel to begin with; it opens at any time. */
    begin() {
      Object.assign(ui, { dialog: 'begin', menu: '', sure: '' });
      app.draw();
    },
    /** Say what would be lost. @param {string} key  of its words */
    ask(key) {
      ui.sure = key;
      app.draw();
    },
    /** Another, empty cluster in place of this one. */
    startOver() {
      Object.assign(ui, { dialog: '', lesson: null, answers: [], waiting: [] });
      app.control({ action: 'reset' });
    },
    /** @param {string} name */
    async card(name) {
      Object.assign(ui, { dialog: '', lesson: null });
      app.draw();
      if (!(await app.act.openFresh())) return;
      const scenario = scenarios.scenarioOf(name);
      const free = scenarios.freeName(app.history.head, scenario);
      const manifest = scenario.manifest(free, scenarios.crowdSize(app.history.head));
      app.act.setBreakpoints(app.act.presets().filter(({ id }) => scenario.stops?.includes(id)));
      ui.user = scenario.user || app.meta.users[0];
      ui.lesson = { name, since: app.history.last, root: 0, done: false, guess: '' };
      if (app.player.past) app.player.goLive();
      app.player.play(); // a cluster that stands still answers nobody
      const taint = scenario.taints && scenarios.taintManifest(app.history.head);
      if (taint) await apply(taint, ui.user, 'kubectl apply --server-side -f taint.yaml', true);
      await apply(manifest, ui.user, `kubectl create -f ${free}.yaml`);
    },
    /** Which node it will be; the cluster goes on to its own choice. @param {string} guess */
    guess(guess) {
      if (ui.lesson) ui.lesson.guess = guess;
      app.player.play();
      app.draw();
    },
    /** The manifest of the scenario that is on, under another name, where it is worth a change. */
    changeOne() {
      const { lesson } = ui;
      if (!lesson) return;
      const scenario = scenarios.scenarioOf(lesson.name);
      const { head } = app.history;
      Object.assign(ui, { lesson: null, picked: scenario.change });
      const free = scenarios.freeName(head, scenario);
      app.act.suggest(scenario.manifest(free, scenarios.crowdSize(head)));
    },
    /** Take note of how far the scenario is that is on. @param {Context} ctx */
    follow(ctx) {
      const { lesson } = ui;
      if (!lesson || lesson.done) return;
      lesson.root ||= scenarios.commandAfter(ctx.whole, lesson.since);
      if (!scenarios.isOver(ctx, lesson.root)) return;
      lesson.done = true;
      app.act.setBreakpoints([]);
      const done = new Set(doneBefore()).add(lesson.name);
      localStorage.setItem(ASKED, [...done].join(' '));
      app.draw();
    },
  };
}

/** Also over a recording, where there is a cluster beside it. @param {Context} ctx */
export const canBegin = ({ ui, meta, player }) =>
  !ui.making && (player.live ? player.drives : ui.keeps && meta.server);

/** What there is to begin with, by theme, and what was told before. */
export function questions(/** @type {Context} */ ctx, /** @type {string} */ key) {
  const { words } = ctx;
  const done = doneBefore();
  return h(
    'div.themes',
    { key },
    scenarios.THEMES.map((theme) =>
      h(
        'section',
        { key: theme },
        h('h3', null, words.t(`theme.of.${theme}`)),
        h(
          'ul.cards',
          null,
          scenarios.SCENARIOS.filter((it) => it.theme === theme && it.name !== 'run').map(
            (scenario) =>
              h('li', { key: scenario.name }, card(ctx, scenario, done.includes(scenario.name))),
          ),
        ),
      ),
    ),
  );
}

/** @param {Context} ctx @param {scenarios.Scenario} scenario @param {boolean} isDone */
function card(ctx, { name, tone, sign, seconds }, isDone) {
  const { words, act } = ctx;
  return h(
    `button.is-${tone}`,
    { disabled: !canBegin(ctx), onClick: () => act.card(name) },
    glyph(sign),
    h(
      'span',
      null,
      h('b', null, titleOf(ctx, name)),
      h(
        'small',
        null,
        words.t(`cards.${name}Text`),
        h('span.takes', null, words.t('begin.about', { n: seconds })),
      ),
    ),
    isDone ? glyph('allow', words.t('begin.asked'), 'asked') : null,
  );
}

/** @param {Pick<Context, 'words'|'state'>} ctx @param {string} name */
export const titleOf = ({ words, state }, name) =>
  words.t(`cards.${name}`, { n: scenarios.crowdSize(state) });

/**
 * What all who look lose by: the first press only asks.
 * @param {Context} ctx @param {string} key  of its words: what it is called, Text, and Sure
 * @param {string} sign @param {() => void} go
 */
export function asksFirst({ words, act, ui }, key, sign, go) {
  const ask = () => act.ask(key);
  const button = (/** @type {string} */ style, /** @type {string} */ name, onClick = go) =>
    h(`button.act${style}`, { key: name, onClick }, glyph(sign), words.t(name));
  if (ui.sure !== key) return h('div.form', { key }, button('', key, ask));
  return h(
    'div.form',
    { key: `${key}Sure`, role: 'alertdialog', 'aria-label': words.t(key) },
    h('p', null, words.t(`${key}Text`)),
    button('.first', `${key}Sure`),
  );
}

/** The command to begin with. @param {Context} ctx */
export function runButton(ctx) {
  const { words, act } = ctx;
  const { name, seconds } = scenarios.SCENARIOS[0];
  const takes = words.t('begin.about', { n: seconds });
  return h(
    'button.go',
    { disabled: !canBegin(ctx), 'aria-description': takes, onClick: () => act.card(name) },
    glyph('play'),
    words.t('map.run'),
    h('small', { 'aria-hidden': 'true' }, takes),
  );
}
