// @ts-check
/**
 * A believable trace made by hand, for the tests of the page's model and for looking at the page
 * without a server. It is test data: no stage here is computed by a simulation.
 */

const EPOCH = '2026-02-11T10:42:07Z';
const EPOCH_US = Date.parse(EPOCH) * 1000;
const HASH = 'nginx-5869d7778c';
const NODES = ['node-1', 'node-2', 'node-3'];
const MUTATING = [
  'NamespaceLifecycle',
  'LimitRanger',
  'ServiceAccount',
  'NodeRestriction',
  'TaintNodesByCondition',
  'Priority',
  'DefaultTolerationSeconds',
  'DefaultStorageClass',
  'StorageObjectInUseProtection',
  'RuntimeClass',
  'DefaultIngressClass',
  'MutatingAdmissionWebhook',
];
const VALIDATING = [
  'LimitRanger',
  'ServiceAccount',
  'PodSecurity',
  'Priority',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionWebhook',
  'ResourceQuota',
];

const GROUPS = { apps: 'apps', 'discovery.k8s.io': 'discovery.k8s.io' };

export class Maker {
  constructor() {
    /** @type {any[]} */ this.records = [];
    this.t = 0;
    this.rev = 800;
    this.uid = 0;
  }

  tell(kind, fields, span) {
    const seq = this.records.length + 1;
    const own = kind === 'request' || kind === 'work' ? seq : span || 0;
    this.records.push({ seq, t: Math.round(this.t), kind, span: own, ...fields });
    return seq;
  }

  wait(us) {
    this.t += us;
    return this;
  }

  stamp() {
    return new Date((EPOCH_US + this.t) / 1000).toISOString().replace(/\.\d+Z/, 'Z');
  }

  newUid() {
    this.uid += 1;
    return `00000000-0000-4000-8000-${String(this.uid).padStart(12, '0')}`;
  }

  write(span, op, resource, object, sub = '', to = []) {
    this.rev += 1;
    object.metadata.resourceVersion = String(this.rev);
    const { namespace = '', name } = object.metadata;
    this.tell(
      'write',
      {
        rev: this.rev,
        op,
        resource,
        namespace,
        name,
        prev: 0,
        subresource: sub,
        object: structuredClone(object),
      },
      span,
    );
    const { rev } = this;
    if (to.length) this.tell('watch', { rev, type: op, resource, to, outside: 0 }, 0);
    return rev;
  }

  // -- one request through all gates -----------------------------------------------------------

  request(about, store) {
    const {
      parent = 0,
      client,
      outside = false,
      verb,
      resource,
      sub = '',
      ns = '',
      name = '',
    } = about;
    const [plural, ...group] = resource.split('.');
    const base = group.length
      ? `/apis/${GROUPS[group.join('.')] || group.join('.')}/v1`
      : '/api/v1';
    const path =
      `${base}${ns ? `/namespaces/${ns}` : ''}/${plural}` +
      `${(name && verb !== 'create') || sub ? `/${name}` : ''}${sub ? `/${sub}` : ''}`;
    const span = this.tell('request', {
      parent,
      client,
      outside,
      verb,
      path,
      resource,
      subresource: sub,
      namespace: ns,
      name,
    });
    const gate = (gateName, verdict, detail, cost) => {
      this.tell('gate', { gate: gateName, verdict, detail }, span);
      this.wait(cost);
    };
    this.wait(150);
    gate('authentication', 'allow', this.who(about), 40);
    gate('audit', 'allow', { word: 'recorded' }, 10);
    gate('flowcontrol', 'allow', { word: about.flow || 'workload-high' }, 15);
    if (about.refused) {
      gate('authorization', 'deny', about.refused, 50);
      this.tell(
        'response',
        {
          code: 403,
          reason: 'Forbidden',
          message: about.refused.message,
          rev: 0,
        },
        span,
      );
      this.wait(60);
      return { span, rev: 0 };
    }
    gate('authorization', 'allow', this.allowed(about), 50);
    gate(
      'routing',
      'allow',
      {
        word: 'kube-apiserver',
        server: 'kube-apiserver',
        chain: ['aggregator', 'kube-apiserver', 'extensions'],
      },
      10,
    );
    gate(
      'decode',
      about.defaults ? 'change' : 'allow',
      about.defaults ? { word: `${about.defaults.length} defaults set`, ops: about.defaults } : {},
      90,
    );
    this.plugins('mutating', MUTATING, span, about);
    if (about.stop) return { span, rev: 0 };
    gate('mutating', about.changes ? 'change' : 'allow', {}, 20);
    gate(
      'prepare',
      'allow',
      verb === 'create' ? { word: 'named', why: `uid and creationTimestamp set` } : {},
      30,
    );
    gate('validation', 'allow', { word: 'valid' }, 80);
    this.plugins('validating', VALIDATING, span, about);
    gate('validating', 'allow', {}, 20);
    this.wait(900);
    const rev = store ? store(span) : 0;
    gate('etcd', 'allow', { word: String(rev), rev }, 0);
    this.tell(
      'response',
      { code: verb === 'create' ? 201 : 200, reason: '', message: '', rev },
      span,
    );
    this.wait(60);
    return { span, rev };
  }

