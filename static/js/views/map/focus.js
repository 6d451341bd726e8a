// @ts-check
/**
 * Which part of the map takes the centre: the gates, the scheduling tables, all, a rollout, the
 * object that is chosen, or the crowd.
 */
import { objectsOf, podsOf } from '../../core/cluster/objects.js';
import { kindAt } from './kinds.js';
import { isRolloutChosen, rolloutAt } from './rollout.js';

/** @typedef {import('../kit/parts.js').Context} Context */

const CROWD_PODS = 40;
const CROWD_NODES = 9;
// automatic changes of the centre are at least this far apart, so that nothing flickers
const STAY_MS = 1100;

let now = 'api';
let since = 0;

/** @param {Context} ctx @param {number} wall  ms */
export function focusAt(ctx, wall) {
  const { ui, player } = ctx;
  if (ui.focus) return ui.focus;
  const wanted = wantedFocus(ctx);
  if (wanted === now) return now;
  const jumped = player.past || !player.isRunning || ui.moved;
  if (!jumped && wall - since < STAY_MS) return now;
  now = wanted;
  since = wall;
  return now;
}

/** A rollout is shown where all would be. @param {Context} ctx */
function wantedFocus(ctx) {
  if (isRolloutChosen(ctx) && rolloutAt(ctx)) return 'rollout';
  if (kindAt(ctx)) return 'kind';
  const wanted = centreOf(ctx);
  return wanted === 'all' && rolloutAt(ctx) ? 'rollout' : wanted;
}

/** @param {Context} ctx */
function centreOf(ctx) {
  const { state, current, player, ui } = ctx;
  if (isCrowd(ctx) && !state.held) return 'crowd'; // where it is held, that is what is shown
  const { hop, span } = current;
  if (!hop || (!span && hop.kind !== 'kubelet')) return 'api';
  if (ui.selected?.type === 'pod') return 'all';
  if (hop.kind === 'schedule') return player.quick ? now : 'scheduler';
  if (hop.kind === 'kubelet' || hop.kind === 'stream') return 'all';
  if (!span) return 'api';
  if (span.type === 'work' && span.open.component === 'scheduler')
    return now === 'scheduler' ? now : 'api';
  const answered = span.close && span.close.seq <= state.seq;
  const rests = answered && !player.behind && !state.requests.has(span.seq);
  const refused =
    answered &&
    span.type === 'request' &&
    (span.close?.code || 0) >= 400 &&
    !span.records.some((record) => record.kind === 'stream');
  if (rests && !refused) return 'all';
  if (span.type === 'request' && span.open.client.startsWith('kubelet/')) return 'all';
  return player.quick ? now : 'api';
}

/** @param {Context} ctx */
function isCrowd(ctx) {
  const { state } = ctx;
  if (objectsOf(state, 'pods').size < CROWD_NODES) return false;
  if (objectsOf(state, 'nodes').size > CROWD_NODES) return true;
  if (objectsOf(state, 'pods').size < CROWD_PODS) return false;
  let own = 0;
  for (const pod of podsOf(state)) if (!pod.system) own += 1;
  return own > CROWD_PODS;
}
