// @ts-check
/** One scheduling cycle in place of the corridor: the filter matrix and the table of scores. */
import { queueOf } from '../../core/cluster/objects.js';
import { nameOf } from '../../core/explain/preemption.js';
import { cycleAt, outcome } from '../../core/cluster/schedule.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/text/words.js').Words} Words */
/** @typedef {import('../../core/cluster/schedule.js').Cycle} Cycle */

const NODES_MAX = 6;

/** The scheduling cycle shown: the selected one, or the newest on the way. @param {Context} ctx */
export function cycleOf(ctx) {
  const { ui, index, current, state } = ctx;
  const chosen = ui.selected?.type === 'span' ? index.spans.get(ui.selected.seq) : null;
  const isCycle = (/** @type {any} */ span) =>
    span && span.type === 'work' && span.open.component === 'scheduler' && span.seq <= state.seq;
  if (isCycle(chosen)) return cycleAt(/** @type {any} */ (chosen), state.seq);
  if (isCycle(current.work)) return cycleAt(/** @type {any} */ (current.work), state.seq);
  for (let i = index.works.length - 1; i >= 0; i -= 1) {
    if (isCycle(index.works[i])) return cycleAt(index.works[i], state.seq);
  }
  return null;
}

/** @param {Context} ctx @param {Cycle} cycle */
export function board(ctx, cycle) {
  const { words, state, act } = ctx;
  const queue = queueOf(state, 'scheduler');
  const pod = cycle.pod.slice(cycle.pod.indexOf('/') + 1);
  const second =
    queue.length && !ctx.compact ? `${pod} · ${words.t('sched.more', { n: queue.length })}` : pod;
  const columns = columnsOf(cycle);
  return h(
    'section.comp.board.is-from',
    { id: 'sched', key: 'board', tabindex: '0', 'aria-label': words.t('map.scheduler') },
    h(
      'header',
      null,
      h(
        'h2',
        null,
        h(
          'button',
          { onClick: () => act.select({ type: 'span', seq: cycle.span.seq }) },
          words.t('map.scheduler'),
        ),
      ),
      h('span.second', null, second),
    ),
    cycle.filters.length ? filterTable(ctx, cycle, columns) : null,
    failures(ctx, cycle),
    skipped(ctx, 'sched.skippedFilter', cycle.filterSkipped),
    cycle.scores.length ? scoreTable(ctx, cycle, columns) : null,
    cycle.chosen && !cycle.scores.length ? h('p.note', null, words.t('sched.oneNode')) : null,
    cycle.scores.length ? skipped(ctx, 'sched.skippedScore', cycle.scoreSkipped) : null,
    cycle.preemption?.candidates.length ? preemption(ctx, cycle.preemption) : null,
    cycle.message
      ? [
          h('p.note.is-deny', null, h('b.v', null, words.t('sched.failed'))),
          h('p', null, h('code', null, cycle.message)),
        ]
      : null,
    cycle.prepared.length ? preparation(words, cycle) : null,
    cycle.chosen
      ? [
          caption(words, cycle.prepared.length ? 4 : 3, 'bind'),
          h('p', null, h('code', null, `POST …/pods/${pod}/binding`)),
        ]
      : null,
  );
}

/** What has to be done before the pod can be bound. @param {Words} words @param {Cycle} cycle */
function preparation(words, cycle) {
  return [
    caption(words, 3, 'prebind'),
    cycle.prepared.map(([claim, volume]) =>
      h(
        'p',
        { key: `claim-${claim}` },
        volume
          ? words.t('sched.reserves', { claim, volume })
          : words.t('sched.provisions', { claim, node: cycle.chosen }),
      ),
    ),
  ];
}

/** Who would have to leave. @param {Context} ctx @param {NonNullable<Cycle['preemption']>} told */
function preemption({ words }, { node, candidates }) {
  return [
    caption(words, 2, 'preempt'),
    candidates.slice(0, NODES_MAX).map((candidate) =>
      h(
        'p',
        { key: `preempt-${candidate.node}` },
        candidate.node === node ? [glyph('star', words.t('sched.winner')), ' '] : null,
        words.t('sched.leaves', {
          node: candidate.node,
          victims: candidate.victims.map(nameOf).join(', '),
          priority: candidate.highest,
        }),
      ),
    ),
  ];
}

/** Few nodes are all shown; of many, the best and some that were refused. @param {Cycle} cycle */
function columnsOf(cycle) {
  const { nodes } = cycle;
  if (nodes.length <= NODES_MAX) return nodes.map((_, i) => i);
  const rank = (/** @type {number} */ i) =>
    nodes[i] === cycle.chosen ? 1e9 : (cycle.total[nodes[i]] ?? -1);
  return nodes
    .map((_, i) => i)
    .sort((a, b) => rank(b) - rank(a))
    .slice(0, NODES_MAX)
    .sort((a, b) => a - b);
}