  plugins(phase, names, span, about) {
    for (const plugin of names) {
      const change = phase === 'mutating' && about.changes && about.changes[plugin];
      const why = (about.whys || {})[plugin] || '';
      this.tell(
        'plugin',
        {
          phase,
          plugin,
          verdict: change ? 'change' : why || plugin === 'NamespaceLifecycle' ? 'allow' : 'skip',
          why: change
            ? change.why
            : why || (plugin === 'NamespaceLifecycle' ? 'default is active' : 'does not apply'),
          ops: change ? change.ops : [],
        },
        span,
      );
      this.wait(35);
      if (about.stop === plugin && phase === 'mutating') return;
    }
  }

  who(about) {
    const user = about.user;
    const tries = user.cert
      ? [
          {
            name: 'x509',
            verdict: 'allow',
            why: `CN=${user.name}, O=${user.groups[0]}`,
            source: 'staging/src/k8s.io/apiserver/pkg/authentication/request/x509/x509.go',
          },
        ]
      : [
          { name: 'x509', verdict: 'skip', why: 'no client certificate' },
          { name: 'service account token', verdict: 'allow', why: 'signed by this cluster' },
        ];
    return {
      word: 'known',
      why: `user ${user.name}, groups ${user.groups.join(', ')}`,
      user: { name: user.name, groups: user.groups },
      tries,
    };
  }

  allowed(about) {
    const name = about.user.name.split(':').pop();
    const rule = {
      name: 'RBAC',
      verdict: 'allow',
      why: `ClusterRoleBinding system:controller:${name}`,
      source: 'plugin/pkg/auth/authorizer/rbac/rbac.go',
    };
    return {
      word: 'allowed',
      why: `ClusterRoleBinding system:controller:${name}`,
      tries: [{ name: 'Node', verdict: 'noop', why: 'not a node' }, rule],
      source: 'plugin/pkg/auth/authorizer/rbac/rbac.go Authorize',
    };
  }
}

const ADMIN = {
  name: 'kubernetes-admin',
  groups: ['kubeadm:cluster-admins', 'system:authenticated'],
  cert: true,
};
const STUDENT = { name: 'student', groups: ['students', 'system:authenticated'], cert: true };
const controller = (name) => ({
  name: `system:serviceaccount:kube-system:${name}-controller`,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
});
const SCHEDULER = { name: 'system:kube-scheduler', groups: ['system:authenticated'], cert: true };
const kubelet = (node) => ({
  name: `system:node:${node}`,
  groups: ['system:nodes', 'system:authenticated'],
  cert: true,
});

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

