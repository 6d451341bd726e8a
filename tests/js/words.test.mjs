// @ts-check
// Facts about the words: both languages say everything the page asks for, data is never markup.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CHINESE, ENGLISH, wordsFor } from './languages.mjs';
import { duration } from '../../static/js/core/text/words.js';

const SOURCE = new URL('../../static/js/', import.meta.url).pathname;

/** @param {string} folder @returns {string[]} */
function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === 'i18n' ? [] : files(path);
    return path.endsWith('.js') ? [path] : [];
  });
}

test('both languages have the same sentences', () => {
  assert.deepEqual(Object.keys(CHINESE).sort(), Object.keys(ENGLISH).sort());
});

test('Chinese has the terms of the official documentation', () => {
  const others = /命名空间|[个的]容忍[^度]|发布 ·|监听(?!端口)|所有者/; // 名字空间, 容忍度, 上线, 监视, 属主
  const wrong = Object.entries(CHINESE).filter(([, text]) => others.test(text));
  assert.deepEqual(wrong, []);
});

test('both languages use the same parameters in a sentence', () => {
  const names = (/** @type {string} */ text) =>
    [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]))].sort();
  for (const key of Object.keys(ENGLISH)) {
    const extra = names(CHINESE[key]).filter((n) => !ENGLISH[key].includes(`{${n}`));
    assert.deepEqual(extra, [], key);
  }
});

test('every sentence that the page asks for by name exists', () => {
  const missing = [];
  for (const path of files(SOURCE)) {
    const text = readFileSync(path, 'utf8');
    const found = [
      ...text.matchAll(/(?:\bt|\brich|\bp)\((?:words, )?'([a-z][\w]*\.[\w.]+)'/g),
      ...text.matchAll(/'((?:story|cycle|request|denied|moment|work)\.[a-zA-Z.]+)'/g),
    ];
    for (const [, key] of found) if (!(key in ENGLISH)) missing.push(`${path}: ${key}`);
  }
  assert.deepEqual(missing, []);
});

test('a revision is a name and not counted, a number of pods is', () => {
  const { t, rich } = wordsFor('en');
  assert.equal(t('gate.etcd.title', { rev: 12345 }), 'Stored. This is revision 12345.');
  assert.match(rich('work.woken', { rev: 12345, what: '' })[1].text, /^12345$/);
  assert.equal(t('objects.running', { n: 12345 }), '12,345 running');
});

test('what a plugin said is told in Chinese with its data, what upstream prints as it is', () => {
  const { said } = wordsFor('zh');
  assert.equal(said('default is active'), 'default 处于活动状态');
  assert.equal(said('runs as default: 4 changes'), '以 default 身份运行：4 处改动');
  assert.equal(said('1 in flight'), '1 个进行中');
  assert.equal(said('off: --insecure-port=0'), '关闭：--insecure-port=0');
  assert.equal(said('pods "x" is forbidden'), 'pods "x" is forbidden');
  assert.equal(wordsFor('en').said('default is active'), 'default is active');
});

test('marks in data stay data', () => {
  const words = wordsFor('en');
  const pieces = words.rich('request.wrote', { rev: '*7*', key: 'a`b`' });
  assert.ok(pieces.some((piece) => piece.as === 'b' && piece.text === '*7*'));
  assert.ok(pieces.some((piece) => piece.as === 'code' && piece.text === 'a`b`'));
  assert.equal(words.t('request.wrote', { rev: '*7*', key: 'x' }), 'It wrote revision *7* of x.');
});

test('a plural follows its number', () => {
  const words = wordsFor('en');
  assert.equal(words.t('objects.count', { n: 1 }), '1 object');
  assert.equal(words.t('objects.count', { n: 1200 }), '1,200 objects');
});

test('durations are read in the shortest honest form', () => {
  assert.deepEqual([400, 21_000, 2300, 6_410_000, 200_000_000].map(duration), [
    '0.4 ms',
    '21 ms',
    '2.3 ms',
    '6.41 s',
    '3 min 20 s',
  ]);
});

/**
 * What a key that is put together can be: `a.${b}.c` is any with that beginning and end, and
 * `${a}.b` any with that end which begins as another of the same file does.
 * @param {string} text
 */
function patternsIn(text) {
  const made = [...text.matchAll(/`((?:[\w.-]|\$\{[^}`]*\})+)`/g)].map(([, key]) => key);
  const starts = made.flatMap((key) => /^[a-z]\w*\.[\w.]*/i.exec(key) || []);
  return made
    .flatMap((key) => (key.startsWith('${') ? starts.map((start) => start + key) : [key]))
    .filter((key) => /^[a-z]\w*\./i.test(key) && key.includes('${'))
    .map((key) => new RegExp(`^${key.replaceAll('.', '\\.').replace(/\$\{[^}]*\}/g, '.+')}$`));
}

test('what asks first says what is lost and what the second press is called', () => {
  const asked = files(SOURCE).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/asksFirst\(ctx, '([\w.]+)'/g)].map(([, key]) => key),
  );
  assert.ok(asked.length > 1);
  const keys = asked.flatMap((key) => [key, `${key}Text`, `${key}Sure`]);
  assert.deepEqual(keys.filter((key) => !(key in ENGLISH && key in CHINESE)), []);
});

test('every sentence is asked for somewhere in the page', () => {
  const texts = files(SOURCE).map((path) => readFileSync(path, 'utf8'));
  const named = new Set(texts.flatMap((text) => text.match(/(?<=['"`])[\w.-]+(?=['"`])/g) || []));
  const patterns = texts.flatMap(patternsIn);
  const ends = texts.flatMap((text) =>
    [...text.matchAll(/`\$\{\w+\}(\w+)`/g)].map(([, end]) => end),
  );
  const isEnd = (/** @type {string} */ key) =>
    ends.some((end) => key.endsWith(end) && key.slice(0, -end.length) in ENGLISH);
  const isAsked = (/** @type {string} */ key) =>
    named.has(key) || isEnd(key) || patterns.some((pattern) => pattern.test(key));
  assert.deepEqual(Object.keys(ENGLISH).filter((key) => !isAsked(key)), []);
});
