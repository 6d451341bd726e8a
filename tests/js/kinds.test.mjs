// @ts-check
// Facts about the views of kinds: what is wanted beside what is, by the objects at the cursor.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goesWith } from '../../static/js/core/commands/acts.js';
import { History } from '../../static/js/core/trace/history.js';
import { boardOf, ownersOf } from '../../static/js/core/outcome/kinds.js';
import { must, recorded } from './traces.mjs';

/** @param {string} story */
function played(story) {
  const history = new History();
  history.append(recorded(story));
  return history;
}

/** The newest of an object. @param {ReturnType<History['stateAt']>} state @param {string} key */
const at = (state, key) => must(state.objects.get(key.split('/', 1)[0])?.get(key));

/** "wanted/is" of each row. @param {ReturnType<typeof boardOf>} board */
const rows = ({ pairs }) =>
  Object.fromEntries(
    pairs.map(({ label, wanted, is }) => [label.split('.').at(-1), `${wanted}/${is}`]),
  );

/** @param {ReturnType<typeof boardOf>} board @param {string} name */
const items = ({ parts }, name) =>
  parts.find(({ heading }) => heading === `kinds.part.${name}`)?.items || [];

test('a Job counts what succeeds and what fails', () => {
  const { head } = played('jobs');
  const pi = boardOf(head, at(head, 'jobs.batch/default/pi'));
  assert.equal(rows(pi).completions, '1/1');
  assert.equal(rows(pi).active, '0/0');
  assert.equal(items(pi, 'pods').length, 1);
  const write = at(head, 'jobs.batch/default/broken');
  const { spec = {}, status = {} } = write.object;
  const broken = boardOf(head, write);
  assert.equal(rows(broken).failures, `≤ ${spec.backoffLimit}/${status.failed}`);
  assert.equal(broken.pairs.find(({ label }) => label.endsWith('failures'))?.sign, 'deny');
});

test('of a StatefulSet each pod waits for the one before, and the highest leaves first', () => {
  const history = played('ordered');
  const key = 'statefulsets.apps/default/db';
  const seen = new Set();
  for (const { seq } of history.index.writes) {
    const state = history.stateAt(seq);
    const write = state.objects.get('statefulsets.apps')?.get(key);
    if (!write) continue;
    const list = items(boardOf(state, write), 'ordered');
    seen.add(list.map(({ name, note, params }) => `${name} ${note} ${params.other || ''}`).join());
  }
  const starts = (/** @type {string} */ line) => [...seen].some((one) => one.startsWith(line));
  assert.ok(starts('db-0 kinds.missing ,db-1 kinds.waitsFor db-0,db-2 kinds.waitsFor db-0'));
  assert.ok(starts('db-0 stage.bound ,db-1 kinds.waitsFor db-0'));
  assert.ok(starts('db-0 stage.ready ,db-1 stage.ready ,db-2 stage.ready'));
  assert.ok(starts('db-0 stage.ready ,db-2 kinds.leaves ,db-1 kinds.leaves'));
  const { head } = history;
  assert.equal(rows(boardOf(head, at(head, key))).replicas, '1/1');
});

test('an autoscaler says what it measures against, and why it cannot', () => {
  const { head } = played('autoscaler');
  const board = boardOf(head, at(head, 'horizontalpodautoscalers.autoscaling/default/nginx'));
  assert.equal(rows(board).cpu, '50 %/–');
  assert.equal(rows(board).there, '–/3');
  assert.equal(rows(board).bounds, '/1 … 5');
  const [target] = items(board, 'target');
  assert.equal(target.key, 'deployments.apps/default/nginx');
  const active = must(items(board, 'conditions').find(({ name }) => name === 'ScalingActive'));
  assert.equal(active.sign, 'deny');
  assert.ok(items(board, 'events').some(({ name }) => name.startsWith('FailedGetResourceMetric')));
});

test('a claim without a volume says what it asks for and who waits for it', () => {
  const { head } = played('pending');
  const board = boardOf(head, at(head, 'persistentvolumeclaims/default/data'));
  assert.deepEqual([rows(board).phase, rows(board).storage], ['Bound/Pending', '1Gi/–']);
  assert.equal(items(board, 'users').length, 1);
});

test('a namespace counts kind by kind; while it goes, what is left', () => {
  const { head } = played('namespace');
  const going = boardOf(head, at(head, 'namespaces//shop'));
  assert.equal(rows(going).ConfigMap, '0/1');
  assert.equal(rows(going).Secret, undefined);
  assert.deepEqual(items(going, 'finalizers').map(({ name }) => name), ['kubernetes']);
  const full = played('full').head;
  const board = boardOf(full, at(full, 'namespaces//default'));
  assert.deepEqual([rows(board).Pod, rows(board).Deployment], ['3/3', '1/1']);
  const [event] = items(board, 'events');
  const told = boardOf(full, at(full, event.key));
  assert.equal(rows(told).reason, `/${event.name}`);
  assert.equal(items(told, 'about').length, 1);
});

test('the owner tree begins at the top, wherever one looks, also past a bare heartbeat', () => {
  const { head } = played('full');
  const [lease] = must(head.objects.get('leases.coordination.k8s.io')).values();
  /** @type {any} */ (lease).object = undefined;
  assert.deepEqual(goesWith(head, at(head, 'deployments.apps/default/nginx')), [
    ['ReplicaSet', 1],
    ['Pod', 3],
  ]);
  const pods = [...must(head.objects.get('pods')).values()];
  const mine = pods.filter(({ name }) => name.startsWith('nginx'));
  const top = ownersOf(head, mine[0]);
  assert.equal(top.write.key, 'deployments.apps/default/nginx');
  const keys = top.kids[0].kids.map(({ write }) => write.key);
  assert.deepEqual(keys.sort(), mine.map(({ key }) => key).sort());
});
