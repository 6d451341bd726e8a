// @ts-check
/**
 * The state of the cluster at one record: `reduce(state, record)` advances it by one, `snapshot`
 * makes a copy that shares what has not changed since. No DOM, no clock, no randomness: the same
 * records give the same state. What belongs to a span or to an object's past is in the Index.
 */
import { objectKey } from './records.js';

/** @typedef {import('./records.js').TraceRecord} TraceRecord */
/** @typedef {import('./records.js').WriteRecord} WriteRecord */

/**
 * @typedef {Object} Queue
 * @property {number} length
 * @property {string} key    the key last moved
 * @property {string} op
 */

/**
 * @typedef {Object} State
 * @property {number} seq
 * @property {number} t
 * @property {number} rev
 * @property {Map<string, Set<string>>} emptied  namespace that is being deleted -> resources gone
 * @property {Map<string, Map<string, WriteRecord>>} objects  by resource, then by key
 * @property {Set<string>} shared    resources whose map a snapshot shares
 * @property {Set<number>} requests  open requests
 * @property {Set<number>} streams   requests whose stream into a node is open
 * @property {Map<string, number[]>} working  component -> open works
 * @property {Map<string, Queue>} queues
 * @property {Map<string, {state:string, detail:any}>} components
 * @property {{mode:string, speed:any}} clock
 * @property {{seq:number, at:number, breakpoint:string}|null} held
 * @property {{requests:number, writes:number, beats:number}} counts
 */

/** @returns {State} */
export function emptyState() {
  return {
    seq: 0,
    t: 0,
    rev: 0,
    emptied: new Map(),
    objects: new Map(),
    shared: new Set(),
    requests: new Set(),
    streams: new Set(),
    working: new Map(),
    queues: new Map(),
    components: new Map(),
    clock: { mode: 'run', speed: 1 },
    held: null,
    counts: { requests: 0, writes: 0, beats: 0 },
  };
}

/** A copy to keep; the inner maps are copied only when one of the two changes them. */
export function snapshot(/** @type {State} */ state) {
  for (const resource of state.objects.keys()) state.shared.add(resource);
  return {
    ...state,
    emptied: new Map(state.emptied),
    objects: new Map(state.objects),
    shared: new Set(state.shared),
    requests: new Set(state.requests),
    streams: new Set(state.streams),
    working: new Map(state.working),
    queues: new Map(state.queues),
    components: new Map(state.components),
    clock: { ...state.clock },
    counts: { ...state.counts },
  };
}

/** How much a snapshot holds; it decides how far apart snapshots are kept. */
export function weight(/** @type {State} */ state) {
  let entries = 0;
  for (const map of state.objects.values()) entries += map.size;
  return entries;
}

/** @type {Record<string, (state: State, record: any) => void>} */
const REDUCERS = {
  request(state, record) {
    state.requests.add(record.seq);
    state.counts.requests += 1;
  },
  response(state, record) {
    state.requests.delete(record.span);
  },
  stream(state, record) {
    if (record.state === 'open') state.streams.add(record.span);
    else state.streams.delete(record.span);
  },
  work(state, record) {
    const open = state.working.get(record.component) || [];
    state.working.set(record.component, [...open, record.seq]);
  },
  done(state, record) {
    for (const [component, open] of state.working) {
      if (!open.includes(record.span)) continue;
      const rest = open.filter((/** @type {number} */ seq) => seq !== record.span);
      if (rest.length) state.working.set(component, rest);
      else state.working.delete(component);
      return;
    }
  },
  write(state, record) {
    state.rev = record.rev;
    state.counts.writes += 1;
    if (record.beat) state.counts.beats += 1;
    const map = ownMap(state, record.resource);
    if (record.op === 'delete') {
      map.delete(record.key);
      emptyNamespace(state, record);
    } else map.set(record.key, record);
  },
  queue(state, record) {
    state.queues.set(record.queue, { length: record.length, key: record.key, op: record.op });
  },
  component(state, record) {
    state.components.set(record.name, { state: record.state, detail: record.detail });
  },
  clock(state, record) {
    state.clock = { mode: record.mode, speed: record.speed };
  },
  held(state, record) {
    state.held = { seq: record.seq, at: record.at, breakpoint: record.breakpoint };
  },
};

/**
 * The state that a keyframe stands for.
 * @param {State} state  an empty one @param {import('../../types.js').Keyframe} keyframe
 */
export function begin(state, { seq, t, rev, counts, emptied, command, records }) {
  // what the command wrote may have changed since
  for (const record of command) if (record.kind !== 'write') reduce(state, record);
  for (const record of records) reduce(state, record);
  const { requests, writes, beats } = counts;
  Object.assign(state, { seq, t, rev, counts: { requests, writes, beats } });
  for (const [name, gone] of Object.entries(emptied)) state.emptied.set(name, new Set(gone));
}

// while a cluster is held nothing else is recorded than these
const WHILE_HELD = new Set(['held', 'clock', 'control', 'component']);

/** Advance the state by one record, in place. */
export function reduce(/** @type {State} */ state, /** @type {TraceRecord} */ record) {
  if (state.held && !WHILE_HELD.has(record.kind)) state.held = null;
  state.seq = record.seq;
  state.t = record.t;
  const take = REDUCERS[record.kind];
  if (take) take(state, record);
  return state;
}

/**
 * What a namespace that is being deleted has lost.
 * @param {State} state @param {WriteRecord} write
 */
function emptyNamespace(state, { resource, namespace, name }) {
  if (resource === 'namespaces') state.emptied.delete(name);
  const home = state.objects.get('namespaces')?.get(objectKey('namespaces', '', namespace));
  if (!home?.object.metadata.deletionTimestamp) return;
  // a set is never changed: snapshots share it
  state.emptied.set(namespace, new Set(state.emptied.get(namespace)).add(resource));
}

/** @param {State} state @param {string} resource */
function ownMap(state, resource) {
  let map = state.objects.get(resource);
  if (!map) {
    map = new Map();
    state.objects.set(resource, map);
  } else if (state.shared.has(resource)) {
    map = new Map(map);
    state.objects.set(resource, map);
    state.shared.delete(resource);
  }
  return map;
}
