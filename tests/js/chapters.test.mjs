// @ts-check
// Facts about telling: in chapters, one thing at a time, what repeats as a number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOf } from '../../static/js/core/story/chapterends.js';
import { chapterAt, chaptersOf } from '../../static/js/core/story/chapters.js';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { toldNext } from '../../static/js/core/story/film.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { Player } from '../../static/js/core/story/player.js';
import { wordsFor } from './languages.mjs';
import { corridor, corridorModel } from '../../static/js/views/map/corridor.js';
import { chapterOf } from '../../static/js/views/time/chapters.js';
import { keyframes, must, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/trace/records.js').TraceRecord} TraceRecord */

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

/** The sentence of the chapter at the cursor. @param {Player} player */
function sentence({ history, cursor }) {
  const whole = history.index;
  const index = knownAt(whole, cursor);
  const state = history.stateAt(cursor);
  const current = currentAt(index, {}, cursor);
  const ctx = /** @type {any} */ ({ words, whole, index, current, state, clock: 0 });
  const here = chapterOf(ctx);
  return here ? `${here.chapter.id}: ${here.text}` : '';
}

/** Each sentence that is told of a run, once. @param {Player} player */
function sentences(player) {
  const said = new Set([sentence(player)]);
  player.pace.story = 'fast';
  for (let i = 0; i < 20_000 && player.playing; i += 1) {
    player.tick(50);
    said.add(sentence(player));
  }
  return [...said];
}

const WRITTEN = 'report: What became of it is written back:';
const NONE = 'The scheduler found no node for huge: 0/3 nodes are available:';
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

test('Space rests before a component takes up what the next chapter is about', () => {
  for (const [name, at] of /** @type {[string, number][]} */ ([['full', 0], ['rollout', 1]])) {
    const player = playing(recorded(name));
    const { index } = player.history;
    const root = index.roots[at];
    player.seek(root);
    const list = chaptersOf(index, root);
    for (const { id, cut } of list) {
      player.toggle(true);
      const seqs = told(player).map((one) => one.seq);
      if (index.record(cut)?.kind === 'work') assert.equal(seqs[1], cut, `${name} ${id}`);
    }
  }
});

test('a chapter says what came of it once that is known, and before what is meant to', () => {
  const wanted = {
    full: [
      'pods: The replicaset controller sees to it that as many pods are stored as are wanted.',
      `${WRITTEN} 3 of 3 ready.`,
    ],
    pending: [
      'schedule: The scheduler chooses a node for huge: filter, score, bind.',
      `schedule: ${NONE} 3 Insufficient cpu.`,
    ],
    image: [
      'start: The kubelet on NODE brings typo up: volumes, sandbox, network, image, container.',
      'start: The kubelet on NODE could not start typo: it cannot pull the image ngnix.',
      `${WRITTEN} 0 of 1 runs: image ngnix cannot be pulled (access denied).`,
    ],
    crash: [
      'start: 1 of 1 pod has been started by the kubelet.',
      `${WRITTEN} 0 of 1 runs: crash has exited 1 time, code 1.`,
    ],
    refused: ['ask: The API server refused to create the Deployment: 403 Forbidden.'],
  };
  for (const [name, list] of Object.entries(wanted)) {
    const said = sentences(playing(recorded(name))).map((one) => one.replace(/node-\d/, 'NODE'));
    const at = list.map((one) => said.indexOf(one));
    assert.ok(!at.includes(-1), `${name}: ${list[at.indexOf(-1)]} is not in\n${said.join('\n')}`);
    assert.deepEqual(at, at.toSorted((a, b) => a - b), name);
  }
});

test('when all is over, every chapter has an end', () => {
  const { history } = playing(recorded('full'));
  const { index, head } = history;
  const [root] = index.roots;
  const ends = chaptersOf(index, root).map((one) => endOf(index, index, head, root, one));
  assert.ok(ends.every((end) => end && !end.failed));
  const [pods, schedule, start] = ends.slice(3).map((end) => end?.params);
  assert.equal(pods?.n, 3);
  assert.deepEqual([schedule?.n, schedule?.of, start?.n, start?.of], [3, 3, 3, 3]);
  const jobs = playing(recorded('jobs')).history;
  const [pi] = jobs.index.roots;
  const report = must(chaptersOf(jobs.index, pi).find((one) => one.id === 'report'));
  const about = endOf(jobs.index, jobs.index, jobs.head, pi, report)?.about;
  assert.equal(about?.key, 'outcome.jobDone');
});

test('who joins late has the same chapters as soon as the older records are fetched', () => {
  const records = recorded('rollout');
  const whole = new History();
  whole.append(records);
  for (const keyframe of keyframes('rollout')) {
    const late = new History();
    late.begin(structuredClone(keyframe));
    late.append(records.slice(keyframe.seq));
    const root = must(late.index.roots.at(-1));
    chaptersOf(late.index, root); // as far as they are known
    const joined = late.from(null, records.slice(0, keyframe.seq));
    assert.deepEqual(chaptersOf(joined.index, root), chaptersOf(whole.index, root));
  }
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

test('the map says how many requests are under way at once', () => {
  const history = new History();
  history.append(/** @type {TraceRecord[]} */ (overlapping()));
  const drawn = (/** @type {number} */ seq) => {
    const state = history.stateAt(seq);
    const index = knownAt(history.index, seq);
    const player = { quick: false };
    const act = { hasBreakpoint: () => false };
    const current = currentAt(index, {}, seq);
    const given = { index, state, current, words, player, ui: {}, act, now: state.t };
    const ctx = /** @type {any} */ (given);
    return JSON.stringify(corridor(ctx, corridorModel(ctx)));
  };
  const [, second] = history.index.roots;
  assert.match(drawn(second), /2 under way/);
  assert.doesNotMatch(drawn(second - 1), /under way/);
  assert.doesNotMatch(drawn(history.last), /under way/);
});

test('a reconcile is told to its end before what it caused', () => {
  const { history } = playing(recorded('full'));
  const { index } = history;
  const trail = must(index.trails.get(index.roots[0]));
  const sync = must(
    index.works.find((one) => one.open.component === 'replicaset' && one.requests.length > 3),
  );
  const made = sync.requests.map((seq) => must(index.spans.get(seq)));
  /** @type {(import('../../static/js/core/trace/index.js').Span|null)[]} */ const within = [];
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
