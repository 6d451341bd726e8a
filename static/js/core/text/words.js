// @ts-check
/**
 * Sentences from tables of words. `{name}` takes a parameter, `{n|one|many}` a plural form;
 * `*strong*` and `` `code` `` mark words in rich text. Parameters are never read as marks.
 */

/** @typedef {Record<string, string>} Table */
/** @typedef {{text: string, as: ''|'b'|'code'}} Piece */
/** @typedef {Record<string, string|number>} Params */

/**
 * @typedef {Object} Words
 * @property {string} lang
 * @property {(key: string, params?: Params) => string} t   plain text
 * @property {(key: string, params?: Params) => Piece[]} rich
 * @property {(key: string) => boolean} has
 * @property {(more: Table) => void} add  what is loaded later
 * @property {(sentence: string) => string} said  what was recorded in English, in this language
 * @property {(value: number, digits?: number) => string} number
 */

/**
 * @param {string} lang @param {Table} table
 * @param {Table} [details]  recorded sentences, with {0} where data stands
 * @returns {Words}
 */
export function words(lang, table, details = {}) {
  const find = (/** @type {string} */ key) => table[key] ?? key;
  const format = new Intl.NumberFormat(lang);
  return {
    lang,
    t: (key, params = {}) =>
      fill(find(key), params)
        .replace(/[*`]([^*`]*)[*`]/g, '$1')
        .replace(/\u0001(\d+)\u0002/g, (_, i) => show(slots[Number(i)], format)),
    rich: (key, params = {}) => pieces(fill(find(key), params), format),
    has: (key) => key in table,
    add: (more) => Object.assign(table, more),
    said: saidIn(details),
    number: (value, digits = 0) => format.format(Number(value.toFixed(digits))),
  };
}

/** @param {Table} details @returns {(sentence: string) => string} */
function saidIn(details) {
  const shapes = Object.keys(details)
    .filter((shape) => shape.includes('{0}'))
    .map((shape) => {
      const parts = shape.split(/\{\d\}/).map((text) => text.replace(/[.()]/g, '\\$&'));
      return { exact: new RegExp(`^${parts.join('(.+?)')}$`), text: details[shape] };
    });
  return (sentence) => {
    if (Object.hasOwn(details, sentence)) return details[sentence];
    for (const { exact, text } of shapes) {
      const match = exact.exec(sentence);
      if (match) return text.replace(/\{(\d)\}/g, (_, n) => match[Number(n) + 1]);
    }
    return sentence;
  };
}

// values wait here while the marks around them are read, so that data cannot be a mark
/** @type {(string|number)[]} */
let slots = [];

// revisions and codes are names that are digits: nobody counts them
const NUMBERED = new Set(['rev', 'code', 'before', 'expected', 'found', 'first', 'last', 'to']);

/** @param {string} text @param {Params} params */
function fill(text, params) {
  slots = [];
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, single, many) => {
    if (single !== undefined) return Number(params[name]) === 1 ? single : many;
    const value = params[name] ?? '';
    slots.push(NUMBERED.has(name) ? String(value) : value);
    return `\u0001${slots.length - 1}\u0002`;
  });
}

/** @param {string|number} value @param {Intl.NumberFormat} format */
function show(value, format) {
  return typeof value === 'number' ? format.format(value) : value;
}

/** @param {string} text @param {Intl.NumberFormat} format @returns {Piece[]} */
function pieces(text, format) {
  const values = slots;
  const put = (/** @type {string} */ part) =>
    part.replace(/\u0001(\d+)\u0002/g, (_, i) => show(values[Number(i)], format));
  return text
    .split(/(\*[^*]+\*|`[^`]+`)/)
    .filter(Boolean)
    .map((part) => {
      if (part[0] === '*') return { text: put(part.slice(1, -1)), as: 'b' };
      if (part[0] === '`') return { text: put(part.slice(1, -1)), as: 'code' };
      return { text: put(part), as: '' };
    });
}

/**
 * A span of virtual time in the shortest honest form: 0.4 ms, 21 ms, 6.41 s, 3 min 20 s.
 * @param {number} us
 */
export function duration(us) {
  const abs = Math.abs(us);
  if (abs < 1000) return `${trim(us / 1000, 2)} ms`;
  if (abs < 100_000) return `${trim(us / 1000, abs < 10_000 ? 1 : 0)} ms`;
  if (abs < 60_000_000) return `${trim(us / 1e6, 2)} s`;
  const seconds = Math.round(abs / 1e6);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** @param {number} value @param {number} digits */
function trim(value, digits) {
  return String(Number(value.toFixed(digits)));
}

/** Wall-clock reading of a virtual time. @param {string} epoch RFC 3339 @param {number} us */
export function clockText(epoch, us, digits = 3) {
  const start = Date.parse(epoch);
  if (Number.isNaN(start)) return duration(us);
  const at = new Date(start + us / 1000);
  const pad = (/** @type {number} */ n, w = 2) => String(n).padStart(w, '0');
  const whole = `${pad(at.getUTCHours())}:${pad(at.getUTCMinutes())}:${pad(at.getUTCSeconds())}`;
  return digits ? `${whole}.${pad(at.getUTCMilliseconds(), 3).slice(0, digits)}` : whole;
}
