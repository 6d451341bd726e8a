// @ts-check
/**
 * What one object of a kind wants, beside what there is of it, and the objects it goes by: in order
 * where the kind has an order. From the objects at the cursor alone. Pure; the words come later.
 */
import { compareNames, everyObject, objectsOf, podOf, podsOf } from '../cluster/objects.js';
import { outcomeOf } from './index.js';
import { kindOf, objectKey } from '../trace/records.js';

/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {'allow'|'work'|'deny'|''} Sign */
/** @typedef {{label: string, wanted: string, is: string, sign: Sign}} Pair
 *   label: a key of words, or a kind as it is */
/** @typedef {{key: string, name: string, sign: string, note: string, params: any}} Item
 *   key: '' for what is not there; note: a key of words */
/** @typedef {{heading: string, params: any, isOrdered: boolean, items: Item[]}} Part */
/** @typedef {{pairs: Pair[], parts: Part[]}} Board */

const EVENTS_MAX = 6;
const ITEMS_MAX = 40;
const CLAIMS = 'persistentvolumeclaims';
const VOLUMES = 'persistentvolumes';
const INDEX = 'batch.kubernetes.io/job-completion-index';

/** @type {Record<string, (state: State, write: WriteRecord) => Board>} */
const BOARDS = {
  'jobs.batch': jobBoard,
  'statefulsets.apps': orderedBoard,
  'horizontalpodautoscalers.autoscaling': autoscalerBoard,
  [CLAIMS]: claimBoard,
  [VOLUMES]: volumeBoard,
  namespaces: namespaceBoard,
  events: eventBoard,
  'deployments.apps': replicasBoard,
  'replicasets.apps': replicasBoard,
  'daemonsets.apps': daemonBoard,
};

/** @param {WriteRecord} write */
export const hasBoard = ({ resource }) => Object.hasOwn(BOARDS, resource);

/** @param {State} state @param {WriteRecord} write @returns {Board} */
export function boardOf(state, write) {
  const { pairs, parts } = BOARDS[write.resource](state, write);
  const all = [...parts, eventsPart(state, write)];
  return { pairs, parts: all.filter(({ items }) => items.length) };
}

/** @returns {Pair} */
const pair = (
  /** @type {string} */ name,
  /** @type {any} */ wanted,
  /** @type {any} */ is,
  isMet = String(wanted) === String(is),
) => ({
  label: `kinds.of.${name}`,
  wanted: String(wanted ?? ''),
  is: String(is ?? ''),
  sign: isMet ? 'allow' : 'work',
});

/** What is only told. @returns {Pair} */
const fact = (/** @type {string} */ name, /** @type {any} */ is) => ({
  label: `kinds.of.${name}`,
  wanted: '',
  is: String(is ?? ''),
  sign: '',
});

/** @param {string} name @param {Item[]} items @param {any} [params] @returns {Part} */
const part = (name, items, params = {}, isOrdered = false) => ({
  heading: `kinds.part.${name}`,
  params: { n: items.length, ...params },
  isOrdered,
  items: items.slice(0, ITEMS_MAX),
});

/** @type {Record<string, Sign>} */
const SIGNS = { met: 'allow', underway: 'work', unmet: 'deny' };

/** @param {State} state @param {WriteRecord} write @param {string} [note] @returns {Item} */
const item = (state, write, note = '', params = {}) => ({
  key: write.key,
  name: write.name,
  sign: SIGNS[outcomeOf(state, write).state],
  note,
  params,
});

/** @param {import('../cluster/objects.js').Pod} pod @param {string} [note] @returns {Item} */
const podItem = (pod, note = `stage.${pod.stage}`, params = {}) => ({
  key: pod.key,
  name: pod.name,
  sign: `pod:${pod.stage}`,
  note,
  params,
});

/** @param {State} state @param {WriteRecord} write  of their controller */
const podsBelow = (state, { object }) =>
  podsOf(state).filter(({ owner }) => owner === object.metadata.uid);

// -- what runs pods -----------------------------------------------------------------------------

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function jobBoard(state, write) {
  const { spec = {}, status = {} } = write.object;
  const of = spec.completions ?? spec.parallelism ?? 1;
  const active = status.active || 0;
  const most = Math.max(0, Math.min(spec.parallelism ?? 1, of - (status.succeeded || 0)));
  const failed = status.failed || 0;
  const limit = spec.backoffLimit ?? 6;
  const pods = podsBelow(state, write).map((pod) => ({ pod, at: indexOf(state, pod) }));
  pods.sort((a, b) => a.at - b.at);
  return {
    pairs: [
      pair('completions', of, status.succeeded || 0),
      pair('active', spec.suspend ? 0 : most, active),
      { ...pair('failures', `≤ ${limit}`, failed), sign: failureSign(failed, limit) },
      ...(status.completedIndexes ? [fact('indexes', status.completedIndexes)] : []),
    ],
    parts: [
      part(
        'pods',
        pods.map(({ pod, at }) =>
          at < 0 ? podItem(pod) : podItem(pod, 'kinds.indexed', { at, stage: pod.stage }),
        ),
      ),
    ],
  };
}

