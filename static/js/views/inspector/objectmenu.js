// @ts-check
/**
 * The menu of the object that is looked at: what can be done with it, as a line of kubectl that can
 * be copied, and by a real request.
 */
import { actsOf, editLine, goesWith, isScaled, replicasOf } from '../../core/commands/acts.js';
import { isFork } from '../../core/cluster/forks.js';
import { kindOf } from '../../core/trace/records.js';
import { chosenObject } from '../kit/chosen.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { menu } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/commands/acts.js').Act} Act */
/** @typedef {import('../../core/trace/records.js').WriteRecord} WriteRecord */
/** @typedef {{key: string, replicas: string, sure: string, error: string, sends: string,
 *   copied: string}} Deed  replicas: as typed; sure: what was asked about; sends: what is under way
 */

/** @type {Record<Act['name'], string>} */
const SIGNS = {
  replace: 'change',
  scale: 'layers',
  restart: 'again',
  cordon: 'flagOff',
  uncordon: 'flag',
  delete: 'podEnd',
};
const REPLICAS_MAX = 10_000;

/** Beside the action of the inspector. @param {Context} ctx */
export function objectMenu(ctx) {
  const { words, ui, act } = ctx;
  const write = chosenObject(ctx);
  if (!write) return null;
  const isOpen = ui.menu === 'object';
  const kind = kindOf(write.resource);
  return h(
    'div.anchor.up',
    { key: 'object-menu' },
    h(
      'button.act.pick',
      {
        'aria-haspopup': 'dialog',
        'aria-expanded': String(isOpen),
        onClick: () => act.objectMenu(write.key),
      },
      words.t('acts.menu'),
    ),
    isOpen ? menu(ctx, 'object', h('h2', null, `${kind} ${write.name}`), items(ctx, write)) : null,
  );
}

/** Why nothing can be done now; '' when it can. @param {Context} ctx */
function reasonNot({ words, player }) {
  if (!player.live) return words.t('bench.replay');
  if (!player.drives) return words.t('bench.watch');
  return player.past ? words.t('acts.past') : '';
}

/** @param {Context} ctx @param {WriteRecord} write */
function items(ctx, write) {
  const { words, ui, clock, meta, player, state } = ctx;
  const deed = ui.deed?.key === write.key ? ui.deed : null;
  const typed = deed?.replicas || String(replicasOf(write));
  const isCount = /^\d+$/.test(typed) && Number(typed) <= REPLICAS_MAX;
  const replicas = isCount ? Number(typed) : replicasOf(write);
  const reason = reasonNot(ctx);
  const waits = deed?.sends && (player.stopped || state.held);
  return [
    reason ? h('p.note', { key: 'reason', id: 'acts-reason' }, reason) : null,
    editItem(ctx, write, reason),
    actsOf(write, { replicas, now: clock }).map((action) =>
      action.name === deed?.sure
        ? asks(ctx, write, action)
        : item(ctx, write, action, reason, isCount),
    ),
    isFork(meta.cluster)
      ? h('p.note', { key: 'fork' }, words.t('acts.fork', { name: meta.cluster }))
      : null,
    waits ? h('p.note', { key: 'waits', role: 'status' }, words.t('bench.sending')) : null,
    deed?.error
      ? h('p.note.is-deny', { key: 'error', role: 'alert' }, glyph('deny'), deed.error)
      : null,
  ];
}

/** @param {Context} ctx @param {WriteRecord} write @param {string} reason */
function editItem(ctx, write, reason) {
  const { words, act } = ctx;
  return h(
    'div.deed',
    { key: 'edit' },
    h(
      'button.item',
      {
        'aria-disabled': String(!!reason),
        'aria-describedby': reason ? 'acts-reason' : false,
        onClick: () => {
          if (!reason) act.edit(write);
        },
      },
      glyph('change'),
      h('span', null, words.t('acts.edit')),
    ),
    commandLine(ctx, editLine(write)),
  );
}

/** @param {Context} ctx @param {WriteRecord} write @param {Act} action @param {string} reason */
function item(ctx, write, action, reason, isCount = true) {
  const { words, act, ui } = ctx;
  const { name, command } = action;
  const isSending = !!ui.deed?.sends;
  const isScale = name === 'scale' && isScaled(write);
  const go = () => {
    if (reason || isSending || (isScale && !isCount)) return;
    if (name === 'delete') act.askDeed(name);
    else act.perform(action);
  };
  return h(
    'div.deed',
    { key: name },
    h(
      'button.item',
      {
        'aria-disabled': String(!!reason || isSending),
        'aria-describedby': reason ? 'acts-reason' : false,
        onClick: go,
      },
      glyph(SIGNS[name]),
      h('span', null, words.t(`acts.${name}`)),
    ),
    isScale ? count(ctx, write) : null,
    commandLine(ctx, command),
  );
}

/** How many. @param {Context} ctx @param {WriteRecord} write */
function count({ words, act, ui }, write) {
  return h('input', {
    type: 'number',
    min: '0',
    max: String(REPLICAS_MAX),
    'aria-label': words.t('acts.replicas'),
    value: ui.deed?.replicas || String(replicasOf(write)),
    onInput: (/** @type {{target: HTMLInputElement}} */ e) =>
      act.deed({ replicas: e.target.value }),
  });
}

/** The line of kubectl, to be copied. @param {Context} ctx @param {string} command */
function commandLine({ words, act, ui }, command) {
  const isCopied = ui.deed?.copied === command;
  const label = words.t(isCopied ? 'acts.copied' : 'acts.copy');
  return h(
    'div.line',
    null,
    h('code', null, command),
    h(
      'button.copy',
      {
        title: label,
        'aria-label': `${label}: ${command}`,
        onClick: () => act.copyLine(command),
      },
      glyph(isCopied ? 'allow' : 'copy'),
    ),
  );
}

/** What a deletion takes along; only then it is done. */
function asks(
  /** @type {Context} */ ctx,
  /** @type {WriteRecord} */ write,
  /** @type {Act} */ action,
) {
  const { words, act, state } = ctx;
  const name = `${kindOf(write.resource)} ${write.name}`;
  const also = goesWith(state, write)
    .map(([kind, n]) => `${n} × ${kind}`)
    .join(', ');
  return h(
    'div.deed.asks',
    { key: 'sure', role: 'alertdialog', 'aria-label': words.t('acts.delete') },
    h('p', null, words.t(also ? 'acts.sureAlso' : 'acts.sure', { name, also })),
    h(
      'button.item.is-deny',
      { onClick: () => act.perform(action) },
      glyph(SIGNS.delete),
      h('span', null, words.t('acts.yes', { name: write.name })),
    ),
    h(
      'button.item',
      { onClick: () => act.askDeed('') },
      glyph('back'),
      h('span', null, words.t('acts.no')),
    ),
    commandLine(ctx, action.command),
  );
}
