// @ts-check
/**
 * The rollout of a Deployment as it is at a record: the ReplicaSets that give pods up and the one
 * that gets them, the bounds, and each step by which the Deployment controller moved. Pure.
 *
 * Models kubernetes pkg/controller/deployment/util/deployment_util.go for the arithmetic.
 */
import { objectsOf, podsOf } from '../cluster/objects.js';
import { isBroken } from './index.js';
import { keyOf, objectKey } from '../trace/records.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../cluster/objects.js').Pod} Pod */

/**
 * @typedef {Object} Side   a ReplicaSet of the rollout
 * @property {string} key
 * @property {string} name
 * @property {string} hash
 * @property {string} image
 * @property {number} revision
 * @property {number} wanted   spec.replicas now
 * @property {number} had      the most that it was wanted to have since the rollout began
 * @property {Pod[]} pods
 */
/**
 * @typedef {Object} Bounds
 * @property {number} of           spec.replicas of the Deployment
 * @property {string|number} surge          as it is written
 * @property {string|number} unavailable
 * @property {number} more         how many may be there beyond those wanted
 * @property {number} fewer        how many may be missing
 * @property {number} most
 * @property {number} least
 * @property {boolean} both0       both came to 0, so one may be missing
 */
/**
 * @typedef {Object} Step   one reconcile that scaled, and what it went by
 * @property {number} seq
 * @property {Part[]} parts  what came, and what went
 */
/** @typedef {{key: string, params: Record<string, string|number>}} Part  a sentence */
/**
 * @typedef {Object} Rollout
 * @property {string} key
 * @property {string} name
 * @property {number} began   the record with which it began
 * @property {boolean} isWhole  whether all of it is in the records that are here
 * @property {boolean} recreates
 * @property {Bounds} bounds
 * @property {Side[]} old     those that still matter, the newest first
 * @property {Side|null} next   null until its ReplicaSet is made
 * @property {{path: string, from: string, to: string}[]} changes  of the template
 * @property {Step[]} steps
 * @property {number} ready   pods of all its ReplicaSets
 * @property {number} all     without those that leave
 * @property {'done'|'paused'|'late'|'moving'} phase
 * @property {number} deadline  seconds
 */

const SETS = 'replicasets.apps';
const DEPLOYMENTS = 'deployments.apps';
const HASH = 'pod-template-hash';
const REVISION = 'deployment.kubernetes.io/revision';

/** @type {{state: State|null, rev: number, key: string, found: Rollout|null}} several views ask */
let asked = { state: null, rev: -1, key: '', found: null };

/**
 * The rollout of a Deployment; null while it has never had but one ReplicaSet.
 * @param {Index} index  what is known at the cursor
 * @param {State} state @param {string} key  of the Deployment
 */
export function rolloutOf(index, state, key) {
  const { rev } = state;
  if (asked.state === state && asked.rev === rev && asked.key === key) return asked.found;
  asked = { state, rev, key, found: made(index, state, key) };
  return asked.found;
}

/**
 * @param {Index} index @param {State} state @param {string} key @returns {Rollout|null}
 */
function made(index, state, key) {
  const deployment = objectsOf(state, DEPLOYMENTS).get(key);
  if (!deployment) return null;
  const { spec = {}, status = {}, metadata } = deployment.object;
  const sets = ownedBy(state, metadata.uid);
  const next = sets.find((set) => isSame(specOf(set).template, spec.template)) || null;
  const others = sets.filter((set) => set !== next);
  if (!others.length) return null;
  const began = beginningOf(index, deployment);
  const all = others.map((set) => sideOf(index, state, set, began));
  const inPlay = all.filter((side) => side.had || side.pods.length);
  const old = inPlay.length ? inPlay : all.slice(0, 1);
  const now = next && sideOf(index, state, next, began);
  const bounds = boundsOf(spec);
  const pods = [...old, ...(now ? [now] : [])].flatMap((side) => side.pods);
  const rollout = {
    key,
    name: deployment.name,
    began,
    isWhole: began >= index.first,
    recreates: spec.strategy?.type === 'Recreate',
    bounds,
    old,
    next: now,
    changes: changesOf(specOf(setOf(state, old[0])).template, spec.template),
    steps: /** @type {Step[]} */ ([]),
    ready: pods.filter((pod) => pod.stage === 'ready').length,
    all: pods.filter((pod) => pod.stage !== 'ending').length,
    phase: phaseOf(spec, status, metadata.generation || 0),
    deadline: spec.progressDeadlineSeconds ?? 600,
  };
  if (now) rollout.steps = stepsOf(index, rollout);
  return rollout;
}

