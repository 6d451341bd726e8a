// @ts-check
/**
 * How the API server of a trace was built, from the record it wrote when it started: who is asked
 * who somebody is, who decides what he may, which plugins look at an object in which order.
 */

/** @typedef {import('./index.js').Index} Index */
/** @typedef {{name: string, of?: Part[], [more: string]: any}} Part */

/** What was told of the API server's start; empty when the trace begins later. */
export const startupOf = (/** @type {Index} */ index) => index.facts.startup || {};

/** The class of an admission plugin, '' when it is not known. */
export function classOf(
  /** @type {Index} */ index,
  /** @type {string} */ phase,
  /** @type {string} */ plugin,
) {
  const list = startupOf(index).admission?.[phase] || [];
  const row = list.find((/** @type {string[]} */ [name]) => name === plugin);
  return row ? row[1] : '';
}

/**
 * The nested authenticators as lines, each with its depth. What stands there a second time (the
 * same authenticators for the tokens of a WebSocket) is named, not repeated.
 * @param {Part[]} parts
 * @returns {{depth: number, part: Part, repeats: boolean, below: string[]}[]}
 */
export function nested(parts) {
  /** @type {Set<string>} */ const shown = new Set();
  /** @type {{depth: number, part: Part, repeats: boolean, below: string[]}[]} */ const lines = [];
  const walk = (/** @type {Part} */ part, /** @type {number} */ depth) => {
    const own = JSON.stringify(part.of || []);
    const repeats = !!part.of && shown.has(own);
    lines.push({ depth, part, repeats, below: repeats ? [] : namesIn(part) });
    if (repeats) return;
    if (part.of) shown.add(own);
    for (const inner of part.of || []) walk(inner, depth + 1);
  };
  for (const part of parts) walk(part, 0);
  return lines;
}

/** @param {Part} part @returns {string[]} */
function namesIn(part) {
  return [part.name, ...(part.of || []).flatMap(namesIn)];
}

/**
 * Each plugin of a phase in upstream's order, with its class and what it said to a request.
 * @param {Index} index @param {string} phase @param {any[]} plugins  as told in the trace
 */
export function admissionOrder(index, phase, plugins) {
  /** @type {Map<string, any>} */ const answers = new Map();
  for (const plugin of plugins)
    for (const name of plugin.plugin.split(',')) answers.set(name, { ...plugin, plugin: name });
  const list = startupOf(index).admission?.[phase] || [];
  const known = list.map((/** @type {string[]} */ [name, label]) => ({
    name,
    label,
    said: answers.get(name) || null,
  }));
  const names = new Set(list.map((/** @type {string[]} */ [name]) => name));
  const others = [...answers.values()]
    .filter((answer) => !names.has(answer.plugin))
    .map((answer) => ({ name: answer.plugin, label: '', said: answer }));
  return [...known, ...others];
}
