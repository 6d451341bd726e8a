// @ts-check
/** Work, queues, one scheduling cycle, and what admission changes in a pod. Test equipment. */
import { NODES, SCHEDULER } from './maker.mjs';

export const TOKEN = 'kube-api-access-t9c5v';
export const podChanges = {
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

export function controllerRef(kind, object) {
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

export function queue(maker, name, key, rev) {
  maker.tell('queue', { queue: name, op: 'add', key, length: 1, rev, delay: 0 }, 0);
}

export function startWork(maker, component, key, revs) {
  maker.tell('queue', { queue: component, op: 'get', key, length: 0, rev: revs[0], delay: 0 }, 0);
  const work = maker.tell('work', { component, key, revs });
  maker.wait(120);
  return work;
}

export function endWork(maker, work) {
  maker.tell('done', { result: 'ok', said: '', delay: 0 }, work);
  maker.wait(30);
}

export function event(maker, parent, client, name, reason) {
  maker.request(
    { parent, client, verb: 'create', resource: 'events', ns: 'default', name, user: SCHEDULER },
    (span) =>
      maker.write(span, 'create', 'events', {
        metadata: { name, namespace: 'default', uid: maker.newUid() },
        reason,
      }),
  );
}

export function schedule(maker, pod, rev, node, round, stop) {
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