/** @param {State} state @param {Side} side */
const setOf = (state, side) => /** @type {WriteRecord} */ (objectsOf(state, SETS).get(side.key));

/** @param {WriteRecord} write */
const specOf = ({ object }) => object.spec || {};

/** The ReplicaSets of a Deployment, the newest revision first. @param {State} state */
function ownedBy(state, /** @type {string} */ uid) {
  return [...objectsOf(state, SETS).values()]
    .filter((set) =>
      (set.object.metadata.ownerReferences || []).some(
        (/** @type {any} */ owner) => owner.controller && owner.uid === uid,
      ),
    )
    .sort((a, b) => revisionOf(b) - revisionOf(a));
}

/** @param {WriteRecord} write */
const revisionOf = ({ object }) => Number(object.metadata.annotations?.[REVISION] || 0);

/** The record since when a Deployment has the template it has. */
function beginningOf(/** @type {Index} */ index, /** @type {WriteRecord} */ deployment) {
  const { template } = specOf(deployment);
  let { seq } = deployment;
  let generation = 0;
  for (const write of (index.histories.get(deployment.key) || []).toReversed()) {
    if (write.op === 'delete') break;
    const is = write.object.metadata.generation || 0;
    if (is !== generation && !isSame(specOf(write).template, template)) break;
    generation = is;
    seq = write.seq;
  }
  return seq;
}

/** @param {Index} index @param {State} state @param {WriteRecord} set @param {number} began */
function sideOf(index, state, set, began) {
  const { metadata } = set.object;
  const spec = specOf(set);
  const then = index.objectAt(set.key, began - 1);
  const since = (index.histories.get(set.key) || []).filter((write) => write.seq >= began);
  const sizes = [...(then ? [then] : []), ...since, set].map((write) => sizeOf(write));
  return {
    key: set.key,
    name: set.name,
    hash: metadata.labels?.[HASH] || '',
    image: spec.template.spec.containers[0].image,
    revision: revisionOf(set),
    wanted: sizeOf(set),
    had: Math.max(...sizes),
    pods: podsOf(state).filter((pod) => pod.owner === metadata.uid),
  };
}

/** @param {WriteRecord} set */
const sizeOf = (set) => specOf(set).replicas ?? 1;
/** @param {WriteRecord|null} set */
const availableOf = (set) => set?.object.status?.availableReplicas || 0;

/** @param {any} spec @param {any} status @param {number} generation @returns {Rollout['phase']} */
function phaseOf(spec, status, generation) {
  const progress = (status.conditions || []).find(
    (/** @type {any} */ condition) => condition.type === 'Progressing',
  );
  const isSeen = (status.observedGeneration || 0) >= generation;
  if (isSeen && progress?.reason === 'ProgressDeadlineExceeded') return 'late';
  const counts = [status.replicas, status.updatedReplicas, status.availableReplicas];
  if (isSeen && counts.every((n) => (n || 0) === (spec.replicas ?? 1))) return 'done';
  return spec.paused ? 'paused' : 'moving';
}

/**
 * How far a pod is, in a rollout: a container that runs need not be ready to serve.
 * @param {State} state @param {Pod} pod
 * @returns {'stored'|'starting'|'ready'|'failing'|'succeeded'|'ending'}
 */
export function progressOf(state, { key, stage }) {
  if (stage === 'ending' || stage === 'ready' || stage === 'succeeded') return stage;
  if (stage === 'failed' || isBroken(state, key)) return 'failing';
  return stage === 'stored' ? stage : 'starting';
}

