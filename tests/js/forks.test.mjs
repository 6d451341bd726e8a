// @ts-check
// Facts about forks: whose they are by their names, and a difference in a few words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byObject, differenceText, isFork, originOf } from '../../static/js/core/forks.js';
import { wordsFor } from '../../static/js/i18n/index.js';

const names = { origin: 'demo', fork: 'demo-fork-1' };

/** @param {any} parts @returns {import('../../static/js/core/forks.js').Difference} */
const difference = (parts) => ({
  key: 'pods/default/web',
  kind: 'Pod',
  name: 'web',
  what: 'spec.nodeName',
  there: null,
  here: null,
  after: 0,
  asked: false,
  seq_there: null,
  seq_here: null,
  ...parts,
});

/** @param {any} parts */
const text = (parts) => differenceText(difference(parts), wordsFor('en'), names);

test('a fork is known by its name, and so is what it was made from', () => {
  assert.deepEqual(['demo-fork-12', 'demo', 'my-fork-1-fork-2'].map(originOf), [
    'demo',
    'demo',
    'my-fork-1',
  ]);
  assert.deepEqual(['demo-fork-12', 'demo', 'a-fork'].map(isFork), [true, false, false]);
});

test('a difference says what was there and what is here', () => {
  assert.equal(text({ there: 'node-2', here: 'node-3' }), 'node-2 → node-3');
  assert.equal(text({ there: null, here: { a: 1 } }), '— → {"a":1}');
  assert.equal(text({ there: false, here: 'x'.repeat(60) }), `false → ${'x'.repeat(40)}…`);
  assert.equal(text({ what: 'existence', there: true, here: false }), 'only in demo');
  assert.equal(text({ what: 'existence', there: false, here: true }), 'only in demo-fork-1');
});

test('the fields of one object are told together, in their order', () => {
  const list = [
    difference({}),
    difference({ key: 'nodes/node-1' }),
    difference({ what: 'status.phase' }),
  ];
  const grouped = byObject(list).map((some) => some.map((one) => one.what));
  assert.deepEqual(grouped, [['spec.nodeName', 'status.phase'], ['spec.nodeName']]);
});
