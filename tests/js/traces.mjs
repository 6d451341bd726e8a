// @ts-check
/**
 * The traces that recorded.py made, in the folder that the environment variable TRACES names.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** @typedef {import('../../static/js/core/trace/records.js').TraceRecord} TraceRecord */

/** The value, which is there. @template T @param {T|null|undefined} value @returns {T} */
export function must(value) {
  assert.ok(value !== null && value !== undefined);
  return value;
}

function folder() {
  assert.ok(process.env.TRACES, 'TRACES names no folder: run these tests by pytest tests/js');
  return process.env.TRACES;
}

/** All that were recorded. @returns {string[]} */
export const names = () =>
  readdirSync(folder())
    .filter((file) => file.endsWith('.jsonl.gz'))
    .map((file) => file.split('.')[0]);

/** The server's keyframes of a trace. @param {string} name */
export const keyframes = (name) =>
  readdirSync(folder())
    .filter((file) => file.startsWith(`${name}.`) && file.endsWith('.keyframe.json'))
    .map((file) => JSON.parse(readFileSync(join(folder(), file)).toString()).keyframe);

/** @type {Map<string, string>} the files that were read, as one list each */
const read = new Map();

/** @param {string} name @returns {TraceRecord[]} */
export function recorded(name) {
  let list = read.get(name);
  if (!list) {
    const text = gunzipSync(readFileSync(join(folder(), `${name}.jsonl.gz`))).toString();
    list = `[${text.trimEnd().split('\n').slice(1).join()}]`;
    read.set(name, list);
  }
  return JSON.parse(list);
}

/** The place of the first request from outside, the command. @param {TraceRecord[]} all */
export const commandAt = (all) => all.findIndex((one) => one.kind === 'request' && one.outside);

/**
 * The full story again and again, each time with a deployment of another name.
 * @param {number} count  of records, at least
 */
export function repeated(count) {
  const all = recorded('full');
  const at = commandAt(all);
  const story = JSON.stringify(all.slice(at));
  const [first, last] = [all[at], all[all.length - 1]];
  for (let round = 1; all.length < count; round += 1) {
    const shift = all.length - at;
    for (const one of JSON.parse(story.replaceAll('nginx-5869d7778c', `nginx-${round}`))) {
      one.seq += shift;
      one.t += (last.t - first.t) * round;
      if (one.span > at) one.span += shift;
      if (one.parent > at) one.parent += shift;
      all.push(one);
    }
  }
  return all;
}
