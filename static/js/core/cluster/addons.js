// @ts-check
/**
 * Whether an add-on is there, read from the cluster's objects, and the requests that remove it.
 * Pure.
 */
import { compareNames, objectsOf } from './objects.js';
import { objectKey, pluralOf } from '../trace/records.js';

/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../commands/acts.js').ObjectRequest} ObjectRequest */
/**
 * @typedef {Object} Part  one object of an add-on
 * @property {string} kind
 * @property {string} api_version
 * @property {string} resource  as in records
 * @property {string} namespace
 * @property {string} name
 */
/** @typedef {{name: string, manifest: string, objects: Part[]}} Addon */
/**
 * @typedef {Object} Pod
 * @property {string} key
 * @property {string} name
 * @property {string} node
 * @property {boolean} isReady
 * @property {string} reason  why it is not, in upstream's words
 */
/**
 * @typedef {Object} Standing
 * @property {'none'|'part'|'leaving'|'idle'|'starting'|'running'} state
 * @property {number} there  how many of its objects are
 * @property {number} ready  of its pods
 * @property {number} wanted
 * @property {Pod[]} pods
 */

const WORKLOADS = ['deployments.apps', 'daemonsets.apps'];

/** @param {State} state @param {Part} part @returns {WriteRecord|undefined} what is stored */
export const found = (state, { resource, namespace, name }) =>
  objectsOf(state, resource).get(objectKey(resource, namespace, name));

/** @param {State} state @param {Addon} addon @returns {Standing} */
export function standingOf(state, { objects }) {
  const stored = objects.flatMap((part) => found(state, part)?.object || []);
  const part = objects.find(({ resource }) => WORKLOADS.includes(resource));
  const workload = part && found(state, part)?.object;
  const there = stored.length;
  if (!part || !workload) {
    return { state: there ? 'part' : 'none', there, ready: 0, wanted: 0, pods: [] };
  }
  const { spec = {}, status = {} } = workload;
  const isDaemonSet = workload.kind === 'DaemonSet';
  const wanted = isDaemonSet ? status.desiredNumberScheduled || 0 : (spec.replicas ?? 1);
  const ready = Math.min(wanted, (isDaemonSet ? status.numberReady : status.readyReplicas) || 0);
  const pods = podsOf(state, part.namespace, spec.selector.matchLabels);
  const leaves = stored.some(({ metadata }) => metadata.deletionTimestamp);
  const runs = ready < wanted || (isDaemonSet && !wanted) ? 'starting' : 'running';
  return {
    state: leaves ? 'leaving' : !wanted && !isDaemonSet ? 'idle' : runs,
    there,
    ready,
    wanted,
    pods,
  };
}

/**
 * The pods with all these labels, by name.
 * @param {State} state @param {string} namespace @param {Record<string, string>} labels
 */
function podsOf(state, namespace, labels) {
  /** @type {Pod[]} */ const pods = [];
  for (const { object, key, name } of objectsOf(state, 'pods').values()) {
    if (!object?.metadata || object.metadata.namespace !== namespace) continue;
    const { metadata, spec = {}, status = {} } = object;
    if (Object.entries(labels).some(([label, value]) => metadata.labels?.[label] !== value))
      continue;
    const isReady = (status.conditions || []).some(
      (/** @type {any} */ one) => one.type === 'Ready' && one.status === 'True',
    );
    const waiting = status.containerStatuses?.[0]?.state?.waiting?.reason;
    const unbound = (status.conditions || []).find(
      (/** @type {any} */ one) => one.type === 'PodScheduled' && one.status === 'False',
    );
    const leaves = metadata.deletionTimestamp ? 'Terminating' : '';
    const reason = leaves || waiting || unbound?.reason || status.phase || '';
    pods.push({ key, name, node: spec.nodeName || '', isReady: isReady && !leaves, reason });
  }
  return pods.sort((a, b) => compareNames(a.name, b.name));
}

/** What kubectl delete -f sends for an object. @param {Part} part @returns {ObjectRequest} */
export const removal = ({ api_version, resource, namespace, name }) => ({
  verb: 'delete',
  api_version,
  resource: pluralOf(resource),
  subresource: '',
  namespace,
  name,
  patch: { propagationPolicy: 'Background' },
});

/** What kubectl says once an object is deleted. @param {Part} part */
export function removed({ kind, api_version, name }) {
  const group = api_version.includes('/') ? `.${api_version.split('/', 1)[0]}` : '';
  return `${kind.toLowerCase()}${group} "${name}" deleted`;
}
