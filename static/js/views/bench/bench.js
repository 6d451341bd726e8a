// @ts-check
/** The bench: the place for commands, as whom they are sent, and the objects there are. */
import { h, render } from '../kit/dom.js';
import { commandsPanel } from './commands.js';
import { objectsPanel } from './objects.js';

/** @typedef {import('../kit/parts.js').Context} Context */

/** @param {HTMLElement} host @param {Context} ctx */
export function renderBench(host, ctx) {
  const { compact, ui } = ctx;
  const tab = compact ? ui.benchTab : 'commands';
  const panel = tab === 'objects' ? objectsPanel(ctx) : commandsPanel(ctx);
  render(
    host,
    h('div.term', { key: 'term' }, title(ctx, tab), panel),
    compact ? null : objectsPanel(ctx),
  );
  if (ui.picked) pick(host, ctx);
}

/** Select a part of the manifest, once. @param {HTMLElement} host @param {Context} ctx */
function pick(host, { ui }) {
  const text = host.querySelector('textarea');
  const at = ui.text.indexOf(ui.picked);
  if (!text || at < 0) return;
  text.focus();
  text.setSelectionRange(at, at + ui.picked.length);
  const line = ui.text.slice(0, at).split('\n').length;
  const lines = ui.text.split('\n').length;
  text.scrollTop = (text.scrollHeight * line) / lines - text.clientHeight / 2;
  ui.picked = '';
}

/** On a small screen the objects share the place. @param {Context} ctx @param {string} tab */
function title(ctx, tab) {
  const { words, act, compact } = ctx;
  const tabButton = (/** @type {string} */ name) =>
    h(
      'button',
      {
        key: name,
        role: 'tab',
        'aria-selected': String(name === tab),
        onClick: () => act.benchTab(name),
      },
      words.t(`bench.${name}`),
    );
  return h(
    'div.panel-title',
    { key: 'title' },
    compact
      ? h('span.tabs', { role: 'tablist' }, tabButton('commands'), tabButton('objects'))
      : h('h2', null, words.t('bench.commands')),
    ctx.player.drives
      ? h(
          'button.link',
          { key: 'editor', onClick: () => act.openEditor() },
          words.t('editor.open'),
        )
      : null,
    ctx.player.live && !ctx.player.drives ? null : userPicker(ctx),
  );
}

/** @param {Context} ctx */
function userPicker(ctx) {
  const { words, act, ui, meta, player } = ctx;
  return h(
    'label.as',
    null,
    words.t('bench.as'),
    ' ',
    h(
      'select',
      {
        disabled: !player.drives,
        value: ui.user,
        onChange: (/** @type {{target: HTMLInputElement}} */ e) => act.user(e.target.value),
      },
      meta.users.map((/** @type {string} */ user) =>
        h('option', { key: user, value: user, selected: user === ui.user }, user),
      ),
    ),
  );
}
