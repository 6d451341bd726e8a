// @ts-check
// Facts about what stands under the pointer on the time axis.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../../static/js/core/trace/history.js';
import { previewAt } from '../../static/js/core/timeline/timeline.js';
import { must, recorded } from './traces.mjs';

const history = new History();
history.append(recorded('full'));
const { index } = history;
const [root] = index.roots;

test('at the time of a write stands its request, and its revision', () => {
  const write = must(index.writes.find((one) => one.resource === 'replicasets.apps'));
  const found = must(previewAt(index, {}, index.last, write.t));
  assert.ok(found.rev >= write.rev);
  const early = must(previewAt(index, {}, index.last, must(index.record(root)).t));
  assert.equal(early.what, 'POST deployments');
  assert.ok(early.rev < write.rev);
});

test('before the way there is nothing, and at its end its last hop', () => {
  assert.equal(previewAt(index, {}, index.last, must(index.record(root)).t - 1), null);
  const last = must(previewAt(index, {}, index.last, 1e15));
  assert.equal(last.seq, must(index.trails.get(root)).at(-1));
});
