// @ts-check
/**
 * What was wanted of an object and what there is of it now, by its kind: one sentence for whoever
 * sums up. Read from the objects at the cursor alone; sentences are keys, the words come later.
 */
import { objectsOf, podsOf } from '../cluster/objects.js';
import { writeOf } from '../request/corridor.js';
import { objectKey } from '../trace/records.js';
import { duration } from '../text/words.js';
import { brokenPod } from './pod.js';
import { outcome, short } from './sentence.js';

/** @typedef {import('./sentence.js').Outcome} Outcome */
/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

/** @type {Record<string, (write: WriteRecord, state: State) => Outcome>} */
const BY_RESOURCE = {
  pods: podOutcome,
  'deployments.apps': deploymentOutcome,
  'replicasets.apps': replicasOutcome,
  'statefulsets.apps': replicasOutcome,
  replicationcontrollers: replicasOutcome,
  'daemonsets.apps': daemonOutcome,
  'jobs.batch': jobOutcome,
  'horizontalpodautoscalers.autoscaling': autoscalerOutcome,
  persistentvolumeclaims: claimOutcome,
  namespaces: namespaceOutcome,
  nodes: nodeOutcome,
};

/** @param {State} state @param {WriteRecord} write @returns {Outcome} */
export function outcomeOf(state, write) {
  const make = BY_RESOURCE[write.resource];
  const { deletionTimestamp, finalizers = [] } = write.object.metadata;
  if (deletionTimestamp && write.resource !== 'namespaces') {
    const held = finalizers.filter(
      (/** @type {string} */ finalizer) => !OWN_FINALIZERS.includes(finalizer),
    );
    if (held.length) return outcome(write, 'unmet', 'held', { finalizers: held.join(', ') });
    const isVictim = condition(write, 'DisruptionTarget')?.reason === 'PreemptionByScheduler';
    return outcome(write, 'underway', isVictim ? 'podPreempted' : 'deleting');
  }
  return make ? make(write, state) : outcome(write, 'met', 'there');
}

/**
 * What became of the object of a command; null when it is gone.
 * @param {import('../trace/index.js').Index} index @param {State} state @param {number} root
 */
export function rootOutcome(index, state, root) {
  const span = index.spans.get(root);
  const written = span && writeOf(span);
  const write = written && objectsOf(state, written.resource).get(written.key);
  return write ? outcomeOf(state, write) : null;
}

// revisions of an object that are looked through for when it went wrong
const LOOK_BACK = 60;
// what the cluster itself puts there and takes away
const OWN_FINALIZERS = ['foregroundDeletion', 'orphan'];

/** @param {WriteRecord} write @param {string} type */
const condition = ({ object }, type) =>
  (object.status?.conditions || []).find((/** @type {any} */ condition) => condition.type === type);

/** Whether a pod is not as wanted. @param {State} state @param {string} key */
export function isBroken(state, key) {
  const write = objectsOf(state, 'pods').get(key);
  return !!write && outcomeOf(state, write).state === 'unmet';
}

// -- pods and what owns them --------------------------------------------------------------------

/** @param {WriteRecord} write @param {State} state */
function podOutcome(write, state) {
  const { spec = {}, status = {} } = write.object;
  if (status.phase === 'Succeeded') return outcome(write, 'met', 'podDone');
  const broken = brokenPod(write, state);
  if (broken) return broken;
  const of = (spec.containers || []).length;
  const list = status.containerStatuses || [];
  const n = list.filter((/** @type {any} */ container) => container.ready).length;
  if (condition(write, 'Ready')?.status === 'True') {
    const again = list.find((/** @type {any} */ container) => container.restartCount);
    return again
      ? outcome(write, 'met', 'podAgain', { n, of, times: again.restartCount })
      : outcome(write, 'met', 'podReady', { n, of });
  }
  const node = status.nominatedNodeName;
  const waits = node ? 'podNominated' : 'podStored';
  if (!spec.nodeName) return outcome(write, 'underway', waits, { node });
  const runs = list.some((/** @type {any} */ container) => container.state?.running);
  return outcome(write, 'underway', runs ? 'podUnready' : 'podStarts', { n, of });
}

