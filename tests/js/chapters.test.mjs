// @ts-check
// Facts about telling: in chapters, one thing at a time, what repeats as a number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chapterAt, chaptersOf } from '../../static/js/core/chapters.js';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt } from '../../static/js/core/follow.js';
import { toldNext } from '../../static/js/core/film.js';
import { History } from '../../static/js/core/history.js';
import { knownAt } from '../../static/js/core/known.js';
import { Player } from '../../static/js/core/player.js';
import { wordsFor } from '../../static/js/i18n/index.js';
import { must, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/records.js').TraceRecord} TraceRecord */

const words = wordsFor('en');

/** A player of a recording, at its first command. @param {TraceRecord[]} records */
function playing(records) {
  const history = new History();
  history.append(records);
  const player = new Player(history, { live: false });
  player.begin();
  player.playing = true;
  return player;
}

/** The headline at the cursor. @param {Player} player */
function headline(player) {
  const { history, cursor, quick } = player;
  const index = knownAt(history.index, cursor);
  const state = history.stateAt(cursor);
  const current = currentAt(index, {}, cursor);
  const model = { index, state, current, selected: null, crowd: false, version: '', clock: 0 };
  return explain({ ...model, more: quick }, words).title;
}

/** Where it stands: "4 of 7 pods". @param {Player} player */
function chapter(player) {
  const { history, cursor } = player;
  const { root, hop } = currentAt(history.index, {}, cursor);
  const here = chapterAt(history.index, root, hop, cursor);
  return here ? `${here.at + 1} of ${here.of} ${here.chapter.id}` : '';
}

/** Every stop that is shown until it rests, with its headline. @param {Player} player */
function told(player) {
  const seen = [{ seq: player.cursor, title: headline(player), chapter: chapter(player) }];
  let { cursor } = player;
  for (let i = 0; i < 20_000 && player.behind && player.playing; i += 1) {
    player.tick(50);
    if (cursor === player.cursor) continue;
    ({ cursor } = player);
    seen.push({ seq: cursor, title: headline(player), chapter: chapter(player) });
  }
  return seen;
}

const CREATED = ['ask', 'store', 'replicaset', 'pods', 'schedule', 'start', 'report'];

test('a Deployment is told in seven chapters, in the order in which one caused the other', () => {
  const { history } = playing(recorded('full'));
  const list = chaptersOf(history.index, history.index.roots[0]);
  assert.deepEqual(
    list.map((one) => one.id),
    CREATED,
  );
  assert.ok(list.every((one, i) => !i || one.seq > list[i - 1].seq));
});

test('the crumb says which of how many, before the rest has happened', () => {
  const player = playing(recorded('full'));
  const crumbs = [...new Set(told(player).map((one) => one.chapter))];
  assert.deepEqual(
    crumbs,
    CREATED.map((id, i) => `${i + 1} of 7 ${id}`),
  );
});

test('two more pods, the same way', () => {
  const titles = told(playing(recorded('full'))).map((one) => one.title);
  assert.ok(titles.includes('2 more Pods, the same way.'), titles.join('\n'));
  assert.ok(titles.includes('2 more bound to a node, the same way.'));
});

test('a gate with nothing to say is told when it appears for the first time only', () => {
  const titles = told(playing(recorded('full'))).map((one) => one.title);
  for (const title of [
    'The request is written down before it is judged.',
    'kube-apiserver answers this itself.',
    'No policy objects.',
  ])
    assert.equal(titles.filter((one) => one === title).length, 1, title);
  assert.ok(titles.length < 75, `${titles.length} headlines`);
});

test('Space plays to the end of a chapter and rests; again, to the end of the next', () => {
  const player = playing(recorded('full'));
  player.pause();
  const { index } = player.history;
  const list = chaptersOf(index, index.roots[0]);
  for (const id of CREATED.slice(0, -1)) {
    player.toggle(true);
    told(player);
    assert.equal(player.isRunning, false);
    assert.match(chapter(player), new RegExp(`${id}$`));
  }
  player.chapter(-1);
  assert.equal(player.cursor, must(list[5]).seq);
  player.chapter(-1);
  assert.equal(player.cursor, must(list[4]).seq);
  player.chapter(1);
  assert.equal(player.cursor, must(list[5]).seq);
});

test('reading rests a quarter of a second a word, and a slow cluster slows all', () => {
  const { pace, history } = playing(recorded('full'));
  const record = must(history.index.record(history.index.roots[0]));
  pace.story = 'read';
  assert.equal(pace.dwell(record, 8, 0, 1), 2000);
  assert.equal(pace.dwell(record, 8, 0, 10), 2000);
  assert.equal(pace.dwell(record, 8, 0, 0.5), 4000);
  pace.story = 'watch';
  const usual = pace.dwell(record, 8, 0, 1);
  assert.equal(pace.dwell(record, 8, 0, 0.1), usual * 10);
  assert.equal(pace.dwell(record, 8, 0, 10), usual / 10);
});

/**
 * The records of two commands as they would be if the second began while the first was under way:
 * each next record is taken from the other.
 */
function overlapping() {
  const records = recorded('jobs');
  const isOutside = (/** @type {TraceRecord} */ one) => one.kind === 'request' && one.outside;
  const [a, b] = records.filter(isOutside).map((one) => one.seq);
  const of = (/** @type {number} */ span) => records.filter((one) => one.span === span);
  const before = records.slice(0, a - 1);
  const mixed = [];
  const [first, second] = [of(a), of(b)];
  while (first.length || second.length) {
    mixed.push(...first.splice(0, 1), ...second.splice(0, 1));
  }
  const at = new Map(mixed.map((one, i) => [one.seq, a + i]));
  const { t } = records[a - 1];
  return [
    ...before,
    ...mixed.map((one, i) => ({
      ...structuredClone(one),
      seq: a + i,
      t: t + i * 50,
      span: must(at.get(one.span)),
    })),
  ];
}

test('of two requests that overlap each is followed to its answer, one after the other', () => {
  const records = overlapping();
  const player = playing(/** @type {TraceRecord[]} */ (records));
  const { index } = player.history;
  const [a, b] = index.roots;
  assert.ok(b < must(index.spans.get(a)?.close).seq);
  const spans = told(player)
    .slice(0, -1)
    .map(({ seq }) => must(index.record(seq)).span);
  const turns = spans.filter((span, i) => span !== spans[i - 1]);
  assert.deepEqual(turns, [a, b]);
});

test('a reconcile is told to its end before what it caused', () => {
  const { history } = playing(recorded('full'));
  const { index } = history;
  const trail = must(index.trails.get(index.roots[0]));
  const sync = must(
    index.works.find((one) => one.open.component === 'replicaset' && one.requests.length > 3),
  );
  const made = sync.requests.map((seq) => must(index.spans.get(seq)));
  /** @type {(import('../../static/js/core/index.js').Span|null)[]} */ const within = [];
  let seq = sync.seq;
  for (let i = 0; i < 60; i += 1) {
    seq = toldNext(index, trail, seq, 1);
    const span = index.spanOf(must(index.record(seq)));
    if (span !== sync && !made.some((one) => one === span)) break;
    within.push(span);
  }
  const told = made.filter((one) => one.cls === 'change');
  assert.ok(told.every((one) => within.includes(one)));
  const cycle = must(index.works.find((one) => one.open.component === 'scheduler'));
  assert.ok(seq <= cycle.seq);
  assert.ok(cycle.seq < must(sync.close).seq); // it began meanwhile
  assert.equal(index.spanOf(must(index.record(toldNext(index, trail, seq, -1)))), told.at(-1));
});

test('a breakpoint stops what is shown of a recording', () => {
  const player = playing(recorded('full'));
  player.server.breakpoints = [{ id: 'x', kind: 'schedule', phase: 'select' }];
  told(player);
  const record = /** @type {any} */ (must(player.history.index.record(player.cursor)));
  assert.deepEqual([record.kind, record.phase], ['schedule', 'select']);
  assert.equal(player.heldAt, player.cursor);
  assert.equal(player.isRunning, false);
  player.play();
  const after = told(player);
  assert.notEqual(after[1].seq, after[0].seq);
});

test('in every run each stop is told once, and all of it comes to an end', () => {
  for (const name of ['crash', 'rollout', 'pending', 'namespace', 'preemption', 'refused']) {
    const player = playing(recorded(name));
    player.pace.story = 'fast';
    const seqs = told(player).map((one) => one.seq);
    assert.equal(new Set(seqs).size, seqs.length, name);
    assert.equal(player.cursor, player.history.last, name);
  }
});
