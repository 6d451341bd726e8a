// @ts-check
// Facts about addresses: what is looked at survives the way into one and back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryOf, viewOf } from '../../static/js/core/text/address.js';

const LIVE = viewOf('');

test('live, with nothing chosen, an address says nothing', () => {
  assert.equal(queryOf(LIVE, ''), '');
  assert.equal(queryOf(LIVE, '?theme=dark&r=7&sel=node/a'), '?theme=dark');
});

/** @type {import('../../static/js/core/explain/index.js').Selected[]} */
const CHOSEN = [
  { type: 'pod', key: 'pods/default/x' },
  { type: 'object', key: 'deployments.apps/default/web' },
  { type: 'node', name: 'node-1' },
  { type: 'component', name: 'scheduler' },
  { type: 'span', seq: 12 },
  { type: 'rev', rev: 7 },
  { type: 'gate', span: 12, gate: 'etcd', seq: 0 },
  { type: 'gate', span: 12, gate: 'mutating', seq: 15 },
];
for (const selected of CHOSEN)
  test(`${JSON.stringify(selected)} comes back`, () => {
    const view = {
      ...{ rev: 3651, hop: 9, selected, tab: 'story', find: 'kind:pod a b', trace: 't1' },
      ...{ shows: ['beat', 'read'], focus: 'scheduler', follow: 'pods/default/x' },
      ...{ cluster: 'demo-fork-2', compared: 'demo', split: false },
    };
    assert.deepEqual(viewOf(queryOf(view, '?lang=zh')), view);
    const halves = { ...view, focus: '', split: true };
    assert.deepEqual(viewOf(queryOf(halves, '?lang=zh')), halves);
  });

test('a field to search that is open and empty comes back open and empty', () => {
  for (const find of ['', null]) assert.equal(viewOf(queryOf({ ...LIVE, find }, '')).find, find);
});

test('an address reads well', () => {
  const selected = CHOSEN[0];
  const view = { ...LIVE, rev: 3651, selected, tab: 'story' };
  assert.equal(queryOf(view, ''), '?r=3651&sel=pod/default/x&tab=story');
  const split = { ...LIVE, cluster: 'demo-fork-2', compared: 'demo', split: true };
  const chips = { ...split, shows: ['beat', 'read'] };
  assert.equal(queryOf(chips, ''), '?cluster=demo-fork-2&with=demo&map=split&show=beat,read');
});

test('what means nothing is left out', () => {
  for (const odd of ['?r=x', '?r=-3', '?map=nowhere', '?sel=toString/a', '?sel=pod', '?h=1e999'])
    assert.deepEqual(viewOf(odd), LIVE, odd);
});
