// @ts-check
// Facts about finding requests: by words, by fields, of which sorts, and one after the other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { Finder, hitBeside } from '../../static/js/core/request/search.js';
import { recorded } from './traces.mjs';

/** @param {string} name */
function indexOf(name) {
  const history = new History();
  history.append(recorded(name));
  return history.index;
}

/** @typedef {import('../../static/js/core/request/search.js').Sort} Sort */

/** @param {string} name @param {string} text @param {Sort[]} [shows] */
function found(name, text, shows = []) {
  return new Finder().find(indexOf(name), { text, shows }).map((one) => one.span);
}

test('fields and words must all hold', () => {
  const pods = found('full', 'kind:pod verb:create ns:default');
  assert.equal(pods.length, 6); // three pods, and a binding of each
  assert.equal(found('full', 'kind:pods verb:create binding').length, 3);
  assert.equal(found('full', 'kind:pod verb:create ns:nowhere').length, 0);
  assert.deepEqual(
    found('full', 'name:nginx kind:deployment user:admin').map((one) => one.open.verb),
    ['create'],
  );
});

test('a refusal is found by its code, and is seen where it was refused', () => {
  const index = indexOf('refused');
  const [hit, ...more] = new Finder().find(index, { text: 'code:403 user:student', shows: [] });
  assert.equal(more.length, 0);
  const record = /** @type {any} */ (index.record(hit.to));
  assert.deepEqual([record.kind, record.gate, record.verdict], ['gate', 'authorization', 'deny']);
});

test('heartbeats, reads and status updates are found where they are shown', () => {
  const verbs = (/** @type {any[]} */ spans) => new Set(spans.map((one) => one.open.verb));
  assert.ok(!found('full', 'node-1').some((one) => one.cls === 'beat'));
  assert.ok(found('full', 'node-1', ['beat']).some((one) => one.cls === 'beat'));
  assert.ok(found('full', '', ['read']).every((one) => one.cls === 'read'));
  assert.ok(verbs(found('full', '', ['read'])).has('list'));
  assert.ok(found('full', '', ['status']).every((one) => one.open.subresource === 'status'));
  assert.deepEqual(found('full', ''), []);
});

test('what is appended is found too, in the order in which it was asked', () => {
  const records = recorded('full');
  const history = new History();
  const finder = new Finder();
  const query = { text: 'pods', shows: [] };
  for (let at = 0; at < records.length; at += 500) {
    history.append(records.slice(at, at + 500));
    finder.find(history.index, query);
  }
  const seqs = finder.hits.map((one) => one.seq);
  assert.deepEqual(seqs, found('full', 'pods').map((one) => one.seq));
  assert.deepEqual(seqs, [...seqs].sort((a, b) => a - b));
});

test('first comes the newest hit so far, then those beside it, around the ends', () => {
  const hits = new Finder().find(indexOf('full'), { text: 'kind:pod verb:create', shows: [] });
  const [first, second, third] = hits;
  assert.equal(hitBeside(hits, 0, second.seq, 1), second);
  assert.equal(hitBeside(hits, 0, 0, 1), first);
  assert.equal(hitBeside(hits, second.seq, 0, 1), third);
  assert.equal(hitBeside(hits, second.seq, 0, -1), first);
  assert.equal(hitBeside(hits, first.seq, 0, -1), hits.at(-1));
  assert.equal(hitBeside(hits, 1e9, 0, 1), first);
  assert.equal(hitBeside([], 1, 1, 1), null);
});
