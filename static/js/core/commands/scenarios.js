// @ts-check
/**
 * What one can begin with, by theme: the manifest that is sent and as whom, where the cluster stops
 * on the way, and how long the page takes to tell it. A scenario is a row here, its words, no code.
 * Pure.
 */
import { nodesOf, objectsOf } from '../cluster/objects.js';
import { isAtRest } from '../explain/rest.js';

/** @typedef {import('../trace/reducer.js').State} State */

/**
 * @typedef {Object} Scenario
 * @property {string} name     of its words, `cards.<name>`
 * @property {string} theme
 * @property {string} tone
 * @property {string} sign
 * @property {number} seconds  from the click to its end at the pace of watching and speed 1, about
 * @property {string[]} [stops]  the preset breakpoints at which it stops
 * @property {boolean} [taints]  a node is tainted first, so that there is a reason to see
 * @property {string} [user]   of the cast, instead of the administrator
 * @property {'deployments.apps'|'pods'} resource
 * @property {string} object   what it is called when that name is free
 * @property {(name: string, size: number) => string} manifest  size: pods that the cluster takes
 * @property {string} change   the part of the manifest to try something else with
 */

/** @type {Scenario[]} */
export const SCENARIOS = [
  {
    name: 'run',
    theme: 'request',
    tone: 'allow',
    sign: 'play',
    seconds: 35,
    resource: 'deployments.apps',
    object: 'nginx',
    manifest: (name) => deployment(name, 3),
    change: 'replicas: 3',
  },
  {
    name: 'token',
    theme: 'request',
    tone: 'change',
    sign: 'change',
    seconds: 30,
    stops: ['token'],
    resource: 'deployments.apps',
    object: 'nginx',
    manifest: (name) => deployment(name, 1, '      automountServiceAccountToken: true\n'),
    change: 'automountServiceAccountToken: true',
  },
  {
    name: 'refused',
    theme: 'request',
    tone: 'deny',
    sign: 'deny',
    seconds: 5,
    user: 'student',
    resource: 'deployments.apps',
    object: 'nginx',
    manifest: (name) => deployment(name, 3).replace('  labels:', '  namespace: default\n  labels:'),
    change: 'namespace: default',
  },
  {
    name: 'node',
    theme: 'place',
    tone: 'hold',
    sign: 'star',
    seconds: 30,
    stops: ['predict', 'decision'],
    taints: true,
    resource: 'deployments.apps',
    object: 'web',
    manifest: (name) => deployment(name, 1, '      tolerations: []\n'),
    change: 'tolerations: []',
  },
  {
    name: 'full',
    theme: 'place',
    tone: 'deny',
    sign: 'podNew',
    seconds: 10,
    resource: 'pods',
    object: 'big',
    manifest: (name) => pod(name, 'nginx', '    resources:\n      requests:\n        cpu: "64"\n'),
    change: 'cpu: "64"',
  },
  {
    name: 'image',
    theme: 'wrong',
    tone: 'deny',
    sign: 'podHalf',
    seconds: 15,
    resource: 'pods',
    object: 'typo',
    manifest: (name) => pod(name, 'ngnix'),
    change: 'ngnix',
  },
  {
    name: 'crash',
    theme: 'wrong',
    tone: 'deny',
    sign: 'again',
    seconds: 20,
    resource: 'pods',
    object: 'crash',
    manifest: (name) => pod(name, 'busybox', '    command: [sh, -c, exit 1]\n'),
    change: 'exit 1',
  },
  {
    name: 'crowd',
    theme: 'many',
    tone: 'allow',
    sign: 'podRun',
    seconds: 40,
    resource: 'deployments.apps',
    object: 'crowd',
    manifest: (name, size) => deployment(name, size),
    change: 'replicas: ',
  },
];
export const THEMES = [...new Set(SCENARIOS.map((scenario) => scenario.theme))];

// pods that a node takes beside what the cluster itself runs there, and the most that are asked for
const PODS_OF_NODE = 100;
const CROWD_MAX = 1000;
const TAINT = 'dedicated';

/** @param {string} name */
export const scenarioOf = (name) =>
  /** @type {Scenario} */ (SCENARIOS.find((scenario) => scenario.name === name));

/** As many pods as the nodes can take. @param {State} state */
export const crowdSize = (state) =>
  Math.min(CROWD_MAX, PODS_OF_NODE * Math.max(1, objectsOf(state, 'nodes').size));

/** What comes after a scenario: the next that was not done yet, else just the next. */
export function nextAfter(/** @type {string} */ name, /** @type {string[]} */ done) {
  const at = SCENARIOS.findIndex((scenario) => scenario.name === name) + 1;
  const others = [...SCENARIOS.slice(at), ...SCENARIOS.slice(0, at - 1)];
  return others.find((scenario) => !done.includes(scenario.name)) || others[0];
}

/** A name that no object of its kind has: so that what was begun can be begun again. */
export function freeName(/** @type {State} */ state, /** @type {Scenario} */ { resource, object }) {
  const taken = new Set();
  for (const write of objectsOf(state, resource).values()) taken.add(write.name);
  let free = object;
  for (let n = 2; taken.has(free); n += 1) free = `${object}-${n}`;
  return free;
}

/**
 * The command of a scenario: the first object that was created from outside after it was begun.
 * @param {import('../trace/index.js').Index} index @param {number} since
 */
export const commandAfter = (index, since) =>
  index.roots.find((seq) => seq > since && index.request(seq)?.open.verb === 'create') || 0;

/**
 * Whether a command is told to its end: refused, or all that it caused came to rest or is stuck.
 * @param {Pick<import('../explain/index.js').Model, 'index'|'state'|'current'>} model
 * @param {number} root
 */
export function isOver(model, root) {
  if (!root || model.current.root !== root) return false;
  const close = model.index.request(root)?.close;
  return (!!close && close.code >= 400 && close.seq <= model.state.seq) || isAtRest(model);
}

/**
 * What taints the emptiest node, which would be chosen otherwise; '' where one is tainted by this
 * already, or there is no other node.
 * @param {State} state
 */
export function taintManifest(state) {
  const nodes = nodesOf(state).filter((node) => node.ready && !node.cordoned);
  const open = nodes.filter((node) => !node.taints.length);
  if (open.length < 2 || nodes.some((node) => node.taints.some((it) => it.startsWith(TAINT))))
    return '';
  const { name } = open.reduce((least, node) =>
    node.pods.length < least.pods.length ? node : least,
  );
  return tainted(name);
}

/** What keeps new pods off a node. @param {string} node */
export const tainted = (node) => `apiVersion: v1
kind: Node
metadata:
  name: ${node}
spec:
  taints:
  - key: ${TAINT}
    value: gpu
    effect: NoSchedule
`;

/**
 * What `kubectl create deployment NAME --image=nginx --replicas=N` sends.
 * @param {string} name @param {number} replicas @param {string} [more]  of the pods' spec
 */
export function deployment(name, replicas, more = '') {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
  labels:
    app: ${name}
spec:
  replicas: ${replicas}
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
${more}      containers:
      - name: nginx
        image: nginx
`;
}

/** @param {string} name @param {string} image @param {string} [more]  of its container */
function pod(name, image, more = '') {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
spec:
  containers:
  - name: ${name}
    image: ${image}
${more}`;
}
