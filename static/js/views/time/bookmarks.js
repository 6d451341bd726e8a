// @ts-check
/** Bookmarks: titled pennants on the time axis, kept with the recording, or with the cluster. */
import { traces } from '../../net/api.js';
import { explanationOf } from '../kit/explanation.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { scaleOf } from './plot.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../types.js').Bookmark} Bookmark */

const TITLE_MAX = 80;
const WIDTH_REM = 12;
const WIDTH_PX_MIN = 24;

/** @param {App} app */
export function bookmarkActions(app) {
  const { ui } = app;
  let before = Promise.resolve(); // one change after the other
  /**
   * Of what is open now, wherever one goes meanwhile.
   * @param {(list: Bookmark[]) => Bookmark[]} change
   */
  const keep = (change) => {
    const { player, api } = app;
    const { trace } = ui;
    before = before.then(() => changed(change, player, api, trace));
    return before;
  };
  /**
   * @param {(list: Bookmark[]) => Bookmark[]} change @param {App['player']} player
   * @param {App['api']} api @param {string} trace
   */
  const changed = async (change, player, api, trace) => {
    try {
      const known = trace ? ui.bookmarks : (await api.bookmarks()).bookmarks;
      const wanted = change(known);
      const answer = trace
        ? await traces.keepBookmarks(trace, wanted)
        : await api.keepBookmarks(wanted);
      if (player === app.player) ui.bookmarks = answer.bookmarks;
    } catch (error) {
      app.failed(error);
    }
    app.draw();
  };
  return {
    /** Those of the cluster that is live. */
    async readBookmarks() {
      const { player } = app;
      const { bookmarks } = await app.api.bookmarks().catch(() => ({ bookmarks: [] }));
      if (player !== app.player) return;
      ui.bookmarks = bookmarks;
      app.changed();
    },
    /** Give the moment on view a title, its headline first. */
    async mark() {
      const { seq, t } = app.player.state();
      if (!seq || !canMark(app.context())) return;
      if (!ui.bookmarks.some((bookmark) => bookmark.seq === seq)) {
        const { title } = explanationOf(app.context());
        await keep((list) => [...list, { seq, t, title: title.slice(0, TITLE_MAX) }]);
      }
      app.act.openBookmark(seq);
    },
    /** @param {number} seq */
    openBookmark(seq) {
      app.moved();
      ui.selected = null;
      if (app.player.cursor !== seq) app.player.seek(seq);
      if (!canMark(app.context())) return;
      Object.assign(ui, { bookmark: seq, find: null });
      app.drawNow();
      const field = /** @type {HTMLInputElement|null} */ (document.querySelector('.marking input'));
      field?.focus();
      field?.select();
    },
    closeBookmark() {
      ui.bookmark = 0;
      app.draw();
    },
    /** @param {number} seq @param {string} title */
    titleBookmark(seq, title) {
      const named = title.trim().slice(0, TITLE_MAX);
      if (!named) return undefined;
      return keep((list) =>
        list.map((bookmark) => (bookmark.seq === seq ? { ...bookmark, title: named } : bookmark)),
      );
    },
    /** @param {number} seq */
    removeBookmark(seq) {
      ui.bookmark = 0;
      return keep((list) => list.filter((bookmark) => bookmark.seq !== seq));
    },
  };
}

/** Who may keep recordings may mark them, and the cluster that can be saved as one. */
export function canMark(/** @type {Context} */ { player, ui }) {
  return ui.keeps && (player.live || !!ui.trace);
}

/** In place of the tools of the timeline while a title is given. @param {Context} ctx */
export function bookmarkField({ words, act, ui }) {
  const { bookmark: seq } = ui;
  const { title = '' } = ui.bookmarks.find((bookmark) => bookmark.seq === seq) || {};
  return h(
    'form.find.marking',
    {
      key: `mark${seq}`,
      onSubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        act.closeBookmark();
      },
    },
    h('label', { for: 'bookmark' }, words.t('mark.title')),
    h('input', {
      id: 'bookmark',
      maxlength: String(TITLE_MAX),
      autocomplete: 'off',
      value: title,
      onChange: (/** @type {{target: HTMLInputElement}} */ e) =>
        act.titleBookmark(seq, e.target.value),
    }),
    h('button.act', { type: 'submit' }, words.t('mark.done')),
    h(
      'button.act',
      { type: 'button', onClick: () => act.removeBookmark(seq) },
      words.t('mark.remove'),
    ),
  );
}

/**
 * The pennants above the axis, the first one's place before that of the next.
 * @param {Context} ctx @param {import('../../core/timeline/axis.js').Range} range
 * @param {import('./plot.js').Size} size
 */
export function pennants(ctx, range, size) {
  const { words, act, ui } = ctx;
  const seen = ui.bookmarks.filter(({ t }) => t >= range.from && t <= range.to && !range.empty);
  if (!seen.length) return null;
  const scale = scaleOf(range, size, 1);
  let free = 0;
  const places = seen.map(({ t }) => {
    const x = Math.max(scale.x(t), free);
    free = x + WIDTH_PX_MIN;
    return Math.min(x, size.width - WIDTH_PX_MIN);
  });
  return h(
    'ol.pennants',
    { key: 'pennants', 'aria-label': words.t('mark.label') },
    seen.map((bookmark, i) => {
      const room = (places[i + 1] ?? size.width) - places[i];
      const width = Math.max(WIDTH_PX_MIN, Math.min(room, WIDTH_REM * scale.rem));
      return h(
        'li',
        { key: bookmark.seq, style: { left: `${places[i]}px`, 'max-width': `${width}px` } },
        h(
          'button',
          {
            title: bookmark.title,
            'aria-current': bookmark.seq === ctx.state.seq ? 'true' : false,
            onClick: () => act.openBookmark(bookmark.seq),
          },
          glyph('pennant'),
          h('span', null, bookmark.title),
        ),
      );
    }),
  );
}