/** @param {WriteRecord} write  of a ReplicaSet */
const revisionOf = ({ object }) =>
  Number(object.metadata.annotations?.['deployment.kubernetes.io/revision'] || 0);

/** The outcomes of the pods below an object that are not as wanted. */
function brokenBelow(/** @type {State} */ state, /** @type {string[]} */ owners) {
  const mine = new Set(owners);
  for (const pod of podsOf(state)) {
    if (!mine.has(pod.owner)) continue;
    const write = objectsOf(state, 'pods').get(pod.key);
    const broken = write && !write.object.metadata.deletionTimestamp && brokenPod(write, state);
    if (broken) return broken;
  }
  return null;
}

/** @param {WriteRecord} write @param {State} state */
function deploymentOutcome(write, state) {
  const { spec = {}, status = {}, metadata } = write.object;
  const of = spec.replicas ?? 1;
  const seen = (status.observedGeneration || 0) >= (metadata.generation || 0);
  const sets = [...objectsOf(state, 'replicasets.apps').values()].filter((set) =>
    (set.object.metadata.ownerReferences || []).some((owner) => owner.uid === metadata.uid),
  );
  const uids = sets.map((set) => set.object.metadata.uid);
  const [newest] = sets.sort((a, b) => revisionOf(b) - revisionOf(a));
  const old = sets.reduce((sum, set) => sum + (set.object.status?.replicas || 0), 0);
  const n = newest?.object.status?.readyReplicas || 0;
  const params = { n, of, old: old - (newest?.object.status?.replicas || 0) };
  if (seen && n === of && status.replicas === of && status.availableReplicas === of)
    return outcome(write, 'met', 'ready', params);
  if (seen && of === 0 && !status.replicas) return outcome(write, 'met', 'ready', params);
  const failure = condition(write, 'ReplicaFailure');
  const because = brokenBelow(state, uids);
  const key = params.old ? 'rollout' : 'ready';
  if (because) return { ...outcome(write, 'unmet', key, params), because, next: because.next };
  if (failure?.status === 'True') return failed(write, key, params, failure.message);
  const late = condition(write, 'Progressing');
  if (late?.reason === 'ProgressDeadlineExceeded') return failed(write, key, params, late.message);
  return outcome(write, 'underway', key, params);
}

/**
 * Not as wanted, in upstream's words.
 * @param {WriteRecord} write @param {string} key @param {any} params @param {string} message
 */
const failed = (write, key, params, message) => ({
  ...outcome(write, 'unmet', key, params),
  because: outcome(write, 'unmet', 'says', { message: short(message) }),
});

/** @param {WriteRecord} write @param {State} state */
function replicasOutcome(write, state) {
  const { spec = {}, status = {}, metadata } = write.object;
  return counted(write, state, spec.replicas ?? 1, status.readyReplicas || 0, metadata.uid);
}

/** @param {WriteRecord} write @param {State} state */
function daemonOutcome(write, state) {
  const { status = {}, metadata } = write.object;
  const of = status.desiredNumberScheduled || 0;
  if (!status.observedGeneration) return outcome(write, 'underway', 'ready', { n: 0, of });
  return counted(write, state, of, status.numberReady || 0, metadata.uid);
}

/** @param {WriteRecord} write @param {State} state @param {number} of @param {number} n */
function counted(write, state, of, n, uid = '') {
  const { status = {}, metadata } = write.object;
  const seen = (status.observedGeneration || 0) >= (metadata.generation || 0);
  const there = status.replicas ?? status.currentNumberScheduled ?? 0;
  if (seen && n === of && there === of) return outcome(write, 'met', 'ready', { n, of });
  const because = brokenBelow(state, [uid]);
  if (because)
    return { ...outcome(write, 'unmet', 'ready', { n, of }), because, next: because.next };
  const failure = condition(write, 'ReplicaFailure');
  if (failure?.status === 'True') return failed(write, 'ready', { n, of }, failure.message);
  return outcome(write, 'underway', 'ready', { n, of });
}

