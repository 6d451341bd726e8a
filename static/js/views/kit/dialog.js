// @ts-check
/** The frame of a dialog: its title, what closes it, and the veil over the page. */
import { h } from './dom.js';

/** @typedef {import('./parts.js').Context} Context */

/** As wide as what it shows needs. @param {Context} ctx @param {string} title @param {any} kids */
export function dialog(ctx, title, ...kids) {
  const { words, act, ui } = ctx;
  return h(
    'div.veil',
    {
      key: 'veil',
      onClick: (/** @type {any} */ e) => {
        if (e.target.classList.contains('veil')) act.close();
      },
    },
    h(
      `div.dialog.is-${ui.dialog}`,
      { role: 'dialog', 'aria-modal': 'true', 'aria-label': title, tabindex: '-1' },
      h(
        'div.top',
        null,
        h('h2', null, title),
        h('button.act', { onClick: () => act.close() }, words.t('traces.close')),
      ),
      kids,
    ),
  );
}
