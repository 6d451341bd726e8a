// @ts-check
// Facts about the names of a Service: which it has, and what is told of one that was looked up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesOf, namespacesOf, stepsOf, verdictOf } from '../../static/js/core/cluster/names.js';
import { wordsFor } from './languages.mjs';

/** @typedef {import('../../static/js/core/cluster/names.js').Resolved} Resolved */

const WEB = { namespace: 'shop', name: 'web' };
const SLICE = {
  metadata: { labels: { 'kubernetes.io/service-name': 'web' } },
  endpoints: [
    { addresses: ['10.244.1.5'], hostname: 'first', conditions: { ready: true } },
    { addresses: ['10.244.2.6'], conditions: {} },
    { addresses: ['10.244.2.7'], conditions: { ready: false } },
  ],
};

/** @param {string} clusterIP */
function stateWith(clusterIP) {
  const one = (/** @type {string} */ name, /** @type {any} */ object, namespace = 'shop') =>
    new Map([[name, { name, namespace, object }]]);
  return /** @type {any} */ ({
    objects: new Map([
      ['services', one('web', { spec: { clusterIP } })],
      ['endpointslices.discovery.k8s.io', one('web-1', SLICE)],
      ['namespaces', one('default', {}, '')],
    ]),
  });
}

/** @param {Partial<Resolved>} more @returns {Resolved} */
const told = (more) => ({
  asked: 'web',
  namespace: 'shop',
  resolv_conf: '',
  ndots: 5,
  name: 'web.shop.svc.cluster.local',
  addresses: ['10.96.0.7'],
  source: 'dns',
  server: '10.96.0.10',
  service: 'kube-system/kube-dns',
  endpoint: { address: '10.244.0.2', port: 53, pod: 'kube-system/coredns-1', node: 'node-1' },
  fault: '',
  tried: [tried('cluster-ip')],
  revision: 7,
  ...more,
});
const tried = (/** @type {string} */ why, code = 'NOERROR', domain = 'shop.svc.cluster.local') => {
  const name = 'web.shop.svc.cluster.local';
  const records = why === 'cluster-ip' ? [{ name, type: 'A', data: '10.96.0.7' }] : [];
  return { name, domain, reply: { code, why, about: 'shop/web', records } };
};

test('a Service is reached by four names, the shortest from its own namespace only', () => {
  assert.deepEqual(
    namesOf(stateWith('10.96.0.7'), WEB).map(({ name, key }) => [name, key]),
    [
      ['web', 'names.own'],
      ['web.shop', 'names.any'],
      ['web.shop.svc', 'names.any'],
      ['web.shop.svc.cluster.local', 'names.any'],
    ],
  );
});

test('a headless Service has a name for each ready pod besides', () => {
  assert.deepEqual(
    namesOf(stateWith('None'), WEB)
      .slice(4)
      .map(({ name, params }) => [name, params?.address]),
    [
      ['first.web.shop.svc.cluster.local', '10.244.1.5'],
      ['10-244-2-6.web.shop.svc.cluster.local', '10.244.2.6'],
    ],
  );
});

test('a pod may ask from any namespace there is', () => {
  assert.deepEqual(namespacesOf(stateWith(''), 'shop'), ['default', 'shop']);
});

test('the steps are the order, the server, the pod that answers, and each name', () => {
  const steps = stepsOf(told({ tried: [tried('no-service', 'NXDOMAIN'), tried('cluster-ip')] }));
  assert.deepEqual(
    steps.map(({ key, verdict }) => [key, verdict]),
    [
      ['names.order.search', 'noop'],
      ['names.server', 'noop'],
      ['names.answers', 'allow'],
      ['names.why.no-service', 'skip'],
      ['names.why.cluster-ip', 'allow'],
    ],
  );
  assert.equal(verdictOf(told({})).key, 'names.found');
});

test('the order follows from the dots of the name', () => {
  const order = (/** @type {string} */ asked) => stepsOf(told({ asked }))[0].key;
  assert.equal(order('a.b.svc.cluster.local'), 'names.order.search');
  assert.equal(order('a.b.c.svc.cluster.local'), 'names.order.first');
  assert.equal(order('web.'), 'names.order.only');
});

test('when nobody answers that is the verdict, and no pod is named', () => {
  const refused = told({ fault: 'Connection refused', addresses: [], endpoint: null });
  assert.equal(verdictOf(refused).key, 'names.nobody');
  assert.deepEqual(
    stepsOf(refused).map(({ key }) => key),
    ['names.order.search', 'names.server', 'names.refused'],
  );
  assert.equal(stepsOf({ ...refused, fault: 'timed out' }).at(-1)?.key, 'names.lost');
});

test('a name without an address is told from one that is not there', () => {
  const none = { addresses: [] };
  assert.equal(verdictOf(told({ ...none, tried: [tried('apex')] })).key, 'names.noAddress');
  assert.equal(
    verdictOf(told({ ...none, tried: [tried('no-service', 'NXDOMAIN')] })).key,
    'names.none',
  );
});

test('an address and what stands in /etc/hosts are asked of nobody', () => {
  for (const source of ['address', 'hosts']) {
    const known = told({ source, tried: [] });
    assert.deepEqual(stepsOf(known), []);
    assert.ok(wordsFor('en').has(verdictOf(known).key));
  }
});
