// @ts-check
// Facts about what one can begin with: what is sent, when it is over, how long it takes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodesOf } from '../../static/js/core/cluster/objects.js';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { Player } from '../../static/js/core/story/player.js';
import * as scenarios from '../../static/js/core/commands/scenarios.js';
import { ENGLISH, wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

const words = wordsFor('en');
const FRAME_MS = 50;
// how each was recorded that has a recording
const RECORDED = {
  run: 'full',
  refused: 'refused',
  full: 'pending',
  image: 'image',
  crash: 'crash',
};

/** @param {string} name */
function loaded(name) {
  const history = new History();
  history.append(recorded(name));
  return history;
}

/** @param {History} history @param {number} seq */
function modelAt(history, seq) {
  const state = history.stateAt(seq);
  const index = knownAt(history.index, seq);
  const current = currentAt(index, {}, seq);
  return { index, state, current, selected: null, crowd: false, version: '1.33', clock: 0 };
}

/** The ms until a recording has told its last command to the end. @param {string} name */
function toldIn(name) {
  const history = loaded(name);
  const root = history.index.roots.at(-1) || 0;
  assert.equal(scenarios.commandAfter(history.index, root - 1), root);
  const player = new Player(history, { live: false });
  player._moveTo(root - 1);
  player.playing = true;
  let drawn = 0;
  for (let ms = 0; ms < 120_000; ms += FRAME_MS) {
    player.tick(FRAME_MS);
    if (player.cursor === drawn) continue;
    drawn = player.cursor;
    const model = modelAt(history, drawn);
    if (scenarios.isOver(model, root)) return ms;
    player.words = explain({ ...model, more: player.quick }, words).title.split(' ').length;
  }
  return Infinity;
}

for (const [name, recording] of Object.entries(RECORDED))
  test(`${name} is told in about the time it says`, () => {
    const said = scenarios.scenarioOf(name).seconds;
    const took = toldIn(recording) / 1000;
    assert.ok(took < said * 1.5 && took > said / 3, `${took} s`);
  });

test('a command is not over while what it caused is under way, and after a refusal it is', () => {
  for (const name of ['full', 'refused']) {
    const history = loaded(name);
    const root = history.index.roots.at(-1) || 0;
    assert.equal(scenarios.isOver(modelAt(history, root), root), false);
    assert.equal(scenarios.isOver(modelAt(history, history.last), root), true);
    assert.equal(scenarios.isOver(modelAt(history, history.last), 0), false);
  }
});

test('each scenario has its words, and a part of its manifest to change', () => {
  for (const { name, theme, manifest, change } of scenarios.SCENARIOS) {
    for (const key of [`cards.${name}`, `theme.of.${theme}`]) assert.ok(key in ENGLISH, key);
    const sent = manifest('some', 300);
    assert.ok(sent.includes(change) && sent.includes('name: some\n'), sent);
  }
});

test('the emptiest node is tainted, once', () => {
  const state = loaded('full').head;
  const text = scenarios.taintManifest(state);
  const counts = new Map(nodesOf(state).map((one) => [one.name, one.pods.length]));
  const name = must(/name: (\S+)/.exec(text))[1];
  assert.equal(counts.get(name), Math.min(...counts.values()));
  assert.equal(scenarios.taintManifest(loaded('scheduling').head), '');
});

test('a name is free', () => {
  const state = loaded('full').head;
  assert.equal(scenarios.freeName(state, scenarios.scenarioOf('run')), 'nginx-2');
  assert.equal(scenarios.freeName(state, scenarios.scenarioOf('crash')), 'crash');
  assert.equal(scenarios.crowdSize(state), 300);
});

test('what is next was not done yet, and is another one', () => {
  const names = scenarios.SCENARIOS.map((one) => one.name);
  assert.equal(scenarios.nextAfter('run', ['run', 'token']).name, 'refused');
  assert.equal(scenarios.nextAfter('crowd', ['crowd']).name, 'run');
  assert.equal(scenarios.nextAfter('crowd', names).name, 'run');
  assert.equal(scenarios.nextAfter('run', names).name, 'token');
});
