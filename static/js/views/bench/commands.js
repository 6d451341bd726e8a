// @ts-check
/** The place for commands: a field for a manifest or a line, and beneath it the answers. */
import { ALL_KEYS, KUBECTL, isLine } from '../../core/commands/commands.js';
import { deployment } from '../../core/commands/scenarios.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { readOnly } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/**
 * @typedef {Object} Answer
 * @property {number} id
 * @property {string} command  as it was typed, or the line that stands for it
 * @property {'api'|'etcdctl'} sort
 * @property {string} cluster
 * @property {import('../../core/commands/answers.js').Line[]} lines
 * @property {number} began    wall time in ms; 0 when it ended
 * @property {import('../../core/commands/generators.js').Step[]} [steps]  of kubectl, until then
 * @property {Member[]} [members]  of etcd, then
 */
/**
 * @typedef {Object} Member  one member of etcd
 * @property {string} id
 * @property {string} name      empty until it has started
 * @property {string} urls      of its peers' way to it
 * @property {boolean} started
 * @property {boolean} learner
 */

// the pod with which walk-throughs of the source begin
const NGINX_POD = `apiVersion: v1
kind: Pod
metadata:
  name: nginx-pod
spec:
  containers:
  - name: nginx
    image: nginx:1.8
`;
const EXAMPLES = Object.freeze([
  'kubectl create deployment web --image=nginx --replicas=3',
  'kubectl scale deployment/web --replicas=5',
  'kubectl get all',
  ALL_KEYS,
  'etcdctl get /registry/namespaces/default -w json',
  'etcdctl endpoint status -w table',
  'etcdctl member list -w table',
]);
// a command that takes longer than this says that it is still running
const SLOW_MS = 1000;

/** @param {Context} ctx */
export function commandsPanel(ctx) {
  const { words, player, ui } = ctx;
  if (!player.drives) return readOnly(ctx);
  const isFirst = !ui.answers.length && !ui.waiting.length;
  return h(
    'div.commands',
    { key: 'commands', class: ui.isWriting ? 'is-writing' : '' },
    field(ctx),
    h(
      'div.answers',
      { key: 'answers', tabindex: '0', role: 'log', 'aria-label': words.t('commands.answers') },
      isFirst
        ? examples(ctx)
        : [
            [...ui.waiting].reverse().map((line) => waitingView(ctx, line)),
            ui.answers.map((answer) => answerView(ctx, answer)),
          ],
    ),
  );
}

/** @param {Context} ctx */
function field(ctx) {
  const { words, act, ui } = ctx;
  return h(
    'div.command',
    { key: 'command' },
    h('textarea', {
      'aria-label': words.t('commands.field'),
      placeholder: words.t('commands.placeholder'),
      spellcheck: 'false',
      autocomplete: 'off',
      autocapitalize: 'off',
      value: ui.text,
      onFocus: () => act.writing(true),
      onInput: (/** @type {{target: HTMLTextAreaElement}} */ e) => act.command(e.target.value),
      onKeydown: (/** @type {KeyboardEvent} */ e) => onKey(e, ctx),
    }),
    h(
      'div.send',
      null,
      h('span.soft', null, words.t('bench.kubectl')),
      h(
        'button.act.first',
        { onClick: () => act.send() },
        glyph('play'),
        words.t('bench.send'),
      ),
    ),
  );
}

/**
 * Enter sends a line, and Ctrl and Enter anything; up on the first line goes back in what was sent.
 * @param {KeyboardEvent} e @param {Context} ctx
 */
function onKey(e, { act }) {
  const field = /** @type {HTMLTextAreaElement} */ (e.target);
  const { value, selectionStart: caret, selectionEnd } = field;
  const isPlain = !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey;
  if (e.key === 'Enter' && !e.isComposing) {
    if (!(e.ctrlKey || e.metaKey) && !(isPlain && (isLine(value) || !value.trim()))) return;
    e.preventDefault();
    act.send();
    return;
  }
  if (!isPlain || caret !== selectionEnd) return;
  const isFirst = !value.slice(0, caret).includes('\n');
  const isLast = !value.slice(caret).includes('\n');
  if (!(e.key === 'ArrowUp' && isFirst) && !(e.key === 'ArrowDown' && isLast)) return;
  e.preventDefault();
  act.back(e.key === 'ArrowUp' ? 1 : -1);
}

/** What one can begin with: it is put into the field. @param {Context} ctx */
function examples({ words, act }) {
  const example = (/** @type {string} */ text, /** @type {string} */ label) =>
    h('li', { key: label }, h('button.link', { onClick: () => act.suggest(text) }, label));
  return h(
    'div',
    { key: 'examples' },
    h(
      'ul.examples',
      null,
      example(deployment('nginx', 3), words.t('commands.deployment')),
      example(NGINX_POD, words.t('commands.pod')),
      EXAMPLES.map((line) => example(line, line)),
    ),
    h('p', null, words.t('commands.empty', { lines: KUBECTL.join(', ') })),
  );
}