/** @param {number} failed @param {number} limit @returns {Sign} */
const failureSign = (failed, limit) => (failed > limit ? 'deny' : failed ? 'work' : 'allow');

/** Of a pod of an indexed Job; else -1. @param {State} state @param {{key: string}} pod */
function indexOf(state, { key }) {
  const write = objectsOf(state, 'pods').get(key);
  return Number(write?.object.metadata.annotations?.[INDEX] ?? -1);
}

/** Pods come one after the other, and go the other way round. */
function orderedBoard(/** @type {State} */ state, /** @type {WriteRecord} */ write) {
  const { spec = {}, status = {} } = write.object;
  const of = spec.replicas ?? 1;
  const isOrdered = spec.podManagementPolicy !== 'Parallel';
  const pods = new Map(podsBelow(state, write).map((pod) => [pod.name, pod]));
  /** @type {Item[]} */ const items = [];
  let waitsFor = '';
  for (let i = 0; i < Math.min(of, ITEMS_MAX); i += 1) {
    const name = `${write.name}-${i}`;
    const pod = pods.get(name);
    pods.delete(name);
    const waits = isOrdered && waitsFor && !pod;
    const params = { other: waitsFor };
    const note = waits ? 'kinds.waitsFor' : 'kinds.missing';
    items.push(pod ? podItem(pod) : { key: '', name, sign: 'podNone', note, params });
    if (pod?.stage !== 'ready') waitsFor ||= name;
  }
  const leaving = [...pods.values()].sort((a, b) => compareNames(b.name, a.name));
  items.push(...leaving.map((pod) => podItem(pod, 'kinds.leaves')));
  const { currentRevision, updateRevision } = status;
  const updated = currentRevision === updateRevision ? status.replicas : status.updatedReplicas;
  return {
    pairs: [
      pair('replicas', of, status.readyReplicas || 0),
      pair('updated', of - (spec.updateStrategy?.rollingUpdate?.partition || 0), updated || 0),
      fact('order', spec.podManagementPolicy || 'OrderedReady'),
    ],
    parts: [
      part(isOrdered ? 'ordered' : 'pods', items, {}, isOrdered),
      part('claims', claimsBelow(state, write)),
    ],
  };
}

/** Of the templates of a StatefulSet. @param {State} state @param {WriteRecord} write */
function claimsBelow(state, { name, namespace, object }) {
  const names = (object.spec?.volumeClaimTemplates || []).map(
    (/** @type {any} */ template) => `${template.metadata.name}-${name}-`,
  );
  return [...objectsOf(state, CLAIMS).values()]
    .filter((claim) => claim.namespace === namespace)
    .filter((claim) => names.some((/** @type {string} */ start) => claim.name.startsWith(start)))
    .sort((a, b) => compareNames(a.name, b.name))
    .map((claim) => item(state, claim, 'kinds.phase', { phase: claim.object.status?.phase || '' }));
}

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function replicasBoard(state, write) {
  const { spec = {}, status = {} } = write.object;
  const of = spec.replicas ?? 1;
  return {
    pairs: [
      pair('there', of, status.replicas || 0),
      pair('replicas', of, status.readyReplicas || 0),
      pair('available', of, status.availableReplicas || 0),
    ],
    parts: [
      part(
        'pods',
        podsBelow(state, write).map((pod) => podItem(pod)),
      ),
    ],
  };
}

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function daemonBoard(state, write) {
  const { status = {} } = write.object;
  const of = status.desiredNumberScheduled || 0;
  return {
    pairs: [
      pair('scheduled', of, status.currentNumberScheduled || 0),
      pair('replicas', of, status.numberReady || 0),
      pair('misscheduled', 0, status.numberMisscheduled || 0),
    ],
    parts: [
      part(
        'pods',
        podsBelow(state, write).map((pod) => podItem(pod, 'kinds.on', { node: pod.node || '–' })),
      ),
    ],
  };
}

