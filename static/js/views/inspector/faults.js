// @ts-check
/** A fault that a teacher sets: etcd answers the next write of a kind with an error. */
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {{resource: string, op: string}} Write  what etcd is asked to do */
/** @typedef {Write & {seq: number}} Fault  seq: the last record when it was set */

/** @param {Context} ctx @param {Write} about @param {string} key */
export function faultView(ctx, about, key) {
  const { words, act, ui, player, whole } = ctx;
  if (!player.drives) return null;
  const is = ui.fault && ui.fault.seq > whole.injected ? ui.fault : null;
  const params = { op: about.op, resource: about.resource };
  return h(
    'div.forms',
    { key },
    h('p.second', null, words.t(is ? 'fault.armed' : 'fault.what', is || params)),
    h(
      'button.act',
      { onClick: () => (is ? act.fault(null) : act.fault(about)) },
      glyph(is ? 'back' : 'deny'),
      words.t(is ? 'fault.clear' : 'fault.set', params),
    ),
  );
}
