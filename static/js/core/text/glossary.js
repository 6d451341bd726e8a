// @ts-check
/** The words that an explanation need not explain: where they stand in a text, each once. Pure. */

/** @typedef {import('./words.js').Words} Words */
/** @typedef {import('./words.js').Piece & {term?: string}} Marked  term: its key in the glossary */

export const TERMS = Object.freeze([
  'admission',
  'authorizer',
  'backOff',
  'binding',
  'containerRuntime',
  'controller',
  'endpointSlice',
  'eviction',
  'exempt',
  'finalizer',
  'flowSchema',
  'generator',
  'informer',
  'kubelet',
  'lease',
  'owner',
  'ownerReference',
  'priorityLevel',
  'quota',
  'replicaSet',
  'revision',
  'sandbox',
  'seat',
  'serviceAccount',
  'taint',
  'toleration',
  'watch',
  'webhook',
  'workloadHigh',
  'workloadLow',
]);

/** @typedef {{find: RegExp, terms: Map<string, string>}} Matcher */

/** @type {WeakMap<Words, Matcher>} */
const matchers = new WeakMap();

/** @param {Words} words @returns {Matcher} */
function matcherOf(words) {
  const kept = matchers.get(words);
  if (kept) return kept;
  const terms = new Map(
    TERMS.flatMap((term) =>
      words.t(`term.${term}.word`).split('|').map((word) => [word.toLowerCase(), term]),
    ),
  );
  const longest = [...terms.keys()].sort((a, b) => b.length - a.length);
  const edge = words.lang === 'zh' ? '' : '(?<![\\w-])';
  const end = words.lang === 'zh' ? '' : '(?![\\w-])';
  const matcher = { find: new RegExp(`${edge}(${longest.join('|')})${end}`, 'gi'), terms };
  matchers.set(words, matcher);
  return matcher;
}

/**
 * The same text with its terms cut out, each where it comes first; code is left alone.
 * @param {import('./words.js').Piece[]} pieces @param {Words} words @returns {Marked[]}
 */
export function marked(pieces, words) {
  const { find, terms } = matcherOf(words);
  const met = new Set();
  return pieces.flatMap((piece) => {
    if (piece.as === 'code') return [piece];
    /** @type {Marked[]} */ const parts = [];
    let from = 0;
    for (const { 0: text, index } of piece.text.matchAll(find)) {
      const term = terms.get(text.toLowerCase());
      if (met.has(term)) continue;
      met.add(term);
      if (index > from) parts.push({ text: piece.text.slice(from, index), as: piece.as });
      parts.push({ text, as: piece.as, term });
      from = index + text.length;
    }
    if (from < piece.text.length) parts.push({ text: piece.text.slice(from), as: piece.as });
    return parts;
  });
}