const TOKEN = 'kube-api-access-t9c5v';
const podChanges = {
  ServiceAccount: {
    why: 'no account named, so default; it allows automounting',
    ops: [
      { op: 'add', path: '/spec/serviceAccountName', value: 'default' },
      { op: 'add', path: '/spec/serviceAccount', value: 'default' },
      {
        op: 'add',
        path: '/spec/containers/0/volumeMounts',
        value: [
          {
            name: TOKEN,
            readOnly: true,
            mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
          },
        ],
      },
      {
        op: 'add',
        path: '/spec/volumes',
        value: [
          {
            name: TOKEN,
            projected: {
              defaultMode: 420,
              sources: [
                { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
                {
                  configMap: {
                    name: 'kube-root-ca.crt',
                    items: [{ key: 'ca.crt', path: 'ca.crt' }],
                  },
                },
                {
                  downwardAPI: {
                    items: [
                      {
                        path: 'namespace',
                        fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' },
                      },
                    ],
                  },
                },
              ],
            },
          },
        ],
      },
    ],
  },
  Priority: {
    why: 'no class named, no global default',
    ops: [
      { op: 'add', path: '/spec/priority', value: 0 },
      { op: 'add', path: '/spec/preemptionPolicy', value: 'PreemptLowerPriority' },
    ],
  },
  DefaultTolerationSeconds: {
    why: 'tolerates not-ready and unreachable for 300 s',
    ops: [
      {
        op: 'add',
        path: '/spec/tolerations',
        value: [
          {
            key: 'node.kubernetes.io/not-ready',
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 300,
          },
          {
            key: 'node.kubernetes.io/unreachable',
            operator: 'Exists',
            effect: 'NoExecute',
            tolerationSeconds: 300,
          },
        ],
      },
    ],
  },
};

function controllerRef(kind, object) {
  return [
    {
      apiVersion: 'apps/v1',
      kind,
      name: object.metadata.name,
      uid: object.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ];
}

// -- kubectl create deployment nginx --image=nginx --replicas=3 ---------------------------------

/** @param {{stopAt?: string, replicas?: number}} options */
export function createDeployment(
  maker,
  { stopAt = '', suffixes = ['8x4rb', 'k7wpd', 'zq2lm'] } = {},
) {
  const replicas = suffixes.length;
  const template = {
    metadata: { labels: { app: 'nginx' } },
    spec: {
      containers: [{ name: 'nginx', image: 'nginx', imagePullPolicy: 'Always' }],
      restartPolicy: 'Always',
    },
  };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'nginx',
      namespace: 'default',
      uid: maker.newUid(),
      creationTimestamp: maker.stamp(),
      generation: 1,
    },
    spec: { replicas, template },
    status: {},
  };
  const asked = maker.request(
    {
      client: 'kubectl',
      outside: true,
      verb: 'create',
      resource: 'deployments.apps',
      ns: 'default',
      name: 'nginx',
      user: ADMIN,
      flow: 'global-default',
      defaults: [
        { op: 'add', path: '/spec/revisionHistoryLimit', value: 10 },
        { op: 'add', path: '/spec/progressDeadlineSeconds', value: 600 },
      ],
    },
    (span) =>
      maker.write(span, 'create', 'deployments.apps', deployment, '', [
        'deployment',
        'garbagecollector',
      ]),
  );
  queue(maker, 'deployment', 'default/nginx', asked.rev);
  maker.wait(2000);
  const sync = startWork(maker, 'deployment', 'default/nginx', [asked.rev]);
  const set = {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: HASH,
      namespace: 'default',
      uid: maker.newUid(),
      creationTimestamp: maker.stamp(),
      generation: 1,
      ownerReferences: controllerRef('Deployment', deployment),
    },
    spec: { replicas, template },
    status: { replicas: 0 },
  };
  const made = maker.request(
    {
      parent: sync,
      client: 'deployment',
      verb: 'create',
      resource: 'replicasets.apps',
      ns: 'default',
      name: HASH,
      user: controller('deployment'),
    },
    (span) =>
      maker.write(span, 'create', 'replicasets.apps', set, '', [
        'deployment',
        'replicaset',
        'garbagecollector',
      ]),
  );
  queue(maker, 'replicaset', `default/${HASH}`, made.rev);
  maker.request(
    {
      parent: sync,
      client: 'deployment',
      verb: 'update',
      resource: 'deployments.apps',
      sub: 'status',
      ns: 'default',
      name: 'nginx',
      user: controller('deployment'),
    },
    (span) =>
      maker.write(
        span,
        'update',
        'deployments.apps',
        { ...deployment, status: { observedGeneration: 1, unavailableReplicas: replicas } },
        'status',
        ['deployment'],
      ),
  );
  endWork(maker, sync);
  const loop = startWork(maker, 'replicaset', `default/${HASH}`, [made.rev]);
  const pods = [];
  for (const suffix of suffixes) {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${HASH}-${suffix}`,
        generateName: `${HASH}-`,
        namespace: 'default',
        uid: maker.newUid(),
        labels: { app: 'nginx', 'pod-template-hash': HASH.slice(6) },
        creationTimestamp: maker.stamp(),
        ownerReferences: controllerRef('ReplicaSet', set),
      },
      spec: { containers: structuredClone(template.spec.containers), restartPolicy: 'Always' },
      status: { phase: 'Pending' },
    };
    const done = maker.request(
      {
        parent: loop,
        client: 'replicaset',
        verb: 'create',
        resource: 'pods',
        ns: 'default',
        name: '',
        user: controller('replicaset'),
        changes: podChanges,
        stop: MUTATING.includes(stopAt) ? stopAt : '',
        defaults: [{ op: 'add', path: '/spec/terminationGracePeriodSeconds', value: 30 }],
        whys: { LimitRanger: '' },
      },
      (span) =>
        maker.write(span, 'create', 'pods', pod, '', ['replicaset', 'scheduler', 'endpointslice']),
    );
    if (stopAt && MUTATING.includes(stopAt)) {
      maker.tell('held', { at: maker.records.length, breakpoint: 'bp-1' }, done.span);
      return maker;
    }
    queue(maker, 'scheduler', `default/${pod.metadata.name}`, done.rev);
    pods.push({ pod, rev: done.rev });
  }
  maker.request(
    {
      parent: loop,
      client: 'replicaset',
      verb: 'update',
      resource: 'replicasets.apps',
      sub: 'status',
      ns: 'default',
      name: HASH,
      user: controller('replicaset'),
    },
    (span) =>
      maker.write(
        span,
        'update',
        'replicasets.apps',
        { ...set, status: { replicas, observedGeneration: 1 } },
        'status',
        ['deployment', 'replicaset'],
      ),
  );
  endWork(maker, loop);
  const picks = ['node-1', 'node-2', 'node-1'];
  pods.forEach(({ pod, rev }, i) => {
    if (stopAt === 'select' && i > 1) return;
    maker.wait(1500);
    const node = picks[i % 3];
    const cycle = schedule(maker, pod, rev, node, i, stopAt === 'select' && i === 1);
    if (stopAt === 'select' && i === 1) return;
    const bound = maker.request(
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
      (span) => {
        pod.spec.nodeName = node;
        pod.status.conditions = [{ type: 'PodScheduled', status: 'True' }];
        return maker.write(span, 'update', 'pods', pod, 'binding', [
          'scheduler',
          'replicaset',
          `kubelet/${node}`,
        ]);
      },
    );
    event(maker, cycle, 'scheduler', `${pod.metadata.name}.1`, 'Scheduled');
    endWork(maker, cycle);
    pods[i].bound = bound.rev;
    pods[i].node = node;
  });
  if (stopAt === 'select') return maker;
  return startPods(maker, pods, set, deployment);
}

function startPods(maker, pods, set, deployment) {
  pods.forEach((entry, i) => {
    const { pod, bound, node } = entry;
    const name = `default/${pod.metadata.name}`;
    maker.wait(3000);
    entry.work = startWork(maker, `kubelet/${node}`, name, [bound]);
    entry.steps = (step, state, detail = {}) =>
      maker.tell('kubelet', { node, pod: name, step, state, detail }, entry.work);
    entry.steps('volumes', 'begin');
    maker.wait(90_000);
    entry.steps('volumes', 'end', { mounted: [TOKEN] });
    entry.steps('sandbox', 'begin');
    maker.wait(110_000);
    entry.steps('sandbox', 'end');
    entry.steps('network', 'begin');
    maker.wait(20_000);
    entry.ip = `10.244.${node.slice(5)}.${3 + i}`;
    entry.steps('network', 'end', { ip: entry.ip });
    entry.steps('image', 'begin', { image: 'nginx' });
  });
  const status = (entry, phase, ready) => {
    const { pod } = entry;
    pod.status = {
      phase,
      podIP: entry.ip,
      hostIP: '10.0.0.11',
      startTime: maker.stamp(),
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'Initialized', status: 'True' },
        { type: 'Ready', status: ready ? 'True' : 'False' },
      ],
      containerStatuses: [
        {
          name: 'nginx',
          ready,
          restartCount: 0,
          image: 'nginx',
          state: ready
            ? { running: { startedAt: maker.stamp() } }
            : { waiting: { reason: 'ContainerCreating' } },
        },
      ],
    };
    return maker.request(
      {
        parent: entry.work,
        client: `kubelet/${entry.node}`,
        verb: 'patch',
        resource: 'pods',
        sub: 'status',
        ns: 'default',
        name: pod.metadata.name,
        user: kubelet(entry.node),
        flow: 'system-nodes',
      },
      (span) =>
        maker.write(span, 'update', 'pods', pod, 'status', [
          'scheduler',
          'replicaset',
          'endpointslice',
          `kubelet/${entry.node}`,
        ]),
    );
  };
  for (const entry of pods) status(entry, 'Pending', false);
  maker.wait(6_000_000);
  let count = 0;
  for (const entry of pods) {
    maker.wait(140_000);
    entry.steps('image', 'end', { image: 'nginx', bytes: 72_000_000, cached: false });
    entry.steps('container', 'begin');
    maker.wait(300_000);
    entry.steps('container', 'end');
    entry.steps('ready', 'begin');
    entry.steps('ready', 'end');
    const { rev } = status(entry, 'Running', true);
    endWork(maker, entry.work);
    count += 1;
    queue(maker, 'replicaset', `default/${HASH}`, rev);
    const loop = startWork(maker, 'replicaset', `default/${HASH}`, [rev]);
    const said = maker.request(
      {
        parent: loop,
        client: 'replicaset',
        verb: 'update',
        resource: 'replicasets.apps',
        sub: 'status',
        ns: 'default',
        name: HASH,
        user: controller('replicaset'),
      },
      (span) =>
        maker.write(
          span,
          'update',
          'replicasets.apps',
          { ...set, status: { replicas: pods.length, readyReplicas: count } },
          'status',
          ['deployment', 'replicaset'],
        ),
    );
    endWork(maker, loop);
    queue(maker, 'deployment', 'default/nginx', said.rev);
    const sync = startWork(maker, 'deployment', 'default/nginx', [said.rev]);
    maker.request(
      {
        parent: sync,
        client: 'deployment',
        verb: 'update',
        resource: 'deployments.apps',
        sub: 'status',
        ns: 'default',
        name: 'nginx',
        user: controller('deployment'),
      },
      (span) =>
        maker.write(
          span,
          'update',
          'deployments.apps',
          {
            ...deployment,
            status: { replicas: pods.length, readyReplicas: count, availableReplicas: count },
          },
          'status',
          ['deployment'],
        ),
    );
    endWork(maker, sync);
  }
  return maker;
}

function queue(maker, name, key, rev) {
  maker.tell('queue', { queue: name, op: 'add', key, length: 1, rev, delay: 0 }, 0);
}

function startWork(maker, component, key, revs) {
  maker.tell('queue', { queue: component, op: 'get', key, length: 0, rev: revs[0], delay: 0 }, 0);
  const work = maker.tell('work', { component, key, revs });
  maker.wait(120);
  return work;
}

function endWork(maker, work) {
  maker.tell('done', { result: 'ok', said: '', delay: 0 }, work);
  maker.wait(30);
}

function event(maker, parent, client, name, reason) {
  maker.request(
    { parent, client, verb: 'create', resource: 'events', ns: 'default', name, user: SCHEDULER },
    (span) =>
      maker.write(span, 'create', 'events', {
        metadata: { name, namespace: 'default', uid: maker.newUid() },
        reason,
      }),
  );
}

function schedule(maker, pod, rev, node, round, stop) {
  const name = `default/${pod.metadata.name}`;
  const cycle = startWork(maker, 'scheduler', name, [rev]);
  const phase = (phaseName, detail) => {
    maker.tell('schedule', { phase: phaseName, pod: name, detail }, cycle);
    maker.wait(180);
  };
  phase('prefilter', {
    skipped: [
      'NodeAffinity',
      'NodePorts',
      'VolumeRestrictions',
      'VolumeBinding',
      'VolumeZone',
      'PodTopologySpread',
      'InterPodAffinity',
    ],
  });
  phase('filter', {
    nodes: NODES,
    skipped: [
      'NodeAffinity',
      'NodePorts',
      'VolumeRestrictions',
      'VolumeBinding',
      'VolumeZone',
      'PodTopologySpread',
      'InterPodAffinity',
    ],
    plugins: [
      { name: 'NodeUnschedulable', ran: true },
      { name: 'NodeName', ran: true },
      { name: 'TaintToleration', ran: true },
      { name: 'NodeResourcesFit', ran: true },
    ],
    failed: { 'node-3': ['TaintToleration', 'node(s) had untolerated taint {dedicated: gpu}'] },
  });
  const spread = node === 'node-2' ? [66, 100] : [100, 66];
  const fit = node === 'node-2' ? [90, 93] : [92, 90];
  phase('score', {
    skipped: ['NodeAffinity', 'InterPodAffinity', 'NodeResourcesBalancedAllocation'],
    plugins: [
      {
        name: 'TaintToleration',
        weight: 3,
        raw: { 'node-1': 0, 'node-2': 0 },
        normalized: { 'node-1': 100, 'node-2': 100 },
      },
      {
        name: 'PodTopologySpread',
        weight: 2,
        raw: { 'node-1': 1, 'node-2': 0 },
        normalized: { 'node-1': spread[0], 'node-2': spread[1] },
      },
      {
        name: 'NodeResourcesFit',
        weight: 1,
        raw: { 'node-1': fit[0], 'node-2': fit[1] },
        normalized: { 'node-1': fit[0], 'node-2': fit[1] },
      },
      {
        name: 'ImageLocality',
        weight: 1,
        raw: { 'node-1': 0, 'node-2': 0 },
        normalized: { 'node-1': 0, 'node-2': 0 },
      },
    ],
    total: { 'node-1': 300 + spread[0] * 2 + fit[0], 'node-2': 300 + spread[1] * 2 + fit[1] },
  });
  phase('select', { node, why: 'highest score' });
  if (stop) maker.tell('held', { at: maker.records.length, breakpoint: 'bp-2' }, cycle);
  return cycle;
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
