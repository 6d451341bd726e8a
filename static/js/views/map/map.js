// @ts-check
/** The map: who asks, the corridor or the scheduling tables, the nodes, the tape, and the wires. */
import { isFork } from '../../core/cluster/forks.js';
import { sentAt } from '../../core/cluster/services.js';
import { streamsAt } from '../../core/cluster/streams.js';
import { laneOf } from '../../core/trace/records.js';
import { duration } from '../../core/text/words.js';
import { corridor, corridorModel, slimCorridor } from './corridor.js';
import { h, render } from '../kit/dom.js';
import { forkBanner, makingBanner, wayBack } from '../forks/forks.js';
import { glyph } from '../kit/glyphs.js';
import { kindAt, kindBoard } from './kinds.js';
import { lessonBanner } from '../begin/lesson.js';
import { followedBox, followedPod, funnel, nodeCards } from './nodes.js';
import { rolloutAt, rolloutBoard } from './rollout.js';
import { busyComponent, client, controllers, invitation, schedulerBox } from './requesters.js';
import { board, cycleOf } from './scheduling.js';
import { servicesBand } from './services.js';
import { halves } from './split.js';
import { tape } from './tape.js';
import { wantedStrip } from './wanted.js';
import { drawWires } from './wires.js';
import { yard } from './yard.js';

/** @typedef {import('../kit/dom.js').Child} Child */
/** @typedef {import('../kit/parts.js').Context} Context */

const TRAVEL_MS = 320;

/** @param {HTMLElement} host @param {Context} ctx */
export function renderMap(host, ctx) {
  const model = corridorModel(ctx);
  const banner = bannerOf(ctx);
  if (host.dataset.focus !== ctx.focus) host.dataset.focus = ctx.focus;
  host.classList.toggle('has-banner', !!banner);
  const wires = /** @type {Element} */ (host.querySelector('.wires'));
  const two = halves(ctx);
  host.classList.toggle('is-split', !!two);
  const strip = two ? null : wantedStrip(ctx);
  host.classList.toggle('has-strip', !!strip);
  render(host, banner, strip, ...(two || columns(ctx, model)), tape(ctx));
  if (!wires) addOwn(host);
  const drawn = /** @type {Element} */ (host.querySelector('.wires'));
  ctx.after(() => {
    showCurrentGate(host);
    drawWires(drawn, host, two ? [] : wiresOf(ctx, model));
    moveTicket(host, ctx, model);
  });
}

/** The two things here that are moved, not described. @param {HTMLElement} host */
function addOwn(host) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('class', 'wires');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('data-own', '');
  const ticket = document.createElement('div');
  ticket.className = 'traveller';
  ticket.setAttribute('data-own', '');
  ticket.setAttribute('aria-hidden', 'true');
  host.append(svg, ticket);
}

/** @param {Context} ctx @param {ReturnType<typeof corridorModel>} model */
function columns(ctx, model) {
  const column = (/** @type {string} */ key, /** @type {Child[]} */ ...kids) =>
    h('div.col', { key }, kids);
  if (ctx.focus === 'crowd') {
    return [
      column('a', slimCorridor(ctx, model)),
      column('b', funnel(ctx), followedBox(ctx)),
      column('c', yard(ctx)),
    ];
  }
  if (ctx.focus === 'scheduler') {
    const cycle = cycleOf(ctx);
    if (cycle) {
      return [
        column('a', slimCorridor(ctx, model)),
        column('b', board(ctx, cycle)),
        column('c', nodeCards(ctx, cycle)),
      ];
    }
  }
  const rollout = ctx.focus === 'rollout' && rolloutAt(ctx);
  const askers = [
    ctx.current.root || !ctx.player.live ? client(ctx) : invitation(ctx),
    controllers(ctx),
    schedulerBox(ctx),
  ];
  if (rollout)
    return [column('a', askers), column('c', rolloutBoard(ctx, rollout), servicesBand(ctx))];
  const chosen = ctx.focus === 'kind' && kindAt(ctx);
  if (chosen) return [column('a', askers), column('c', kindBoard(ctx, chosen))];
  const api = ctx.focus === 'all' ? slimCorridor(ctx, model) : corridor(ctx, model);
  return [
    column('a', askers),
    column('b', api),
    column('c', nodeCards(ctx, null), servicesBand(ctx)),
  ];
}

