// @ts-check
// Facts about the menu of an object: kubectl's lines, and the requests they stand for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actsOf, goesWith } from '../../static/js/core/commands/acts.js';
import { History } from '../../static/js/core/trace/history.js';
import { meet } from '../../static/js/core/trace/records.js';
import { recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/trace/records.js').WriteRecord} WriteRecord */

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** @param {string} resource @param {string} namespace @param {any} object @returns {WriteRecord} */
function write(resource, namespace, object) {
  meet(resource, object);
  const { name } = object.metadata;
  return /** @type {any} */ ({ resource, namespace, name, object });
}
const web = write('deployments.apps', 'shop', {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { replicas: 3 },
});

test('a Deployment is scaled, restarted and deleted as kubectl does it', () => {
  const acts = actsOf(web, { replicas: 5, now: NOW });
  assert.deepEqual(
    acts.map(({ command, said }) => [command, said]),
    [
      ['kubectl -n shop scale deployment/web --replicas=5', 'deployment.apps/web scaled'],
      ['kubectl -n shop rollout restart deployment/web', 'deployment.apps/web restarted'],
      ['kubectl -n shop delete deployment/web', 'deployment.apps "web" deleted'],
    ],
  );
  const [scale, restart, gone] = acts.map(({ request }) => request);
  assert.deepEqual([scale.verb, scale.subresource], ['patch', 'scale']);
  assert.deepEqual(scale.patch, { spec: { replicas: 5 } });
  assert.equal(
    restart.patch.spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt'],
    '2026-01-02T03:04:05Z',
  );
  assert.deepEqual([gone.verb, gone.patch], ['delete', { propagationPolicy: 'Background' }]);
  for (const request of [scale, restart, gone])
    assert.deepEqual(
      [request.api_version, request.resource, request.namespace, request.name],
      ['apps/v1', 'deployments', 'shop', 'web'],
    );
});

test('a node is cordoned, and a cordoned one uncordoned', () => {
  const node = (/** @type {any} */ spec) =>
    write('nodes', '', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-1' }, spec });
  const [cordon] = actsOf(node({}), { replicas: 1, now: NOW });
  assert.equal(cordon.command, 'kubectl cordon node-1');
  assert.deepEqual(cordon.request.patch, { spec: { unschedulable: true } });
  const [uncordon] = actsOf(node({ unschedulable: true }), { replicas: 1, now: NOW });
  assert.equal(uncordon.said, 'node/node-1 uncordoned');
  assert.deepEqual(uncordon.request.patch, { spec: { unschedulable: null } });
});

test('with an object goes what it owns, and with a namespace what is in it', () => {
  const history = new History();
  history.append(recorded('full'));
  const { head } = history;
  const deployment = head.objects.get('deployments.apps')?.get('deployments.apps/default/nginx');
  assert.ok(deployment);
  assert.deepEqual(goesWith(head, deployment), [
    ['ReplicaSet', 1],
    ['Pod', 3],
  ]);
  const namespace = head.objects.get('namespaces')?.get('namespaces//default');
  assert.ok(namespace);
  const counts = new Map(goesWith(head, namespace));
  assert.deepEqual(['Deployment', 'ReplicaSet', 'Pod'].map((kind) => counts.get(kind)), [1, 1, 3]);
});
