// @ts-check
/**
 * Requests that reach into a node: what a process, a log, forwarded ports or a proxied request
 * agreed on, where it leads, what passed and how it ended. Read from the trace, nothing kept.
 */
import { objectsOf } from './objects.js';
import { objectKey } from '../trace/records.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../trace/reducer.js').State} State */

/**
 * @typedef {Object} Stream
 * @property {Span} span
 * @property {string} word      exec, attach, log, portforward, proxy
 * @property {'open'|'end'|'refused'} state
 * @property {any} detail       of the opening and the ending record together
 * @property {string} name      of the pod, the service or the node it was asked of
 * @property {string} node      where it leads, '' when that is not known
 */

/** A request's stream as it stands at a seq. @param {State} state @param {Span|null} span */
export function streamOf(state, span) {
  if (!span || span.type !== 'request') return null;
  const records = /** @type {any[]} */ (
    span.records.filter((r) => r.kind === 'stream' && r.seq <= state.seq)
  );
  const last = records[records.length - 1];
  if (!last) return null;
  const detail = Object.assign({}, ...records.map((record) => record.detail));
  const open = /** @type {any} */ (span.open);
  /** @type {Stream} */
  return {
    span,
    word: detail.word || open.subresource,
    state: last.state,
    detail,
    name: open.name,
    node: nodeOf(state, open, detail),
  };
}

/** @param {State} state @param {any} open @param {any} detail */
function nodeOf(state, open, detail) {
  if (open.resource === 'nodes') return open.name.split(':').find(isNode(state)) || open.name;
  if (open.resource !== 'pods' && open.resource !== 'services') return '';
  const pods = objectsOf(state, 'pods');
  const name = open.resource === 'services' ? (detail.to || '').split(':')[0] : bare(open.name);
  const pod = pods.get(objectKey('pods', open.namespace, name));
  return pod?.object?.spec?.nodeName || '';
}

/** A proxied name may say its scheme and port, too. @param {string} name */
const bare = (name) => {
  const parts = name.split(':');
  return parts.length > 2 ? parts[1] : parts[0];
};

/** @param {State} state */
const isNode = (state) => (/** @type {string} */ name) =>
  objectsOf(state, 'nodes').has(objectKey('nodes', '', name));

/**
 * The streams to draw: those that are open, and the one where we are.
 * @param {Index} index @param {State} state @param {Span|null} here @returns {Stream[]}
 */
export function streamsAt(index, state, here) {
  const seqs = new Set(state.streams);
  if (here) seqs.add(here.seq);
  const list = [...seqs].map((seq) => streamOf(state, index.spans.get(seq) || null));
  return /** @type {Stream[]} */ (list.filter(Boolean));
}

/** Bytes as people say them. @param {number} bytes */
export function bytesText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${Math.round(bytes / 102.4) / 10} KiB`;
  return `${Math.round(bytes / 1024 / 102.4) / 10} MiB`;
}