/** @param {Words} words @param {number} number @param {string} name */
function caption(words, number, name) {
  return h(
    'p.caption',
    { key: `cap-${name}` },
    `${number} ${words.t(`sched.${name}`)}`,
    h('span', null, words.t(`sched.${name}Ask`)),
  );
}

/** @param {Context} ctx @param {Cycle} cycle @param {number[]} columns */
function head(ctx, cycle, columns) {
  return h(
    'thead',
    null,
    h(
      'tr',
      null,
      h('th', { scope: 'col' }, ctx.words.t('sched.plugin')),
      columns.map((i) => h('th', { scope: 'col', key: cycle.nodes[i] }, cycle.nodes[i])),
    ),
  );
}

/** @param {Context} ctx @param {Cycle} cycle @param {number[]} columns */
function filterTable(ctx, cycle, columns) {
  const { words } = ctx;
  return [
    caption(words, 1, 'filter'),
    h(
      'table.scores',
      { key: 'filters' },
      head(ctx, cycle, columns),
      h(
        'tbody',
        null,
        cycle.filters.map((row) =>
          h(
            'tr',
            { key: row.name },
            h('th', { scope: 'row' }, row.name),
            columns.map((i) => filterCell(ctx, row.cells[i], cycle.nodes[i])),
          ),
        ),
      ),
    ),
    cycle.nodes.length > columns.length
      ? h('p.note', null, words.t('sched.others', { n: cycle.nodes.length - columns.length }))
      : null,
  ];
}

/** @param {Context} ctx @param {string} cell @param {string} key */
function filterCell(ctx, cell, key) {
  const { words } = ctx;
  if (cell === 'allow') return h('td.is-allow', { key }, glyph('allow', words.t('sched.pass')));
  if (cell === 'deny')
    return h(
      'td.is-deny',
      { key },
      glyph('deny', words.t('sched.refused')),
      ' ',
      h('b.v', null, words.t('sched.out')),
    );
  return h('td.off', { key }, words.t('sched.unasked'));
}

/** @param {Context} ctx @param {Cycle} cycle */
function failures(ctx, cycle) {
  return Object.entries(cycle.failed)
    .slice(0, ctx.compact ? 1 : 3)
    .map(([node, [, message]]) =>
      h(
        'p.note.is-deny',
        { key: `f-${node}` },
        h('b.v', null, `${node}: `),
        h('code', null, message),
      ),
    );
}

/** @param {Context} ctx @param {string} key @param {string[]} names */
function skipped(ctx, key, names) {
  if (ctx.compact || !names.length) return null;
  return h('p.note', { key }, ctx.words.t(key, { names: names.join(', ') }));
}

/** @param {Context} ctx @param {Cycle} cycle @param {number[]} columns */
function scoreTable(ctx, cycle, columns) {
  const { words } = ctx;
  const best = outcome(cycle).winner;
  const most = Math.max(
    1,
    ...cycle.scores.flatMap((row) => row.cells.map((cell) => (cell ? cell.sum : 0))),
  );
  return [
    caption(words, 2, 'score'),
    h(
      'table.scores',
      { key: 'scores' },
      head(ctx, cycle, columns),
      h(
        'tbody',
        null,
        cycle.scores.map((row) => {
          const top = Math.max(...row.cells.map((cell) => (cell ? cell.sum : -1)));
          const alike = row.cells.filter((cell) => cell && cell.sum === top).length > 1;
          return h(
            'tr',
            { key: row.name },
            h('th', { scope: 'row' }, row.name),
            columns.map((i) =>
              scoreCell(ctx, row, i, cycle.nodes[i], !alike && row.cells[i]?.sum === top, most),
            ),
          );
        }),
      ),
      h(
        'tfoot',
        null,
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, words.t('sched.total')),
          columns.map((i) => totalCell(ctx, cycle, cycle.nodes[i], best)),
        ),
      ),
    ),
  ];
}

/**
 * @param {Context} ctx @param {any} row @param {number} i @param {string} key
 * @param {boolean} lead @param {number} most
 */
function scoreCell(ctx, row, i, key, lead, most) {
  const cell = row.cells[i];
  if (!cell) return h('td.off', { key }, '—');
  return h(
    'td.bar-cell',
    { key, class: lead ? 'lead' : '' },
    h('span.sum', null, `${cell.points} × ${row.weight}`),
    ' ',
    h('span.b', null, ctx.words.number(cell.sum)),
    ctx.compact ? null : h('i', { style: { width: `${(100 * cell.sum) / most}%` } }),
  );
}

/** @param {Context} ctx @param {Cycle} cycle @param {string} node @param {string} best */
function totalCell(ctx, cycle, node, best) {
  const { words } = ctx;
  const total = cycle.total[node];
  if (total === undefined) return h('td.off', { key: node }, words.t('sched.out'));
  const won = node === best && cycle.chosen;
  return h(
    'td',
    { key: node, class: won ? 'lead' : '' },
    won ? [glyph('star', words.t('sched.winner')), ' '] : null,
    words.number(total),
  );
}