/** @param {Context} ctx */
function bannerOf(ctx) {
  const { player, words, state, compact, act, meta } = ctx;
  const { head } = player.newest;
  if (player.live && !meta.connected && meta.opened) {
    return h(
      'div.banner',
      { key: 'banner', role: 'status' },
      h('span.v.is-past', null, glyph('back')),
      h(
        'span',
        null,
        h('b', null, words.t('moment.lost')),
        ' ',
        words.t(meta.refused ? 'lost.refused' : 'lost.text', { rev: String(head.rev) }),
        isFork(meta.cluster) ? [' ', words.t('fork.lost')] : null,
      ),
      wayBack(ctx),
    );
  }
  const { gone } = ctx.ui;
  if (gone)
    return h(
      'div.banner',
      { key: 'banner', role: 'status' },
      h('span.v.is-past', null, glyph('back')),
      h('span', null, words.t(gone.key, { ...gone })),
      h(
        'span.acts',
        null,
        gone.oldest && player.live
          ? h(
              'button.act.first',
              { onClick: () => act.visitRevision(gone.oldest || 0) },
              words.t('link.oldest', { first: gone.first }),
            )
          : null,
        h('button.act', { onClick: () => act.gone() }, words.t('traces.close')),
      ),
    );
  const failed = failureBanner(ctx) || makingBanner(ctx);
  if (failed) return failed;
  if (!player.past)
    return downBanner(ctx) || lessonBanner(ctx, lessonCycle(ctx)) || forkBanner(ctx);
  const text = compact
    ? words.t('past.liveShort', { rev: String(head.rev) })
    : words.t('past.live', { rev: String(head.rev), time: duration(head.t - state.t) });
  return h(
    'div.banner',
    { key: 'banner' },
    h('span.v.is-past', null, glyph('back')),
    h('span', null, h('b', null, words.t('past.revision', { rev: String(state.rev) })), ' ', text),
    h(
      'span.acts',
      null,
      h('button.act', { onClick: () => act.openTraces() }, glyph('save'), words.t('past.save')),
      h('button.act.first', { onClick: () => act.goLive() }, words.t('past.live.go')),
    ),
  );
}

/** What the cluster did not do. @param {Context} ctx */
function failureBanner({ words, ui, act }) {
  if (!ui.failure) return null;
  return h(
    'div.banner',
    { key: 'failure', role: 'alert' },
    h('span.v.is-deny', null, glyph('deny')),
    h('span', null, words.t('traces.failed', { message: ui.failure })),
    h(
      'span.acts',
      null,
      h('button.act', { onClick: () => act.noFailure() }, words.t('traces.close')),
    ),
  );
}

/** The cycle on view, for who guessed. @param {Context} ctx */
const lessonCycle = (ctx) => (ctx.focus === 'scheduler' ? cycleOf(ctx) : null);

/** While the API server is stopped, or about to be, or etcd is. @param {Context} ctx */
function downBanner({ words, state, player, act }) {
  const server = state.components.get('apiserver')?.state || '';
  const etcd = state.components.get('etcd')?.state;
  const down = ['stopping', 'stopped'].includes(server)
    ? `server.${server}`
    : etcd === 'stopped'
      ? 'etcd.stopped'
      : '';
  if (!down) return null;
  const start = down === 'etcd.stopped' ? act.etcd : act.server;
  return h(
    'div.banner',
    { key: 'banner', role: 'status' },
    h('span.v.is-deny', null, glyph('deny')),
    h('span', null, h('b', null, words.t(down)), ' ', words.t(`${down}Text`)),
    down !== 'server.stopping' && player.drives
      ? h(
          'span.acts',
          null,
          h('button.act.first', { onClick: () => start('start') }, words.t('server.start')),
        )
      : null,
  );
}