// -- scaling ------------------------------------------------------------------------------------

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function autoscalerBoard(state, write) {
  const { spec = {}, status = {} } = write.object;
  const { currentReplicas = 0, desiredReplicas = 0, conditions = [] } = status;
  const target = spec.scaleTargetRef || {};
  return {
    pairs: [
      // 0 until it was able to say how many
      pair('there', desiredReplicas || '–', currentReplicas),
      fact('bounds', `${spec.minReplicas ?? 1} … ${spec.maxReplicas}`),
      ...(spec.metrics || []).map((/** @type {any} */ metric, /** @type {number} */ i) =>
        metricPair(metric, status.currentMetrics?.[i]),
      ),
    ],
    parts: [
      part(
        'target',
        everyObject(state)
          .filter(
            (candidate) =>
              candidate.namespace === write.namespace && candidate.name === target.name,
          )
          .filter((candidate) => kindOf(candidate.resource) === target.kind)
          .map((candidate) => item(state, candidate, 'kinds.is', { kind: target.kind })),
      ),
      part(
        'conditions',
        conditions.map((/** @type {any} */ condition) => ({
          key: '',
          name: condition.type,
          sign: condition.status === 'True' ? 'allow' : 'deny',
          note: 'kinds.says',
          params: { reason: condition.reason || '', message: condition.message || '' },
        })),
      ),
    ],
  };
}

/** @param {any} metric @param {any} current @returns {Pair} */
function metricPair(metric, current) {
  const type = `${metric.type[0].toLowerCase()}${metric.type.slice(1)}`;
  const { name = metric[type]?.metric?.name || metric.type, target = {} } = metric[type] || {};
  const is = current?.[type]?.current || {};
  const shown = (/** @type {any} */ value) =>
    value.averageUtilization === undefined
      ? value.averageValue || value.value || '–'
      : `${value.averageUtilization} %`;
  const known = current && shown(is) !== '–';
  const sign = known ? '' : 'deny';
  return { label: name, wanted: shown(target), is: known ? shown(is) : '–', sign };
}

// -- storage ------------------------------------------------------------------------------------

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function claimBoard(state, write) {
  const { spec = {}, status = {} } = write.object;
  const asked = spec.resources?.requests?.storage;
  const volume = objectsOf(state, VOLUMES).get(objectKey(VOLUMES, '', spec.volumeName || ''));
  const users = podsOf(state).filter(
    ({ key, namespace }) => namespace === write.namespace && uses(state, key, write.name),
  );
  return {
    pairs: [
      pair('phase', 'Bound', status.phase || 'Pending'),
      pair('storage', asked, status.capacity?.storage || '–', status.phase === 'Bound'),
      fact('access', (spec.accessModes || []).join(', ')),
      fact('class', spec.storageClassName || '–'),
    ],
    parts: [
      part('volume', volume ? [volumeItem(state, volume)] : []),
      part(
        'users',
        users.map((pod) => podItem(pod)),
      ),
    ],
  };
}

/** @param {State} state @param {WriteRecord} write */
const volumeItem = (state, write) =>
  item(state, write, 'kinds.phase', { phase: write.object.status?.phase || '' });

/** @param {State} state @param {string} key  of a pod @param {string} claim */
function uses(state, key, claim) {
  const { volumes = [] } = objectsOf(state, 'pods').get(key)?.object.spec || {};
  return volumes.some(
    (/** @type {any} */ volume) => volume.persistentVolumeClaim?.claimName === claim,
  );
}

/** @param {State} state @param {WriteRecord} write @returns {Board} */
function volumeBoard(state, write) {
  const { spec = {}, status = {} } = write.object;
  const { namespace = '', name = '' } = spec.claimRef || {};
  const claim = name && objectsOf(state, CLAIMS).get(objectKey(CLAIMS, namespace, name));
  return {
    pairs: [
      pair('phase', name ? 'Bound' : 'Available', status.phase || 'Pending'),
      fact('storage', spec.capacity?.storage),
      fact('access', (spec.accessModes || []).join(', ')),
      fact('class', spec.storageClassName || '–'),
      fact('reclaim', spec.persistentVolumeReclaimPolicy),
    ],
    parts: [
      part(
        'claim',
        claim
          ? [item(state, claim, 'kinds.phase', { phase: claim.object.status?.phase || '' })]
          : [],
      ),
    ],
  };
}

// -- namespaces and events ----------------------------------------------------------------------

