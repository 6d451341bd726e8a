// @ts-check
/** The API server: its gates on a line, the ticket at the next stop, the watch cache below. */
import {
  gateRows, rateAt, stillToAsk, ticketOf, ticketStop, writeOf,
} from '../../core/request/corridor.js';
import { httpMethod } from '../../core/trace/records.js';
import { shortPod } from '../../core/cluster/objects.js';
import { cycleAt } from '../../core/cluster/schedule.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { junction, shortTry, shortUser, tries } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/text/words.js').Words} Words */
/** @typedef {import('../../core/request/corridor.js').GateRow} GateRow */

/** What the corridor shows at this moment. @param {Context} ctx */
export function corridorModel(ctx) {
  const { current, state, player } = ctx;
  const span = shownRequest(ctx);
  const rows = gateRows(ctx.index, span, state.seq, state.held);
  const quick = player.quick && !state.held;
  const denied = rows.some((row) => row.verdict === 'deny' || row.said === 'deny');
  const stop = ticketStop(rows, span, state.seq);
  // what a watch event has woken is where we are, and has sent nothing yet
  const isPast = current.hop?.kind === 'work';
  const line = denied ? 'pathdead' : isPast ? '' : 'path';
  return { span, rows, quick, denied, isPast, line, stop, current };
}

