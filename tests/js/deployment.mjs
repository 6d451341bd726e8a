// @ts-check
/** kubectl create deployment nginx --image=nginx --replicas=3, as a made-up trace. */
import { ADMIN, HASH, MUTATING, SCHEDULER, controller, kubelet } from './maker.mjs';
import {
  TOKEN,
  controllerRef,
  endWork,
  event,
  podChanges,
  queue,
  schedule,
  startWork,
} from './steps.mjs';

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
