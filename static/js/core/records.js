// @ts-check
/**
 * The records of a trace as the feed sends them, and what class each request belongs to.
 * Knows the wire format only; holds no state and touches no DOM.
 */

/**
 * @typedef {Object} TraceRecord  one line of a trace; fields beyond these depend on `kind`
 * @property {number} seq    1, 2, 3, ... without gaps
 * @property {number} t      virtual µs since the trace's epoch
 * @property {string} kind
 * @property {number} span   seq of the request or work it belongs to, 0 for none
 * @property {any} [object]  of a write: the object as stored at that revision
 * @property {any} [detail]
 */

/** @typedef {TraceRecord & {rev:number, op:string, resource:string, namespace:string, name:string,
 *   prev:number, subresource:string, key:string, beat:boolean}} WriteRecord */

/** Gates in the order a request meets them. */
export const GATES = Object.freeze([
  'authentication',
  'audit',
  'flowcontrol',
  'authorization',
  'routing',
  'decode',
  'mutating',
  'prepare',
  'validation',
  'validating',
  'etcd',
]);

/** Gates a read passes: it is answered after routing. */
export const READ_GATES = Object.freeze(GATES.slice(0, 5));

/** A kubelet's stops on the way up, in their real order. */
export const POD_STEPS = Object.freeze([
  'volumes',
  'sandbox',
  'network',
  'image',
  'container',
  'ready',
]);

const CHANGING = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);
const REVIEW =
  /^(token|selfsubject|localsubjectaccess|subjectaccess|selfsubjectrules)[a-z]*reviews/;

/** @param {string} resource */
const plural = (resource) => (resource || '').split('.', 1)[0];

/**
 * Heartbeats tell only that somebody is alive: leases, and a node's own status.
 * @param {string} resource @param {string} subresource @param {string} verb
 */
export function isBeat(resource, subresource, verb) {
  const name = plural(resource);
  if (name === 'leases') return true;
  return name === 'nodes' && subresource === 'status' && verb !== 'create';
}

/**
 * beat: a heartbeat. read: changes nothing. minor: changes something nobody waits for.
 * change: what the page follows.
 * @param {{verb:string, resource:string, subresource:string}} request
 * @returns {'beat'|'read'|'minor'|'change'}
 */
export function requestClass(request) {
  const { verb, resource, subresource } = request;
  if (!CHANGING.has(verb) || !resource) return 'read';
  if (isBeat(resource, subresource, verb)) return 'beat';
  const name = plural(resource);
  if (REVIEW.test(name) || subresource === 'token') return 'read';
  return name === 'events' ? 'minor' : 'change';
}

/** One key for one object: what the log, the caches and the page call it. */
export function objectKey(
  /** @type {string} */ resource,
  /** @type {string} */ namespace,
  /** @type {string} */ name,
) {
  return `${resource}/${namespace || ''}/${name}`;
}

/**
 * Some components say `namespace/name`, some only a name.
 * @param {string} resource @param {string} text
 */
export function keyOf(resource, text) {
  const at = text.indexOf('/');
  return at < 0
    ? objectKey(resource, '', text)
    : objectKey(resource, text.slice(0, at), text.slice(at + 1));
}

/** The resource a component's work keys name, where it is one. */
export const WORK_RESOURCE = Object.freeze({
  scheduler: 'pods',
  deployment: 'deployments.apps',
  replicaset: 'replicasets.apps',
  endpointslice: 'services',
  namespace: 'namespaces',
  serviceaccount: 'namespaces',
  rootca: 'namespaces',
});

/** @param {string} component */
export function workResource(component) {
  if (component.startsWith('kubelet/')) return 'pods';
  return /** @type {Record<string,string>} */ (WORK_RESOURCE)[component] || '';
}

/** "kubelet/node-1" -> "node-1"; anything else as it is. @param {string} component */
export function laneOf(component) {
  return component.startsWith('kubelet/') ? component.slice(8) : component;
}

const HTTP = Object.freeze({
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
  get: 'GET',
  list: 'GET',
  watch: 'GET',
});

/** The HTTP method of an API verb. @param {string} verb */
export function httpMethod(verb) {
  return /** @type {Record<string,string>} */ (HTTP)[verb] || verb.toUpperCase();
}

/** "deployments.apps" -> "deployments" @param {string} resource */
export const pluralOf = plural;

const KINDS = Object.freeze({
  pods: 'Pod',
  deployments: 'Deployment',
  replicasets: 'ReplicaSet',
  services: 'Service',
  nodes: 'Node',
  events: 'Event',
  leases: 'Lease',
  namespaces: 'Namespace',
  secrets: 'Secret',
  configmaps: 'ConfigMap',
  serviceaccounts: 'ServiceAccount',
  endpoints: 'Endpoints',
  endpointslices: 'EndpointSlice',
  statefulsets: 'StatefulSet',
  daemonsets: 'DaemonSet',
  jobs: 'Job',
  cronjobs: 'CronJob',
  roles: 'Role',
  rolebindings: 'RoleBinding',
  clusterroles: 'ClusterRole',
  clusterrolebindings: 'ClusterRoleBinding',
  persistentvolumes: 'PersistentVolume',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  limitranges: 'LimitRange',
  resourcequotas: 'ResourceQuota',
  ingresses: 'Ingress',
});

/** @type {Map<string, string>} resource -> kind, as objects that were written say */
const met = new Map();

/** An object says what kind its resource has. @param {string} resource @param {any} object */
export function meet(resource, object) {
  if (object?.kind && !met.has(resource)) met.set(resource, object.kind);
}

/** The kind that a resource stands for; its plural when no object of it was met. */
export function kindOf(/** @type {string} */ resource) {
  const name = plural(resource);
  return met.get(resource) || /** @type {Record<string,string>} */ (KINDS)[name] || name;
}
