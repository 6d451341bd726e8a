// @ts-check
/** The services of a State with what their EndpointSlices name, as kube-proxy reads them. Pure. */
import { compareNames, objectsOf } from './cluster.js';

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
 * @property {string} ip
 * @property {string} ports
 * @property {Endpoint[]} endpoints
 * @property {number} rev   the newest of its slices
 */
/** @typedef {{clusterIP?: string, selector?: object, ports?: {port: number, protocol?: string,
 *   targetPort?: number|string}[]}} Spec */
/** @typedef {{addresses: string[], targetRef?: {name: string}, conditions?: {ready?: boolean}}}
 *   Stored */

const SYSTEM = 'kube-system';
const OF_SERVICE = 'kubernetes.io/service-name';

/**
 * Those that select pods, without the cluster's own.
 * @param {import('./reducer.js').State} state
 */
export function servicesOf(state) {
  const slices = [...objectsOf(state, 'endpointslices.discovery.k8s.io').values()];
  /** @type {Service[]} */ const services = [];
  for (const { key, name, namespace, object } of objectsOf(state, 'services').values()) {
    /** @type {Spec} */ const spec = object.spec || {};
    if (namespace === SYSTEM || !spec.selector) continue;
    const own = slices.filter(
      (one) => one.namespace === namespace && one.object.metadata.labels?.[OF_SERVICE] === name,
    );
    services.push({
      key,
      name,
      ip: spec.clusterIP || '',
      ports: (spec.ports || []).map((one) => `${one.port}/${one.protocol || 'TCP'}`).join(', '),
      endpoints: own.flatMap((one) => (one.object.endpoints || []).map(endpointOf)),
      rev: Math.max(0, ...own.map((one) => one.rev)),
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
