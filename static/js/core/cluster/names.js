// @ts-check
/**
 * The names of a Service in the cluster's DNS, and what became of one that was looked up, as steps.
 * Loaded when a Service is looked at first. Pure.
 *
 * Upstream: the specification of DNS-based service discovery, coredns plugin/kubernetes.
 */

import { objectsOf } from './objects.js';

/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {{namespace: string, name: string}} Named */
/** key: who says it
 * @typedef {{name: string, key: string, params?: Record<string, string>}} Name */
/** @typedef {{name: string, type: string, data: string}} DnsRecord */
/** @typedef {{code: string, why: string, about: string, records: DnsRecord[]}} Reply */
/** @typedef {{name: string, domain: string, reply: Reply}} Tried */
/**
 * @typedef {Object} Resolved  what the product API tells of a name
 * @property {string} asked
 * @property {string} namespace  of the pod
 * @property {string} resolv_conf
 * @property {number} ndots
 * @property {string} name
 * @property {string[]} addresses
 * @property {string} source
 * @property {string} server
 * @property {string} service
 * @property {{address: string, port: number, pod: string, node: string}|null} endpoint
 * @property {string} fault
 * @property {Tried[]} tried
 * @property {number} revision
 */
/**
 * @typedef {Object} Step
 * @property {'allow'|'noop'|'skip'|'deny'} verdict
 * @property {string} code  a name or an address that leads it, or nothing
 * @property {string} key
 * @property {Record<string, string|number>} params
 * @property {string} [how]  key of what comes before, of a name that was tried
 * @property {DnsRecord[]} [records]
 */

const DOMAIN = 'svc.cluster.local';
const SLICES = 'endpointslices.discovery.k8s.io';
const OF_SERVICE = 'kubernetes.io/service-name';

/** @param {State} state @param {string} resource */
const stored = (state, resource) => [...objectsOf(state, resource).values()];

/**
 * From the shortest to the full one, and those of the ready pods of a headless Service.
 * @param {State} state @param {Named} service @returns {Name[]}
 */
export function namesOf(state, { namespace, name }) {
  const long = `${name}.${namespace}`;
  /** @type {Name[]} */ const names = [
    { name, key: 'names.own', params: { namespace } },
    ...[long, `${long}.svc`, `${long}.${DOMAIN}`].map((one) => ({ name: one, key: 'names.any' })),
  ];
  const object = stored(state, 'services').find(
    (write) => write.name === name && write.namespace === namespace,
  )?.object;
  if (object?.spec?.clusterIP !== 'None') return names;
  for (const slice of stored(state, SLICES)) {
    const { metadata, endpoints } = slice.object;
    if (slice.namespace !== namespace || metadata.labels?.[OF_SERVICE] !== name) continue;
    for (const { addresses, hostname, conditions } of endpoints || []) {
      if (conditions?.ready === false) continue;
      const host = hostname || addresses[0].replaceAll('.', '-');
      names.push({
        name: `${host}.${long}.${DOMAIN}`,
        key: 'names.endpoint',
        params: { address: addresses[0] },
      });
    }
  }
  return names;
}

/** Where a pod may be that asks. @param {State} state @param {string} own */
export const namespacesOf = (state, own) =>
  [...new Set([own, ...stored(state, 'namespaces').map((write) => write.name)])].sort();

/** In one sentence. @param {Resolved} told @returns {Step} */
export function verdictOf({ asked, addresses, fault, tried, source }) {
  const params = { name: asked, addresses: addresses.join(', ') };
  if (fault) return { verdict: 'deny', code: '', key: 'names.nobody', params };
  if (source !== 'dns') return { verdict: 'allow', code: '', key: `names.by.${source}`, params };
  if (addresses.length) return { verdict: 'allow', code: '', key: 'names.found', params };
  const is = tried.some(({ reply }) => reply.code === 'NOERROR');
  return { verdict: 'skip', code: '', key: is ? 'names.noAddress' : 'names.none', params };
}

/** How it came to that. @param {Resolved} told @returns {Step[]} */
export function stepsOf(told) {
  if (told.source !== 'dns') return [];
  const { asked, namespace, ndots, server, service, endpoint, fault } = told;
  const dots = asked.split('.').length - 1;
  const order = asked.endsWith('.') ? 'only' : dots < ndots ? 'search' : 'first';
  /** @type {Step[]} */ const steps = [
    {
      verdict: 'noop',
      code: '',
      key: `names.order.${order}`,
      params: { namespace, n: dots, ndots },
    },
    {
      verdict: 'noop',
      code: `${server}:53`,
      key: service ? 'names.server' : 'names.alone',
      params: { service },
    },
  ];
  if (fault) {
    const [tried] = told.tried;
    const params = { name: tried.name, service: service || server };
    const key = fault === 'timed out' ? 'names.lost' : 'names.refused';
    return [...steps, { verdict: 'deny', code: tried.name, key, params }];
  }
  if (endpoint)
    steps.push({
      verdict: 'allow',
      code: `${endpoint.address}:${endpoint.port}`,
      key: 'names.answers',
      params: { pod: endpoint.pod, node: endpoint.node },
    });
  return [...steps, ...told.tried.map(stepOf)];
}

/** @param {Tried} tried @returns {Step} */
function stepOf({ name, domain, reply }) {
  const { code, why, about, records } = reply;
  return {
    verdict: records.some(({ type }) => type === 'A') ? 'allow' : 'skip',
    code: name,
    key: `names.why.${why}`,
    params: { about, domain, rcode: code },
    how: domain ? 'names.searched' : 'names.asIs',
    records,
  };
}
