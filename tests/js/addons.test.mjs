// @ts-check
// Facts about add-ons: how they stand is read from the cluster's objects and nothing else.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removal, removed, standingOf } from '../../static/js/core/cluster/addons.js';
import { emptyState } from '../../static/js/core/trace/reducer.js';

/** @typedef {import('../../static/js/core/cluster/addons.js').Addon} Addon */

const LABELS = { app: 'web' };
const DEPLOYMENT = 'deployments.apps';
/** @param {string} workload @returns {Addon} */
const addon = (workload = DEPLOYMENT) => ({
  name: 'web',
  manifest: '-',
  objects: [
    { kind: 'Service', api_version: 'v1', resource: 'services', namespace: 'sys', name: 'web' },
    { kind: '-', api_version: 'apps/v1', resource: workload, namespace: 'sys', name: 'web' },
  ],
});

/** @param {[resource: string, object: any][]} stored */
function stateOf(...stored) {
  const state = emptyState();
  for (const [resource, object] of stored) {
    const { namespace = 'sys', name = 'web' } = object.metadata;
    const key = `${resource}/${namespace}/${name}`;
    const map = state.objects.get(resource) || new Map();
    state.objects.set(resource, map.set(key, /** @type {any} */ ({ key, name, object })));
  }
  return state;
}
/** @param {any} status @returns {[string, any]} */
const deployment = (status, replicas = 2) => {
  const spec = { replicas, selector: { matchLabels: LABELS } };
  return [DEPLOYMENT, { kind: 'Deployment', metadata: {}, spec, status }];
};
/** @type {[string, any]} */ const SERVICE = ['services', { metadata: {} }];
/** @param {string} name @param {any} more @returns {[string, any]} */
const pod = (name, { labels = LABELS, status = {}, ...metadata } = /** @type {any} */ ({})) => [
  'pods',
  { metadata: { name, namespace: 'sys', labels, ...metadata }, spec: { nodeName: 'a' }, status },
];
/** @param {Parameters<typeof stateOf>} stored */
const standing = (...stored) => standingOf(stateOf(...stored), addon()).state;

test('it is installed once its workload is there, and runs once all its pods are ready', () => {
  assert.equal(standing(), 'none');
  assert.equal(standing(SERVICE), 'part');
  assert.equal(standing(SERVICE, deployment({})), 'starting');
  assert.equal(standing(SERVICE, deployment({ readyReplicas: 1 })), 'starting');
  assert.equal(standing(SERVICE, deployment({ readyReplicas: 2 })), 'running');
  assert.equal(standing(SERVICE, deployment({}, 0)), 'idle');
});

test('of a rollout no more pods are ready than are wanted', () => {
  const { ready, wanted } = standingOf(stateOf(deployment({ readyReplicas: 3 })), addon());
  assert.deepEqual([ready, wanted], [2, 2]);
});

test('a DaemonSet wants as many pods as nodes take it, and none until that is known', () => {
  const spec = { selector: { matchLabels: LABELS } };
  const daemon = (/** @type {any} */ status) =>
    standingOf(
      stateOf(['daemonsets.apps', { kind: 'DaemonSet', metadata: {}, spec, status }]),
      addon('daemonsets.apps'),
    );
  assert.equal(daemon({}).state, 'starting');
  const { state, ready, wanted } = daemon({ desiredNumberScheduled: 3, numberReady: 3 });
  assert.deepEqual([state, ready, wanted], ['running', 3, 3]);
});

test('it is being removed while something of it has a time of its deletion', () => {
  const [, service] = SERVICE;
  const leaving = { ...service, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };
  assert.equal(standing(['services', leaving], deployment({ readyReplicas: 2 })), 'leaving');
});

test('its pods are those that its workload selects, each with why it is not ready', () => {
  const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
  const waiting = { containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] };
  const unbound = {
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  };
  const { pods } = standingOf(
    stateOf(
      deployment({}),
      pod('web-10', { status: ready }),
      pod('web-2', { status: waiting }),
      pod('web-3', { status: unbound }),
      pod('web-4', { status: ready, deletionTimestamp: '2026-01-01T00:00:00Z' }),
      pod('other', { labels: { app: 'other' }, status: ready }),
    ),
    addon(),
  );
  assert.deepEqual(
    pods.map(({ name, isReady, reason }) => [name, isReady, isReady ? '' : reason]),
    [
      ['web-2', false, 'ImagePullBackOff'],
      ['web-3', false, 'Unschedulable'],
      ['web-4', false, 'Terminating'],
      ['web-10', true, ''],
    ],
  );
});

test('it is removed as kubectl delete -f does it', () => {
  const [service, workload] = addon().objects;
  assert.deepEqual(
    [removal(workload).resource, removal(workload).api_version, removal(service).verb],
    ['deployments', 'apps/v1', 'delete'],
  );
  assert.equal(removed({ ...workload, kind: 'Deployment' }), 'deployment.apps "web" deleted');
  assert.equal(removed(service), 'service "web" deleted');
});
