// @ts-check
/**
 * What can be done with an object: the line of kubectl it stands for, what kubectl says of it, and
 * the request that is sent. Pure; decides nothing about the object: that is the API server's.
 */
import { everyObject } from '../cluster/objects.js';
import { kindOf, pluralOf } from '../trace/records.js';

/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../trace/reducer.js').State} State */

/**
 * @typedef {Object} ObjectRequest
 * @property {'update'|'patch'|'delete'} verb
 * @property {string} api_version
 * @property {string} resource   the plural
 * @property {''|'scale'} subresource
 * @property {string} namespace
 * @property {string} name
 * @property {Record<string, any>} patch
 * @property {string} [manifest]  of an update
 * @property {boolean} [dry_run]  nothing is stored
 */
/**
 * @typedef {Object} Act
 * @property {'replace'|'scale'|'restart'|'cordon'|'uncordon'|'delete'} name
 * @property {string} command  as it is typed
 * @property {string} said     what kubectl prints when it is done
 * @property {ObjectRequest} request
 */

const SCALED = ['deployments.apps', 'replicasets.apps', 'statefulsets.apps'];
const RESTARTED = ['deployments.apps', 'daemonsets.apps', 'statefulsets.apps'];
const RESTARTED_AT = 'kubectl.kubernetes.io/restartedAt';

/** @param {WriteRecord} write */
export const isScaled = ({ resource }) =>
  SCALED.includes(resource) || resource === 'replicationcontrollers';

/** @param {WriteRecord} write */
export const replicasOf = ({ object }) => object.spec?.replicas ?? 1;

/**
 * In the order of a menu.
 * @param {WriteRecord} write  the newest of the object
 * @param {{replicas: number, now: number}} given  to scale to; ms since 1970
 * @returns {Act[]}
 */
export function actsOf(write, { replicas, now }) {
  const { resource, name, object } = write;
  const { what, full, line } = namesOf(write);
  const patch = (/** @type {any} */ body) => requestOf(write, 'patch', body);
  /** @type {Act[]} */ const acts = [];
  if (isScaled(write))
    acts.push({
      name: 'scale',
      command: line(`scale ${what} --replicas=${replicas}`),
      said: `${full} scaled`,
      request: { ...patch({ spec: { replicas } }), subresource: 'scale' },
    });
  if (RESTARTED.includes(resource)) {
    const at = new Date(now).toISOString().replace(/\.\d+/, '');
    acts.push({
      name: 'restart',
      command: line(`rollout restart ${what}`),
      said: `${full} restarted`,
      request: patch({ spec: { template: { metadata: { annotations: { [RESTARTED_AT]: at } } } } }),
    });
  }
  if (resource === 'nodes') {
    const isCordoned = !!object.spec?.unschedulable;
    const verb = isCordoned ? 'uncordon' : 'cordon';
    acts.push({
      name: verb,
      command: `kubectl ${verb} ${name}`,
      said: `${full} ${verb}ed`,
      request: patch({ spec: { unschedulable: isCordoned ? null : true } }),
    });
  }
  acts.push({
    name: 'delete',
    command: line(`delete ${what}`),
    said: `${full.replace('/', ' "')}" deleted`,
    request: requestOf(write, 'delete', { propagationPolicy: 'Background' }),
  });
  return acts;
}

/** The line of kubectl that opens an editor. @param {WriteRecord} write */
export const editLine = (write) => {
  const { what, line } = namesOf(write);
  return line(`edit ${what}`);
};

/** @param {WriteRecord} write @param {string} manifest  all of it @returns {Act} */
export function replaceAct(write, manifest) {
  const { full, line } = namesOf(write);
  const request = { ...requestOf(write, 'update', {}), manifest };
  return { name: 'replace', command: line('replace -f -'), said: `${full} replaced`, request };
}

/** How kubectl takes an object, how it prints it, and a whole line about it. */
function namesOf(/** @type {WriteRecord} */ { resource, namespace, name, object }) {
  const kind = kindOf(resource).toLowerCase();
  const group = object.apiVersion?.includes('/') ? `.${object.apiVersion.split('/')[0]}` : '';
  const scope = namespace ? `-n ${namespace} ` : '';
  return {
    what: `${kind}/${name}`,
    full: `${kind}${group}/${name}`,
    line: (/** @type {string} */ rest) => `kubectl ${scope}${rest}`,
  };
}

/** @returns {ObjectRequest} */
function requestOf(
  /** @type {WriteRecord} */ { resource, namespace, name, object },
  /** @type {ObjectRequest['verb']} */ verb,
  /** @type {any} */ patch,
) {
  const known = { api_version: object.apiVersion || 'v1', resource: pluralOf(resource) };
  return { verb, ...known, subresource: '', namespace, name, patch };
}

/**
 * What is deleted with an object: what it owns, and what is in a namespace; how many of each kind.
 * @param {State} state @param {WriteRecord} write @returns {[kind: string, count: number][]}
 */
export function goesWith(state, write) {
  const gone = new Set([write.object.metadata.uid]);
  /** @type {Map<string, number>} */ const counts = new Map();
  const all = everyObject(state);
  for (let before = 0; before < gone.size;) {
    before = gone.size;
    for (const below of all) {
      const { uid, ownerReferences = [] } = below.object.metadata;
      const isIn = write.resource === 'namespaces' && below.namespace === write.name;
      if (gone.has(uid) || !(isIn || ownerReferences.some((owner) => gone.has(owner.uid))))
        continue;
      gone.add(uid);
      const kind = kindOf(below.resource);
      counts.set(kind, (counts.get(kind) || 0) + 1);
    }
  }
  return [...counts];
}
