// @ts-check
// Facts about moving through a trace: live, telling, the past, and what goes to the cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { Player } from '../../static/js/core/story/player.js';
import { commandAt, recorded } from './traces.mjs';

/** A live player that knows the idle cluster, and the records that come after a command. */
function live(name = 'full', watches = false) {
  const records = recorded(name);
  const at = commandAt(records);
  const history = new History();
  /** @type {{action: string}[]} */ const sent = [];
  const player = new Player(history, { live: true, watches, control: (body) => sent.push(body) });
  player.knownUpTo = at;
  history.append(records.slice(0, at));
  player.arrived();
  return { history, player, sent, more: records.slice(at) };
}

test('what was there before the page opened is not told', () => {
  const { player } = live();
  assert.equal(player.moment, 'live');
  assert.equal(player.behind, false);
});

test('a command from outside is told hop by hop until the page is live again', () => {
  const { history, player, more } = live();
  history.append(more);
  player.arrived();
  assert.equal(player.moment, 'telling');
  const seen = new Set();
  for (let i = 0; i < 4000 && player.behind; i += 1) {
    player.tick(16);
    seen.add(history.index.record(player.cursor)?.kind);
  }
  assert.equal(player.moment, 'live');
  for (const kind of ['request', 'gate', 'plugin', 'work', 'schedule', 'kubelet']) {
    assert.ok(seen.has(kind), kind);
  }
});

for (const ms of [16, 1000])
  test(`each gate of a command is drawn, though a frame takes ${ms} ms`, () => {
    const { history, player, more } = live();
    const { seq } = more[0];
    const gates = more.filter((one) => one.kind === 'gate' && one.span === seq);
    const drawn = new Set();
    // the records come one by one, as slowly as the frames
    for (const record of more.slice(0, more.findIndex((one) => one.kind === 'response') + 1)) {
      history.append([record]);
      player.arrived();
      player.tick(ms);
      drawn.add(player.cursor);
      assert.notEqual(history.index.record(player.cursor)?.kind, 'write');
    }
    for (let i = 0; i < 4000 && player.behind; i += 1) {
      player.tick(ms);
      drawn.add(player.cursor);
    }
    assert.equal(gates.length, 11);
    for (const gate of gates) assert.ok(drawn.has(gate.seq), JSON.stringify(gate));
  });

test('what comes at once is drawn gate by gate on a slow machine', () => {
  const { history, player, more } = live();
  history.append(more);
  player.arrived();
  const drawn = new Set();
  for (let i = 0; i < 4000 && player.behind; i += 1) {
    player.tick(1000);
    drawn.add(player.cursor);
  }
  // the command's own, and the first by which the Deployment's controller answers it
  const { requests } = history.index;
  const told = requests.filter((one) => one.cls === 'change' && one.roots.includes(more[0].seq));
  const silent = (/** @type {any} */ one) => one.verdict === 'allow' && one.gate !== 'etcd';
  for (const [i, { records }] of told.slice(0, 2).entries())
    for (const one of records)
      if (one.kind === 'gate') assert.equal(drawn.has(one.seq), !(i && silent(one)), one.gate);
});

test('above ten times real time nothing is told', () => {
  const { history, player, more } = live();
  player.setSpeed(100);
  history.append(more);
  player.arrived();
  assert.equal(player.behind, false);
});

test('at the end the transport drives the cluster, behind it only the page', () => {
  const { history, player, sent, more } = live();
  player.step(1, false);
  player.step(1, true);
  player.pause();
  assert.deepEqual(
    sent.map((b) => b.action),
    ['step', 'step-request', 'pause'],
  );
  history.append(more);
  player.arrived();
  player.step(1, false);
  assert.equal(sent.length, 3);
});

test('a breakpoint that the film came to first is where the cluster is held', () => {
  const { history, player, more } = live('breakpoint');
  const held = /** @type {any} */ (more.findLast((one) => one.kind === 'held'));
  const wanted = { kind: 'plugin', plugin: 'ServiceAccount', phase: 'mutating' };
  player.server.breakpoints = [{ id: held.breakpoint, ...wanted }];
  history.append(more);
  player.arrived();
  for (let i = 0; i < 4000 && player.playing; i += 1) player.tick(16);
  assert.deepEqual([player.cursor, player.behind], [held.at, true]);
  const { span, breakpoint } = held;
  const at = { seq: held.at, kind: 'plugin', span, breakpoint };
  player.serverSaid({ frozen: true, held: at });
  assert.deepEqual([player.behind, player.stopped], [false, true]);
  assert.equal(player.state().held?.at, held.at);
});