/** A finished request stays on view until the next one begins. @param {Context} ctx */
function shownRequest(ctx) {
  return ctx.current.request;
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model */
export function corridor(ctx, model) {
  const { words, compact } = ctx;
  const { span, rows } = model;
  const text = span
    ? `${httpMethod(span.open.verb)} ${span.open.path}`
    : words.t('map.api.idle');
  return h(
    'section.comp.corridor',
    { id: 'api', key: 'api', class: span ? 'dense' : '' },
    header(ctx, text),
    h(
      'ol.gates',
      { class: span ? '' : 'is-idle' },
      gateList(ctx, model).map((row) =>
        row.rest ? restGate(words, row.rest) : gate(ctx, model, row.row, row.name),
      ),
    ),
    cacheLine(ctx, !!span && rows.some((row) => row.verdict === 'deny'), compact),
  );
}

function header(/** @type {Context} */ ctx, /** @type {string} */ text) {
  const { act, words } = ctx;
  // a stream into a node lasts; it has its own sign
  const n = ctx.state.requests.size - ctx.state.streams.size;
  return h(
    'header',
    null,
    h('h2', null, h('button', { onClick: () => act.focus('api') }, words.t('map.api'))),
    n > 1 ? h('span.underway', null, words.t('map.api.underway', { n })) : null,
    h('span.second', { title: text }, text),
  );
}

/**
 * On a small screen audit and flow control share a row, and so do the gates not reached yet.
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model
 */
function gateList(ctx, model) {
  const { words, compact } = ctx;
  /** @type {{row: GateRow, name: string, rest?: GateRow[]}[]} */ const list = [];
  const collapse =
    compact &&
    model.span &&
    model.rows.some((row) => row.verdict !== 'wait') &&
    model.rows.some((row) => ['hold', 'work', 'deny'].includes(row.verdict));
  const rest = collapse ? model.rows.filter((row) => row.verdict === 'wait') : [];
  for (const row of model.rows) {
    if (compact && row.gate === 'audit' && row.verdict !== 'hold' && row.verdict !== 'deny')
      continue;
    if (rest.includes(row)) continue;
    const merged = compact && row.gate === 'flowcontrol';
    list.push({ row, name: words.t(merged ? 'gate.auditflow' : `gate.${row.gate}`) });
  }
  if (rest.length) list.push({ row: rest[0], name: '', rest });
  return list;
}

/** @param {Words} words @param {GateRow[]} rest */
function restGate(words, rest) {
  return h(
    'li.gate.is-wait.rest',
    { key: 'rest' },
    glyph('wait'),
    h('div.body', null, tries(rest.map((row) => ['wait', words.t(`gate.${row.gate}`)]))),
  );
}

/**
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row
 * @param {string} name
 */
function gate(ctx, model, row, name) {
  const { words, act } = ctx;
  const inside = row.verdict === 'hold' || (row.verdict === 'work' && !model.quick);
  const sign = inside
    ? row.verdict === 'hold'
      ? 'hold'
      : 'work'
    : row.verdict === 'work'
      ? 'wait'
      : row.verdict;
  const shown = inside ? 'hold' : sign;
  const tall = inside || row.verdict === 'deny' || row.verdict === 'again' || showsTries(row);
  const verdict = words.t(`verdict.${row.verdict}`);
  return h(
    'li.gate',
    {
      key: row.gate,
      id: `g-${row.gate}`,
      class: [`is-${shown}`, row.passed ? model.line : '', tall ? 'tall' : ''].join(' '),
    },
    glyph(sign),
    h(
      'div.body',
      null,
      h(
        'div.line',
        null,
        h(
          'button.name',
          {
            'data-gate': row.gate,
            'aria-label': words.t('gate.state', { gate: name, verdict }),
            'aria-pressed': String(isSelected(ctx, row.gate)),
            onClick: () => act.selectGate(row.gate),
          },
          name,
        ),
        h('span.verdict', null, flag(ctx, row.gate, name), verdictWord(ctx, model, row)),
      ),
      details(ctx, model, row, inside),
    ),
  );
}

/** @param {Context} ctx @param {string} gateName */
function isSelected(ctx, gateName) {
  const { selected } = ctx.ui;
  return !!selected && selected.type === 'gate' && selected.gate === gateName;
}

/**
 * The pennant: set or remove a breakpoint here.
 * @param {Context} ctx @param {string} gateName @param {string} name
 */
function flag(ctx, gateName, name) {
  const { words, act, player } = ctx;
  if (player.live && !player.drives) return null;
  const set = act.hasBreakpoint(gateName);
  return h(
    'button.pennant',
    {
      class: set ? 'is-set' : '',
      'aria-pressed': String(set),
      title: words.t('gate.breakHere'),
      'aria-label': words.t('gate.break', { gate: name }),
      onClick: () => act.breakAtGate(gateName),
    },
    glyph(set ? 'flag' : 'flagOff'),
  );
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row */
function verdictWord(ctx, model, row) {
  const { words, compact } = ctx;
  const { detail } = row;
  if (!model.span) return words.t(`gate.${row.gate}.ask`);
  if (row.verdict === 'wait') return '';
  if (row.verdict === 'hold') return words.t('verdict.hold');
  if (row.verdict === 'work') return model.quick ? '' : words.t('verdict.work');
  if (row.verdict === 'deny')
    return String(model.span.close?.code || words.t('verdict.deny'));
  if (row.verdict === 'again') return words.t('verdict.again');
  if (row.verdict === 'skip' && !row.record) return words.t('verdict.skip');
  if (row.gate === 'routing' && detail.chain && !compact)
    return junction(detail.chain, detail.word);
  if (row.gate === 'mutating') {
    const n = row.plugins.filter((p) => p.verdict === 'change').length;
    return n ? words.t('word.changes', { n }) : words.t('word.nochange');
  }
  if (row.gate === 'validating')
    return words.t('word.asked', {
      n: row.plugins.reduce((n, p) => n + p.plugin.split(',').length, 0),
    });
  const rev = row.gate === 'etcd' && (writeOf(model.span)?.rev || detail.rev);
  if (rev) return String(rev);
  const ops = (detail.ops || []).length;
  if (row.gate === 'decode' && ops) return words.t('word.defaults', { n: ops });
  const known = `said.${detail.word}`;
  if (words.has(known)) return words.t(known);
  return words.said(detail.word || '') || words.t(`verdict.${row.verdict}`);
}

/** @param {GateRow} row */
function showsTries(row) {
  return (row.detail.tries || []).length > 0;
}

/**
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row
 * @param {boolean} inside
 */
function details(ctx, model, row, inside) {
  const { compact } = ctx;
  const { detail } = row;
  if (row.verdict === 'deny') return refusal(ctx, model, row);
  if (row.verdict === 'again') return h('div.why', null, ctx.words.t('again.short'));
  if (inside && row.plugins.length) return pluginBox(ctx, model, row);
  if (inside) return heldBox(ctx, model, row);
  if (row.verdict === 'wait' || row.verdict === 'work') return null;
  if (showsTries(row)) {
    const why = whyText(row);
    return [tries(shownTries(detail.tries)), why && !compact ? h('div.why', null, why) : null];
  }
  if (row.gate === 'mutating') {
    const changed = row.plugins.filter((p) => p.verdict === 'change');
    if (changed.length && !compact) {
      return tries(changed.map((p) => ['change', p.plugin, ctx.words.said(p.why || '')]));
    }
  }
  return null;
}

/**
 * A gate without plugins, held: what it said, and the ticket.
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row
 */
function heldBox(ctx, model, row) {
  const { words, index, state } = ctx;
  const word = row.said && row.record ? verdictWord(ctx, model, { ...row, verdict: row.said }) : '';
  const why = showsTries(row) ? whyText(row) : words.t(`gate.${row.gate}.what`);
  const span = /** @type {import('../../core/trace/index.js').Span} */ (model.span);
  return h(
    'div.plugins',
    null,
    h(
      'div',
      null,
      word ? h(`p.v.is-${row.said}`, null, h('b', null, word)) : null,
      row.detail.tries ? tries(shownTries(row.detail.tries)) : null,
      h('div.why', null, why),
    ),
    ticket(ctx, ticketOf(index, span, model.rows, state.seq)),
  );
}

/** @param {GateRow} row */
function whyText(row) {
  const { detail } = row;
  if (row.gate === 'authentication' && detail.user) {
    const name = detail.user.name || '';
    return name.startsWith('system:') ? name : detail.why || name;
  }
  const won = (detail.tries || []).find((/** @type {any} */ t) => t.verdict === 'allow');
  const { binding } = (won && won.detail) || {};
  return binding ? `${binding.kind} ${binding.name}` : detail.why || won?.why || '';
}

/** Those that decided last, and at most two before. @param {any[]} list */
function shownTries(list) {
  return list.slice(-3).map((t) => [t.verdict, t.name, t.why]);
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row */
function refusal(ctx, model, row) {
  const { detail } = row;
  const denied = row.plugins.find((p) => p.verdict === 'deny');
  const close = model.span?.close;
  const message = detail.message || close?.message || denied?.why || '';
  const code = h('div.why', null, h('code', null, message));
  return [
    detail.tries ? tries(shownTries(detail.tries)) : null,
    denied ? tries([['deny', denied.plugin]]) : null,
    detail.why ? h('p', null, detail.why) : null,
    message ? code : null,
  ];
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row */
function pluginBox(ctx, model, row) {
  const { words, index, act, compact, state } = ctx;
  const span = /** @type {import('../../core/trace/index.js').Span} */ (model.span);
  const last = row.plugins[row.plugins.length - 1];
  const most = compact ? 3 : 6;
  const spoke = row.plugins.filter((p) => p.verdict !== 'skip' || p === last);
  const list = (row.plugins.length > most ? spoke : row.plugins).slice(-most);
  const rest = stillToAsk(index, row);
  const items = list.map((p) =>
    h(
      `li.is-${p.verdict}`,
      { key: p.seq },
      glyph(p.verdict),
      h(
        'button',
        { onClick: () => act.selectGate(row.gate, p.seq) },
        h(p.verdict === 'change' ? 'b' : 'span', { title: p.plugin }, pluginName(words, p)),
        h(
          'small',
          null,
          p.verdict === 'change' && state.held
            ? words.t('word.stopped', { n: (p.ops || []).length })
            : p.verdict === 'change'
              ? words.t('word.changes', { n: (p.ops || []).length })
              : words.said(p.why || '') || words.t(`verdict.${p.verdict}`),
        ),
      ),
    ),
  );
  return h(
    'div.plugins',
    null,
    h('ol', null, items),
    ticket(ctx, ticketOf(index, span, model.rows, state.seq)),
    rest.length && !compact
      ? h('div.rest', null, `${words.t('gate.stillToAsk')} ${restText(rest)}`)
      : null,
  );
}

/** Plugins that have nothing to say come together. @param {Words} words @param {any} p */
function pluginName(words, p) {
  const count = p.plugin.split(',').length;
  if (count > 1) return words.t('word.others', { n: count });
  // a long name breaks between its words
  const parts = p.plugin.split(/(?<=[a-z])(?=[A-Z])/);
  return parts.map((/** @type {string} */ part, /** @type {number} */ i) =>
    i ? [h('wbr', null), part] : part,
  );
}

/** @param {string[]} rest */
const restText = (rest) =>
  rest.length <= 6 ? rest.join(', ') : `${rest.slice(0, 4).join(', ')}, … ${rest[rest.length - 1]}`;

/** @param {Context} ctx @param {ReturnType<typeof ticketOf>} t */
function ticket(ctx, t) {
  const { words, compact } = ctx;
  const lines = t.changed.slice(0, 3);
  return h(
    'div.ticket',
    {
      role: 'group',
      'aria-label': words.t('ticket.label', { verb: t.verb, name: t.name, n: t.punches.length }),
    },
    h(
      'div.verb',
      null,
      h('span', null, t.verb),
      h(
        'span.punch',
        null,
        t.punches.map((p) => h(`span.v.is-${p}`, null, glyph(p))),
      ),
    ),
    h(
      'div.body',
      null,
      t.name === '?' ? null : h('div', { title: t.name }, t.name),
      lines.map((line) => h('div.new', { key: line }, line)),
      t.unnamed && !compact ? h('div', null, words.t('ticket.unnamed')) : null,
    ),
  );
}

/** @param {Context} ctx @param {boolean} refused @param {boolean} short */
function cacheLine(ctx, refused, short) {
  const { words, state } = ctx;
  const key = short
    ? 'map.watchcache.short'
    : refused
      ? 'map.watchcache.still'
      : 'map.watchcache.at';
  return h(
    'div.watchcache',
    { id: 'watchcache' },
    h('b', null, words.t('map.watchcache')),
    h('span.second', null, words.t(key, { rev: String(state.rev) })),
  );
}

/**
 * The corridor as a strip, when something else has the centre.
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model
 */
export function slimCorridor(ctx, model) {
  const { words, act } = ctx;
  const crowd = ctx.focus === 'crowd';
  const rate = crowd ? rateAt(ctx.index, ctx.state.seq, 1_000_000) : 0;
  const live = ctx.focus === 'scheduler' ? [] : model.rows;
  return h(
    'section.comp.corridor.slim',
    { id: 'api', key: 'api' },
    h(
      'header',
      null,
      h('h2', null, h('button', { onClick: () => act.focus('api') }, words.t('map.api'))),
    ),
    h('div.who', null, slimText(ctx, model, rate)),
    h(
      'ol.gates',
      null,
      model.rows.map((row, i) => {
        const at = live[i];
        const verdict = crowd
          ? 'allow'
          : !at
            ? 'wait'
            : at.verdict === 'work'
              ? 'wait'
              : at.verdict;
        return h(
          `li.gate.is-${verdict}`,
          {
            key: row.gate,
            id: `g-${row.gate}`,
            class: verdict !== 'wait' ? model.line : '',
          },
          glyph(verdict),
          h(
            'div.body',
            null,
            h(
              'div.line',
              null,
              h(
                'button.name',
                { 'data-gate': row.gate, onClick: () => act.selectGate(row.gate) },
                words.t(`gate.${row.gate}`),
              ),
              h('span.verdict', null, slimWord(ctx, model, row, crowd, rate)),
            ),
          ),
        );
      }),
    ),
    cacheLine(ctx, false, true),
  );
}

/**
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {GateRow} row
 * @param {boolean} crowd @param {number} rate
 */
function slimWord(ctx, model, row, crowd, rate) {
  const { words } = ctx;
  if (crowd) {
    const isEnd = row === model.rows[0] || row === model.rows[model.rows.length - 1];
    return isEnd || showsTries(row) ? `${words.number(Math.round(rate))} /s` : '';
  }
  if (ctx.focus === 'scheduler' || !row.passed) return '';
  const won = (row.detail.tries || []).find((/** @type {any} */ t) => t.verdict === 'allow');
  if (won) return shortTry(won.name);
  return row.gate === 'etcd' ? String(writeOf(/** @type {any} */ (model.span))?.rev || '') : '';
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model @param {number} rate */
function slimText(ctx, model, rate) {
  const { words, current } = ctx;
  if (ctx.focus === 'crowd') return words.t('map.api.rate', { n: Math.round(rate) });
  if (ctx.focus === 'scheduler' && current.work) {
    const { key } = current.work.open;
    const cycle = cycleAt(current.work, ctx.state.seq);
    if (cycle.preemption?.node) return words.t('sched.nextVictims');
    if (cycle.message) return words.t('sched.back');
    if (cycle.phase === 'prebind') return words.t('sched.nextVolumes');
    return words.t('sched.next', { pod: shortPod(key) });
  }
  if (!model.span) return words.t('map.api.idle');
  const { verb, resource, subresource, name } = model.span.open;
  const what = subresource
    ? `…/${resource === 'pods' ? shortPod(name) : name}/${subresource}`
    : resource.split('.')[0];
  return [
    `${httpMethod(verb)} ${what}`,
    h('br', null),
    words.t('map.api.as', { user: shortUser(model.span.user?.name || '') }),
  ];
}
