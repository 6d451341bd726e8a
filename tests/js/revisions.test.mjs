// @ts-check
// Facts about two revisions of an object beside each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compared, countsOf, sideBySide } from '../../static/js/core/cluster/revisions.js';

/** @typedef {import('../../static/js/core/trace/records.js').WriteRecord} WriteRecord */

/** @param {number} rev @param {any} spec @param {'update'|'delete'} [op] */
const write = (rev, spec, op = 'update') =>
  /** @type {WriteRecord} */ (
    /** @type {any} */ ({
      rev,
      op,
      object: {
        kind: 'Deployment',
        metadata: {
          name: 'web',
          uid: 'a',
          resourceVersion: String(rev),
          generation: rev,
          managedFields: [{ manager: 'page', fieldsV1: { 'f:spec': { '.': {} } } }],
        },
        spec,
      },
    })
  );
const one = write(7, { replicas: 1, paused: true });
const two = write(9, { replicas: 2 });

test('what every write changes is left out unless it is asked for', () => {
  const text = (/** @type {boolean} */ all) =>
    compared(one, two, all).map(({ sign, text }) => `${sign}${text}`);
  const short = text(false);
  assert.deepEqual(
    short.filter((line) => line[0] !== ' '),
    ['-  replicas: 1', '-  paused: true', '+  replicas: 2'],
  );
  assert.ok(!short.join().includes('uid') && !short.join().includes('managedFields'));
  const whole = text(true);
  assert.ok(whole.includes('-  resourceVersion: "7"') && whole.includes('+  generation: 9'));
  assert.ok(whole.some((line) => line.trim() === 'f:spec:'));
  assert.deepEqual(compared(one, one, false), []);
});

test('what was taken away stands beside what came in its place', () => {
  const lines = compared(one, two, false);
  assert.deepEqual(countsOf(lines), { added: 1, gone: 2 });
  const changed = sideBySide(lines).filter((row) => row.left?.isChanged || row.right?.isChanged);
  assert.deepEqual(
    changed.map(({ left, right }) => [left?.text, right?.text]),
    [
      ['  replicas: 1', '  replicas: 2'],
      ['  paused: true', undefined],
    ],
  );
});

test('a deleted object has no lines any more', () => {
  const lines = compared(two, write(11, {}, 'delete'), false);
  assert.ok(lines.length && lines.every(({ sign }) => sign === '-'));
});
