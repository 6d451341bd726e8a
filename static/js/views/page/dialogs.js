// @ts-check
/** Help, the list of recordings and more, as dialogs above the page. */
import { answer } from '../bench/commands.js';
import { dialog } from '../kit/dialog.js';
import { h, render } from '../kit/dom.js';
import { editor } from '../bench/editor.js';
import { focused } from './focus.js';
import { glyph } from '../kit/glyphs.js';
import { startupBlocks } from '../../core/explain/startup.js';
import { blockView, legend } from '../inspector/inspector.js';
import { asksFirst, canBegin, questions, runButton } from '../begin/questions.js';
import { revisions } from '../inspector/revisions.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {{id: string, name?: string, cluster?: string, kubernetes?: string, last?: number}}
 *   SavedTrace */

const KEYS = [
  ['Space', 'space'],
  ['← →', 'arrows'],
  ['⇧ ← →', 'shift'],
  ['n p', 'chapters'],
  ['b', 'b'],
  ['⇧ F', 'failure'],
  ['f', 'fork'],
  ['s', 'split'],
  ['/', 'find'],
  ['m', 'mark'],
  ['l', 'l'],
  ['+ −', 'zoom'],
  ['0', 'all'],
  ['Esc', 'esc'],
  ['?', 'help'],
];

/** @param {HTMLElement} host @param {Context} ctx */
export function renderDialogs(host, ctx) {
  const { ui } = ctx;
  const views = { help, traces, startup, begin, addons, revisions, editor, answer };
  const shown = views[/** @type {'help'} */ (ui.dialog)];
  render(host, shown ? shown(ctx) : null);
  keepFocus(/** @type {HTMLElement|null} */ (host.querySelector('.dialog')));
}

/** what was used when a dialog opened */
let opener = /** @type {HTMLElement|null} */ (null);

/** A dialog has the keyboard; what opened it gets it back. @param {HTMLElement|null} opened */
function keepFocus(opened) {
  const here = focused();
  if (!opened) {
    if (opener && here === document.body) opener.focus();
    opener = null;
  } else if (!opened.contains(here)) {
    opener ||= here;
    opened.focus();
  }
}

/** @param {Context} ctx */
function help(ctx) {
  const { words } = ctx;
  return dialog(
    ctx,
    words.t('help.title'),
    h(
      'dl.keys',
      null,
      KEYS.map(([key, name]) => [
        h('dt', null, h('kbd', null, key)),
        h('dd', null, words.t(`help.${name}`)),
      ]),
    ),
    h('h2', null, words.t('help.signs')),
    legend(ctx, 'legend'),
    h('h2', null, words.t('help.simulated')),
    h('p', null, words.t('start.simulated')),
  );
}

/** What one can begin with, at any time. @param {Context} ctx */
function begin(ctx) {
  const { words, player, act } = ctx;
  return dialog(
    ctx,
    words.t('begin.title'),
    h('p', null, words.t(canBegin(ctx) ? 'begin.text' : 'begin.looks')),
    runButton(ctx),
    h('div.form', null, h('button.act', { onClick: act.addons }, words.t('addons.title'))),
    h('h2', null, words.t('start.questions')),
    questions(ctx, 'questions'),
    player.drives ? asksFirst(ctx, 'begin.over', 'again', act.startOver) : null,
  );
}

/** Once what draws them is loaded. @param {Context} ctx */
const addons = (ctx) => dialog(ctx, ctx.words.t('addons.title'), ctx.ui.addons?.(ctx));

/** How the API server was built; what it told, section by section. @param {Context} ctx */
function startup(ctx) {
  const { words, index, ui, state, player, act } = ctx;
  const startup = { ...index.facts.startup, ...ui.startup };
  const runs = !['stopping', 'stopped'].includes(state.components.get('apiserver')?.state || '');
  return dialog(
    ctx,
    words.t('startup.title'),
    player.drives && runs
      ? [
          asksFirst(ctx, 'server.stop', 'deny', () => act.server('stop')),
          state.components.get('etcd')?.state !== 'stopped'
            ? asksFirst(ctx, 'etcd.stop', 'deny', () => act.etcd('stop'))
            : null,
        ]
      : null,
    h(
      'div.startup',
      { tabindex: '0', role: 'region', 'aria-label': words.t('startup.title') },
      startupBlocks(startup, words).map((block, i) => blockView(ctx, block, i)),
    ),
  );
}

/** @param {Context} ctx */
function traces(ctx) {
  const { words, act, ui, player } = ctx;
  const list = ui.traces || [];
  const back = h('button.act.first', { onClick: () => act.backToLive() }, words.t('traces.live'));
  const wrong = ui.traceError ? words.t('traces.failed', { message: ui.traceError }) : '';
  return dialog(
    ctx,
    words.t('traces.title'),
    player.drives ? saveForm(ctx) : player.live ? null : h('div.form', null, back),
    importForm(ctx),
    wrong ? h('p.is-deny', { role: 'alert' }, h('span.v', null, wrong)) : null,
    list.length
      ? h(
          'ul.tracelist',
          null,
          list.map((trace) => traceRow(ctx, trace)),
        )
      : h('p.soft', null, words.t('traces.none')),
  );
}

/** @param {Context} ctx */
function saveForm(ctx) {
  const { words, act, ui } = ctx;
  return h(
    'div.form',
    null,
    h('input', {
      'aria-label': words.t('traces.name'),
      placeholder: words.t('traces.name'),
      value: ui.traceName,
      onInput: (/** @type {{target: HTMLInputElement}} */ e) => act.traceName(e.target.value),
    }),
    h(
      'button.act.first',
      { 'aria-disabled': String(ui.saving), onClick: () => act.saveTrace() },
      glyph(ui.saving ? 'work' : 'save'),
      words.t(ui.saving ? 'traces.saving' : 'traces.save'),
    ),
  );
}

/** @param {Context} ctx */
function importForm(ctx) {
  const { words, act } = ctx;
  const file = h('input.file', {
    type: 'file',
    accept: '.gz,.jsonl,.ndjson,.json',
    onChange: (/** @type {any} */ e) => act.importTrace(e.target.files[0]),
  });
  return h('div.form', null, h('label.act', null, glyph('open'), words.t('traces.import'), file));
}

/** @param {Context} ctx @param {SavedTrace} trace */
function traceRow(ctx, trace) {
  const { words, act } = ctx;
  const count = trace.last ? words.t('traces.records', { n: trace.last }) : '';
  const about = [trace.cluster, trace.kubernetes, count].filter(Boolean).join(' · ');
  const name = trace.name || trace.id;
  return h(
    'li',
    { key: trace.id },
    h('span', null, h('b', null, name), h('small', null, about)),
    h(
      'button.act',
      { onClick: () => act.openTrace(trace.id) },
      glyph('play'),
      words.t('traces.open'),
    ),
    h(
      'a.act',
      { href: act.traceUrl(trace.id), download: `${name}.jsonl.gz` },
      glyph('save'),
      words.t('traces.download'),
    ),
  );
}
