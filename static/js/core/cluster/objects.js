// @ts-check
/**
 * What the map and the object tree show, read from a State: nodes, pods, owners, counts.
 * Pure; results are remembered per stored object, which never changes.
 */
import { componentOf, lanesAtRest } from '../trace/facts.js';
import { kindOf, objectKey } from '../trace/records.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

/**
 * @typedef {Object} Pod
 * @property {string} key
 * @property {string} namespace
 * @property {string} name
 * @property {string} short      the part that tells it from its siblings
 * @property {string} node
 * @property {string} ip
 * @property {string} image
 * @property {'stored'|'bound'|'running'|'ready'|'succeeded'|'failed'|'ending'} stage
 * @property {string} reason     the container's waiting or ending reason, if it has one
 * @property {string} stuck       why no node can take it, in upstream's words
 * @property {boolean} system
 * @property {number} rev
 * @property {string} owner      uid of its controller
 */

/** @type {WeakMap<object, Pod>} */
const pods = new WeakMap();
const NONE = new Map();
/** many views ask for the pods of one and the same state */
let asked = { map: NONE, rev: -1, list: /** @type {Pod[]} */ ([]) };

/** @param {State} state @param {string} resource @returns {Map<string, WriteRecord>} */
export function objectsOf(state, resource) {
  return state.objects.get(resource) || NONE;
}

/** Every object that is known; of heartbeats the time alone may have come. @param {State} state */
export function everyObject(state) {
  /** @type {WriteRecord[]} */ const list = [];
  for (const map of state.objects.values())
    for (const write of map.values()) if (write.object?.metadata) list.push(write);
  return list;
}

/** @param {WriteRecord} write @returns {Pod} */
export function podOf(write) {
  const kept = pods.get(write);
  if (kept) return kept;
  const { metadata, spec = {}, status = {} } = write.object;
  const owner = (metadata.ownerReferences || []).find((/** @type {any} */ o) => o.controller);
  const container = (status.containerStatuses || [])[0] || {};
  const bad = container.state && (container.state.waiting || container.state.terminated);
  /** @type {Pod} */
  const pod = {
    key: write.key,
    namespace: write.namespace,
    name: write.name,
    short: owner && owner.kind === 'ReplicaSet' ? shortPod(write.name) : write.name,
    node: spec.nodeName || '',
    ip: status.podIP || '',
    image: ((spec.containers || [])[0] || {}).image || '',
    stage: stageOf(metadata, spec, status),
    reason: (bad && bad.reason) || status.reason || '',
    stuck: spec.nodeName ? '' : unschedulable(status),
    system: write.namespace === 'kube-system',
    rev: write.rev,
    owner: owner ? owner.uid : '',
  };
  pods.set(write, pod);
  return pod;
}

/** @param {any} status */
function unschedulable(status) {
  const condition = (status.conditions || []).find(
    (/** @type {any} */ c) => c.type === 'PodScheduled',
  );
  return condition && condition.status === 'False'
    ? condition.message || condition.reason || ''
    : '';
}

/** @param {any} metadata @param {any} spec @param {any} status @returns {Pod['stage']} */
function stageOf(metadata, spec, status) {
  if (metadata.deletionTimestamp) return 'ending';
  if (status.phase === 'Failed') return 'failed';
  if (status.phase === 'Succeeded') return 'succeeded';
  const ready = (status.conditions || []).some(
    (/** @type {any} */ c) => c.type === 'Ready' && c.status === 'True',
  );
  if (ready) return 'ready';
  if (status.phase === 'Running') return 'running';
  return spec.nodeName ? 'bound' : 'stored';
}

// what upstream's names.SimpleNameGenerator adds: five of the letters and digits of its alphabet
const GENERATED = /-([bcdfghjklmnpqrstvwxz2456789]{5})$/;

/**
 * What tells a pod from its like: the end that was made up for it, or else its name.
 * @param {string} key  its name, or `namespace/name`
 */
export function shortPod(key) {
  const name = key.slice(key.lastIndexOf('/') + 1);
  return GENERATED.exec(name)?.[1] || name;
}

