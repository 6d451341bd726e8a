// @ts-check
// Facts about the model: the state at any record, what caused what, and where stepping stops.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { emptyState, reduce } from '../../static/js/core/trace/reducer.js';
import { ancestry, currentAt, nextStop } from '../../static/js/core/story/follow.js';
import { ownerTree, podsOf, nodesOf } from '../../static/js/core/cluster/objects.js';
import { explainNode } from '../../static/js/core/explain/kubelet.js';
import { wordsFor } from './languages.mjs';
import { must, recorded, repeated } from './traces.mjs';

const KUBECTL = 'kubectl/v1.33.1';

/** @param {import('../../static/js/core/trace/index.js').Span} span */
const whoOf = ({ open }) => (open.kind === 'work' ? open.component : open.client);

/** @param {string} name */
function load(name) {
  const history = new History();
  history.append(recorded(name));
  return history;
}

/** @param {import('../../static/js/core/trace/reducer.js').State} state */
const plain = (state) => ({
  seq: state.seq,
  t: state.t,
  rev: state.rev,
  held: state.held,
  counts: state.counts,
  open: [...state.requests],
  queues: [...state.queues],
  objects: [...state.objects].map(([r, map]) => [r, [...map].map(([k, w]) => [k, w.rev])]),
});

test('the state at a record is the same by seeking as by reading from the start', () => {
  const history = load('full');
  const { records } = history.index;
  for (const seq of [1, 700, records.length - 5, 40, 333, records.length]) {
    const straight = emptyState();
    for (const record of records.slice(0, seq)) reduce(straight, record);
    assert.deepEqual(plain(history.stateAt(seq)), plain(straight));
  }
});

test('a seek in a hundred thousand records takes less than 25 ms', () => {
  const history = new History();
  history.append(repeated(100_001));
  assert.ok(history.last > 100_000, `only ${history.last} records`);
  const times = [];
  for (let i = 0; i < 60; i += 1) {
    const seq = 1 + ((i * 7_919_311) % history.last);
    const began = performance.now();
    history.stateAt(seq);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  assert.ok(times[57] < 25, `p95 ${times[57].toFixed(1)} ms`);
});

test('a gap in the records is refused and records already known are left out', () => {
  const history = new History();
  const records = recorded('refused');
  assert.equal(history.append(records.slice(0, 10)), 10);
  assert.equal(history.append(records.slice(5, 12)), 2);
  assert.throws(() => history.append(records.slice(14)), RangeError);
});

test('everything a command caused is in its trail, heartbeats are not', () => {
  const history = load('full');
  const { index } = history;
  assert.equal(index.roots.length, 1);
  const trail = must(index.trails.get(index.roots[0]));
  const kinds = new Set(
    trail.map((seq) => whoOf(must(index.spanOf(must(index.record(seq)))))),
  );
  for (const who of [KUBECTL, 'deployment', 'replicaset', 'scheduler', 'kubelet/node-2']) {
    assert.ok(kinds.has(who), who);
  }
  const beats = index.writes.filter((w) => w.beat);
  assert.ok(beats.length > 3);
  for (const beat of beats) assert.ok(!trail.includes(beat.seq));
});

test('a binding goes back through scheduler, replicaset and deployment to the command', () => {
  const { index } = load('full');
  const bind = must(index.writes.find((w) => w.subresource === 'binding'));
  const chain = ancestry(index, must(index.spans.get(bind.span)));
  assert.deepEqual(
    chain.map(({ span }) => whoOf(span)),
    ['scheduler', 'scheduler', 'replicaset', 'replicaset', 'deployment', 'deployment', KUBECTL],
  );
});

test('while held the state says where, and the current hop is the plugin stopped after', () => {
  const history = load('breakpoint');
  const state = history.stateAt(history.last);
  assert.equal(state.held?.breakpoint, 'bp-1');
  const current = currentAt(history.index, {}, history.last);
  assert.ok(current.hop?.kind === 'plugin');
  assert.equal(current.hop.plugin, 'ServiceAccount');
  assert.equal(current.request?.open.resource, 'pods');
});

test('stepping on and stepping back meet the same hops', () => {
  const { index } = load('full');
  const [root] = index.roots;
  const forward = [root];
  for (let i = 0; i < 200; i += 1) forward.push(nextStop(index, {}, forward[i], 1, false));
  const back = [forward[200]];
  for (let i = 0; i < 200; i += 1) back.push(nextStop(index, {}, back[i], -1, false));
  assert.deepEqual(back.reverse(), forward);
});

test('stepping by request stops only where a request or a piece of work begins', () => {
  const { index } = load('full');
  let seq = index.roots[0];
  for (let i = 0; i < 12; i += 1) {
    seq = nextStop(index, {}, seq, 1, true);
    assert.ok(['request', 'work'].includes(must(index.record(seq)).kind));
  }
});

test('objects hang below their controllers and pods below their nodes', () => {
  const history = load('full');
  const state = history.stateAt(history.last);
  const [deployment] = ownerTree(state, 'default');
  assert.equal(deployment.kind, 'Deployment');
  assert.equal(deployment.kids[0].kids.length, 3);
  const pods = podsOf(state).filter((p) => !p.system);
  assert.deepEqual(
    pods.map((p) => p.stage),
    ['ready', 'ready', 'ready'],
  );
  assert.equal(nodesOf(state)[1].pods.filter((p) => !p.system).length, 1);
});

test('a node says why it is not ready, until it is', () => {
  const history = load('full');
  const creation = must(
    recorded('full').find(
      (one) => one.kind === 'write' && one.op === 'create' && one.resource === 'nodes',
    ),
  );
  const [fresh] = nodesOf(history.stateAt(creation.seq));
  assert.match(fresh.why, /cni plugin not initialized, CSINode is not yet initialized/);
  const explanation = explainNode(
    /** @type {any} */ ({ state: history.stateAt(creation.seq), index: history.index }),
    fresh.name,
    wordsFor('en'),
  );
  assert.match(JSON.stringify(explanation), /cni plugin not initialized/);
  const nodes = nodesOf(history.stateAt(history.last));
  assert.deepEqual(
    nodes.map((one) => [one.ready, one.why]),
    [[true, ''], [true, ''], [true, '']],
  );
});

test('a refused request is followed though nothing was stored', () => {
  const history = load('refused');
  const current = currentAt(history.index, {}, history.last);
  assert.ok(current.hop?.kind === 'response');
  assert.equal(current.hop.code, 403);
  assert.equal(current.request?.user?.name, 'student');
});
