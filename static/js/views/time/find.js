// @ts-check
/** The field over the timeline, the sorts that are shown besides, and what was found, as a list. */
import { Finder, HITS_MAX, hitBeside, SORTS } from '../../core/request/search.js';
import { nameOf } from '../../core/request/corridor.js';
import { httpMethod, kindOf } from '../../core/trace/records.js';
import { duration } from '../../core/text/words.js';
import { copy } from '../kit/clipboard.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/request/search.js').Hit} Hit */

const LISTED_MAX = 200;
const COPIED_MS = 2000;
const finder = new Finder();

/** @param {Pick<Context, 'whole'|'ui'>} ctx */
export const hitsOf = ({ whole, ui }) =>
  finder.find(whole, { text: ui.find || '', shows: ui.shows });

/** @param {App} app */
export function findActions(app) {
  const { ui } = app;
  const set = (/** @type {Partial<App['ui']>} */ change) => {
    Object.assign(ui, change);
    app.draw();
  };
  return {
    /** What is looked for; null closes the field. @param {string|null} find */
    find: (find) => set({ find, found: 0 }),
    /** Open the field and go there at once: what is typed next is for it. */
    openFind() {
      set({ find: ui.find || '', bookmark: 0 });
      app.drawNow();
      /** @type {HTMLElement|null} */ (document.querySelector('.find input'))?.focus();
    },
    /** @param {import('../../core/request/search.js').Sort} sort */
    show(sort) {
      const has = ui.shows.includes(sort);
      set({ shows: SORTS.filter((shown) => (shown === sort ? !has : ui.shows.includes(shown))) });
    },
    /** The address of what is looked at, on the clipboard. */
    async copyLink() {
      await copy(location.href);
      set({ copied: true });
      setTimeout(() => set({ copied: false }), COPIED_MS);
    },
    gone: () => set({ gone: null }),
    /** @param {number} rev */
    visitRevision(rev) {
      set({ gone: null });
      app.address.goTo(rev);
    },
    /** @param {1|-1} direction */
    nextHit(direction) {
      const hits = hitsOf({ whole: app.history.index, ui });
      const hit = hitBeside(hits, ui.found, app.player.cursor, direction);
      if (hit) app.act.visitHit(hit);
    },
    /** @param {Hit} hit */
    visitHit(hit) {
      app.moved();
      app.player.seek(app.history.index.settled(hit.to));
      const { seq, roots } = hit.span;
      set({ found: seq, selected: roots.length ? null : { type: 'span', seq } });
    },
  };
}

/** In place of the tools of the timeline while something is looked for. @param {Context} ctx */
export function findField(ctx) {
  const { words, act, ui } = ctx;
  const hits = hitsOf(ctx);
  const at = hits.findIndex((hit) => hit.seq === ui.found) + 1;
  const key = hits.length >= HITS_MAX ? 'find.many' : at ? 'find.at' : 'find.count';
  const step = (/** @type {string} */ sign, /** @type {1|-1} */ direction) =>
    h(
      'button.zoom',
      {
        disabled: !hits.length,
        'aria-label': words.t(direction > 0 ? 'find.next' : 'find.before'),
        onClick: () => act.nextHit(direction),
      },
      sign,
    );
  return h(
    'div.find',
    { key: 'find', role: 'search' },
    h('input', {
      key: 'field',
      type: 'search',
      'aria-label': words.t('find.label'),
      placeholder: 'kind:pod ns:default verb:patch code:409 user:student',
      value: ui.find || '',
      onInput: (/** @type {{target: HTMLInputElement}} */ e) => act.find(e.target.value),
      onKeydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key === 'Enter') act.nextHit(e.shiftKey ? -1 : 1);
      },
    }),
    step('‹', -1),
    step('›', 1),
    h('span', { role: 'status' }, words.t(key, { n: hits.length, at })),
    chips(ctx),
    h(
      'button.zoom',
      {
        'aria-label': words.t('find.close'),
        title: words.t('find.close'),
        onClick: () => act.find(null),
      },
      '×',
    ),
  );
}

/** What is left out unless it is asked for. @param {Context} ctx */
export function chips({ words, act, ui }) {
  return h(
    'span.chips',
    { key: 'chips', role: 'group', 'aria-label': words.t('find.shows') },
    SORTS.map((sort) =>
      h(
        'button.chip',
        {
          key: sort,
          'aria-pressed': String(ui.shows.includes(sort)),
          onClick: () => act.show(sort),
        },
        words.t(`find.sort.${sort}`),
      ),
    ),
  );
}

/** The list in the inspector. @param {Context} ctx */
export function findings(ctx) {
  const { words, ui, act } = ctx;
  const hits = hitsOf(ctx);
  const place = Math.max(0, hits.findIndex((hit) => hit.seq === ui.found) - LISTED_MAX / 2);
  const origin = ctx.whole.records[0]?.t || 0;
  return [
    h(
      'div.head',
      { key: 'head' },
      h('div.crumb', null, words.t('find.label')),
      h('h1', null, words.t('find.count', { n: hits.length })),
    ),
    h(
      'div.scroll',
      { key: 'found', tabindex: '0', role: 'region', 'aria-label': words.t('find.label') },
      hits.length ? null : h('p', null, words.t('find.help')),
      h(
        'ol.found',
        null,
        hits.slice(place, place + LISTED_MAX).map((hit) => {
          const { open, close, user } = hit.span;
          const failed = !!close && close.code >= 400;
          return h(
            'li',
            { key: hit.seq },
            h(
              'button',
              {
                'aria-current': hit.seq === ui.found ? 'true' : false,
                onClick: () => act.visitHit(hit),
              },
              glyph(failed ? 'deny' : 'allow', words.t(`verdict.${failed ? 'deny' : 'allow'}`)),
              h(
                'span',
                null,
                h(
                  'b',
                  null,
                  `${httpMethod(open.verb)} ${kindOf(open.resource)} ${nameOf(null, hit.span)}`,
                ),
                h(
                  'small',
                  null,
                  [
                    open.subresource,
                    open.namespace,
                    user?.name || open.client,
                    close && String(close.code),
                    `+${duration(hit.t - origin)}`.replace(' ', '\u00a0'),
                  ]
                    .filter(Boolean)
                    .join(' · '),
                ),
              ),
            ),
          );
        }),
      ),
    ),
  ];
}
