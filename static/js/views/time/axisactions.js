// @ts-check
/** What is done to the time axis: closer, wider, on and back, all of it, what suits the story. */
import { allOf, panned, zoomed } from '../../core/timeline/axis.js';
import { rangeOf } from './timeline.js';

/** @typedef {import('../page/app.js').App} App */

// more records than these are not fetched to draw what lies before
const FETCHED_MAX = 150_000;

/** @param {App} app */
export function axisActions(app) {
  const { ui } = app;
  /** @param {{from: number, to: number}} part @param {number} origin */
  const choose = (part, origin) => {
    const { t } = app.player.state();
    ui.window = { ...part, origin, head: t, all: false };
    app.draw();
    fetch();
  };
  /** What lies before the first record, as far as the axis reaches. */
  const fetch = async () => {
    for (;;) {
      const { index } = app.history;
      const reaches = ui.window && ui.window.from < (index.records[0]?.t || 0);
      if (!reaches || index.records.length > FETCHED_MAX) return;
      if (!(await app.reach(index.first - 1))) return;
    }
  };
  return {
    /**
     * Closer by a factor, around a time; around the cursor when none is given and it is on view.
     * @param {number} factor @param {number|null} [about]
     */
    zoom(factor, about = null) {
      const context = app.context();
      const { from, to, origin, t, rests } = rangeOf(context);
      const head = rests ? context.current.hop?.t || t : t;
      const middle = head >= from && head <= to ? head : (from + to) / 2;
      choose(zoomed({ from, to }, factor, about ?? middle), origin);
    },
    /** @param {number} share  of what is on view */
    pan(share) {
      const { from, to, origin } = rangeOf(app.context());
      choose(panned({ from, to }, share), origin);
    },
    showStory() {
      ui.window = null;
      app.draw();
    },
    /** All of it, and from there back to what suits the story. */
    showAll() {
      ui.window = ui.window?.all ? null : allOf(app.history.index, null);
      app.draw();
      fetch();
    },
  };
}
