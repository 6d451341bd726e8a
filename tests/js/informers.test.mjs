// @ts-check
// Facts about the informers of a component: what is said of them is what the records tell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../static/js/core/explain/index.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { History } from '../../static/js/core/trace/history.js';
import { wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

const history = new History();
history.append(recorded('full'));

/** The tab of a piece of work, at a record. @param {any} work @param {string} lang */
function informers(work, lang = 'en', seq = history.last) {
  const { index } = history;
  const state = history.stateAt(seq);
  const selected = { type: 'span', seq: work.seq };
  const current = currentAt(index, {}, state.seq);
  const model = { index, state, current, selected, crowd: false, version: '1.33', clock: 0 };
  const { tabs } = explain(/** @type {any} */ (model), wordsFor(lang));
  return must(tabs.find((/** @type {any} */ tab) => tab.id === 'informers')).blocks;
}
/** @param {string} component @param {string} key */
const workOf = (component, key) =>
  must(
    history.index.works.find(
      ({ open, close }) => close && open.component === component && open.key.startsWith(key),
    ),
  );
/** @param {any} work @returns {import('../../static/js/types.js').DoneRecord} */
const closeOf = (work) => must(work.close);
/** @param {any[]} blocks @param {number} nth @returns {[string, string][]} */
const rules = (blocks, nth) =>
  blocks
    .filter(({ type }) => type === 'rules')
    [nth].items.map((/** @type {any} */ one) => [one.title[0].text, one.small]);

test('each informer says what it listed, watches, holds, and whose keys its handlers add', () => {
  const told = new Map(rules(informers(workOf('deployment', 'default/nginx')), 0));
  const deployments = must(told.get('deployments'));
  assert.match(deployments, /^List: \d+ at revision \d+\. Watch: up to revision \d+\./);
  assert.match(deployments, / Cache: 1 object\./);
  assert.match(deployments, /Handlers \(added, updated, deleted\): the object’s own key\.$/);
  assert.match(must(told.get('replicasets')), /Handlers \(.*\): the key of its owner\.$/);
  assert.match(must(told.get('pods')), /Cache: \d+ objects\./);
});

test('the watch of an informer has reached what the records say', () => {
  const told = new Map(rules(informers(workOf('replicaset', 'default/nginx')), 0));
  const rev = Number(/revision (\d+)\. Cache/.exec(must(told.get('pods')))?.[1]);
  const write = must(history.index.byRev.get(rev));
  const { records } = must(history.index.spans.get(write.span));
  const watch = /** @type {any} */ (records.find((one) => one.kind === 'watch'));
  assert.equal(write.resource, 'pods');
  assert.ok(watch.rev === rev && watch.to.includes('replicaset'));
});

test('what a reconcile looked up is told when it ends, and what it asked is counted', () => {
  const work = workOf('replicaset', 'default/nginx');
  const blocks = informers(work);
  const [[name, small], ...more] = rules(blocks, 1);
  assert.equal(name, 'replicasets');
  assert.equal(small, '1 look-up by key: 1 found. Answered from the cache: no request.');
  const [, ofPods] = must(more.find(([one]) => one === 'pods'));
  assert.match(ofPods, /^\d+ look-ups? by \w+: \d+ found\. /);
  const { seq, looked = [] } = closeOf(work);
  assert.equal(more.length + 1, looked.length);
  assert.match(JSON.stringify(informers(work, 'en', seq - 1)), /known when it ends/);
  const asked = work.requests.filter((seq) => history.index.spans.get(seq)?.cls === 'read').length;
  const counted = asked ? /past its caches/ : /asked the API server for nothing/;
  assert.match(JSON.stringify(blocks.at(-1)), counted);
});

test('a cache that a reconcile did not read is not told as read', () => {
  const blocks = informers(workOf('deployment', 'default/nginx'));
  const names = (/** @type {number} */ nth) => rules(blocks, nth).map(([name]) => name);
  assert.ok(names(0).includes('pods'));
  assert.deepEqual(names(1), ['deployments', 'replicasets']);
});

test('a trace that does not tell the look-ups says so, and one without any tells that', () => {
  const work = workOf('replicaset', 'default/nginx');
  const close = closeOf(work);
  const { looked } = close;
  delete close.looked;
  assert.match(JSON.stringify(informers(work)), /does not tell what was looked up/);
  close.looked = [];
  assert.match(JSON.stringify(informers(work)), /looked nothing up/);
  close.looked = looked;
});

test('in Chinese it is told, too', () => {
  const [[, small]] = rules(informers(workOf('deployment', 'default/nginx'), 'zh'), 0);
  assert.match(small, /缓存：1 个对象。 处理程序（添加、更新、删除）：对象自己的键。$/);
});