/** @param {WriteRecord} write @param {State} state */
function jobOutcome(write, state) {
  const { spec = {}, status = {}, metadata } = write.object;
  const of = spec.completions ?? spec.parallelism ?? 1;
  const params = { n: status.succeeded || 0, of, failed: status.failed || 0 };
  if (condition(write, 'Complete')?.status === 'True')
    return outcome(write, 'met', 'jobDone', params);
  const gone = condition(write, 'Failed') || condition(write, 'FailureTarget');
  if (gone?.status === 'True')
    return outcome(write, 'unmet', 'jobFailed', { ...params, message: short(gone.message) });
  if (spec.suspend) return outcome(write, 'met', 'jobSuspended', params);
  const because = brokenBelow(state, [metadata.uid]);
  if (because) return { ...outcome(write, 'unmet', 'job', params), because, next: because.next };
  return outcome(write, 'underway', 'job', params);
}

// -- others -------------------------------------------------------------------------------------

/** @param {WriteRecord} write */
function autoscalerOutcome(write) {
  const { status = {} } = write.object;
  const able = condition(write, 'AbleToScale');
  const active = condition(write, 'ScalingActive');
  const bad = [able, active].find((condition) => condition?.status === 'False');
  if (bad?.reason === 'ScalingDisabled') return outcome(write, 'met', 'scalingOff');
  if (bad && /metrics API/.test(bad.message || '')) return outcome(write, 'unmet', 'noMetrics');
  if (bad) return outcome(write, 'unmet', 'notScaling', { message: short(bad.message) });
  if (!active) return outcome(write, 'underway', 'scalingFirst');
  const params = { n: status.currentReplicas || 0, of: status.desiredReplicas || 0 };
  return outcome(write, params.n === params.of ? 'met' : 'underway', 'scaling', params);
}

/** @param {WriteRecord} write @param {State} state */
function claimOutcome(write, state) {
  const { spec = {}, status = {} } = write.object;
  const volume = spec.volumeName;
  if (status.phase === 'Bound') return outcome(write, 'met', 'claimBound', { volume });
  if (status.phase === 'Lost') return outcome(write, 'unmet', 'claimLost', { volume });
  const name = spec.storageClassName;
  if (!name) return outcome(write, 'unmet', 'claimNoClass');
  const storageClass = objectsOf(state, 'storageclasses.storage.k8s.io').get(
    objectKey('storageclasses.storage.k8s.io', '', name),
  );
  if (!storageClass) return outcome(write, 'unmet', 'claimClassMissing', { class: name });
  const waits = storageClass.object.volumeBindingMode === 'WaitForFirstConsumer';
  return outcome(write, 'underway', waits ? 'claimWaits' : 'claimPending', { class: name });
}

/** @param {WriteRecord} write @param {State} state */
function namespaceOutcome(write, state) {
  if (!write.object.metadata.deletionTimestamp) return outcome(write, 'met', 'there');
  const left = [];
  for (const [resource, map] of state.objects)
    for (const other of map.values())
      if (other.namespace === write.name && !other.beat) {
        left.push(resource);
        break;
      }
  const gone = state.emptied.get(write.name) || new Set();
  const of = new Set([...left, ...gone]).size;
  const kept = condition(write, 'NamespaceFinalizersRemaining');
  const isHeld = kept?.status === 'True';
  return outcome(write, isHeld ? 'unmet' : 'underway', isHeld ? 'namespaceHeld' : 'namespace', {
    n: of - left.length,
    of,
    message: /finalizers remaining: (\S+)/.exec(kept?.message || '')?.[1] || '',
  });
}

