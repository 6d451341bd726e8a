// @ts-check
/**
 * The records of a trace as the feed sends them, and what class each request belongs to.
 * Knows the wire format only; holds no state and touches no DOM.
 */

/** @typedef {import('../../types.js').TraceRecord} TraceRecord */
/**
 * A write, and what the page adds to it: the key of its object, and whether it is a heartbeat. One
 * of a keyframe says itself who made it, and what it goes back to.
 * @typedef {import('../../types.js').WriteRecord & {key: string, beat: boolean, client?: string,
 *   roots?: number[]}} WriteRecord
 */

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

/** @type {Map<string, string>} resource -> kind, as the server and its objects tell */
const met = new Map();

/** What kind a resource has, by an object of it. @param {string} resource @param {any} object */
export function meet(resource, object) {
  if (object?.kind && !met.has(resource)) met.set(resource, object.kind);
}

/** The kind that a resource stands for; its plural when nobody told. */
export function kindOf(/** @type {string} */ resource) {
  return met.get(resource) || plural(resource);
}
