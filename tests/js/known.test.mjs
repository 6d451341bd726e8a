// @ts-check
// Facts about the cursor: what the page says of a moment comes from records up to it, and no later.
//
// Beside a whole trace grows one that ends at the cursor. At every record of every trace, or at a
// sample of them, all that the views are handed is the same of both: each entry of the index that
// this record is part of, the state, and the chapter. So what a view makes of it is the same, too,
// unless it keeps things from one call to the next or reaches for the whole trace: the views are
// called at many records, and there `whole` throws. Where the page shows what follows as such, it
// has the whole trace on purpose: on the time axis, on the tape, and in the story of a pod.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt, heldAside } from '../../static/js/core/story/follow.js';
import { gatesOf } from '../../static/js/core/trace/facts.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { alike } from './alike.mjs';
import { wordsFor } from './languages.mjs';
import { chapterOf } from '../../static/js/views/time/chapters.js';
import { corridor, corridorModel, slimCorridor } from '../../static/js/views/map/corridor.js';
import { cycleOf } from '../../static/js/views/map/scheduling.js';
import { followedBox, funnel, nodeCards } from '../../static/js/views/map/nodes.js';
import { hasBoard } from '../../static/js/core/outcome/kinds.js';
import { kindBoard } from '../../static/js/views/map/kinds.js';
import { objectsPanel } from '../../static/js/views/bench/objects.js';
import { servicesBand } from '../../static/js/views/map/services.js';
import { allAsWanted, wantedStrip } from '../../static/js/views/map/wanted.js';
import { board } from '../../static/js/views/map/scheduling.js';
import { rolloutAt, rolloutBoard } from '../../static/js/views/map/rollout.js';
import { revisions } from '../../static/js/views/inspector/revisions.js';
import { client, controllers, schedulerBox } from '../../static/js/views/map/requesters.js';
import { yard } from '../../static/js/views/map/yard.js';
import { commandAt, names, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/explain/index.js').Selected} Selected */

const words = wordsFor('en');
/** An action that may be named and is never called. */
const act = /** @type {any} */ (
  new Proxy({}, { get: () => () => false })
);
/** In place of the whole trace, for a view that is to do without. */
const NOT_KNOWN = /** @type {any} */ (
  new Proxy({}, {
    get: (_, name) => assert.fail(`a view asks the whole trace for ${String(name)}`),
  })
);
// views are called at one record in so many, and from the first command on what is said of the
// moment at each but those of heartbeats and reads
const EACH = 17;
// the map is drawn at one in so many of these
const DRAWN_EACH = 10;
// all of the index is compared, once in so many records
const ALL_EACH = 1000;
// one record in so many is looked at, drawn by a seed; without a sample every one
const [SEED, ONE_IN] = (process.env.SAMPLE || '0/1').split('/').map(Number);

/** Whether the record at a place is one of the sample. @param {number} at */
function isDrawn(at) {
  const mixed = Math.imul((at + 1) ^ SEED, 0x9e3779b1);
  return (Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0) % ONE_IN === 0;
}

/** What is in the index by a key, as lists of spans or records, or of their numbers. */
const LISTS = /** @type {const} */ (['histories', 'steps', 'cycles', 'caused', 'trails']);
const SPANS = /** @type {const} */ (['requests', 'works']);

/** @typedef {{name: typeof LISTS[number] | 'spans', key: any}} Entry */

/**
 * The entries of an index that each of its records is part of.
 * @param {import('../../static/js/core/trace/index.js').Index} index
 */
function entriesOf(index) {
  /** @type {Map<number, Entry[]>} */ const bySeq = new Map();
  const add = (/** @type {number} */ seq, /** @type {Entry} */ entry) => {
    const known = bySeq.get(seq);
    if (known) known.push(entry);
    else bySeq.set(seq, [entry]);
  };
  for (const name of LISTS)
    for (const [key, list] of index[name])
      for (const part of list) add(typeof part === 'number' ? part : part.seq, { name, key });
  for (const { seq, records, requests, promoted } of index.spans.values()) {
    const parts = [seq, ...records.map((record) => record.seq), ...requests, promoted];
    for (const part of new Set(parts)) add(part, { name: 'spans', key: seq });
  }
  return bySeq;
}

/** @typedef {(number | {seq: number})[]} List */

const numberOf = (/** @type {List[number]} */ part) =>
  typeof part === 'number' ? part : part.seq;

/**
 * Whether two lists have the same numbers in place of records and spans, which are looked at by
 * themselves; those of a whole trace are compared at each record.
 * @param {List | undefined} list @param {List | undefined} other
 */
function areSame(list, other) {
  if (!list || !other) return list === other;
  if (list.length !== other.length) return false;
  for (let at = 0; at < list.length; at += 1)
    if (numberOf(list[at]) !== numberOf(other[at])) return false;
  return true;
}

/**
 * Whether an entry is handed out the same of both.
 * @param {any} known @param {any} own @param {Entry} entry
 */
function areEntriesSame(known, own, { name, key }) {
  const [one, other] = [known[name].get(key), own[name].get(key)];
  if (name !== 'spans') return areSame(one, other);
  if (!one || !other) return one === other;
  const { open, close, records, ...rest } = one;
  const { open: itsOpen, close: itsClose, records: itsRecords, ...itsRest } = other;
  return (
    open.seq === itsOpen.seq &&
    close?.seq === itsClose?.seq &&
    areSame(records, itsRecords) &&
    alike(rest, itsRest)
  );
}

/** What is handed out of the state, but for each object. */
const stateOf = (/** @type {ReturnType<History['stateAt']>} */ state) => ({
  ...state,
  objects: [...state.objects].map(([resource, map]) => [resource, map.size]),
  shared: null,
  components: state.components.size,
});

/** Which record it was. */
const told = (/** @type {any} */ record) =>
  `record ${record.seq}: ${JSON.stringify(record).slice(0, 200)}`;

/**
 * Whether all that is handed to a view at a record is of records up to it.
 * @param {History} whole @param {History} grown  up to that record @param {Entry[]} entries
 */
function assertKnown(whole, grown, entries) {
  const { last: seq, index: own } = grown;
  const known = knownAt(whole.index, seq);
  const is = (/** @type {boolean} */ holds, /** @type {any} */ what) => {
    if (!holds) assert.fail(`${JSON.stringify(what)}: ${told(own.record(seq))}`);
  };
  const same = (/** @type {any} */ one, /** @type {any} */ other, /** @type {any} */ what) =>
    is(alike(one, other), what);
  same(known.record(seq), own.record(seq), 'the record');
  same([known.first, known.last, known.roots], [own.first, own.last, own.roots], 'roots');
  same(known.record(seq + 1), undefined, 'the next record');
  for (const entry of entries) is(areEntriesSame(known, own, entry), entry);
  if (entries.some(({ name }) => name === 'spans'))
    for (const name of SPANS) is(areSame(known[name], own[name]), name);
  const [state, at] = [whole.stateAt(seq), grown.stateAt(seq)];
  same(stateOf(state), stateOf(at), 'state');
  const record = /** @type {any} */ (own.record(seq));
  if (own.told.at(-1)?.record === record) same(known.facts, own.facts, 'facts');
  const { components } = state;
  if (record.kind === 'component')
    same(components.get(record.name), at.components.get(record.name), record.name);
  if (record.kind !== 'write') return;
  is(areSame(known.writes, own.writes), 'writes');
  const { key, rev, resource } = record;
  for (const index of [known, own])
    same([index.byRev.get(rev), index.objectAt(key, Infinity)], [record, record], 'revision');
  same(state.objects.get(resource)?.get(key), at.objects.get(resource)?.get(key), key);
}

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

/** What a view is handed at a record. @param {History} history @param {number} seq */
function moment(history, seq) {
  const state = history.stateAt(seq);
  const index = knownAt(history.index, seq);
  const current = heldAside(index, state.held) || currentAt(index, {}, seq);
  return { words, state, index, current, whole: NOT_KNOWN };
}

/** The chapter of a record, which is cut out of the whole trace. */
function chapterAt(/** @type {History} */ history, /** @type {number} */ seq) {
  const given = { ...moment(history, seq), whole: history.index, clock: 0 };
  const chapter = chapterOf(/** @type {any} */ (given));
  return chapter && [chapter.at, chapter.of, chapter.name, chapter.text];
}

/** What is explained with the cursor at a record. */
function said(
  /** @type {History} */ history,
  /** @type {number} */ seq,
  /** @type {(Selected|null)[]} */ chosen,
) {
  const given = { ...moment(history, seq), crowd: false, version: '1.33', clock: 0 };
  return chosen.map((selected) => explain({ ...given, selected }, words));
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
  const given = moment(history, seq);
  const { state } = given;
  const player = { follow: {}, live: true, quick: false, past: false, server: {} };
  const ui = { selected: null, namespace: 'default', focus: '', menu: '' };
  const meta = { epoch: '', now: () => state.t };
  const clock = state.t / 1000;
  return ['api', 'all', 'scheduler'].map((focus) => {
    const looks = { player, ui, meta, act, focus, clock, compact: false, now: state.t };
    const ctx = /** @type {any} */ ({ ...given, ...looks });
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
  test(`in "${name}" nothing of what follows is known at any record`, () => {
    const records = recorded(name);
    const whole = new History();
    whole.append(structuredClone(records));
    const entries = entriesOf(whole.index);
    const all = [...entries.values()].flat();
    const grown = new History();
    const command = commandAt(records);
    for (const [i, record] of records.entries()) {
      grown.append([record]);
      const isWhole = i % ALL_EACH === 0;
      if (!isWhole && !isDrawn(i)) continue;
      const { seq } = record;
      assertKnown(whole, grown, isWhole ? all : entries.get(seq) || []);
      const same = (/** @type {(history: History) => any} */ ask) => {
        const [one, other] = [JSON.stringify(ask(whole)), JSON.stringify(ask(grown))];
        if (one !== other) assert.equal(one, other, told(record));
      };
      same((history) => chapterAt(history, seq));
      const isSample = i % EACH === 0;
      const { cls } = grown.index.spanOf(record) || {};
      if ((i < command || cls === 'beat' || cls === 'read') && !isSample) continue;
      const choice = isSample ? choices(grown, seq) : [];
      const chosen = [null, ...(choice.length ? [choice[i % choice.length]] : [])];
      same((history) => said(history, seq, chosen));
      if (i % (EACH * DRAWN_EACH) === 0) same((history) => drawn(history, seq));
    }
  });
