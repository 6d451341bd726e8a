// @ts-check
/** What is explained just now, of the hop or of what is chosen. */
import { explain } from '../../core/explain/index.js';

/** @typedef {import('./parts.js').Context} Context */

/** @param {Context} ctx @returns {import('../../core/explain/index.js').Explanation} */
export function explanationOf(ctx) {
  return explain(
    {
      index: ctx.index,
      state: ctx.state,
      current: ctx.current,
      selected: ctx.ui.selected,
      crowd: ctx.focus === 'crowd',
      version: ctx.meta.version,
      clock: ctx.clock,
      loading: ctx.player.loading,
      read: ctx.player.coming?.index.records.length,
      more: ctx.player.quick && !ctx.state.held,
    },
    ctx.words,
  );
}
