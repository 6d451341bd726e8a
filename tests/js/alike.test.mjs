// @ts-check
// Facts about the quick comparison of two histories: it says what isDeepStrictEqual says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { alike } from './alike.mjs';

const POD = { kind: 'Pod', spec: { containers: [{ name: 'c', image: 'nginx' }], node: null } };
class Named {
  constructor(/** @type {string} */ name) {
    this.name = name;
  }
}
/** Makers of values, of which no two are the same. */
const DIFFERENT = [
  () => undefined,
  () => null,
  () => false,
  () => 0,
  () => -0,
  () => NaN,
  () => '0',
  () => [],
  () => [undefined],
  () => [1, 2],
  () => [2, 1],
  () => [1, 2, 3],
  () => ({}),
  () => ({ one: undefined }),
  () => ({ one: 1 }),
  () => ({ 0: 1, 1: 2, length: 2 }),
  () => ({ other: 1 }),
  () => ({ one: 1, other: 2 }),
  () => structuredClone(POD),
  () => ({ ...POD, spec: { ...POD.spec, containers: [{ name: 'c', image: 'httpd' }] } }),
  () => new Named('c'),
  () => new Named('d'),
  () => ({ name: 'c' }),
  () => new Map(),
  () => new Map([['a', 1]]),
  () => new Map([['a', new Map([['b', [POD]]])]]),
  () => new Map([['a', new Map([['b', []]])]]),
  () => new Set(),
  () => new Set([1]),
  () => new Set([2]),
  () => new Set([{ one: 1 }]),
];

test('values are alike when node says so, made twice or different', () => {
  for (const [i, one] of DIFFERENT.entries())
    for (const [j, other] of DIFFERENT.entries()) {
      const told = `value ${i} and value ${j}`;
      assert.equal(isDeepStrictEqual(one(), other()), i === j, told);
      assert.equal(alike(one(), other()), i === j, told);
    }
});

test('the order of fields, of a map and of a set makes no difference', () => {
  const pairs = [
    [{ a: 1, b: [2] }, { b: [2], a: 1 }],
    [new Map([['a', 1], ['b', 2]]), new Map([['b', 2], ['a', 1]])],
    [{ in: new Set([1, 2]) }, { in: new Set([2, 1]) }],
  ];
  for (const [one, other] of pairs) assert.ok(alike(one, other));
});
