// @ts-check
/** Who makes requests: the client, the controllers with cache, queue and worker, the scheduler. */
import {
  cacheOf, lanesOf, shortPod, objectsOf, podsOf, queueOf,
} from '../../core/cluster/objects.js';
import { nameOf } from '../../core/request/corridor.js';
import { httpMethod, kindOf, pluralOf } from '../../core/trace/records.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { runButton } from '../begin/questions.js';
import { slots } from '../kit/parts.js';

/** @typedef {import('../kit/parts.js').Context} Context */

/** The first thing to do, before anything was asked. @param {Context} ctx */
export function invitation(ctx) {
  const { words, player } = ctx;
  const asks = player.drives || !player.live ? 'map.invite' : 'map.watch';
  return h(
    'section.comp.invite',
    { id: 'client', key: 'invite' },
    h('h2', null, words.t(asks)),
    h('p', null, words.t(`${asks}Text`)),
    asks === 'map.invite' ? runButton(ctx) : null,
    h('code.second', null, 'kubectl create deployment nginx --image=nginx --replicas=3'),
    waiting(ctx),
  );
}

/** @param {Context} ctx */
export function client(ctx) {
  const { words, current, index } = ctx;
  const root = index.request(current.root);
  if (!root)
    return h(
      'section.comp.client',
      { id: 'client', key: 'client' },
      h(
        'header',
        null,
        h('h2', null, words.t('map.client')),
        h('span.second', null, words.t('map.client.idle')),
      ),
      waiting(ctx),
    );
  const { open, close } = root;
  const isHere =
    current.request === root &&
    ['request', 'gate', 'plugin', 'stream', 'response'].includes(current.hop?.kind || '');
  const answered = close && close.seq <= ctx.state.seq;
  const refused = answered && close.code >= 400;
  return h(
    'section.comp.client',
    {
      id: 'client',
      key: 'client',
      class: `${isHere ? 'is-from' : ''} ${refused && isHere ? 'dead' : ''}`,
    },
    h(
      'header',
      null,
      h('h2', null, clientLabel(ctx, open.client)),
      h('span.second', null, root.user?.name || (isStill(ctx) ? words.t('map.client.waits') : '')),
    ),
    h(
      'code',
      null,
      [
        open.subresource || open.verb,
        kindOf(open.resource).toLowerCase(),
        nameOf(index, root).replace('?', ''),
      ].join(' '),
    ),
    answered
      ? h(
          'div.answer',
          { class: refused ? 'is-deny' : 'is-allow' },
          glyph(refused ? 'deny' : 'allow'),
          String(close.code),
        )
      : null,
    waiting(ctx),
  );
}

/** Whether the cluster stands still, and what is on view is its newest. @param {Context} ctx */
const isStill = ({ player, state }) => !player.past && (player.stopped || !!state.held);

/** Requests that wait while the cluster stands still. @param {Context} ctx */
function waiting({ words, player }) {
  const n = player.live ? player.server.waiting : 0;
  if (!n) return null;
  return h('div.answer.is-hold', { role: 'status' }, glyph('wait'), words.t('map.waits', { n }));
}

/** "kubectl/v1.33.2 (linux/amd64)" -> "kubectl" @param {string} name */
const clientName = (name) => (name || 'client').split(/[/ ]/)[0];

/** @param {Context} ctx @param {string} name */
export const clientLabel = ({ words }, name) =>
  name === 'page' ? words.t('map.page') : clientName(name);

/** @param {Context} ctx */
export function controllers(ctx) {
  const { words, state, compact, act } = ctx;
  const busy = busyComponent(ctx);
  const { lanes, others } = lanesOf(ctx.index, state, busy, compact ? 2 : 3);
  const isFrom = busy && busy !== 'scheduler' && lanes.includes(busy);
  const refused = wasRefused(ctx);
  const note = refused
    ? words.t('lane.refused')
    : words.has(`work.${busy}.why`) && isFrom
      ? words.t(`work.${busy}.why`, { component: busy, key: '' })
      : others.length
        ? words.t('lane.others', { names: others.slice(0, 4).join(', ') })
        : words.t('lane.rest');
  return h(
    'section.comp',
    { id: 'kcm', key: 'kcm', class: `${isFrom ? 'is-from' : ''} ${refused ? 'dim' : ''}` },
    h(
      'header',
      null,
      h('h2', null, words.t('map.controllers')),
      h('span.second.hide-compact', null, words.t('map.controllers.what')),
    ),
    lanes.map((name) =>
      lane(ctx, name, name === busy, () => act.select({ type: 'component', name })),
    ),
    compact && !isFrom ? null : h('p.note', null, note),
  );
}

