// @ts-check
// Facts about what is said of refusals: what was asked for and is not there is told as such.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explain } from '../../static/js/core/explain/index.js';
import { History } from '../../static/js/core/trace/history.js';
import { wordsFor } from './languages.mjs';
import { recorded } from './traces.mjs';

test('a request about an object that is not there is told as such, not as a race', () => {
  const records = recorded('breakpoint');
  const history = new History();
  history.append(records);
  const absent = records.filter((/** @type {any} */ r) => r.detail?.end === 'absent');
  assert.ok(absent.length > 5);
  for (const { span, gate } of /** @type {any[]} */ (absent)) {
    const model = {
      index: history.index,
      state: history.stateAt(history.last),
      current: /** @type {any} */ ({}),
      selected: { type: 'gate', span, gate },
      crowd: false,
      version: '1.33',
      clock: 0,
    };
    const told = (/** @type {'en'|'zh'} */ lang) =>
      explain(/** @type {any} */ (model), wordsFor(lang)).title;
    assert.equal(told('en'), 'There is no object of that name.');
    assert.equal(told('zh'), '没有这个名字的对象。');
  }
});