/** Of each kind how many are there, and how many as wanted; while it goes, how many are left. */
function namespaceBoard(/** @type {State} */ state, /** @type {WriteRecord} */ write) {
  const { status = {}, metadata, spec = {} } = write.object;
  const goes = !!metadata.deletionTimestamp;
  /** @type {Pair[]} */ const pairs = [];
  /** @type {Item[]} */ const unmet = [];
  const inside = everyObject(state).filter((member) => member.namespace === write.name);
  for (const resource of new Set(inside.map((member) => member.resource))) {
    const own = inside.filter((member) => member.resource === resource);
    if (resource === 'events') continue;
    const bad = own.filter((member) => outcomeOf(state, member).state !== 'met');
    const is = goes ? own.length : own.length - bad.length;
    const wanted = goes ? 0 : own.length;
    const sign = is === wanted ? 'allow' : 'work';
    pairs.push({ label: kindOf(resource), wanted: String(wanted), is: String(is), sign });
    unmet.push(...bad.map((member) => item(state, member, 'kinds.is', { kind: kindOf(resource) })));
  }
  pairs.sort((a, b) => (a.label < b.label ? -1 : 1));
  const kept = goes ? spec.finalizers || [] : [];
  return {
    pairs: [pair('phase', goes ? '–' : 'Active', status.phase || 'Active', !goes), ...pairs],
    parts: [
      part('unmet', unmet),
      part(
        'finalizers',
        kept.map((/** @type {string} */ name) => ({ ...NOTHING, name, sign: 'hold' })),
      ),
      part(
        'events',
        newest(
          eventsOf(state).filter((event) => event.namespace === write.name),
          state,
        ),
      ),
    ],
  };
}

const NOTHING = { key: '', sign: '', note: '', params: {} };

/** An event wants nothing; it tells. @param {State} state @param {WriteRecord} write */
function eventBoard(state, write) {
  const { type, reason, message, count, involvedObject: about = {}, source } = write.object;
  const object = everyObject(state).find(
    (candidate) => about.uid && candidate.object.metadata.uid === about.uid,
  );
  return {
    pairs: [
      fact('type', type),
      fact('reason', reason),
      fact('message', message),
      fact('count', count ?? write.object.series?.count ?? 1),
      fact('source', source?.component || write.object.reportingComponent),
    ],
    parts: [part('about', object ? [item(state, object, 'kinds.is', { kind: about.kind })] : [])],
  };
}

/** @param {State} state @returns {WriteRecord[]} */
const eventsOf = (state) => [...objectsOf(state, 'events').values()];

/** Of the object, the newest first. @param {State} state @param {WriteRecord} write */
function eventsPart(state, { resource, object }) {
  const { uid } = object.metadata;
  const has = resource !== 'namespaces' && resource !== 'events';
  const own = has
    ? eventsOf(state).filter((event) => event.object.involvedObject?.uid === uid)
    : [];
  return part('events', newest(own, state));
}

/** @param {WriteRecord[]} events @param {State} state @returns {Item[]} */
const newest = (events, state) =>
  events
    .sort((a, b) => b.rev - a.rev)
    .slice(0, EVENTS_MAX)
    .map((event) => {
      const { type, reason, message } = event.object;
      const sign = type === 'Warning' ? 'deny' : 'noop';
      return { ...item(state, event, 'kinds.message', { message }), name: reason, sign };
    });

// -- the owner tree -----------------------------------------------------------------------------

/** @typedef {{write: WriteRecord, kids: Branch[], sign: string}} Branch */

/** What owns an object, from the top down to it, and all below. */
export function ownersOf(/** @type {State} */ state, /** @type {WriteRecord} */ write) {
  /** @type {Map<string, WriteRecord>} */ const byUid = new Map();
  /** @type {Map<string, WriteRecord[]>} */ const below = new Map();
  for (const member of everyObject(state)) {
    const { uid, ownerReferences = [] } = member.object.metadata;
    byUid.set(uid, member);
    const owner = ownerReferences.find((/** @type {any} */ it) => it.controller)?.uid;
    if (!owner) continue;
    const kids = below.get(owner);
    if (kids) kids.push(member);
    else below.set(owner, [member]);
  }
  let top = write;
  for (let depth = 0; depth < 8; depth += 1) {
    const owner = top.object.metadata.ownerReferences?.find((it) => it.controller);
    const above = owner && byUid.get(owner.uid);
    if (!above) break;
    top = above;
  }
  const branch = (/** @type {WriteRecord} */ member, /** @type {number} */ depth) => {
    const kids = depth < 8 ? below.get(member.object.metadata.uid) || [] : [];
    /** @type {Branch} */ const made = { write: member, kids: [], sign: signOf(state, member) };
    made.kids = kids.map((kid) => branch(kid, depth + 1));
    return made;
  };
  return branch(top, 0);
}

/** @param {State} state @param {WriteRecord} write */
const signOf = (state, write) =>
  write.resource === 'pods' ? `pod:${podOf(write).stage}` : SIGNS[outcomeOf(state, write).state];