/** @param {State} state @returns {Pod[]} in order of creation */
export function podsOf(state) {
  const map = objectsOf(state, 'pods');
  if (asked.map === map && asked.rev === state.rev) return asked.list;
  const list = [];
  for (const write of map.values()) list.push(podOf(write));
  asked = { map, rev: state.rev, list };
  return list;
}

/**
 * @typedef {Object} Node
 * @property {string} name
 * @property {string} ip
 * @property {string} cpu
 * @property {string} memory
 * @property {string} cidr
 * @property {string[]} taints
 * @property {boolean} ready
 * @property {string} why  the kubelet's message while it is not ready
 * @property {boolean} cordoned
 * @property {number} renewed  virtual µs of its last lease renewal, 0 when never seen
 * @property {Pod[]} pods
 */

/** @param {State} state @returns {Node[]} */
export function nodesOf(state) {
  /** @type {Map<string, Node>} */ const byName = new Map();
  for (const write of objectsOf(state, 'nodes').values()) {
    byName.set(write.name, nodeOf(state, write));
  }
  for (const pod of podsOf(state)) byName.get(pod.node)?.pods.push(pod);
  return [...byName.values()].sort((a, b) => compareNames(a.name, b.name));
}

/** @param {State} state @param {WriteRecord} write @returns {Node} */
function nodeOf(state, write) {
  const { spec = {}, status = {} } = write.object || {};
  const address = (status.addresses || []).find((/** @type {any} */ a) => a.type === 'InternalIP');
  const ready = (status.conditions || []).find((/** @type {any} */ c) => c.type === 'Ready');
  const lease = objectsOf(state, 'leases.coordination.k8s.io').get(
    objectKey('leases.coordination.k8s.io', 'kube-node-lease', write.name),
  );
  return {
    name: write.name,
    ip: address ? address.address : '',
    cpu: (status.capacity || {}).cpu || '',
    memory: readableMemory((status.capacity || {}).memory || ''),
    cidr: spec.podCIDR || '',
    taints: (spec.taints || []).map(taintText),
    ready: ready?.status === 'True',
    why: ready?.status === 'True' ? '' : ready?.message || '',
    cordoned: !!spec.unschedulable,
    renewed: lease ? lease.t : 0,
    pods: [],
  };
}

/** @param {any} taint */
function taintText(taint) {
  return `${taint.key}${taint.value ? `=${taint.value}` : ''}:${taint.effect}`;
}

/** "8Gi" and "8388608Ki" both read 8 GiB. @param {string} quantity */
function readableMemory(quantity) {
  const match = /^(\d+)(Ki|Mi|Gi)?$/.exec(quantity);
  if (!match) return quantity;
  const bytes = Number(match[1]) * 1024 ** ['', 'Ki', 'Mi', 'Gi'].indexOf(match[2] || '');
  const gib = bytes / 1024 ** 3;
  if (gib >= 1) return `${Math.round(gib * 10) / 10} GiB`;
  return `${Math.round(bytes / 1024 ** 2)} MiB`;
}

/** node-2 before node-10. @param {string} a @param {string} b */
export function compareNames(a, b) {
  return a.localeCompare(b, 'en', { numeric: true });
}

/** How many pods are at each stage. @param {Pod[]} list */
export function countStages(list) {
  const counts = { stored: 0, bound: 0, running: 0, ready: 0, succeeded: 0, failed: 0, ending: 0 };
  for (const pod of list) counts[pod.stage] += 1;
  return counts;
}

// -- objects by ownership -----------------------------------------------------------------------

/**
 * @typedef {Object} TreeItem
 * @property {string} key
 * @property {string} kind
 * @property {string} name
 * @property {number} rev
 * @property {WriteRecord} write
 * @property {Pod|null} pod
 * @property {TreeItem[]} kids
 */

const TREE = Object.freeze([
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'pods',
  'services',
  'configmaps',
  'secrets',
  'persistentvolumeclaims',
  'ingresses.networking.k8s.io',
  'horizontalpodautoscalers.autoscaling',
  'limitranges',
  'resourcequotas',
]);
// made for every namespace by the cluster itself
const OWN = new Set(['configmaps/default/kube-root-ca.crt']);

