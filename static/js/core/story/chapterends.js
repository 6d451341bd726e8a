// @ts-check
/**
 * What came of a chapter, once its end is past the cursor: null before. Read from what is known at
 * the cursor alone. Pure; sentences are keys, the words come later.
 */
import { storyOf } from './chapters.js';
import { isOrdinary, writeOf } from '../request/corridor.js';
import { rootOutcome } from '../outcome/index.js';
import { short } from '../outcome/sentence.js';
import { kindOf } from '../trace/records.js';
import { cycleAt } from '../cluster/schedule.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('./chapters.js').Chapter} Chapter */
/** @typedef {import('../outcome/sentence.js').Outcome} Outcome */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

/**
 * @typedef {Object} End
 * @property {boolean} failed
 * @property {string} key
 * @property {Record<string, string|number>} params
 * @property {Outcome|null} about  what its sentence tells of, as `{text}`
 */
/**
 * @typedef {Object} Told
 * @property {Index} index  what is known at the cursor
 * @property {import('../trace/reducer.js').State} state
 * @property {number} root
 * @property {Chapter} chapter
 * @property {WriteRecord[]} pods  those created on this way that are there
 */

/** @type {Record<string, (told: Told) => End|null>} */
const ENDS = {
  ask: askEnd,
  store: storeEnd,
  schedule: scheduleEnd,
  start: startEnd,
  report: reportEnd,
  stop: stopEnd,
  remove: removeEnd,
};

// what is said of all pods
const OF_POD = ['schedule', 'start'];

/**
 * @param {Index} whole @param {Index} index  what is known of it at the cursor
 * @param {import('../trace/reducer.js').State} state @param {number} root @param {Chapter} chapter
 */
export function endOf(whole, index, state, root, chapter) {
  const story = storyOf(whole, root);
  const pods = story.pods
    .map((pod) => index.objectAt(pod.key, state.seq))
    .filter((pod) => pod !== null && pod.op !== 'delete');
  const subject = { index, state, root, chapter, pods: /** @type {WriteRecord[]} */ (pods) };
  const maker =
    OF_POD.includes(chapter.id) && story.list.find((candidate) => candidate.id === 'pods');
  if (maker && !madeEnd({ ...subject, chapter: maker })) return null; // there may be more of them
  return (ENDS[chapter.id] || madeEnd)(subject);
}

/** @param {string} key @param {End['params']} [params] @returns {End} */
const done = (key, params = {}) => ({
  failed: false,
  key: `chapter.${key}.done`,
  params,
  about: null,
});

/** @param {string} key @param {End['params']} params @returns {End} */
const failed = (key, params) => ({
  failed: true,
  key: `chapter.${key}.failed`,
  params,
  about: null,
});

/** @param {Told} told */
function askEnd({ index, root }) {
  const span = index.request(root);
  const close = span?.close;
  if (close && close.code >= 400)
    return failed('ask', { code: String(close.code), reason: close.reason });
  return close || (span && writeOf(span)) ? done('ask') : null;
}

/** @param {Told} told */
function storeEnd({ index, root }) {
  return index.request(root)?.close ? done('store') : null;
}

/** What a controller made. @param {Told} told */
function madeEnd({ index, chapter }) {
  const { component } = chapter.params;
  let message = '';
  let resource = chapter.id;
  const keys = new Set();
  for (const seq of chapter.made) {
    const span = index.request(seq);
    if (!span) continue;
    if (!span.close || !index.spans.get(span.parent)?.close) return null;
    if (span.open.subresource) continue; // it reports what was made
    ({ resource } = span.open);
    if (span.close.code < 400) keys.add(writeOf(span)?.key || span.open.path);
    else if (!isOrdinary(span, span.close)) ({ message } = span.close);
  }
  if (!keys.size && !message) return null;
  const params = { component, n: keys.size, kind: kindOf(resource), message: short(message) };
  return message ? failed('made', params) : done('made', params);
}

/** @param {Told} told */
function scheduleEnd({ index, state, pods }) {
  /** @type {End|null} */ let stuck = null;
  let n = 0;
  for (const { key, name, object } of pods) {
    const cycle = index.cycles.get(key)?.at(-1);
    const message = cycle && cycleAt(cycle, state.seq).message;
    if (object.spec?.nodeName) n += 1;
    else if (!message) return null;
    else stuck = failed('schedule', { pod: name, message: short(message) });
  }
  return n || stuck ? stuck || done('schedule', { n, of: pods.length }) : null;
}

/** @param {Told} told */
function startEnd({ index, pods }) {
  /** @type {End|null} */ let broken = null;
  let n = 0;
  const placed = pods.filter(({ object }) => object.spec?.nodeName);
  for (const { key, name, object } of placed) {
    const steps = (index.steps.get(key) || []).filter((record) => record.kind === 'kubelet');
    const ends = steps.filter((record) => record.step === 'container' && record.state === 'end');
    const fail = steps.findLast((record) => record.state === 'fail');
    const started = new Set(ends.map((record) => record.detail?.container));
    const isUp = object.spec?.containers.every((/** @type {any} */ container) =>
      started.has(container.name),
    );
    if (fail && fail.seq > (ends.at(-1)?.seq || 0)) broken = failedStep(fail, name);
    else if (isUp) n += 1;
    else return null;
  }
  return n || broken ? broken || done('start', { n, of: placed.length }) : null;
}

/** @param {import('../../types.js').KubeletRecord} step @param {string} pod */
function failedStep({ step, node, detail }, pod) {
  const { exitCode, image, message } = detail || {};
  if (exitCode !== undefined) return failed('start.exit', { pod, node, code: String(exitCode) });
  if (step === 'image') return failed('start.image', { pod, node, image });
  return failed('start', { pod, node, message: short(message) || step });
}

/** @param {Told} told */
function reportEnd({ index, state, root }) {
  const about = rootOutcome(index, state, root);
  if (!about || about.state === 'underway') return null;
  return { ...done('report'), failed: about.state === 'unmet', about };
}

/** @param {Told} told */
function stopEnd({ index, state, chapter }) {
  return index.objectAt(chapter.pod, state.seq)?.op === 'delete' ? done('stop') : null;
}

/** @param {Told} subject */
function removeEnd(subject) {
  const { index, state, root } = subject;
  const made = madeEnd(subject);
  const about = rootOutcome(index, state, root);
  if (about?.state === 'unmet') return { ...done('report'), failed: true, about };
  return made && (made.failed ? made : about ? null : done('remove'));
}
