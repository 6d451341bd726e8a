// @ts-check
/** The bench: a manifest to send, as whom, the API server's answers, and the objects there are. */
import { h, render } from './dom.js';
import { consolePanel } from './console.js';
import { glyph } from './glyphs.js';
import { objectsPanel } from './objects.js';
import { readOnly } from './parts.js';

/** @typedef {import('./parts.js').Context} Context */

/** @param {HTMLElement} host @param {Context} ctx */
export function renderBench(host, ctx) {
  const { compact, ui } = ctx;
  const tab = compact ? ui.benchTab : ui.benchTab === 'objects' ? 'create' : ui.benchTab;
  const kept = /** @type {HTMLElement|null} */ (host.querySelector('.answers'));
  const height = kept ? kept.scrollHeight : 0;
  render(
    host,
    h('div.term', { key: 'term' }, title(ctx, tab), body(ctx, tab)),
    compact ? null : objectsPanel(ctx),
  );
  const answers = /** @type {HTMLElement|null} */ (host.querySelector('.answers'));
  const grew = answers && answers.scrollHeight !== height && !answers.querySelector('.examples');
  if (grew) answers.scrollTop = answers.scrollHeight;
  if (ui.picked) pick(host, ctx);
}

/** Select a part of the manifest, once. @param {HTMLElement} host @param {Context} ctx */
function pick(host, { ui }) {
  const text = host.querySelector('textarea');
  const at = ui.manifest.indexOf(ui.picked);
  if (!text || at < 0) return;
  text.focus();
  text.setSelectionRange(at, at + ui.picked.length);
  const line = ui.manifest.slice(0, at).split('\n').length;
  const lines = ui.manifest.split('\n').length;
  text.scrollTop = (text.scrollHeight * line) / lines - text.clientHeight / 2;
  ui.picked = '';
}

/** @param {Context} ctx @param {string} tab */
function body(ctx, tab) {
  if (tab === 'objects') return objectsPanel(ctx);
  if (tab === 'console') return consolePanel(ctx);
  return tab === 'answers' ? answers(ctx) : manifest(ctx);
}

/** @param {Context} ctx @param {string} tab */
function title(ctx, tab) {
  const { words, act, compact } = ctx;
  const names = ['create', 'answers', ...(compact ? ['objects'] : []), 'console'];
  return h(
    'div.panel-title',
    { key: 'title' },
    h(
      'span.tabs',
      { role: 'tablist' },
      names.map((name) =>
        h(
          'button',
          {
            key: name,
            role: 'tab',
            'aria-selected': String(name === tab),
            onClick: () => act.benchTab(name),
          },
          words.t(`bench.${name}`),
        ),
      ),
    ),
    // etcd knows nothing of users
    tab === 'console' ? null : userPicker(ctx),
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

/** @param {Context} ctx */
function manifest(ctx) {
  const { words, act, ui, player } = ctx;
  if (!player.drives) return readOnly(ctx);
  return h(
    'div.manifest',
    { key: 'manifest' },
    h('textarea', {
      'aria-label': words.t('bench.yaml'),
      spellcheck: 'false',
      value: ui.manifest,
      onInput: (/** @type {{target: HTMLInputElement}} */ e) => act.manifest(e.target.value),
      onKeydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) act.send();
      },
    }),
    h(
      'div.send',
      null,
      h('span.soft', null, words.t('bench.kubectl')),
      h('button.act', { onClick: () => act.openEditor() }, words.t('editor.open')),
      h(
        'button.act.first',
        { disabled: ui.sending > 0, onClick: () => act.send() },
        glyph('play'),
        words.t('bench.send'),
      ),
    ),
  );
}

/** @param {Context} ctx */
function answers(ctx) {
  const { words, ui, player, state } = ctx;
  const waits = ui.sending && (player.stopped || state.held);
  return h(
    'div.answers',
    { key: 'answers', tabindex: '0', role: 'log' },
    ui.answers.length ? null : h('p.soft', { key: 'none' }, words.t('bench.none')),
    ui.answers.map((/** @type {any} */ answer) =>
      h(
        'div',
        { key: answer.id },
        h('div', null, h('span.p', null, '$ '), h('span.c', null, answer.command)),
        answer.lines.map((/** @type {any} */ line) =>
          h('div', { class: line.failed ? 'e' : '' }, line.text),
        ),
      ),
    ),
    waits ? h('div.waits', { key: 'waits' }, glyph('hold'), words.t('bench.sending')) : null,
  );
}
