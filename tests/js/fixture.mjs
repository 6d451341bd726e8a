// @ts-check
/**
 * A believable trace made by hand, for the tests of the page's model and for looking at the page
 * without a server. It is test data: no stage here is computed by a simulation.
 */
import { createDeployment } from './deployment.mjs';
import { ADMIN, EPOCH, Maker, NODES, SCHEDULER, STUDENT, controller, kubelet } from './maker.mjs';
import { controllerRef, endWork, startWork } from './steps.mjs';

export { Maker, createDeployment };

// -- the cluster before anything is asked -------------------------------------------------------

export function boot(maker = new Maker()) {
  for (const name of [
    'apiserver',
    'deployment',
    'replicaset',
    'serviceaccount',
    'endpointslice',
    'namespace',
    'rootca',
    'garbagecollector',
    'scheduler',
    ...NODES.map((n) => `kubelet/${n}`),
  ]) {
    maker.tell('component', { name, state: 'synced', detail: null });
  }
  const put = (resource, metadata, rest) =>
    maker.write(0, 'create', resource, {
      metadata: { uid: maker.newUid(), creationTimestamp: maker.stamp(), ...metadata },
      ...rest,
    });
  put('namespaces', { name: 'default' }, { status: { phase: 'Active' } });
  put('namespaces', { name: 'kube-system' }, { status: { phase: 'Active' } });
  put(
    'services',
    { name: 'kubernetes', namespace: 'default' },
    { spec: { clusterIP: '10.96.0.1' } },
  );
  NODES.forEach((name, i) =>
    put(
      'nodes',
      { name },
      {
        spec: {
          podCIDR: `10.244.${i + 1}.0/24`,
          taints: i === 2 ? [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] : undefined,
        },
        status: {
          capacity: { cpu: '4', memory: '8388608Ki', pods: '110' },
          addresses: [{ type: 'InternalIP', address: `10.0.0.${11 + i}` }],
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      },
    ),
  );
  const system = [
    ['coredns-668d6bf9bc-7xq2p', 'node-1'],
    ['coredns-668d6bf9bc-d9fvk', 'node-2'],
    ['kube-proxy-4nb2t', 'node-1'],
    ['kube-proxy-m8zrw', 'node-2'],
    ['kube-proxy-x6c5j', 'node-3'],
  ];
  for (const [name, nodeName] of system) {
    put(
      'pods',
      { name, namespace: 'kube-system' },
      {
        spec: { nodeName, containers: [{ name: 'main', image: 'registry.k8s.io/x' }] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      },
    );
  }
  heartbeats(maker, 6);
  return maker;
}

export function heartbeats(maker, count) {
  for (let i = 0; i < count; i += 1) {
    const node = NODES[i % 3];
    maker.wait(1_700_000);
    maker.request(
      {
        client: `kubelet/${node}`,
        verb: 'update',
        resource: 'leases.coordination.k8s.io',
        ns: 'kube-node-lease',
        name: node,
        user: kubelet(node),
        flow: 'node-high',
      },
      (span) =>
        maker.write(span, 'update', 'leases.coordination.k8s.io', {
          metadata: { name: node, namespace: 'kube-node-lease', uid: 'l' },
          spec: { renewTime: maker.stamp() },
        }),
    );
  }
}

// -- other moments ------------------------------------------------------------------------------

const binding = (kind, name, role, rule, missing) => ({
  binding: { kind, name, ...(kind === 'RoleBinding' ? { namespace: 'default' } : {}) },
  role: { kind: 'ClusterRole', name: role },
  subject: { kind: 'Group', name: 'students' },
  closest: { rule, missing },
});

export function refusedStudent(maker) {
  const message =
    'deployments.apps is forbidden: User "student" cannot create resource "deployments" ' +
    'in API group "apps" in the namespace "default"';
  maker.request({
    client: 'kubectl',
    outside: true,
    verb: 'create',
    resource: 'deployments.apps',
    ns: 'default',
    name: 'nginx',
    user: STUDENT,
    flow: 'global-default',
    refused: {
      word: '403',
      message,
      why: 'No authorizer allowed it, so the answer is no.',
      tries: [
        { name: 'Node', verdict: 'noop', why: 'not a node' },
        {
          name: 'RBAC',
          verdict: 'noop',
          why: 'no rule of 3 bindings allows create deployments',
          source: 'plugin/pkg/auth/authorizer/rbac/rbac.go',
          detail: {
            bindings: [
              binding(
                'ClusterRoleBinding',
                'system:basic-user',
                'system:basic-user',
                {
                  apiGroups: ['authorization.k8s.io'],
                  resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
                  verbs: ['create'],
                },
                ['apiGroup', 'resource'],
              ),
              binding(
                'ClusterRoleBinding',
                'system:discovery',
                'system:discovery',
                {
                  nonResourceURLs: ['/api', '/api/*', '/apis', '/healthz', '/version'],
                  verbs: ['get'],
                },
                ['verb', 'apiGroup', 'resource'],
              ),
              binding(
                'RoleBinding',
                'students-view',
                'view',
                {
                  apiGroups: ['apps'],
                  resources: ['deployments', 'replicasets'],
                  verbs: ['get', 'list', 'watch'],
                },
                ['verb'],
              ),
            ],
          },
        },
      ],
      source: 'plugin/pkg/auth/authorizer/rbac/rbac.go Authorize',
    },
  });
  return maker;
}

/** Many pods, only their writes and steps: for the crowd and for the time a seek takes. */
export function crowd(maker, { pods = 1000, nodes = 24, perPod = 60 } = {}) {
  for (let i = 3; i < nodes; i += 1) {
    maker.write(0, 'create', 'nodes', {
      metadata: { name: `node-${i + 1}`, uid: maker.newUid() },
      spec: {},
      status: {
        capacity: { cpu: '4', memory: '8Gi' },
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
  }
  const deployment = {
    metadata: { name: 'crowd', namespace: 'default', uid: maker.newUid() },
    spec: { replicas: pods },
    status: {},
  };
  const asked = maker.request(
    {
      client: 'kubectl',
      outside: true,
      verb: 'create',
      resource: 'deployments.apps',
      ns: 'default',
      name: 'crowd',
      user: ADMIN,
    },
    (span) => maker.write(span, 'create', 'deployments.apps', deployment, '', ['deployment']),
  );
  const sync = startWork(maker, 'deployment', 'default/crowd', [asked.rev]);
  const set = {
    metadata: {
      name: 'crowd-6b7f',
      namespace: 'default',
      uid: maker.newUid(),
      ownerReferences: controllerRef('Deployment', deployment),
    },
    spec: { replicas: pods },
    status: {},
  };
  const made = maker.request(
    {
      parent: sync,
      client: 'deployment',
      verb: 'create',
      resource: 'replicasets.apps',
      ns: 'default',
      name: 'crowd-6b7f',
      user: controller('deployment'),
    },
    (span) => maker.write(span, 'create', 'replicasets.apps', set, '', ['replicaset']),
  );
  endWork(maker, sync);
  const loop = startWork(maker, 'replicaset', 'default/crowd-6b7f', [made.rev]);
  const list = [];
  for (let i = 0; i < pods; i += 1) {
    const pod = {
      metadata: {
        name: `crowd-6b7f-${(i + 46656).toString(36)}x`,
        namespace: 'default',
        uid: maker.newUid(),
        ownerReferences: controllerRef('ReplicaSet', set),
      },
      spec: { containers: [{ name: 'nginx', image: 'nginx' }] },
      status: { phase: 'Pending' },
    };
    if (perPod > 30) {
      maker.request(
        {
          parent: loop,
          client: 'replicaset',
          verb: 'create',
          resource: 'pods',
          ns: 'default',
          user: controller('replicaset'),
        },
        (span) => maker.write(span, 'create', 'pods', pod),
      );
    } else maker.write(loop, 'create', 'pods', pod);
    list.push(pod);
    if (i > 40) crowdStep(maker, list[i - 41], i - 41, nodes);
    if (i > 300) crowdRun(maker, list[i - 301]);
  }
  return maker;
}

function crowdStep(maker, pod, i, nodes) {
  const name = `default/${pod.metadata.name}`;
  const cycle = startWork(maker, 'scheduler', name, [maker.rev]);
  pod.spec.nodeName = `node-${(i % nodes) + 1}`;
  maker.request(
    {
      parent: cycle,
      client: 'scheduler',
      verb: 'create',
      resource: 'pods',
      sub: 'binding',
      ns: 'default',
      name: pod.metadata.name,
      user: SCHEDULER,
    },
    (span) => maker.write(span, 'update', 'pods', pod, 'binding'),
  );
  endWork(maker, cycle);
}

function crowdRun(maker, pod) {
  pod.status = {
    phase: 'Running',
    podIP: '10.244.1.9',
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  maker.request(
    {
      client: `kubelet/${pod.spec.nodeName}`,
      verb: 'patch',
      resource: 'pods',
      sub: 'status',
      ns: 'default',
      name: pod.metadata.name,
      user: kubelet(pod.spec.nodeName),
    },
    (span) => maker.write(span, 'update', 'pods', pod, 'status'),
  );
}

/** The named traces that tests and the fixture page ask for. */
export const TRACES = {
  start: () => boot(),
  breakpoint: () => createDeployment(boot(), { stopAt: 'ServiceAccount' }),
  scheduling: () => createDeployment(boot(), { stopAt: 'select' }),
  refused: () => refusedStudent(boot()),
  full: () => createDeployment(boot()),
  crowd: () => crowd(boot(), { pods: 741 }),
  big: () => crowd(boot(), { pods: 1700 }),
};

export const HEADER = {
  cluster: 'demo',
  epoch: EPOCH,
  version: '1.33',
  seed: 7,
  mode: 'run',
  speed: 1,
  nodes: NODES,
};
