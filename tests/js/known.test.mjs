// @ts-check
// Facts about the cursor: what the page says of a moment comes from records up to it, and no later.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt, heldAside } from '../../static/js/core/story/follow.js';
import { gatesOf } from '../../static/js/core/trace/facts.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { wordsFor } from './languages.mjs';
import { chapterOf } from '../../static/js/views/time/chapters.js';
import { corridor, corridorModel, slimCorridor } from '../../static/js/views/map/corridor.js';
import { cycleOf } from '../../static/js/views/map/scheduling.js';
import { followedBox, funnel, nodeCards, yard } from '../../static/js/views/map/nodes.js';
import { hasBoard } from '../../static/js/core/outcome/kinds.js';
import { kindBoard } from '../../static/js/views/map/kinds.js';
import { objectsPanel } from '../../static/js/views/bench/objects.js';
import { servicesBand } from '../../static/js/views/map/services.js';
import { allAsWanted, wantedStrip } from '../../static/js/views/map/wanted.js';
import { board } from '../../static/js/views/map/scheduling.js';
import { rolloutAt, rolloutBoard } from '../../static/js/views/map/rollout.js';
import { revisions } from '../../static/js/views/inspector/revisions.js';
import { client, controllers, schedulerBox } from '../../static/js/views/map/requesters.js';
import { commandAt, names, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/explain/index.js').Selected} Selected */

const words = wordsFor('en');
/** An action that may be named and is never called. */
const act = /** @type {any} */ (
  new Proxy({}, { get: () => () => false })
);
// what is said of the moment is looked at with every record from the first command on, but for
// heartbeats and reads; those, the boot, and what one could choose, with one in so many
const EACH = 17;
// the map is drawn at one in so many of these
const DRAWN_EACH = 10;

/** What one could have chosen at a moment. @param {History} history @param {number} seq */
function choices(history, seq) {
  const index = knownAt(history.index, seq);
  const state = history.stateAt(seq);
  const { request } = currentAt(index, {}, seq);
  /** @type {Selected[]} */ const list = [];
  for (const { name } of request ? gatesOf(index) : [])
    list.push({ type: 'gate', span: /** @type {any} */ (request).seq, gate: name });
  for (const name of state.components.keys()) list.push({ type: 'component', name });
  for (const [resource, map] of state.objects)
    for (const write of map.values()) {
      if (write.beat) continue;
      list.push({ type: 'object', key: write.key }, { type: 'rev', rev: write.rev });
      if (resource === 'pods') list.push({ type: 'pod', key: write.key });
      if (resource === 'nodes') list.push({ type: 'node', name: write.name });
      list.push({ type: 'span', seq: write.span });
    }
  return list;
}

/** What is explained with the cursor at a record. */
function said(
  /** @type {History} */ history,
  /** @type {number} */ seq,
  /** @type {(Selected|null)[]} */ chosen,
) {
  const state = history.stateAt(seq);
  const index = knownAt(history.index, seq);
  const current = heldAside(index, state.held) || currentAt(index, {}, seq);
  const given = { words, whole: history.index, index, current, state, clock: 0 };
  const ctx = /** @type {any} */ (given);
  const chapter = chapterOf(ctx);
  const spoken = chapter && [chapter.at, chapter.of, chapter.name, chapter.text];
  return [spoken, ...chosen.map((selected) =>
    explain({ index, state, current, selected, crowd: false, version: '1.33', clock: 0 }, words),
  )];
}

/** Of each kind that has a view the newest. @param {ReturnType<History['stateAt']>} state */
const ofEachKind = ({ objects }) =>
  [...objects.values()]
    .map((map) => [...map.values()].at(-1))
    .filter((one) => one && hasBoard(one));

/** The object that was written last. @param {ReturnType<History['stateAt']>} state */
const newest = ({ objects }) => {
  const all = [...objects.values()].flatMap((map) => [...map.values()]);
  return all.sort((a, b) => b.rev - a.rev).slice(0, 1).map(({ key }) => key);
};

/** What is drawn of the map. @param {History} history @param {number} seq */
function drawn(history, seq) {
  const state = history.stateAt(seq);
  const index = knownAt(history.index, seq);
  const current = heldAside(index, state.held) || currentAt(index, {}, seq);
  const player = { follow: {}, live: true, quick: false, past: false, server: {} };
  const ui = { selected: null, namespace: 'default', focus: '', menu: '' };
  const meta = { epoch: '', now: () => state.t };
  const clock = state.t / 1000;
  return ['api', 'all', 'scheduler'].map((focus) => {
    const given = { index, state, current, words, player, ui, meta, act, focus, clock };
    const ctx = /** @type {any} */ ({ ...given, compact: false, now: state.t });
    const model = corridorModel(ctx);
    const cycle = cycleOf(ctx);
    const rollout = rolloutAt(ctx);
    return [
      focus === 'api' ? corridor(ctx, model) : slimCorridor(ctx, model),
      client(ctx),
      controllers(ctx),
      schedulerBox(ctx),
      nodeCards(ctx, focus === 'scheduler' ? cycle : null),
      followedBox(ctx),
      cycle && board(ctx, cycle),
      objectsPanel(ctx),
      yard(ctx),
      funnel(ctx),
      servicesBand(ctx),
      wantedStrip(ctx),
      allAsWanted(ctx),
      rollout && rolloutBoard(ctx, rollout),
      ...ofEachKind(state).map((one) => kindBoard(ctx, /** @type {any} */ (one))),
      ...newest(state).map((key) =>
        revisions({ ...ctx, ui: { ...ui, compared: { key, from: 0, to: Infinity, side: true } } }),
      ),
    ];
  });
}

for (const name of names())
  test(`in "${name}" the page says at each record what it would if nothing followed`, () => {
    const records = recorded(name);
    const whole = new History();
    whole.append(structuredClone(records));
    const grown = new History();
    const command = commandAt(records);
    let seen = 0;
    for (const [i, record] of records.entries()) {
      grown.append([record]);
      const isSample = i % EACH === 0;
      const { cls } = grown.index.spanOf(record) || {};
      if ((i < command || cls === 'beat' || cls === 'read') && !isSample) continue;
      const { seq } = record;
      const all = isSample ? choices(grown, seq) : [];
      const chosen = [null, ...(all.length ? [all[i % all.length]] : [])];
      const why = `record ${seq}: ${JSON.stringify(record).slice(0, 200)}`;
      const same = (/** @type {(history: History) => any} */ ask) =>
        assert.equal(JSON.stringify(ask(whole)), JSON.stringify(ask(grown)), why);
      same((history) => said(history, seq, chosen));
      if (isSample && seen++ % DRAWN_EACH === 0) same((history) => drawn(history, seq));
    }
  });
