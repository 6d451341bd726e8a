// @ts-check
// The film of `create deployment` tells what a real control plane's audit log says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { Player } from '../../static/js/core/story/player.js';
import { must, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/trace/index.js').Index} Index */
/** @typedef {import('../../static/js/core/trace/index.js').Span} Span */

const ACCOUNTS = 'system:serviceaccount:kube-system:';
const READS = ['get', 'list', 'watch'];

/** Who asked for what, with the code of the answer. @param {Index} index @param {Span} span */
function asked(index, span) {
  const { verb, resource, subresource } = /** @type {any} */ (span.open);
  const gate = span.records.find((one) => one.kind === 'gate' && one.gate === 'authentication');
  const who = /** @type {any} */ (must(gate)).detail.user.name.replace(ACCOUNTS, '');
  const { code } = /** @type {any} */ (must(span.close));
  const what = `${verb} ${[resource, subresource].filter(Boolean).join('/')} ${code}`;
  return READS.includes(verb) ? '' : `${who.startsWith('system:node:') ? 'kwok' : who}: ${what}`;
}

/** Each request that is told until all runs, in the order of telling. */
function told() {
  const history = new History();
  history.append(recorded('full'));
  const player = new Player(history, { live: false });
  player.begin();
  player.pace.story = 'fast';
  player.playing = true;
  const seen = new Set();
  for (let i = 0; i < 20_000 && player.playing; i += 1) {
    const span = player.history.index.spanOf(must(player.history.index.record(player.cursor)));
    if (span?.type === 'request' && span.close) seen.add(span.seq);
    player.tick(50);
  }
  const { index } = player.history;
  return [...seen].map((seq) => asked(index, must(index.spans.get(seq))));
}

/**
 * Each request once, in order, by who sent it; events are another task's.
 * @param {string[]} requests
 */
function byComponent(requests) {
  /** @type {Record<string, string[]>} */ const out = {};
  for (const one of new Set(requests)) {
    const [who, what] = one.split(': ');
    if (!what.includes('events')) (out[who] ??= []).push(what);
  }
  return out;
}

test('of each component it tells the requests of the real audit log, in its order', () => {
  const log = new URL('../likeness/deployment-life.json', import.meta.url);
  /** @type {[string, string][]} */ const all = JSON.parse(readFileSync(log, 'utf8')).requests;
  const life = all.slice(
    0,
    all.findIndex(([, what]) => what.startsWith('delete ')),
  );
  const real = life.map(([who, what]) => `${who}: ${what}`);
  assert.deepEqual(byComponent(told()), byComponent(real));
});
