// @ts-check
/** Any two revisions of an object up to the cursor, one below the other or side by side. */
import { kindOf } from '../../core/trace/records.js';
import { compared, countsOf, sideBySide } from '../../core/cluster/revisions.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../../core/text/yaml.js').Line} Line */
/** @typedef {{key: string, from: number, to: number, side: boolean, all: boolean}} Compared
 *   from, to: revisions; from 0 for the one before */

/** @param {Context} ctx @param {{key: string, rev: number}} of @param {string} key */
export const compareButton = ({ words, act }, of, key) =>
  h(
    'p',
    { key },
    h(
      'button.act',
      { onClick: () => act.compareRevisions(of.key, of.rev) },
      glyph('list'),
      words.t('revisions.open'),
    ),
  );

/** @param {Context} ctx */
export function revisions(ctx) {
  const { words, ui, index } = ctx;
  const { key, from, to, side, all } = /** @type {Compared} */ (ui.compared);
  const writes = index.histories.get(key) || [];
  const newest = writes.at(-1);
  if (!newest) return dialog(ctx, words.t('revisions.open'), h('p', null, words.t('story.none')));
  const name = `${kindOf(newest.resource)} ${newest.name}`;
  const title = words.t('revisions.title', { name });
  if (writes.length < 2)
    return dialog(ctx, title, h('p', null, words.t('revisions.only')), earlier(ctx, key));
  const right = Math.max(1, placeOf(writes, to));
  const left = from ? placeOf(writes, from) : right - 1;
  const [old, now] = [writes[left], writes[right]];
  const lines = compared(old, now, all);
  return dialog(
    ctx,
    title,
    h(
      'div.revisions',
      null,
      picker(ctx, writes, 'from', left),
      picker(ctx, writes, 'to', right),
      ways(ctx),
      earlier(ctx, key),
    ),
    h('p.second', { role: 'status' }, words.t('revisions.counts', countsOf(lines))),
    lines.length
      ? side
        ? table(ctx, lines, old, now)
        : list(ctx, lines)
      : h('p', null, words.t('revisions.same')),
  );
}

/** The place of a revision, or of the last before it. @param {WriteRecord[]} writes */
function placeOf(writes, /** @type {number} */ rev) {
  const at = writes.findLastIndex((write) => write.rev <= rev);
  return Math.max(0, at);
}

/**
 * A list of all revisions, and a button to the one before and after.
 * @param {Context} ctx @param {WriteRecord[]} writes @param {'from'|'to'} which @param {number} at
 */
function picker(ctx, writes, which, at) {
  const { words, act } = ctx;
  const label = words.t(`revisions.${which}`);
  const go = (/** @type {number} */ place) => act.compared({ [which]: writes[place].rev });
  const step = (/** @type {string} */ name, /** @type {string} */ sign, /** @type {number} */ to) =>
    h(
      'button.step',
      {
        disabled: !writes[to],
        'aria-label': words.t(`revisions.${name}`, { which: label }),
        onClick: () => go(to),
      },
      sign,
    );
  return h(
    'div.picker',
    { key: which },
    h(
      'label',
      null,
      label,
      ' ',
      h(
        'select',
        {
          value: String(at),
          onChange: (/** @type {{target: HTMLInputElement}} */ e) => go(Number(e.target.value)),
        },
        writes.map((write, i) =>
          h('option', { key: i, value: String(i), selected: i === at }, textOf(ctx, write)),
        ),
      ),
    ),
    step('older', '‹', at - 1),
    step('newer', '›', at + 1),
  );
}

/** @param {Context} ctx @param {WriteRecord} write */
function textOf({ words, index }, { rev, op, subresource, span, client }) {
  const request = index.request(span);
  const who = request?.user?.name || request?.open.client || client || words.t('object.bootstrap');
  const short = who.replace('system:serviceaccount:kube-system:', '').replace('system:', '');
  return words.t('revisions.item', { rev: String(rev), op: subresource || op, who: short });
}

/** @param {Context} ctx */
function ways({ words, ui, act }) {
  const { side, all } = /** @type {Compared} */ (ui.compared);
  const way = (/** @type {string} */ name, /** @type {boolean} */ value) =>
    h(
      'button.chip',
      {
        key: name,
        'aria-pressed': String(side === value),
        onClick: () => act.compared({ side: value }),
      },
      words.t(`revisions.${name}`),
    );
  return h(
    'div.ways-shown',
    { key: 'ways' },
    h(
      'span.chips',
      { role: 'group', 'aria-label': words.t('revisions.how') },
      way('unified', false),
      way('side', true),
    ),
    h(
      'label',
      null,
      h('input', {
        type: 'checkbox',
        checked: all,
        onChange: (/** @type {{target: HTMLInputElement}} */ e) =>
          act.compared({ all: e.target.checked }),
      }),
      ' ',
      words.t('revisions.all'),
    ),
  );
}

/** What lies before the records that are here. @param {Context} ctx @param {string} key */
function earlier({ words, index, act, ui }, key) {
  if (index.hasAllOf(key)) return null;
  return h(
    'button.act',
    { key: 'earlier', disabled: !!ui.reaching, onClick: () => act.loadEarlier() },
    words.t('revisions.earlier'),
  );
}

/** @type {Record<Line['sign'], [string, string]>} the class of a line, and its element */
const SIGNS = {
  '+': ['add', 'ins'],
  '-': ['gone', 'del'],
  '…': ['fold', 'span'],
  ' ': ['', 'span'],
};

/** @param {Context} ctx @param {Line[]} lines */
function list({ words }, lines) {
  return h(
    'div.diff',
    { key: 'list', role: 'group', tabindex: '0', 'aria-label': words.t('diff.label') },
    lines.map(({ sign, text }) => {
      const [cls, tag] = SIGNS[sign];
      return h('div', { class: cls }, h(tag, null, sign === '…' ? '⋯' : text || ' '));
    }),
  );
}

/** @param {Context} ctx @param {Line[]} lines @param {WriteRecord} old @param {WriteRecord} now */
function table({ words }, lines, old, now) {
  const head = ({ rev, op } = old) =>
    h(
      'th',
      { scope: 'col' },
      op === 'delete' ? `r${rev} · ${words.t('revisions.deleted')}` : `r${rev}`,
    );
  const cell = (
    /** @type {import('../../core/cluster/revisions.js').Cell} */ part,
    /** @type {string} */ cls,
    /** @type {string} */ tag,
  ) =>
    h(
      'td',
      { class: part ? (part.isChanged ? cls : '') : 'none' },
      part ? h(part.isChanged ? tag : 'span', null, part.text) : '',
    );
  return h(
    'div.diff.beside',
    { key: 'table', role: 'region', tabindex: '0', 'aria-label': words.t('diff.label') },
    h(
      'table',
      null,
      h('thead', null, h('tr', null, head(old), head(now))),
      h(
        'tbody',
        null,
        sideBySide(lines).map(({ left, right, isFold }) =>
          isFold
            ? h('tr.fold', null, h('td', { colspan: '2' }, '⋯'))
            : h('tr', null, cell(left, 'gone', 'del'), cell(right, 'add', 'ins')),
        ),
      ),
    ),
  );
}
