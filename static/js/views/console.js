// @ts-check
/** A console beside the bench: etcdctl against the cluster's own etcd, with what it prints. */
import { h } from './dom.js';
import { glyph } from './glyphs.js';
import { readOnly } from './parts.js';

/** @typedef {import('./parts.js').Context} Context */
/**
 * @typedef {Object} Run  one command that was typed
 * @property {number} id
 * @property {string} command
 * @property {string} output
 * @property {string} errors
 * @property {number} code      how it ended
 * @property {number} began     wall time in ms; 0 when it ended
 */
/**
 * @typedef {Object} Member  one member of etcd
 * @property {string} id
 * @property {string} name      empty until it has started
 * @property {string} urls      of its peers' way to it
 * @property {boolean} started
 * @property {boolean} learner
 */

export const EXAMPLES = Object.freeze([
  'etcdctl get /registry --prefix --keys-only --limit 20',
  'etcdctl get /registry/namespaces/default -w json',
  'etcdctl endpoint status -w table',
  'etcdctl member add node-2 --peer-urls=https://10.0.0.12:2380',
]);
// a command that takes longer than this says that it is still running
const SLOW_MS = 1000;

/** @param {Context} ctx */
export function consolePanel(ctx) {
  const { words, player, ui } = ctx;
  if (!player.drives) return readOnly(ctx);
  return h(
    'div.console',
    { key: 'console' },
    members(ctx),
    h(
      'div.answers',
      { key: 'said', tabindex: '0', role: 'log', 'aria-label': words.t('console.label') },
      ui.runs.length ? ui.runs.map((/** @type {Run} */ run) => runView(ctx, run)) : empty(ctx),
    ),
    prompt(ctx),
  );
}

/** Who is in etcd, and whom each of them knows as its peers. @param {Context} ctx */
function members(ctx) {
  const { words, ui } = ctx;
  if (!ui.members.length) return null;
  const named = (/** @type {Member} */ one) => one.name || one.id;
  return h(
    'div.members',
    { key: 'members' },
    h('b', null, words.t('console.members', { n: ui.members.length })),
    h(
      'ul',
      null,
      ui.members.map((/** @type {Member} */ one) => {
        const peers = ui.members.filter((/** @type {Member} */ other) => other.id !== one.id);
        const known = peers.map(named).join(', ');
        return h(
          'li',
          { key: one.id },
          h('code', { title: `${one.id} ${one.urls}` }, named(one)),
          ' ',
          known ? words.t('console.peers', { names: known }) : words.t('console.alone'),
          one.started ? null : ` · ${words.t('console.unstarted')}`,
          one.learner ? ` · ${words.t('console.learner')}` : null,
        );
      }),
    ),
  );
}

/** @param {Context} ctx */
function empty(ctx) {
  const { words, act } = ctx;
  return h(
    'div',
    { key: 'empty' },
    h('p', null, words.t('console.empty')),
    h(
      'ul.examples',
      null,
      EXAMPLES.map((line) =>
        h('li', { key: line }, h('button.link', { onClick: () => act.console(line) }, line)),
      ),
    ),
  );
}

/** @param {Context} ctx @param {Run} run */
function runView(ctx, run) {
  const { words } = ctx;
  const ms = run.began ? performance.now() - run.began : 0;
  return h(
    'div.run',
    { key: run.id },
    h('div', null, h('span.p', null, '$ '), h('span.c', null, run.command)),
    run.output ? h('div.out', { class: isTable(run.output) ? 'is-table' : '' }, run.output) : null,
    run.errors ? h('div.out.e', null, run.errors) : null,
    run.code ? h('div.soft', null, words.t('console.exit', { code: String(run.code) })) : null,
    ms > SLOW_MS
      ? h(
          'div.waits',
          null,
          glyph('hold'),
          words.t('console.running', { n: Math.floor(ms / 1000) }),
        )
      : null,
  );
}

/** A table is wider than the panel and scrolls; lines that were wrapped would be no table. */
const isTable = (/** @type {string} */ output) => output.startsWith('+-');

/** @param {Context} ctx */
function prompt(ctx) {
  const { words, act, ui } = ctx;
  return h(
    'form.prompt',
    {
      key: 'prompt',
      onSubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        act.console(ui.line);
      },
    },
    h('span.p', { 'aria-hidden': 'true' }, '$'),
    h('input', {
      'aria-label': words.t('console.line'),
      placeholder: 'etcdctl …',
      autocomplete: 'off',
      autocapitalize: 'off',
      spellcheck: 'false',
      value: ui.line,
      onInput: (/** @type {{target: HTMLInputElement}} */ e) => act.consoleLine(e.target.value),
      onKeydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key !== 'ArrowUp' && e.key !== 'ArrowDown') return;
        e.preventDefault();
        act.consoleBack(e.key === 'ArrowUp' ? 1 : -1);
      },
    }),
    h(
      'button.act.first',
      { type: 'submit', disabled: ui.runs.some(isRunning) },
      words.t('console.run'),
    ),
  );
}

/** @param {Run} run */
const isRunning = (run) => run.began > 0;
