// @ts-check
/** etcd's tape of revisions: what was written, what would be, and in the past what will be. */
import { activityOf } from '../../core/timeline/activity.js';
import { lastRecordAt } from '../../core/trace/index.js';
import { pluralOf } from '../../core/trace/records.js';
import { nameOf } from '../../core/request/corridor.js';
import { shortPod } from '../../core/cluster/objects.js';
import { ALL_KEYS } from '../../core/commands/commands.js';
import { h } from '../kit/dom.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/trace/records.js').WriteRecord} WriteRecord */

/** @typedef {{writes: WriteRecord[], folded: boolean}} Cell */

const CELLS_MAX = 14;
// how many revisions are looked through for something that is not folded
const LOOK_MAX = 5000;

/** @param {Context} ctx */
export function tape(ctx) {
  const { words, state, whole, player, compact, act } = ctx;
  const writes = writesOf(ctx);
  const room = compact ? 6 : 7;
  const at = lastRecordAt(writes, state.seq);
  const isPast = player.past || !player.live;
  // where there is little room, what is folded gives up its own
  const seen = (/** @type {Cell} */ cell) => !compact || !cell.folded || !ctx.current.root;
  const ahead = isPast
    ? cellsFrom(ctx, at + 1, 1)
        .filter(seen)
        .slice(0, 3)
    : [];
  const next = player.behind ? null : nextCell(ctx);
  const past = cellsFrom(ctx, at, -1)
    .filter(seen)
    .slice(0, room - ahead.length - (next ? 1 : 0))
    .reverse();
  // who joins late may know of heartbeats only
  const newest = whole.writes[lastRecordAt(whole.writes, state.seq)];
  if (!past.length && newest) past.push({ writes: [newest], folded: false });
  const waiting = writes.length - 1 - at;
  const held = state.held && !player.behind;
  const caption =
    isPast && waiting
      ? words.t('tape.ahead', { n: waiting })
      : words.t(held || player.stopped ? 'tape.frozen' : 'tape.at', { rev: String(state.rev) });
  const torn = !player.live && !player.behind && !player.loading;
  return h(
    'section.tape',
    { key: 'tape', 'aria-label': words.t('tape.label') },
    h(
      'div.cap',
      null,
      player.drives
        ? h(
            'button.link',
            {
              title: ALL_KEYS,
              'aria-label': words.t('tape.keys'),
              onClick: () => act.suggest(ALL_KEYS),
            },
            h('b', null, 'etcd'),
          )
        : h('b', null, 'etcd'),
      h('br', null),
      h('span.second', null, caption),
    ),
    h(
      'ol.cells',
      null,
      past.map((cell, i) => cellView(ctx, cell, i === past.length - 1 ? 'at' : '')),
      ahead.map((cell) => cellView(ctx, cell, 'ghost')),
      next,
      torn ? h('li.cell.torn', { key: 'torn' }, endText(ctx)) : null,
    ),
  );
}

/** @param {Context} ctx */
const endText = ({ words, meta, whole }) =>
  meta.cut
    ? words.t('tape.cut', { n: whole.last, of: meta.cut })
    : words.t('tape.torn');

/** Heartbeats only while they are shown everywhere. @param {Context} ctx */
const writesOf = ({ whole, ui }) =>
  ui.shows.includes('beat') ? whole.writes : activityOf(whole).writes;

/**
 * Neighbouring heartbeats and events become one cell each.
 * @param {Context} ctx @param {number} from @param {1|-1} direction
 */
function cellsFrom(ctx, from, direction) {
  const writes = writesOf(ctx);
  /** @type {Cell[]} */ const cells = [];
  const isIdle = !ctx.current.root;
  for (let i = from; i >= 0 && i < writes.length && cells.length <= CELLS_MAX; i += direction) {
    const write = writes[i];
    const isQuiet =
      !isIdle && /** @type {any} */ (write.beat || pluralOf(write.resource) === 'events');
    const last = cells[cells.length - 1];
    const isHead = !last && direction < 0;
    if (isQuiet && last && last.folded && Math.abs(i - from) < LOOK_MAX) last.writes.push(write);
    else cells.push({ writes: [write], folded: isQuiet && !isHead });
  }
  return cells;
}

/** @param {Context} ctx @param {Cell} cell @param {string} cls */
function cellView(ctx, cell, cls) {
  const { words, act } = ctx;
  const [write] = cell.writes;
  if (cell.folded && cell.writes.length > 1) {
    const ends = [cell.writes[0].rev, cell.writes[cell.writes.length - 1].rev].sort(
      (a, b) => a - b,
    );
    return h(
      'li.cell.beat',
      { key: `f${ends[0]}`, class: `${cls} wide-only` },
      h('div.rev', null, `${ends[0]}…${ends[1]}`),
      h('div.key', null, words.t('tape.folded', { n: cell.writes.length })),
    );
  }
  const op = /** @type {any} */ (write).beat
    ? 'beat'
    : write.subresource && words.has(`tape.${write.subresource}`)
      ? write.subresource
      : write.op;
  return h(
    'li.cell',
    { key: write.rev, class: `${cls} ${cell.folded ? 'wide-only' : ''}` },
    h(
      'button',
      {
        title: write.key,
        'aria-current': cls === 'at' ? 'step' : false,
        onClick: () => act.selectRev(write),
      },
      h('div.rev', null, String(write.rev), h('small', null, words.t(`tape.${op}`))),
      h('div.key', null, h('b', null, pluralOf(write.resource)), h('br', null), tail(write)),
    ),
  );
}

/** The telling part of a name. @param {WriteRecord} write */
function tail(write) {
  const name =
    write.namespace && write.namespace !== 'default' && pluralOf(write.resource) === 'leases'
      ? `${write.namespace}/${write.name}`
      : write.name;
  const end = pluralOf(write.resource) === 'pods' ? shortPod(name) : name;
  return name.length - end.length > 9 ? `…-${end}` : name;
}

/** What the request under way would write. @param {Context} ctx */
function nextCell(ctx) {
  const { words, current, state, index } = ctx;
  const rev = String(state.rev + 1);
  const cell = (/** @type {string} */ op, /** @type {any} */ key) =>
    h(
      'li.cell.next',
      { key: 'next' },
      h('div.rev', null, rev, h('small', null, words.t(op))),
      h('div.key', null, key),
    );
  const { request, hop } = current;
  if (!hop) return state.rev ? cell('tape.yours', words.t('tape.next')) : null;
  if (hop.kind === 'schedule' && current.work) {
    if (['fail', 'preempt', 'prebind'].includes(hop.phase)) return null;
    const pod = current.work.open.key;
    return cell('tape.ifBound', [
      h('b', null, 'pods'),
      h('br', null),
      shortPod(pod),
    ]);
  }
  if (!request) return null;
  const close = request.close;
  if (close && close.seq <= state.seq) {
    return close.code >= 400 && hop === close
      ? cell('tape.notUsed', words.t('tape.nothing'))
      : null;
  }
  if (request.records.some((r) => r.kind === 'write' && r.seq <= state.seq)) return null;
  const { resource } = request.open;
  return cell('tape.ifStored', [
    h('b', null, pluralOf(resource)),
    h('br', null),
    nameOf(index, request, state.seq).replace(/^\?$/, ''),
  ]);
}
