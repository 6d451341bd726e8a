// @ts-check
/** The glossary: what a word means, in one sentence, and how it is written. */

/** @type {Record<string, string>} */
export default {
  'term.admission.word': 'admission|admission plugin|admission plugins',
  'term.admission':
    'The plugins that may change or refuse a write after it is authorized and before it is stored.',
  'term.authorizer.word': 'authorizer|authorizers',
  'term.authorizer': 'What decides whether a user may do what a request asks for; RBAC is one.',
  'term.backOff.word': 'back-off|backoff',
  'term.backOff': 'A wait before the next try that grows with every failure.',
  'term.binding.word': 'Binding',
  'term.binding':
    'The small object with which the scheduler asks the API server to put a pod on a node.',
  'term.containerRuntime.word': 'container runtime',
  'term.containerRuntime':
    'The program on a node that starts and stops containers for the kubelet, such as containerd.',
  'term.controller.word': 'controller|controllers',
  'term.controller':
    'A loop that compares what is wanted with what is there, and sends requests to make it so.',
  'term.endpointSlice.word': 'EndpointSlice|EndpointSlices',
  'term.endpointSlice': 'The object that lists the addresses of the pods behind a Service.',
  'term.eviction.word': 'eviction|evicted|evicts',
  'term.eviction':
    'Removing a pod from its node in an orderly way, so that it can start elsewhere.',
  'term.exempt.word': 'exempt',
  'term.exempt':
    'The priority level whose requests never wait; administrators and the API server have it.',
  'term.finalizer.word': 'finalizer|finalizers',
  'term.finalizer':
    'A name on an object that keeps it from being removed until whoever put it there takes it off.',
  'term.flowSchema.word': 'flow schema|flow schemas',
  'term.flowSchema':
    'A rule that sorts requests into priority levels by who sends them and what they ask.',
  'term.generator.word': 'generator|generators',
  'term.generator':
    'The part of an older kubectl that made the object of a command, each for one version of it.',
  'term.informer.word': 'informer|informers',
  'term.informer':
    'What keeps a controller’s copy of all objects of one kind up to date: one list, then a watch.',
  'term.kubelet.word': 'kubelet|kubelets',
  'term.kubelet':
    'The agent on every node: it starts the pods that are bound to its node and reports on them.',
  'term.lease.word': 'lease|leases',
  'term.lease': 'A small object that is renewed every few seconds to say that its holder is alive.',
  'term.owner.word': 'owner|owners',
  'term.owner': 'The object that another one belongs to: when it is deleted, so is what it owns.',
  'term.ownerReference.word': 'owner reference|owner references|ownerReferences',
  'term.ownerReference': 'The entry in an object’s metadata that names its owner, with its uid.',
  'term.priorityLevel.word': 'priority level|priority levels',
  'term.priorityLevel': 'A share of what the API server can do at once, with queues of its own.',
  'term.quota.word': 'quota|quotas',
  'term.quota': 'How much of everything the objects of one namespace may ask for together.',
  'term.replicaSet.word': 'ReplicaSet|ReplicaSets',
  'term.replicaSet':
    'The object that keeps a number of equal pods there; a Deployment has one for each version.',
  'term.revision.word': 'revision|revisions',
  'term.revision': 'The number of a write to etcd; every write in the cluster has the next one.',
  'term.sandbox.word': 'sandbox',
  'term.sandbox':
    'What the containers of a pod share, its network above all; it is made before them.',
  'term.seat.word': 'seat|seats',
  'term.seat': 'The room that one request takes in its priority level while it is under way.',
  'term.serviceAccount.word': 'service account|service accounts|ServiceAccount',
  'term.serviceAccount':
    'The identity of a program that runs in the cluster, rather than of a person.',
  'term.taint.word': 'taint|taints|tainted',
  'term.taint': 'A mark on a node that keeps away every pod that does not tolerate it.',
  'term.toleration.word': 'toleration|tolerations',
  'term.toleration': 'A line in a pod that lets it go to nodes with a certain taint.',
  'term.watch.word': 'watch|watches',
  'term.watch':
    'A request that stays open and is sent every change of the objects that it asked for.',
  'term.webhook.word': 'webhook|webhooks',
  'term.webhook': 'A server of one’s own that the API server asks before it stores an object.',
  'term.workloadHigh.word': 'workload-high',
  'term.workloadHigh': 'The priority level of the cluster’s own controllers and its scheduler.',
  'term.workloadLow.word': 'workload-low',
  'term.workloadLow':
    'The priority level of the other service accounts: what one runs in the cluster.',
};
