// @ts-check
// Facts about the dotted words: each has one sentence in both languages, and is marked once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { marked, TERMS } from '../../static/js/core/text/glossary.js';
import { wordsFor } from './languages.mjs';

const en = wordsFor('en');
const zh = wordsFor('zh');

test('every word of the glossary has one sentence in both languages', () => {
  for (const term of TERMS) {
    assert.match(en.t(`term.${term}`), /^[A-Z].*\.$/);
    assert.match(zh.t(`term.${term}`), /[\u3400-\u9fff].*。$/);
    assert.equal(zh.t(`term.${term}`).match(/。/g)?.length, 1);
  }
});

test('a word is marked where it comes first, as it is written, and code is left alone', () => {
  const found = marked(
    [
      { text: 'Leases: a lease of ', as: '' },
      { text: 'workload-high', as: 'b' },
      { text: 'kubelet', as: 'code' },
      { text: ' released', as: '' },
    ],
    en,
  );
  const terms = found.filter((one) => one.term).map(({ text, as, term }) => [text, as, term]);
  assert.deepEqual(terms, [
    ['Leases', '', 'lease'],
    ['workload-high', 'b', 'workloadHigh'],
  ]);
  const whole = 'Leases: a lease of workload-highkubelet released';
  assert.equal(found.map(({ text }) => text).join(''), whole);
});

test('what articles name is dotted where the page speaks of it', () => {
  const spoken = {
    binding: 'cycle.bindingAbout',
    generator: 'gate.decode.older',
    informer: 'informers.about',
    ownerReference: 'work.garbagecollector.why',
  };
  for (const words of [en, zh]) {
    for (const [term, key] of Object.entries(spoken)) {
      const pieces = marked([{ text: words.t(key), as: '' }], words);
      assert.ok(pieces.some((piece) => piece.term === term), `${term} in ${words.lang}`);
    }
  }
});

test('the name of an object is no word of the glossary', () => {
  const found = marked([{ text: 'watch-me took a lease2 of webhook-1', as: '' }], en);
  assert.deepEqual(
    found.filter((one) => one.term),
    [],
  );
});

test('Chinese words are found without spaces around them', () => {
  const found = marked([{ text: '添加了两个容忍度：污点', as: '' }], zh);
  assert.deepEqual(
    found.filter((one) => one.term).map(({ term }) => term),
    ['toleration', 'taint'],
  );
});