/** @param {Element} host */
function showCurrentGate(host) {
  const gates = /** @type {HTMLElement|null} */ (host.querySelector('.corridor:not(.slim) .gates'));
  const here = /** @type {HTMLElement|null} */ (
    gates && gates.querySelector('.gate.is-hold, .gate.is-deny')
  );
  if (!gates || !here || gates.scrollHeight <= gates.clientHeight) return;
  const top = here.offsetTop - gates.offsetTop;
  if (top < gates.scrollTop) gates.scrollTop = top;
  const bottom = top + here.offsetHeight - gates.clientHeight;
  if (bottom > gates.scrollTop) gates.scrollTop = bottom;
}

// -- wires --------------------------------------------------------------------------------------

/**
 * @param {Context} ctx @param {ReturnType<typeof corridorModel>} model
 * @returns {import('./wires.js').Wire[]}
 */
function wiresOf(ctx, model) {
  const { focus, current, player } = ctx;
  if (focus === 'crowd') {
    return [
      ['watchcache', 'r', 0.5, 'funnel', 'l', 0.5, 'watch', 0.72],
      ['followed', 'r', 0.35, 'bay-mine', 'l', 0.6, 'live', 0.55],
    ];
  }
  if (focus === 'scheduler') {
    const cycle = cycleOf(ctx);
    /** @type {import('./wires.js').Wire[]} */ const wires = [
      ['watchcache', 'r', 0.5, 'sched', 'l', 0.5, 'watch', 0.5],
    ];
    if (cycle && cycle.chosen)
      wires.push(['sched', 'r', 0.72, `n-${cycle.chosen}`, 'l', 0.5, 'live', 0.45]);
    return wires;
  }
  if (focus === 'rollout') {
    const from = sourceOf(ctx);
    const moves = from === 'lane-deployment' || from === 'lane-replicaset';
    return moves ? [[from, 'r', 0.5, 'rollout', 'l', 0.3, 'live', 0.5]] : [];
  }
  if (focus === 'kind') return [];
  const nodes = /** @type {import('./wires.js').Wire[]} */ (
    [...document.querySelectorAll('.map .node')].map((n) => [
      'watchcache',
      'r',
      0.5,
      n.id,
      'l',
      0.5,
      'watch',
      0.5,
    ])
  );
  /** @type {import('./wires.js').Wire[]} */
  const wires = [
    ['kcm', 'r', 0.3, 'watchcache', 'l', 0.5, 'watch', 0.35],
    ['sched', 'r', 0.5, 'watchcache', 'l', 0.5, 'watch', 0.35],
    ...nodes,
  ];
  wires.push(...streamWires(ctx), ...serviceWires(ctx));
  const source = sourceOf(ctx);
  if (source && source !== 'client')
    wires.push(['client', 'r', 0.5, 'g-authentication', 'l', 0.5, '', 0.35]);
  const woken = wokenAt(ctx);
  if (woken) wires.push(wakingWire(woken));
  if (source) {
    const side = source.startsWith('n-') ? 'l' : 'r';
    const tone = woken ? '' : model.denied ? 'dead' : 'live';
    if (side === 'r')
      wires.push([
        source,
        'r',
        0.5,
        'g-authentication',
        'l',
        0.5,
        tone,
        source === 'client' ? 0.5 : 0.66,
      ]);
    else wires.push([source, 'l', 0.5, 'api', 'r', 0.12, tone, 0.5]);
  } else if (!current.root && player.live)
    wires.push([
      'client',
      'r',
      ctx.compact ? 0.5 : 0.62,
      'g-authentication',
      'l',
      0.5,
      'live',
      0.5,
    ]);
  return wires;
}

/**
 * A stream goes from the client through the API server to the node's kubelet.
 * @param {Context} ctx @returns {import('./wires.js').Wire[]}
 */
function streamWires(ctx) {
  const { request } = ctx.current;
  const lasting = streamsAt(ctx.index, ctx.state, request).filter((s) => s.state !== 'end');
  return lasting.flatMap((stream) => {
    const tone = stream.state === 'refused' ? 'dead' : 'live';
    const chip = `s-${stream.span.seq}`;
    const to = document.getElementById(chip) ? chip : `n-${stream.node}`;
    /** @type {import('./wires.js').Wire[]} */
    const wires = [['api', 'r', 0.04, to, 'l', 0.5, tone, 0.5]];
    // the request where we are is drawn up to its gates anyway
    if (stream.span !== request) wires.push(['client', 'r', 0.5, 'api', 'l', 0.04, tone, 0.5]);
    return wires;
  });
}

