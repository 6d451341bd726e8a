// @ts-check
// Facts about names: what a pod is called in short, and who is said to ask for something.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shortPod } from '../../static/js/core/cluster/objects.js';
import { sourceText } from '../../static/js/core/explain/blocks.js';
import { explain } from '../../static/js/core/explain/index.js';
import { whoAsks } from '../../static/js/core/explain/who.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { wordsFor } from './languages.mjs';
import { recorded } from './traces.mjs';

const STORIES = ['full', 'jobs', 'pending', 'namespace'];

test('a pod is called by the end that was made up for it, and by its whole name otherwise', () => {
  const given = {
    'default/nginx-5869d7778c-kpdb6': 'kpdb6',
    'kube-proxy-lrqtl': 'lrqtl',
    'default/nginx-pod': 'nginx-pod',
    'db-0': 'db-0',
    'kube-apiserver-node-1': 'kube-apiserver-node-1',
    nginx: 'nginx',
  };
  for (const [key, short] of Object.entries(given)) assert.equal(shortPod(key), short);
});

test('who asks is a component with its place, a program without its build, or the page', () => {
  const who = (/** @type {string} */ client, outside = false, lang = 'en') =>
    whoAsks({ client, outside }, wordsFor(lang));
  assert.equal(who('deployment'), 'The deployment controller');
  assert.equal(who('kubelet/node-2'), 'The kubelet on node-2');
  assert.equal(who('scheduler'), 'The scheduler');
  assert.equal(who('kubectl/v1.33.1 (linux/amd64) kubernetes/8adc0f0', true), 'kubectl');
  assert.equal(who('kube-apiserver'), 'kube-apiserver');
  assert.equal(who('controllermanager'), 'The controller manager');
  assert.equal(who('page', true), 'The page');
  assert.equal(who('page', true, 'zh'), '网页');
});

test('a file of upstream is not said to be of a version that may have called it otherwise', () => {
  assert.equal(sourceText('1.33', 'pkg/a.go B'), 'v1.33 pkg/a.go B');
  assert.equal(sourceText('1.10', 'pkg/a.go B'), 'pkg/a.go B');
});

for (const story of STORIES) {
  test(`the headline of each request says who asks for what, in ${story}`, () => {
    const history = new History();
    history.append(recorded(story));
    const begun = history.index.requests.filter((one) => one.cls === 'change');
    let told = 0;
    for (const { seq, open } of begun) {
      const index = knownAt(history.index, seq);
      const state = history.stateAt(seq);
      const current = currentAt(index, {}, seq);
      if (current.span?.seq !== seq) continue; // not on the way that is followed
      const model = { index, state, current, selected: null, crowd: false, version: '', clock: 0 };
      const { title } = explain(model, wordsFor('en'));
      const inside = 'The [a-z-]+ controller|The scheduler|The kubelet on \\S+';
      const who = open.outside ? '[A-Za-z]\\S*|The page' : inside;
      const object = '(a |the \\w+ of )?\\w+( \\S+)?';
      const what = ` asks (to ${open.verb} ${object}|for \\S+ to be bound .+)\\.$`;
      assert.match(title, new RegExp(`^(${who})${what}`));
      told += 1;
    }
    assert.ok(told > 3, `${told} of ${begun.length}`);
  });
}
