// @ts-check
/** What is done from an object's menu: one request each, shown as the line of kubectl. */
import { answerLines } from '../../core/commands/answers.js';
import { answered } from './commandactions.js';
import { copy } from '../kit/clipboard.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../../core/commands/acts.js').Act} Act */
/** @typedef {import('../inspector/objectmenu.js').Deed} Deed */

const COPIED_MS = 2000;
// from here on two revisions have room side by side
const SIDES_PIXELS = 1000;

/** @param {App} app */
export function objectActions(app) {
  const { ui } = app;
  const set = (/** @type {Partial<Deed>} */ change) => {
    if (ui.deed) Object.assign(ui.deed, change);
    app.draw();
  };
  return {
    /** Open or close the menu of what is chosen. @param {string} key */
    objectMenu(key) {
      ui.deed = { key, replicas: '', sure: '', error: '', sends: '', copied: '' };
      app.act.menu('object');
      app.drawNow();
    },
    /** Two revisions of an object: this one and the one before. */
    compareRevisions(/** @type {string} */ key, /** @type {number} */ to) {
      const side = innerWidth >= SIDES_PIXELS;
      ui.compared = { key, from: 0, to, side, all: false };
      Object.assign(ui, { dialog: 'revisions', menu: '' });
      app.drawNow();
    },
    loadEarlier: () => app.reach(app.history.first - 1),
    /** @param {Partial<import('../inspector/revisions.js').Compared>} change */
    compared(change) {
      if (ui.compared) Object.assign(ui.compared, change);
      app.draw();
    },
    /** @param {Partial<Deed>} change */
    deed: set,
    /** Ask about it first, or no longer; the keyboard stays in the menu. @param {string} sure */
    askDeed(sure) {
      set({ sure, error: '' });
      app.drawNow();
      const place = sure ? '.deed.asks .item:last-of-type' : '.deed:last-of-type .item';
      /** @type {HTMLElement|null} */ (document.querySelector(place))?.focus();
    },
    /** @param {string} line */
    async copyLine(line) {
      await copy(line);
      set({ copied: line });
      setTimeout(() => set({ copied: '' }), COPIED_MS);
    },
    /** @param {Act} act @param {string} [user] */
    async perform({ name, command, said, request }, user = ui.user) {
      const { deed } = ui;
      app.player.playing = true;
      set({ sends: name, error: '', sure: '' });
      const answer = await answered(app, `${command}  # ${user}`, async () => {
        const { code, reason, message } = await app.api.act(request, user);
        return code < 400
          ? [{ failed: false, text: said }]
          : answerLines({ kind: 'Status', status: 'Failure', reason, message });
      });
      if (ui.deed === deed) done(answer.lines[0]);
      app.draw();
      return answer;
    },
  };

  /** @param {{failed: boolean, text: string}} line */
  function done({ failed, text }) {
    set({ sends: '', error: failed ? text : '' });
    if (failed || ui.menu !== 'object') return;
    ui.menu = '';
    Object.assign(ui, { selected: null, focus: '', benchTab: 'commands' });
    app.player.follow = {};
    document.getElementById('inspector')?.focus();
  }
}
