// @ts-check
/**
 * A command's way in chapters, cut by what caused what: the request, its write, what each
 * component made of it, the start on a node, and the report. A chapter begins with the first
 * thing of its sort; the same again, later, belongs to it too. Pure.
 */
import { thingOf } from './film.js';
import { componentOf } from '../trace/facts.js';
import { writeOf } from '../request/corridor.js';
import { keyOf, kindOf, objectKey } from '../trace/records.js';
import { shortPod } from '../cluster/objects.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../trace/records.js').TraceRecord} TraceRecord */

/**
 * @typedef {Object} Chapter
 * @property {string} id      ask, store, replicaset, pods, schedule, start, report, stop, remove,
 *   or the resource that is made
 * @property {number} seq     the record it begins with
 * @property {number} cut     the stop at which one rests before it: what made that record, mostly
 * @property {number} t
 * @property {string} pod     the key of the pod that it is about, '' for none
 * @property {number[]} made  the requests and cycles of it that have begun
 * @property {Record<string, string>} params  of its sentence
 */

// what a controller makes begins a chapter; some have a name of their own
/** @type {Record<string, string>} */
const BY_RESOURCE = { 'replicasets.apps': 'replicaset' };
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

/** @typedef {{at: number, list: Chapter[], pods: {key: string}[]}} Story */

/** @type {WeakMap<Index, Map<number, Story>>} */
const kept = new WeakMap();

/**
 * The chapters of a command, as far as the trace goes, and the pods that were created on its way.
 * @param {Index} index  the whole one: who speaks of a moment leaves out what begins later
 * @param {number} root @returns {Story}
 */
export function storyOf(index, root) {
  let all = kept.get(index);
  if (!all) kept.set(index, (all = new Map()));
  let known = all.get(root);
  if (!known) all.set(root, (known = { at: 0, list: [], pods: [] }));
  const trail = index.trails.get(root) || [];
  for (; known.at < trail.length; known.at += 1) {
    const record = index.record(trail[known.at]);
    if (record) take(index, root, trail, record, known);
  }
  return known;
}

/** @param {Index} index @param {number} root */
export const chaptersOf = (index, root) => storyOf(index, root).list;

/**
 * @param {Index} index @param {number} root @param {number[]} trail @param {TraceRecord} record
 * @param {Story} story
 */
function take(index, root, trail, record, { list, pods }) {
  if (!['request', 'work', 'write', 'kubelet'].includes(record.kind)) return;
  if (record.kind === 'write' && record.resource === 'pods' && record.op === 'create')
    pods.push({ key: objectKey(record.resource, record.namespace, record.name) });
  const id = chapterIdOf(index, root, trail, record, list);
  if (!id) return;
  let chapter = list.find((candidate) => candidate.id === id);
  if (!chapter && list.length < CHAPTERS_MAX) {
    const { seq, t } = record;
    const cut = record.kind === 'request' ? thingOf(index, trail, record) : seq;
    chapter = { id, seq, cut, t, made: [], ...paramsOf(index, root, record) };
    list.push(chapter);
  }
  if (record.kind === 'request' || record.kind === 'work') chapter?.made.push(record.seq);
}

/**
 * Which chapter a record belongs to, '' for none.
 * @param {Index} index @param {number} root @param {number[]} trail @param {TraceRecord} record
 * @param {Chapter[]} list  those that have begun
 */
function chapterIdOf(index, root, trail, record, list) {
  if (record.kind === 'kubelet') {
    if (record.step === 'terminate') return 'stop';
    const isOver = hasRun(index, keyOf('pods', record.pod), record.seq - 1);
    return isOver && record.state === 'fail' ? 'report' : 'start';
  }
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
    if (made === span) return plannedBy(index, root, span, list);
    if (made?.type !== 'request' || made.cls !== 'change') return '';
    const { resource, subresource, verb } = made.open;
    if (subresource || (resource === 'pods' && verb === 'patch'))
      return list.some((chapter) => chapter.id === 'report')
        ? 'report'
        : begunBy(index, span, list);
    return verb.startsWith('delete') ? 'remove' : BY_RESOURCE[resource] || resource;
  }
  const { client, namespace, name, verb } = span.open;
  if (!client.startsWith('kubelet/')) return '';
  if (verb === 'delete') return 'stop';
  return hasRun(index, keyOf('pods', `${namespace}/${name}`), record.seq) ? 'report' : 'start';
}

/**
 * A component may look and do nothing, so that its first request begins a chapter; but who is to
 * make what follows a creation begins it when the object is taken up.
 */
function plannedBy(
  /** @type {Index} */ index,
  /** @type {number} */ root,
  /** @type {import('../trace/index.js').WorkSpan} */ work,
  /** @type {Chapter[]} */ list,
) {
  const { resource } = componentOf(index, work.open.component);
  const [id] = (resource && PLANNED[resource]) || [];
  if (!id) return '';
  const begun = list.find((candidate) => candidate.id === id);
  if (begun ? begun.seq !== work.seq : !plannedFor(index, root).includes(id)) return '';
  return id;
}

/** The chapter that a piece of work has begun, or has part in. */
const begunBy = (
  /** @type {Index} */ index,
  /** @type {Span} */ work,
  /** @type {Chapter[]} */ list,
) =>
  list.find(({ made }) =>
    made.some((seq) => seq === work.seq || index.spans.get(seq)?.parent === work.seq),
  )?.id || '';

/** Whether a pod was told to go. */
function isEnding(
  /** @type {Index} */ index,
  /** @type {string} */ key,
  /** @type {number} */ seq,
) {
  return !!index.objectAt(keyOf('pods', key), seq)?.object?.metadata.deletionTimestamp;
}

/** Whether a container of a pod was started, or a step on the way there has failed. */
function hasRun(/** @type {Index} */ index, /** @type {string} */ key, /** @type {number} */ seq) {
  return (index.steps.get(key) || []).some(
    (step) =>
      step.seq <= seq &&
      step.kind === 'kubelet' &&
      (step.state === 'fail' || (step.step === 'container' && step.state === 'end')),
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
  const isOfPod = component === 'scheduler' || component.startsWith('kubelet/');
  const pod = own.pod || (own.name ? `${own.namespace}/${own.name}` : isOfPod && open.key) || '';
  return {
    pod: pod && keyOf('pods', pod),
    params: {
      verb: command.verb,
      kind: kindOf(command.resource),
      rev: String(own.rev || ''),
      component,
      node: component.startsWith('kubelet/') ? component.slice('kubelet/'.length) : own.node || '',
      pod: shortPod(pod),
    },
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
  const place = list.findIndex((chapter) => chapter.id === id);
  const at = place < 0 ? list.length - 1 : place;
  return { at, chapter: list[at], of: list.length + toCome(index, root, list, seq).length };
}

/** @param {Index} index @param {number} root @param {number} seq */
export const begunAt = (index, root, seq) =>
  chaptersOf(index, root).filter((chapter) => chapter.seq <= seq);

/**
 * What will follow when all goes well: known from what was asked, not from what lies ahead.
 * @param {Index} index @param {number} root @param {Chapter[]} begun @param {number} seq
 */
export function toCome(index, root, begun, seq) {
  const close = index.request(root)?.close;
  if (close && close.seq <= seq && close.code >= 400) return [];
  return plannedFor(index, root).filter((id) => !begun.some((chapter) => chapter.id === id));
}

/** @param {Index} index @param {number} root */
function plannedFor(index, root) {
  const open = index.request(root)?.open;
  if (open?.verb !== 'create' || open.subresource) return [];
  return ['store', ...(PLANNED[open.resource] || [])];
}
