// @ts-check
/**
 * A saved trace as a source of records: from the server in pages, or from a file chosen here. The
 * page plays it with the same code as the live feed.
 */
import { traces } from './api.js';

/** @typedef {import('../types.js').TraceRecord} TraceRecord */
/** @typedef {import('../types.js').Header} Header */

const PAGE = 5000;

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

/** A file of JSON lines, compressed or not. @param {Blob} file */
export async function readFile(file) {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const packed = head[0] === 0x1f && head[1] === 0x8b;
  const stream = packed
    ? file.stream().pipeThrough(new DecompressionStream('gzip'))
    : file.stream();
  const text = await new Response(stream).text();
  return parseLines(text);
}

/** The header comes first, then a snapshot or keyframes, then records. @param {string} text */
function parseLines(text) {
  let header = null;
  const records = [];
  for (const line of text.split('\n')) {
    if (!line) continue;
    const value = JSON.parse(line);
    if (value.kind && value.seq) records.push(value);
    else if (!header) header = value.header || value;
  }
  return { header: header || {}, records };
}