/** The component whose work is where we are. @param {Context} ctx */
export function busyComponent(ctx) {
  const { current, index } = ctx;
  const { span } = current;
  if (!span) return '';
  const work = span.type === 'work' ? span : index.spans.get(span.parent);
  return work && work.type === 'work' ? work.open.component : '';
}

/** @param {Context} ctx */
function wasRefused(ctx) {
  const { current } = ctx;
  const close = current.request?.close;
  return (
    !!current.request &&
    current.request.seq === current.root &&
    close &&
    close.seq <= ctx.state.seq &&
    close.code >= 400
  );
}

/** @param {Context} ctx @param {string} name @param {boolean} isHere @param {any} onClick */
function lane(ctx, name, isHere, onClick) {
  const { words, state } = ctx;
  const queue = queueOf(state, name);
  const counts = cacheOf(ctx.index, state, name).map(
    ({ resource, count }) => `${count} ${shortKind(resource, count)}`,
  );
  const two = counts.slice(0, 2).join(', ');
  const cached = ctx.compact && two.length > CACHED_LETTERS_MAX ? counts[0] : two;
  return h(
    'div.lane',
    { key: name, id: `lane-${name}`, class: isHere ? 'busy' : '' },
    h('h3', null, h('button', { onClick }, name)),
    h('span.cache', null, cached),
    h(
      'div.belt',
      null,
      slots(words, queue.length, queue.open.length ? 1 : 0),
      h('span.doing', null, doing(ctx, name, queue)),
    ),
  );
}

// of what a lane says about its caches on a small screen
const CACHED_LETTERS_MAX = 17;
const SHORT = { HorizontalPodAutoscaler: 'HPA', ReplicaSet: 'RS' };

/** @param {string} resource @param {number} count */
function shortKind(resource, count) {
  const whole = kindOf(resource);
  const kind = /** @type {any} */ (SHORT)[whole] || whole;
  return count === 1 || kind === 'RS' || kind.endsWith('s') ? kind : `${kind}s`;
}

/** @param {Context} ctx @param {string} name @param {{length: number, open: number[]}} queue */
function doing(ctx, name, queue) {
  const { words, index, state } = ctx;
  const work = index.work(queue.open[queue.open.length - 1]);
  if (work) {
    const made = work.requests.filter((seq) => seq <= state.seq);
    const last = index.request(made[made.length - 1]);
    if (last && last.cls === 'change') {
      const open = last.open;
      return words.t('lane.makes', {
        verb: httpMethod(open.verb),
        what: open.subresource || pluralOf(open.resource),
      });
    }
    const { key } = work.open;
    return words.t('lane.syncs', { key: key.slice(key.indexOf('/') + 1) });
  }
  return queue.length ? words.t('lane.waits', { n: queue.length }) : words.t('lane.empty');
}

/** @param {Context} ctx */
export function schedulerBox(ctx) {
  const { words, state, index, act } = ctx;
  const queue = queueOf(state, 'scheduler');
  const work = index.work(queue.open[queue.open.length - 1]);
  const pod = work ? shortPod(work.open.key) : '';
  const stuck = podsOf(state).filter((pod) => pod.stuck);
  const text = !work
    ? queue.length
      ? words.t('lane.waits', { n: queue.length })
      : stuck.length
        ? h(
            'button',
            { onClick: () => act.selectPod(stuck[0].key), title: stuck[0].stuck },
            words.t('map.scheduler.stuck', { n: stuck.length }),
          )
        : words.t('map.scheduler.idle')
    : queue.length
      ? words.t('lane.schedulingNext', { pod, n: queue.length })
      : words.t('lane.scheduling', { pod });
  return h(
    'section.comp',
    {
      id: 'sched',
      key: 'sched',
      class: [
        busyComponent(ctx) === 'scheduler' ? 'is-from' : '',
        wasRefused(ctx) ? 'dim' : '',
      ].join(' '),
    },
    h(
      'header',
      null,
      h(
        'h2',
        null,
        h('button', { onClick: () => act.focus('scheduler') }, words.t('map.scheduler')),
      ),
      h('span.second', null, words.t('map.scheduler.nodes', { n: objectsOf(state, 'nodes').size })),
    ),
    h('div.belt.lone', null, slots(words, queue.length, work ? 1 : 0), h('span.soft', null, text)),
  );
}