// -- the arithmetic -----------------------------------------------------------------------------

/** Surge is rounded up, what may be missing down; both 0 would never move. @param {any} spec */
export function boundsOf(spec) {
  const of = spec.replicas ?? 1;
  const rolling = spec.strategy?.rollingUpdate || {};
  const surge = rolling.maxSurge ?? '25%';
  const unavailable = rolling.maxUnavailable ?? '25%';
  const more = countOf(surge, of, Math.ceil);
  const missing = countOf(unavailable, of, Math.floor);
  const both0 = !more && !missing;
  const fewer = Math.min(both0 ? 1 : missing, of);
  return { of, surge, unavailable, more, fewer, most: of + more, least: of - fewer, both0 };
}

/** @param {string|number} value @param {number} of @param {(n: number) => number} round */
const countOf = (value, of, round) =>
  typeof value === 'string' ? round((parseInt(value, 10) * of) / 100) : value;

// -- the template -------------------------------------------------------------------------------

/** @param {any} first @param {any} other */
const isSame = (first, other) => !changesOf(first, other).length;

/**
 * What differs between two templates, field by field, but for the hash.
 * @param {any} from @param {any} to
 */
function changesOf(from, to) {
  const [before, after] = [leaves(from), leaves(to)];
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths
    .filter((path) => before.get(path) !== after.get(path))
    .map((path) => ({ path, from: before.get(path) ?? '', to: after.get(path) ?? '' }));
}

/** Every field of an object that has a value, by its path. @param {any} object */
function leaves(object) {
  /** @type {Map<string, string>} */ const leaves = new Map();
  const walk = (/** @type {any} */ value, /** @type {string[]} */ path) => {
    if (value === null || value === '' || path.at(-1) === HASH) return;
    if (typeof value !== 'object') leaves.set(path.join('/'), String(value));
    else for (const [name, inner] of Object.entries(value)) walk(inner, [...path, name]);
  };
  walk(object, []);
  return leaves;
}

// -- the steps ----------------------------------------------------------------------------------

/**
 * @typedef {Object} Scaled   what one reconcile did to a ReplicaSet
 * @property {WriteRecord} write @property {boolean} isNew @property {number} by
 */

/**
 * The reconciles of the Deployment that scaled, told by what they had before them.
 * @param {Index} index @param {Rollout} rollout @returns {Step[]}
 */
function stepsOf(index, rollout) {
  /** @type {Map<number, Scaled[]>} */ const works = new Map();
  const next = /** @type {Side} */ (rollout.next);
  for (const side of [...rollout.old, next])
    for (const scaled of scaledOf(index, side, rollout.began, side === next)) {
      const work = workOf(index, scaled.write, rollout.key);
      if (work) works.set(work, [...(works.get(work) || []), scaled]);
    }
  const steps = [];
  // what was ready when the records begin is not known to be new
  const before = rollout.isWhole ? null : index.objectAt(next.key, index.first - 1);
  const known = { ready: availableOf(before), gone: 0 };
  for (const [seq, list] of [...works].sort(([a], [b]) => a - b))
    steps.push(stepOf(index, rollout, seq, list, known));
  return steps;
}

/** The writes that changed how many pods a ReplicaSet is to have. */
function scaledOf(
  /** @type {Index} */ index,
  /** @type {Side} */ { key },
  /** @type {number} */ began,
  /** @type {boolean} */ isNew,
) {
  /** @type {Scaled[]} */ const list = [];
  let size = 0;
  for (const write of index.histories.get(key) || []) {
    const by = sizeOf(write) - size;
    size = write.op === 'delete' ? 0 : sizeOf(write);
    if (by && write.seq >= began && write.op !== 'delete') list.push({ write, isNew, by });
  }
  return list;
}

