// @ts-check
/**
 * A saved trace as a source of records: from the server in pages, or from a file chosen here. The
 * page plays it with the same code as the live feed.
 */
import { traces } from './api.js';

/** @typedef {import('../types.js').TraceRecord} TraceRecord */
/** @typedef {import('../types.js').Header} Header */

const PAGE = 5000;
const MAGIC = [0x1f, 0x8b, 8]; // with which a member of a gzip file begins

/**
 * @param {string} id
 * @param {(header: Header|null, records: TraceRecord[]) => boolean} take  whether more is wanted
 */
export async function readSaved(id, take) {
  for (let from = 1; ;) {
    const page = await traces.records(id, from, PAGE);
    const records = Array.isArray(page) ? page : page.records || [];
    if ((from === 1 || records.length) && !take(page.header || null, records)) return;
    if (!records.length || (records.length < PAGE && !page.next)) return;
    from = page.next || records[records.length - 1].seq + 1;
  }
}

/**
 * A file of JSON lines, compressed or not; the header comes first. One that was cut is read up to
 * there, and its header says so. Rejects with the line of what is no trace.
 * @param {Blob} file @returns {Promise<{header: Header, records: TraceRecord[]}>}
 */
export async function readFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const isPacked = bytes[0] === MAGIC[0] && bytes[1] === MAGIC[1];
  return parseLines(isPacked ? await unpacked(bytes) : new TextDecoder().decode(bytes));
}

/**
 * The text of a gzip file, which may have several members, as far as it goes. What reads gzip here
 * reads one member, so they are told apart by how each begins.
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
async function unpacked(bytes) {
  const starts = [...startsIn(bytes), bytes.length];
  const decoder = new TextDecoder();
  let text = '';
  for (let i = 0, next = 1; i < starts.length - 1; next = i + 1) {
    let member = await memberOf(bytes.subarray(starts[i], starts[next]));
    // what looks like the next one may be within this
    while (!member.isWhole && next < starts.length - 1) {
      next += 1;
      member = await memberOf(bytes.subarray(starts[i], starts[next]));
    }
    for (const part of member.parts) text += decoder.decode(part, { stream: true });
    i = next;
  }
  return text;
}

/** @param {Uint8Array} bytes */
function startsIn(bytes) {
  const starts = [];
  for (let at = bytes.indexOf(MAGIC[0]); at >= 0; at = bytes.indexOf(MAGIC[0], at + 1))
    if (MAGIC.every((byte, i) => bytes[at + i] === byte)) starts.push(at);
  return starts;
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
async function memberOf(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  const reader = stream.getReader();
  /** @type {Uint8Array[]} */ const parts = [];
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      parts.push(part.value);
  } catch {
    return { parts, isWhole: false };
  }
  return { parts, isWhole: true };
}

/** @param {string} text */
function parseLines(text) {
  const lines = text.split('\n');
  const isEnded = lines.at(-1) === '';
  const header = lineOf(lines, 0);
  if (header.format !== 'lifecycle-trace')
    throw new Error('line 1: this is no trace: "format" is not "lifecycle-trace"');
  /** @type {TraceRecord[]} */ const records = [];
  for (let i = 1; i < lines.length; i += 1) {
    if (!lines[i]) continue;
    const mayBeCut = i === lines.length - 1 && !isEnded && records.length < countOf(header);
    if (mayBeCut && !isJson(lines[i])) break;
    const record = lineOf(lines, i);
    const seq = header.first + records.length;
    const isRecord = typeof record.kind === 'string' && typeof record.t === 'number';
    if (record.seq !== seq || !isRecord)
      throw new Error(`line ${i + 1}: record ${seq} was to come`);
    records.push(record);
  }
  if (!records.length && countOf(header))
    throw new Error(`line 2: the file ends before record ${header.first}`);
  const cut = records.length < countOf(header) ? { cut: header.last } : {};
  return { header: { ...header, ...cut }, records };
}

/** How many records a header promises. @param {any} header */
const countOf = ({ first, last }) => last - first + 1;

/** @param {string} line */
function isJson(line) {
  try {
    return !!JSON.parse(line);
  } catch {
    return false;
  }
}

/** @param {string[]} lines @param {number} i @returns {any} */
function lineOf(lines, i) {
  try {
    return JSON.parse(lines[i]);
  } catch {
    throw new Error(`line ${i + 1}: no JSON`);
  }
}
