// @ts-check
/**
 * A command's way in chapters, cut by what caused what: the request, its write, what each
 * component made of it, the start on a node, and the report. A chapter begins with the first
 * thing of its sort; the same again, later, belongs to it too. Pure.
 */
import { thingOf } from './film.js';
import { writeOf } from './corridor.js';
import { keyOf, kindOf } from './records.js';
import { lastPart } from './cluster.js';

/** @typedef {import('./index.js').Index} Index */
/** @typedef {import('./index.js').Span} Span */
/** @typedef {import('./records.js').TraceRecord} TraceRecord */

/**
 * @typedef {Object} Chapter
 * @property {string} id      ask, store, replicaset, pods, schedule, start, report, stop, remove,
 *   or the resource that is made
 * @property {number} seq     the record it begins with
 * @property {number} t
 * @property {Record<string, string>} params  of its sentence
 */

// what a controller makes begins a chapter; some have a name of their own
/** @type {Record<string, string>} */
const BY_RESOURCE = { 'replicasets.apps': 'replicaset' };
const ACTING = /^(scheduler|kubelet)\b/;
const OF_POD = ['schedule', 'start', 'report'];
const OF_OWNER = ['pods', ...OF_POD];
// what follows when an object is created and all goes well
/** @type {Record<string, string[]>} */
const PLANNED = {
  'deployments.apps': ['replicaset', ...OF_OWNER],
  'replicasets.apps': OF_OWNER,
  'statefulsets.apps': OF_OWNER,
  'daemonsets.apps': OF_OWNER,
  'jobs.batch': OF_OWNER,
  replicationcontrollers: OF_OWNER,
  pods: OF_POD,
};
const CHAPTERS_MAX = 9;

/** @type {WeakMap<Index, Map<number, {at: number, list: Chapter[]}>>} */
const kept = new WeakMap();

/**
 * The chapters of a command, as far as the trace goes.
 * @param {Index} index  the whole one: who speaks of a moment leaves out what begins later
 * @param {number} root @returns {Chapter[]}
 */
export function chaptersOf(index, root) {
  const trail = index.trails.get(root);
  if (!trail) return [];
  let all = kept.get(index);
  if (!all) kept.set(index, (all = new Map()));
  let known = all.get(root);
  if (!known) all.set(root, (known = { at: 0, list: [] }));
  for (; known.at < trail.length; known.at += 1) {
    const record = index.record(trail[known.at]);
    if (record) take(index, root, trail, record, known.list);
  }
  return known.list;
}

/**
 * @param {Index} index @param {number} root @param {number[]} trail @param {TraceRecord} record
 * @param {Chapter[]} list
 */
function take(index, root, trail, record, list) {
  // of a component that may look and do nothing only a request begins a chapter
  const begins = record.kind === 'work' && ACTING.test(record.component);
  if (!begins && !['request', 'write', 'kubelet'].includes(record.kind)) return;
  const id = chapterIdOf(index, root, trail, record, list);
  if (!id || list.length >= CHAPTERS_MAX || list.some((one) => one.id === id)) return;
  list.push({ id, seq: record.seq, t: record.t, params: paramsOf(index, root, record) });
}

/**
 * Which chapter a record belongs to, '' for none.
 * @param {Index} index @param {number} root @param {number[]} trail @param {TraceRecord} record
 * @param {Chapter[]} list  those that have begun
 */
function chapterIdOf(index, root, trail, record, list) {
  if (record.kind === 'kubelet')
    return record.step === 'terminate' ? 'stop' : record.state === 'fail' ? 'report' : 'start';
  const thing = thingOf(index, trail, record);
  const span = index.spans.get(thing);
  if (!span) return '';
  if (span.seq === root) {
    return writeOf(span, record.seq) ? 'store' : 'ask';
  }
  if (span.type === 'work') {
    const { component, key } = span.open;
    if (component.startsWith('kubelet/'))
      return isEnding(index, key, record.seq) ? 'stop' : 'start';
    if (component === 'scheduler') return 'schedule';
    const made = index.spanOf(record);
    if (made?.type !== 'request' || made.cls !== 'change') return '';
    const { resource, subresource, verb } = made.open;
    if (subresource) return list.some((one) => one.id === 'report') ? 'report' : '';
    return verb.startsWith('delete') ? 'remove' : BY_RESOURCE[resource] || resource;
  }
  const { client, namespace, name, verb } = span.open;
  if (!client.startsWith('kubelet/')) return '';
  if (verb === 'delete') return 'stop';
  return hasRun(index, keyOf('pods', `${namespace}/${name}`), record.seq) ? 'report' : 'start';
}

/** Whether a pod was told to go. */
function isEnding(
  /** @type {Index} */ index,
  /** @type {string} */ key,
  /** @type {number} */ seq,
) {
  return !!index.objectAt(keyOf('pods', key), seq)?.object?.metadata.deletionTimestamp;
}

/** Whether a container of a pod was started. */
function hasRun(
  /** @type {Index} */ index,
  /** @type {string} */ key,
  /** @type {number} */ seq,
) {
  return (index.steps.get(key) || []).some(
    (one) =>
      one.seq <= seq &&
      one.kind === 'kubelet' &&
      one.step === 'container' &&
      one.state !== 'begin',
  );
}

/** @param {Index} index @param {number} root @param {TraceRecord} record */
function paramsOf(index, root, record) {
  const command = /** @type {any} */ (index.spans.get(root)?.open);
  const span = index.spanOf(record);
  const maker = span?.type === 'request' ? index.spans.get(span.parent) : span;
  const open = /** @type {any} */ ((maker || span)?.open || {});
  const own = /** @type {any} */ (record);
  const component = open.component || own.client || '';
  const pod = own.pod || (component === 'scheduler' ? open.key : own.name) || open.key || '';
  return {
    client: (command.client || '').split(/[/ ]/)[0],
    verb: command.verb,
    kind: kindOf(command.resource),
    rev: String(own.rev || ''),
    component,
    node: component.startsWith('kubelet/') ? component.slice('kubelet/'.length) : own.node || '',
    pod: lastPart(pod.slice(pod.indexOf('/') + 1)),
  };
}

/**
 * Where a hop stands: which chapter of how many, by what is known at it. Null outside of any.
 * @param {Index} index @param {number} root @param {TraceRecord|null} hop
 * @param {number} seq  what begins after it is not known
 */
export function chapterAt(index, root, hop, seq) {
  const list = begunAt(index, root, seq);
  const trail = index.trails.get(root);
  if (!list.length || !trail || !hop) return null;
  const id = chapterIdOf(index, root, trail, hop, list);
  const found = list.findIndex((one) => one.id === id);
  const at = found < 0 ? list.length - 1 : found;
  return { at, chapter: list[at], of: list.length + toCome(index, root, list, seq).length };
}

/** @param {Index} index @param {number} root @param {number} seq */
export const begunAt = (index, root, seq) =>
  chaptersOf(index, root).filter((one) => one.seq <= seq);

/**
 * What will follow when all goes well: known from what was asked, not from what lies ahead.
 * @param {Index} index @param {number} root @param {Chapter[]} begun @param {number} seq
 */
export function toCome(index, root, begun, seq) {
  const span = index.spans.get(root);
  const open = /** @type {any} */ (span?.open);
  const close = /** @type {any} */ (span?.close);
  if (open?.verb !== 'create' || open.subresource) return [];
  if (close && close.seq <= seq && close.code >= 400) return [];
  const planned = ['store', ...(PLANNED[open.resource] || [])];
  return planned.filter((id) => !begun.some((one) => one.id === id));
}
