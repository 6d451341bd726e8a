// @ts-check
/**
 * The services of a State with what their EndpointSlices name, as kube-proxy reads them, and which
 * pods get no requests. Pure.
 */
import { compareNames, objectsOf, podOf } from './objects.js';
import { objectKey } from '../trace/records.js';
import { streamOf } from './streams.js';

/**
 * @typedef {Object} Endpoint
 * @property {string} address
 * @property {string} pod     '' for one that is no pod
 * @property {boolean} ready  whether it is sent requests
 */
/**
 * @typedef {Object} Service
 * @property {string} key
 * @property {string} name
 * @property {string} namespace
 * @property {string} ip
 * @property {string} ports
 * @property {number} port  the first, 0 for none
 * @property {string} selector
 * @property {Endpoint[]} endpoints
 * @property {LeftOut[]} out
 * @property {number} rev   the newest of its slices
 */
/** @typedef {{pod: string, why: 'ending'|'finished'|'starting'|'unready'|'unlisted'}} LeftOut */
/** @typedef {{clusterIP?: string, selector?: Record<string, string>,
 *   ports?: {port: number, protocol?: string}[]}} Spec */
/** @typedef {{addresses: string[], targetRef?: {name: string}, conditions?: {ready?: boolean}}}
 *   Stored */

const SYSTEM = 'kube-system';
const OF_SERVICE = 'kubernetes.io/service-name';

/**
 * Those that select pods, without the cluster's own.
 * @param {import('../trace/reducer.js').State} state
 */
export function servicesOf(state) {
  const slices = [...objectsOf(state, 'endpointslices.discovery.k8s.io').values()];
  /** @type {Service[]} */ const services = [];
  for (const { key, name, namespace, object } of objectsOf(state, 'services').values()) {
    /** @type {Spec} */ const spec = object.spec || {};
    if (namespace === SYSTEM || !spec.selector) continue;
    const own = slices.filter(
      (slice) =>
        slice.namespace === namespace && slice.object.metadata.labels?.[OF_SERVICE] === name,
    );
    const endpoints = own.flatMap((slice) => (slice.object.endpoints || []).map(endpointOf));
    services.push({
      key,
      name,
      namespace,
      port: spec.ports?.[0]?.port || 0,
      selector: Object.entries(spec.selector)
        .map((pair) => pair.join('='))
        .join(', '),
      ip: spec.clusterIP || '',
      ports: (spec.ports || []).map((port) => `${port.port}/${port.protocol || 'TCP'}`).join(', '),
      endpoints,
      out: leftOut(state, namespace, spec.selector, endpoints),
      rev: Math.max(0, ...own.map((slice) => slice.rev)),
    });
  }
  return services.sort((a, b) => compareNames(a.name, b.name));
}

/** An endpoint of which nothing is said is ready. @param {Stored} stored @returns {Endpoint} */
const endpointOf = ({ addresses, targetRef, conditions }) => ({
  address: addresses[0],
  pod: targetRef?.name || '',
  ready: conditions?.ready !== false,
});

/**
 * The pods that the selector finds and that get no requests, each with the reason.
 * @param {import('../trace/reducer.js').State} state @param {string} namespace
 * @param {Record<string, string>} selector @param {Endpoint[]} endpoints
 */
function leftOut(state, namespace, selector, endpoints) {
  const ready = new Set(
    endpoints.filter((endpoint) => endpoint.ready).map((endpoint) => endpoint.pod),
  );
  /** @type {LeftOut[]} */ const out = [];
  for (const write of objectsOf(state, 'pods').values()) {
    const labels = write.object.metadata.labels || {};
    const isMeant = Object.entries(selector).every(([name, value]) => labels[name] === value);
    if (!isMeant || write.namespace !== namespace || ready.has(write.name)) continue;
    out.push({ pod: write.name, why: WHY[podOf(write).stage] });
  }
  return out;
}

/** @type {Record<import('./objects.js').Pod['stage'], LeftOut['why']>} */
const WHY = {
  ending: 'ending',
  succeeded: 'finished',
  failed: 'finished',
  stored: 'starting',
  bound: 'starting',
  running: 'unready',
  ready: 'unlisted', // the controller has not written it into a slice yet
};

/**
 * @typedef {Object} Sent  a request to a service by the API server's proxy
 * @property {import('../trace/index.js').RequestSpan} span
 * @property {string} key   of the service
 * @property {string} pod   who it was passed on to, '' for nobody
 * @property {string} node
 * @property {number} code  0 while there is no answer
 * @property {string} why   of a refusal
 */

/**
 * The request where we are, if it goes to a service.
 * @param {import('../trace/reducer.js').State} state
 * @param {import('../trace/index.js').RequestSpan|null} span
 * @returns {Sent|null}
 */
export function sentAt(state, span) {
  const open = span?.open;
  if (!open || open.resource !== 'services' || open.subresource !== 'proxy') return null;
  const stream = streamOf(state, span);
  const parts = open.name.split(':');
  const close = span.close && span.close.seq <= state.seq ? span.close : null;
  return {
    span,
    key: objectKey('services', open.namespace, parts.length > 2 ? parts[1] : parts[0]),
    pod: (stream?.detail.to || '').split(':')[0],
    node: stream?.node || '',
    code: close?.code || 0,
    why: stream?.detail.why || close?.message || '',
  };
}