/** @param {Context} ctx @param {import('./turns.js').Waiting} line */
function waitingView({ words, act }, { id, command }) {
  return h(
    'div.run',
    { key: `waits-${id}` },
    h('div', null, h('span.p', null, '$ '), h('span.c', null, command)),
    h('div.waits', null, glyph('hold'), words.t('commands.waits')),
    h('button.link', { onClick: () => act.takeBack(id) }, words.t('commands.takeBack')),
  );
}

/** @param {Context} ctx @param {Answer} answer */
function answerView(ctx, answer) {
  const { words, player, state } = ctx;
  const { id, command, sort, lines, began, members, steps } = answer;
  const ms = began ? performance.now() - began : 0;
  const waits = began && sort === 'api' && (player.stopped || state.held);
  return h(
    'div.run',
    { key: id },
    h('div', null, h('span.p', null, '$ '), h('span.c', null, command)),
    lines.some(({ text, table = isTable(text) }) => table)
      ? h(
          'button.link',
          { key: 'large', onClick: () => ctx.act.showAnswer(id) },
          words.t('commands.large'),
        )
      : null,
    lines.map(({ failed, text, isLine: isInstead, table = isTable(text) }) =>
      isInstead
        ? h('div', null, h('button.link', { onClick: () => ctx.act.suggest(text) }, text))
        : h('div.out', { class: `${failed ? 'e' : ''} ${table ? 'is-table' : ''}` }, text),
    ),
    steps ? stepsView(ctx, steps, !!began || lines.some(({ failed }) => failed)) : null,
    members?.length ? membersView(ctx, members) : null,
    waits || ms > SLOW_MS
      ? h(
          'div.waits',
          null,
          glyph('hold'),
          waits
            ? words.t('bench.sending')
            : words.t('commands.running', { n: Math.floor(ms / 1000) }),
        )
      : null,
  );
}

/**
 * What kubectl did, function by function; the last prints what was answered, if that is not bad.
 * @param {Context} ctx @param {import('../../core/commands/generators.js').Step[]} steps
 * @param {boolean} unprinted
 */
function stepsView({ words, meta }, steps, unprinted) {
  const shown = unprinted && !steps.at(-1)?.failed ? steps.slice(0, -1) : steps;
  return h(
    'details.fold.client',
    { key: 'steps', onToggle: bringIntoView },
    h('summary', null, words.t('run.steps', { version: meta.version })),
    h(
      'ol',
      null,
      shown.map(({ name, source, key, params, failed }) =>
        h(
          'li',
          { key: name },
          h('code', null, name),
          ' ',
          h('span', { class: failed ? 'e' : '' }, key ? words.t(key, params) : failed),
          h('div.soft', null, source),
        ),
      ),
    ),
  );
}

/** What was opened is seen from its begin, also where there is little room. */
function bringIntoView(/** @type {{target: HTMLDetailsElement}} */ { target }) {
  if (target.open) target.scrollIntoView();
}

/** An answer that has tables, in a room where they can be read. @param {Context} ctx */
export function answer(ctx) {
  const { ui } = ctx;
  const { command, lines } = /** @type {Answer} */ (ui.answers.find(({ id }) => id === ui.answer));
  return dialog(
    ctx,
    command,
    h(
      'div.answers',
      { tabindex: '0', role: 'region', 'aria-label': command },
      lines.map(({ failed, text }) => h('div.out.is-table', { class: failed ? 'e' : '' }, text)),
    ),
  );
}

/** A table is wider than the panel and scrolls; lines that were wrapped would be no table. */
const isTable = (/** @type {string} */ output) => output.startsWith('+-');

/** A line each, as `member list` prints them. @param {string} output @returns {Member[]} */
export const membersIn = (output) =>
  output
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [id, status, name, urls, , learner] = line.split(', ');
      return { id, name, urls, started: status === 'started', learner: learner === 'true' };
    });

/** Who is in etcd, and whom each of them knows as its peers. */
function membersView(/** @type {Context} */ { words }, /** @type {Member[]} */ members) {
  const named = (/** @type {Member} */ member) => member.name || member.id;
  return h(
    'div.members',
    { key: 'members' },
    h('b', null, words.t('commands.members', { n: members.length })),
    h(
      'ul',
      null,
      members.map((member) => {
        const peers = members.filter((other) => other.id !== member.id);
        const known = peers.map(named).join(', ');
        return h(
          'li',
          { key: member.id },
          h('code', { title: `${member.id} ${member.urls}` }, named(member)),
          ' ',
          known ? words.t('commands.peers', { names: known }) : words.t('commands.alone'),
          member.started ? null : ` · ${words.t('commands.unstarted')}`,
          member.learner ? ` · ${words.t('commands.learner')}` : null,
        );
      }),
    ),
  );
}