/** The reconcile of this Deployment that sent a write, 0 for anybody else. */
function workOf(
  /** @type {Index} */ index,
  /** @type {WriteRecord} */ write,
  /** @type {string} */ key,
) {
  const work = index.work(index.request(write.span)?.parent || 0);
  if (work?.open.component !== 'deployment') return 0;
  return keyOf(DEPLOYMENTS, work.open.key) === key ? work.seq : 0;
}

/**
 * One step in sentences. The reason is told as this run's numbers have it, and left out where they
 * do not come to what was done: the controller's caches may have been a moment behind.
 * @param {Index} index @param {Rollout} rollout @param {number} seq @param {Scaled[]} list
 * @param {{ready: number, gone: number}} known  new ones ready, and old ones gone, used up so far
 * @returns {Step}
 */
function stepOf(index, rollout, seq, list, known) {
  const isUsual = list.every((scaled) => scaled.isNew === scaled.by > 0);
  const up = list.filter((scaled) => scaled.isNew);
  const down = list.filter((scaled) => !scaled.isNew);
  const parts = isUsual
    ? [
        ...(up.length ? [cameOf(index, rollout, seq, up[0], known)] : []),
        ...(down.length ? [wentOf(index, rollout, seq, down, known)] : []),
      ]
    : [part('sized', { of: rollout.bounds.of })];
  return { seq: Math.max(...list.map((scaled) => scaled.write.seq)), parts };
}

/** @param {string} key @param {Part['params']} params @returns {Part} */
const part = (key, params) => ({ key: `rollout.step.${key}`, params });

/** Why new ones came. */
function cameOf(
  /** @type {Index} */ index,
  /** @type {Rollout} */ { old, next, bounds, recreates },
  /** @type {number} */ seq,
  /** @type {Scaled} */ { by },
  /** @type {{gone: number}} */ known,
) {
  const { gone } = known;
  known.gone = 0;
  if (recreates) return part('recreateUp', { n: by });
  if (gone === by) return part('gone', { n: by });
  const before = [...old, ...(next ? [next] : [])].map((side) => index.objectAt(side.key, seq));
  const there = before.reduce((sum, set) => sum + (set ? sizeOf(set) : 0), 0);
  return part(there + by === bounds.most ? 'room' : 'up', { n: by, most: bounds.most });
}

/** Why old ones went. */
function wentOf(
  /** @type {Index} */ index,
  /** @type {Rollout} */ { old, next, bounds, recreates },
  /** @type {number} */ seq,
  /** @type {Scaled[]} */ list,
  /** @type {{ready: number, gone: number}} */ known,
) {
  const n = -list.reduce((sum, scaled) => sum + scaled.by, 0);
  known.gone += n;
  if (recreates) return part('recreateDown', { n });
  const before = old.map((side) => index.objectAt(side.key, seq));
  const newly = next ? availableOf(index.objectAt(next.key, seq)) : 0;
  const fresh = newly - known.ready;
  known.ready = newly;
  const ready = before.reduce((sum, set) => sum + availableOf(set), newly);
  const unready = before.reduce((sum, set) => sum + (set ? sizeOf(set) - availableOf(set) : 0), 0);
  if (unready >= n) return part('unready', { n });
  if (fresh === n) return part('ready', { n });
  if (ready - bounds.least === n) return part('spare', { n, ready, least: bounds.least });
  return part('down', { n });
}

// -- whose --------------------------------------------------------------------------------------

/**
 * The Deployment that an object belongs to, itself for one; '' for none.
 * @param {State} state @param {string} key @returns {string}
 */
export function deploymentOf(state, key) {
  const [resource, namespace] = key.split('/');
  if (resource === DEPLOYMENTS) return key;
  if (resource !== SETS && resource !== 'pods') return '';
  const write = objectsOf(state, resource).get(key);
  const owner = (write?.object.metadata.ownerReferences || []).find(
    (/** @type {any} */ owner) => owner.controller,
  );
  if (owner?.kind === 'Deployment') return objectKey(DEPLOYMENTS, namespace, owner.name);
  const isOfSet = owner?.kind === 'ReplicaSet';
  return isOfSet ? deploymentOf(state, objectKey(SETS, namespace, owner.name)) : '';
}