/** Resources that a definition made. @param {State} state @returns {string[]} */
function customOf(state) {
  const definitions = objectsOf(state, 'customresourcedefinitions.apiextensions.k8s.io');
  return [...definitions.values()].map((write) => write.name).sort();
}

/** Objects of a namespace, each below its controller. @param {State} state @param {string} ns */
export function ownerTree(state, ns) {
  /** @type {Map<string, TreeItem>} */ const byUid = new Map();
  /** @type {TreeItem[]} */ const items = [];
  for (const resource of [...TREE, ...customOf(state)]) {
    for (const write of objectsOf(state, resource).values()) {
      if (write.namespace !== ns || OWN.has(write.key)) continue;
      const item = {
        key: write.key,
        kind: kindOf(resource),
        name: write.name,
        rev: write.rev,
        write,
        pod: resource === 'pods' ? podOf(write) : null,
        kids: [],
      };
      items.push(item);
      byUid.set(write.object?.metadata?.uid || write.key, item);
    }
  }
  return items.filter((item) => {
    const owner = (item.write.object?.metadata?.ownerReferences || []).find(
      (/** @type {any} */ o) => o.controller,
    );
    const parent = owner && byUid.get(owner.uid);
    if (parent) parent.kids.push(item);
    return !parent;
  });
}

/** Namespaces that hold something a user made, default first. @param {State} state */
export function namespacesOf(state) {
  const names = new Set(['default']);
  for (const write of objectsOf(state, 'namespaces').values()) {
    if (!write.name.startsWith('kube-')) names.add(write.name);
  }
  return [...names];
}

// -- components ---------------------------------------------------------------------------------

/**
 * How much a component has in each of its caches.
 * @param {Index} index @param {State} state @param {string} component
 * @returns {{resource:string, count:number}[]}
 */
export function cacheOf(index, state, component) {
  const { reads = [] } = componentOf(index, component);
  return reads.map((resource) => ({ resource, count: objectsOf(state, resource).size }));
}

/**
 * The controllers to draw: the usual ones, and the one that works now if it is another. Where the
 * trace does not tell the usual ones, those that had work first.
 * @param {Index} index @param {State} state @param {string} busy @param {number} most
 */
export function lanesOf(index, state, busy, most) {
  const working = [...state.queues.keys()].filter(isController);
  const usual = lanesAtRest(index);
  const lanes = (usual.length ? usual : working).slice(0, most);
  if (busy && isController(busy) && !lanes.includes(busy))
    lanes[Math.max(0, lanes.length - 1)] = busy;
  const all = new Set([...state.components.keys(), ...working, ...usual]);
  const others = [...all].filter((name) => !lanes.includes(name) && isController(name));
  return { lanes, others };
}

const NO_CONTROLLER = new Set(['scheduler', 'apiserver', 'etcd', 'etcdctl']);

/** @param {string} component */
export const isController = (component) =>
  !component.includes('/') && !NO_CONTROLLER.has(component);

/** @param {State} state @param {string} component */
export function queueOf(state, component) {
  const queue = state.queues.get(component);
  return { length: queue ? queue.length : 0, open: state.working.get(component) || [] };
}

/** The kubelet's stops of one pod at a seq. */
export function stepsOf(
  /** @type {import('../trace/index.js').Index} */ index,
  /** @type {string} */ key,
  /** @type {number} */ seq,
) {
  /** @type {Map<string, {state:string, record:any, began:any}>} */ const steps = new Map();
  for (const record of index.steps.get(key) || []) {
    if (record.seq > seq) break;
    const { step, state } = /** @type {any} */ (record);
    const began = state === 'begin' ? record : steps.get(step)?.began;
    steps.set(step, { state, record, began });
  }
  return steps;
}

/**
 * The stops that were passed before what is known begins: those ahead of one that is recorded, and
 * all of a pod that runs.
 * @param {Map<string, any>} steps @param {string[]} stops @param {boolean} [runs]
 */
export function passedUnseen(steps, stops, runs = false) {
  const last = runs ? stops.length : stops.findLastIndex((step) => steps.has(step));
  return new Set(stops.slice(0, Math.max(0, last)).filter((step) => !steps.has(step)));
}