/** @param {WriteRecord} write */
function nodeOutcome(write) {
  const ready = condition(write, 'Ready');
  if (!ready) return outcome(write, 'underway', 'nodeStarts');
  return ready.status === 'True'
    ? outcome(write, 'met', 'nodeReady')
    : outcome(write, 'unmet', 'nodeUnready', { message: short(ready.message) });
}

// -- all of them --------------------------------------------------------------------------------

// of what the cluster itself keeps, only the nodes are looked at
const LOOKED_AT = Object.keys(BY_RESOURCE);

/** @type {{state: State|null, rev: number, found: Summary|null}} */
let asked = { state: null, rev: -1, found: null };

/** @typedef {{unmet: Outcome[], count: number, settled: boolean}} Summary */

/**
 * What is not as wanted, and how many objects there are. A pod, a ReplicaSet or a job that somebody
 * owns is told of by its owner.
 * @param {State} state @returns {Summary}
 */
export function summaryOf(state) {
  if (asked.found && asked.state === state && asked.rev === state.rev) return asked.found;
  /** @type {Outcome[]} */ const unmet = [];
  let count = 0;
  let settled = true;
  for (const resource of LOOKED_AT)
    for (const write of objectsOf(state, resource).values()) {
      const { metadata } = write.object;
      if (write.namespace === 'kube-system') continue;
      if (resource === 'namespaces' && !metadata.deletionTimestamp) continue;
      count += 1;
      const owned = (metadata.ownerReferences || []).some((owner) => owner.controller);
      if (owned && resource !== 'nodes') continue;
      const outcome = outcomeOf(state, write);
      if (outcome.state === 'unmet') unmet.push(outcome);
      if (outcome.state === 'underway') settled = false;
    }
  const summary = { unmet, count, settled };
  asked = { state, rev: state.rev, found: summary };
  return summary;
}

/**
 * The sentence of an outcome.
 * @param {Outcome} outcome @param {import('../text/words.js').Words} words
 * @param {number} now  ms since 1970
 * @returns {string}
 */
export function sayOutcome(outcome, words, now) {
  const text = words.t(outcome.key, outcome.params);
  const because = outcome.because ? sayCause(outcome.because, words) : '';
  const parts = because ? words.t('outcome.because', { text, because }) : text;
  const wait = outcome.next - now;
  if (wait < 1000) return parts;
  const time = duration(Math.round(wait / 1000) * 1e6);
  return words.t('outcome.next', { text: parts, time });
}

/**
 * Of a part of something that says itself how many there are.
 * @param {Outcome} because @param {import('../text/words.js').Words} words
 */
function sayCause({ key, params }, words) {
  const alone = `${key}.alone`;
  return words.t(words.has(alone) ? alone : key, params);
}

/**
 * The record at which it failed: of a pod its newest failed step or placing, else its newest write.
 * @param {import('../trace/index.js').Index} index @param {WriteRecord} write
 */
export function failedAt(index, write) {
  const step = (index.steps.get(write.key) || []).findLast(
    (record) => /** @type {any} */ (record).state === 'fail',
  );
  const tried = index.cycles.get(write.key)?.at(-1);
  const refused = tried?.records.find(
    (record) => record.kind === 'schedule' && record.phase === 'fail',
  );
  return Math.max(step?.seq || 0, refused?.seq || 0) || write.seq;
}

/**
 * Since when it is as it is, virtual µs. What is not as wanted may have been under way in between.
 * @param {import('../trace/index.js').Index} index @param {State} state @param {Outcome} outcome
 */
export function sinceOf(index, state, outcome) {
  const { write } = outcome.because || outcome;
  const history = index.histories.get(write.key) || [];
  let since = write.t;
  for (let i = history.length - 1; i >= 0 && i > history.length - LOOK_BACK; i -= 1) {
    if (history[i].op === 'delete') break;
    const then = outcomeOf(state, history[i]).state;
    if (then === outcome.state) since = history[i].t;
    else if (then === 'met' || outcome.state === 'met') break;
  }
  return since;
}
