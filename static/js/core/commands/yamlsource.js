// @ts-check
/**
 * Which field stands on which line of a manifest while it is being written. Follows the indentation
 * of block style; what stands in braces is taken as one value. Decides nothing about correctness:
 * the API server's parser does. Pure.
 */

/** @typedef {(string|number)[]} Path */
/**
 * @typedef {Object} Field   a key, or an item of a list
 * @property {Path} path
 * @property {number} line   counted from 0
 * @property {string|null} value  as it is written; null where it goes on below, or there is none
 */
/** @typedef {{first: number, fields: Field[]}} Document  first: its first line */
/** @typedef {{indent: number, isList: boolean, path: Path, last: Path, count: number}} Level */

const KEY =
  /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#:[\]{},&*!|>%@`"'-][^:#]*?|-[^\s:#][^:#]*?)\s*:(?=\s|$)/;
const BLOCK = /^[|>][-+\d]*$/;

/** @param {string} text @returns {Document[]} */
export function documentsOf(text) {
  const lines = text.split('\n');
  /** @type {Document[]} */ const documents = [];
  let first = 0;
  for (let i = 0; i <= lines.length; i += 1) {
    if (i < lines.length && !/^---(\s|$)/.test(lines[i])) continue;
    const fields = fieldsOf(lines.slice(first, i), first);
    if (fields.length) documents.push({ first, fields });
    first = i + 1;
  }
  return documents;
}

/** @param {string[]} lines @param {number} first @returns {Field[]} */
function fieldsOf(lines, first) {
  /** @type {Field[]} */ const fields = [];
  /** @type {Level[]} */ const levels = [];
  let skipped = -1; // a block of text goes on as long as it is indented more than this
  lines.forEach((raw, i) => {
    const indent = raw.search(/\S/);
    if (indent < 0 || (skipped >= 0 && indent > skipped)) return;
    skipped = -1;
    if (raw[indent] === '#') return;
    const end = readLine(raw, indent, first + i, levels, fields);
    if (end >= 0) skipped = end;
  });
  return fields;
}

/**
 * One line: the items that begin in it, and a key. Gives the indent of a text that follows, or -1.
 * @param {string} raw @param {number} indent @param {number} line @param {Level[]} levels
 * @param {Field[]} fields
 */
function readLine(raw, indent, line, levels, fields) {
  let at = indent;
  let rest = raw.slice(at);
  let item = -1;
  while (/^-(\s|$)/.test(rest)) {
    item = at;
    const level = levelAt(levels, at, true);
    level.last = [...level.path, level.count];
    level.count += 1;
    fields.push({ path: level.last, line, value: null });
    const gap = rest.slice(1).search(/\S/);
    if (gap < 0) return -1;
    at += 1 + gap;
    rest = raw.slice(at);
  }
  const match = KEY.exec(rest);
  if (!match) {
    if (item < 0) return -1;
    const value = valueOf(rest);
    fields[fields.length - 1].value = value;
    return value && BLOCK.test(value) ? item : -1;
  }
  const level = levelAt(levels, at, false);
  level.last = [...level.path, unquoted(match[1])];
  const value = valueOf(rest.slice(match[0].length));
  fields.push({ path: level.last, line, value });
  return value && BLOCK.test(value) ? at : -1;
}

/**
 * The list or map that a line at this indent belongs to; a new one where none is open.
 * @param {Level[]} levels @param {number} indent @param {boolean} isList
 */
function levelAt(levels, indent, isList) {
  const isOver = (/** @type {Level} */ top) =>
    top.indent > indent || (top.indent === indent && top.isList && !isList);
  while (levels.length && isOver(levels[levels.length - 1])) levels.pop();
  const top = levels.at(-1);
  if (top && top.indent === indent && top.isList === isList) return top;
  const path = top ? top.last : [];
  const level = { indent, isList, path, last: path, count: 0 };
  levels.push(level);
  return level;
}

/** Without what is only a remark; null where nothing stands. @param {string} text */
function valueOf(text) {
  const value = text.trim();
  if (/^["']/.test(value)) return value;
  return value.replace(/(^|\s)#.*$/, '').trim() || null;
}

/** @param {string} text */
function unquoted(text) {
  const quote = text[0];
  return quote === '"' || quote === "'" ? text.slice(1, -1) : text;
}

/**
 * What is typed at a place: the field that a value is for, or where a key would go.
 * @typedef {Object} Place
 * @property {number} document  its number; -1 for none
 * @property {Path} path     of the object that the key is for, or of the field
 * @property {boolean} isValue
 * @property {string} typed  so far
 * @property {number} indent  of the key
 */
/** @param {string} text @param {number} caret @returns {Place} */
export function placeAt(text, caret) {
  const start = text.lastIndexOf('\n', caret - 1) + 1;
  const before = text.slice(start, caret);
  const [, lead, rest] = /** @type {RegExpExecArray} */ (/^(\s*(?:-\s+)*)(.*)$/.exec(before));
  const key = KEY.exec(rest);
  const typed = key ? rest.slice(key[0].length).trimStart() : rest;
  const mark = key ? rest : 'here:';
  const end = text.indexOf('\n', caret);
  const marked = text.slice(0, start) + lead + mark + (end < 0 ? '' : text.slice(end));
  const line = text.slice(0, start).split('\n').length - 1;
  const documents = documentsOf(marked);
  const document = documents.findLastIndex((candidate) => candidate.first <= line);
  const field = documents[document]?.fields.findLast((candidate) => candidate.line === line);
  const path = field?.path || [];
  const indent = lead.length;
  return { document, path: key ? path : path.slice(0, -1), isValue: !!key, typed, indent };
}

/** "spec.containers[0].image" as a path. @param {string} text @returns {Path} */
export const pathOf = (text) =>
  [...text.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, name, key]) =>
    index === undefined ? (name ?? key) : Number(index),
  );

/** @param {Path} path */
export const textOf = (path) =>
  path.reduce(
    (/** @type {string} */ text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text ? `${text}.${part}` : part,
    '',
  );

/**
 * The line of a field, or of the nearest one that is written and contains it; the first line of the
 * document where there is none.
 * @param {Document} document @param {Path} path
 */
export function lineOf(document, path) {
  const lines = new Map(document.fields.map((field) => [textOf(field.path), field.line]));
  for (let n = path.length; n > 0; n -= 1) {
    const line = lines.get(textOf(path.slice(0, n)));
    if (line !== undefined) return line;
  }
  return document.fields[0].line;
}
