// @ts-check
/** Whether two values are alike: what isDeepStrictEqual of node says, in a fraction of its time. */
import { isDeepStrictEqual } from 'node:util';

/** @param {any} one @param {any} other */
export const alike = (one, other) => areAlike(one, other) || isDeepStrictEqual(one, other);

/**
 * Sure only of a yes: of JSON, and of maps and sets that were filled in the same order.
 * @param {any} one @param {any} other @returns {boolean}
 */
function areAlike(one, other) {
  if (Object.is(one, other)) return true;
  if (!one || !other || typeof one !== 'object' || typeof other !== 'object') return false;
  const kind = Object.getPrototypeOf(one);
  if (kind !== Object.getPrototypeOf(other)) return false;
  if (kind === Object.prototype) return fieldsAlike(one, other);
  if (kind === Array.prototype) return itemsAlike(one, other);
  if (kind !== Map.prototype && kind !== Set.prototype) return false;
  return one.size === other.size && (!one.size || itemsAlike([...one], [...other]));
}

/** @param {any} one @param {any} other */
function fieldsAlike(one, other) {
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  for (const name of names)
    if (!Object.hasOwn(other, name) || !areAlike(one[name], other[name])) return false;
  return true;
}

/** @param {any[]} one @param {any[]} other */
function itemsAlike(one, other) {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (!areAlike(one[at], other[at])) return false;
  return true;
}