test('who only watches passes a breakpoint from which the cluster has gone on', () => {
  const { history, player, more } = live('breakpoint', true);
  const held = /** @type {any} */ (more.findLast((one) => one.kind === 'held'));
  const wanted = { kind: 'plugin', plugin: 'ServiceAccount', phase: 'mutating' };
  player.server.breakpoints = [{ id: held.breakpoint, ...wanted }];
  history.append(more);
  player.arrived();
  for (let i = 0; i < 4000 && player.playing; i += 1) player.tick(16);
  assert.deepEqual([player.playing, player.heldAt], [true, 0]);
});

test('who only watches and pauses stays there while the cluster goes on, and then goes on', () => {
  const { history, player, sent, more } = live('full', true);
  const { cursor } = player;
  assert.equal(player.isRunning, true);
  player.toggle();
  assert.deepEqual([player.isRunning, player.rests, player.behind], [false, true, false]);
  history.append(more);
  player.arrived();
  player.tick(1000);
  assert.deepEqual([player.cursor, player.behind], [cursor, true]);
  player.toggle();
  for (let i = 0; i < 4000 && player.behind; i += 1) player.tick(16);
  assert.deepEqual([player.cursor, player.isRunning], [history.last, true]);
  assert.deepEqual(sent, [], 'nothing was asked of the cluster');
});

test('who steps back and on to the end is told what comes next', () => {
  const { history, player, more } = live();
  const half = more.findIndex((one) => one.kind === 'response') + 1;
  history.append(more.slice(0, half));
  player.arrived();
  player.goLive();
  player.step(-1);
  player.step(1);
  assert.deepEqual([player.behind, player.past], [false, false]);
  history.append(more.slice(half));
  player.arrived();
  for (let i = 0; i < 4000 && player.behind; i += 1) player.tick(16);
  assert.equal(player.behind, false);
});

test('looking back shows the past until the page goes live', () => {
  const { history, player, more } = live();
  history.append(more);
  player.seek(history.first + 200);
  assert.equal(player.moment, 'past');
  player.arrived();
  assert.equal(player.cursor, history.first + 200);
  player.goLive();
  assert.equal(player.moment, 'live');
});

test('a saved trace plays to its end and stays there', () => {
  const history = new History();
  history.append(recorded('full'));
  const player = new Player(history, { live: false });
  player.cursor = history.index.roots[0] - 1;
  player.play();
  for (let i = 0; i < 6000 && player.behind; i += 1) player.tick(16);
  assert.equal(player.cursor, history.last);
  assert.equal(player.isRunning, false);
});

test('a recording that comes in pages is played once it is whole, from where it begins', () => {
  const records = recorded('full');
  const at = commandAt(records);
  const history = new History();
  const player = new Player(history, { live: false });
  player.awaits(new History());
  history.append(records.slice(0, at));
  player.arrived();
  player.step(1);
  player.toggle();
  for (let i = 0; i < 100; i += 1) player.tick(100);
  assert.deepEqual([player.loading, player.cursor], [true, 0]);
  history.append(records.slice(at));
  player.open();
  assert.deepEqual([player.loading, player.playing, player.behind], [false, false, true]);
  assert.equal(player.cursor, history.index.roots[0]);
});

test('a moment far back is shown alone, and what is there then begins where one stands', () => {
  const { history, player, more } = live();
  history.append(more);
  player.goLive();
  const far = new History();
  const { seq } = more[0];
  far.append(history.index.records.slice(0, seq + 60));
  player.lookAt(far, seq);
  assert.deepEqual([player.cursor, player.moment, player.loading], [seq, 'past', false]);
  assert.equal(player.newest.last, history.last);
  player.step(1);
  const there = player.cursor;
  assert.ok(there > seq && there <= seq + 60);
  player.play();
  for (let i = 0; i < 4000; i += 1) player.tick(1000);
  assert.equal(player.moment, 'past', 'it does not take the end of what is shown for the present');
  assert.ok(player.cursor <= far.last);
  player.seek(there);
  player.extend(history);
  assert.deepEqual([player.cursor, player.history === history], [there, true]);
});

test('whoever leaves a moment that is shown alone is back in all that is known', () => {
  for (const leave of [
    (/** @type {Player} */ player) => player.goLive(),
    (/** @type {Player} */ player) => player.seek(player.newest.last),
  ]) {
    const { history, player, more } = live();
    history.append(more);
    const far = new History();
    far.append(history.index.records.slice(0, 60));
    player.lookAt(far, 20);
    leave(player);
    assert.deepEqual([player.cursor, player.moment], [history.last, 'live']);
  }
});