/**
 * A request to a service goes on to the pod whose endpoint was taken.
 * @param {Context} ctx @returns {import('./wires.js').Wire[]}
 */
function serviceWires({ state, current }) {
  const sent = sentAt(state, current.request);
  if (!sent) return [];
  const tone = sent.code >= 400 ? 'dead' : 'live';
  const chip = `s-${sent.span.seq}`;
  const to = document.getElementById(chip) ? chip : `n-${sent.node}`;
  return [
    ['api', 'r', 0.3, 'service-asked', 'l', 0.3, tone, 0.5],
    ['service-asked', 'l', 0.6, to, 'l', 0.5, tone, -1],
  ];
}

/** The id of the part that made the request shown. @param {Context} ctx */
function sourceOf({ current, index }) {
  const { request } = current;
  if (!request) return '';
  if (request.seq === current.root) return 'client';
  return partOf(index.work(request.parent)?.open.component || request.open.client || '');
}

/**
 * The id of the part that a watch event has just woken: it has sent nothing yet.
 * @param {Context} ctx
 */
const wokenAt = ({ current: { hop } }) => (hop?.kind === 'work' ? partOf(hop.component) : '');

/** @param {string} woken  the id of a part @returns {import('./wires.js').Wire} */
const wakingWire = (woken) =>
  woken.startsWith('n-')
    ? ['watchcache', 'r', 0.5, woken, 'l', 0.5, 'live', 0.5]
    : [woken, 'r', 0.5, 'watchcache', 'l', 0.5, 'live', 0.35];

/** The id of a component's part of the map. @param {string} component */
function partOf(component) {
  if (component === 'scheduler') return 'sched';
  const node = laneOf(component);
  if (node !== component) return `n-${node}`;
  return document.getElementById(`lane-${component}`) ? `lane-${component}` : 'kcm';
}

// -- the travelling ticket ----------------------------------------------------------------------

let stood = '';

/**
 * @param {HTMLElement} host @param {Context} ctx @param {ReturnType<typeof corridorModel>} model
 */
function moveTicket(host, ctx, model) {
  const ticket = /** @type {HTMLElement} */ (host.querySelector('.traveller'));
  const row = model.stop >= 0 ? model.rows[model.stop] : null;
  const inside = row && (row.verdict === 'hold' || row.verdict === 'work');
  const gate = row && document.getElementById(`g-${row.gate}`);
  const isElsewhere = inside || model.isPast;
  const shown =
    ctx.focus === 'api' && gate && !isElsewhere && model.span && !model.quick && ctx.player.travels;
  ticket.classList.toggle('is-shown', !!shown);
  if (!shown || !gate || !model.span) {
    if (!inside) stood = '';
    return;
  }
  const open = model.span.open;
  const text = `${open.verb} ${open.subresource || open.resource.split('.')[0]}`;
  if (ticket.textContent !== text) ticket.textContent = text;
  const origin = host.getBoundingClientRect();
  const line = /** @type {HTMLElement} */ (
    gate.querySelector('.line') || gate
  ).getBoundingClientRect();
  const x = Math.round(line.right - origin.left - ticket.offsetWidth);
  const y = Math.round(line.top - origin.top + line.height / 2 - ticket.offsetHeight / 2);
  const to = `${x}px ${y}px`;
  const from = ticket.style.getPropertyValue('translate');
  if (from === to) return;
  ticket.style.setProperty('translate', to);
  const same = stood === String(model.span.seq);
  stood = String(model.span.seq);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (same && from && !calm && !ctx.player.past) {
    ticket.animate([{ translate: from }, { translate: to }], {
      duration: TRAVEL_MS,
      easing: 'cubic-bezier(.45,0,.25,1)',
    });
  }
}

export { followedPod };
