// @ts-check
/**
 * The inspector's words about one moment: the sentence first, then why, why not, what would have to
 * change, the object and the raw record. Everything is computed from the records of this very run.
 * Gives blocks of words and data; drawing them is the view's business.
 */
import { explainCrowd } from './crowd.js';
import { explainGate, explainRequest } from './gates.js';
import { explainCycle } from './cycle.js';
import { explainKubelet, explainNode } from './kubelet.js';
import { explainObject, explainPod } from './objects.js';
import { explainWork } from './work.js';
import { explainRest, isAtRest } from './rest.js';
import { explainStart } from './start.js';
import { explainStream } from './stream.js';
import { sayMore } from './more.js';

/** @typedef {import('../text/words.js').Piece} Piece */
/** @typedef {import('../text/yaml.js').Line} Line */

/**
 * @typedef {{depth: number, verdict: string, title: Piece[], small: string}} TreeLine
 */
/**
 * @typedef {{type: 'p', text: Piece[]}
 *   | {type: 'h', text: string, glyph?: string, tone?: string}
 *   | {type: 'diff', lines: Line[], note?: string}
 *   | {type: 'code', text: string}
 *   | {type: 'fold', title: string, text: string}
 *   | {type: 'tree', items: TreeLine[]}
 *   | {type: 'rules', items: {verdict: string, tone?: string, title: Piece[], small: string}[]}
 *   | {type: 'ways', items: {code: string, small: string}[]}
 *   | {type: 'story', key: string, rows: import('../story/story.js').Row[]}
 *   | {type: 'facts', rows: [string, string][]}
 *   | {type: 'table', head: string[], rows: string[][], foot?: string[]}
 *   | {type: 'pods', items: {key: string, text: string, small: string, stage: string}[]}
 *   | {type: 'cards'} | {type: 'legend'} | {type: 'forms', seq: number}
 *   | {type: 'service', service: {namespace: string, name: string}}
 *   | {type: 'compare', key: string, rev: number}
 *   | {type: 'fault', resource: string, op: string}
 *   | {type: 'links', items: {text: string, seq: number}[]}} Block
 */
/**
 * @typedef {Object} Explanation
 * @property {string} crumb
 * @property {string} title
 * @property {string} voice   what is read aloud when it comes up
 * @property {{id: string, label: string, blocks: Block[]}[]} tabs
 * @property {Block[]} raw    the records that it is made from
 * @property {string} badge
 * @property {string} source
 */
/**
 * @typedef {Object} Model   what is explained
 * @property {import('../trace/index.js').Index} index  what is known at the cursor, no more
 * @property {import('../trace/reducer.js').State} state
 * @property {import('../story/follow.js').Current} current
 * @property {Selected|null} selected
 * @property {boolean} crowd
 * @property {string} version
 * @property {number} clock  the virtual time shown, ms since 1970
 * @property {boolean} [loading]  more of the trace is on its way
 * @property {number} [read]  how many records of a recording have come by then
 * @property {boolean} [more]  the hop repeats what was told in full before: only how many is said
 */
/**
 * @typedef {{type: 'gate', span: number, gate: string, seq?: number}
 *   | {type: 'span', seq: number} | {type: 'pod', key: string} | {type: 'object', key: string}
 *   | {type: 'rev', rev: number} | {type: 'node', name: string}
 *   | {type: 'component', name: string}} Selected
 */
/** @typedef {import('../text/words.js').Words} Words */

/** @param {Model} model @param {Words} words @returns {Explanation} */
export function explain(model, words) {
  const chosen = model.selected && explainSelected(model, model.selected, words);
  if (chosen) return chosen;
  const moment = explainMoment(model, words);
  const title = model.more ? sayMore(model, words) : '';
  return title ? { ...moment, title, voice: title } : moment;
}

/** @param {Model} model @param {Selected} selected @param {Words} words */
function explainSelected(model, selected, words) {
  const { index } = model;
  switch (selected.type) {
    case 'gate': {
      const span = index.spans.get(selected.span);
      return span ? explainGate(model, span, selected.gate, words, selected.seq) : null;
    }
    case 'span':
      return explainSpan(model, index.spans.get(selected.seq) || null, words);
    case 'pod':
      return explainPod(model, selected.key, words);
    case 'object':
      return explainObject(model, selected.key, words);
    case 'rev': {
      const write = index.byRev.get(selected.rev);
      return write ? explainObject(model, write.key, words, write) : null;
    }
    case 'node':
      return explainNode(model, selected.name, words);
    default:
      return explainWork(model, selected.name, null, words);
  }
}

/** @param {Model} model @param {Words} words @returns {Explanation} */
function explainMoment(model, words) {
  const { hop, span } = model.current;
  if (!hop || model.loading) return explainStart(model, words);
  if (model.crowd) return explainCrowd(model, words);
  const streams = span && explainStream(model, span, words);
  if (streams && ['stream', 'response'].includes(hop.kind)) return streams;
  if (isAtRest(model)) return explainRest(model, words);
  if (hop.kind === 'kubelet') return explainKubelet(model, hop, words);
  if (!span) return explainStart(model, words);
  if (span.type === 'work') return explainSpan(model, span, words) || explainStart(model, words);
  if (hop.kind === 'gate') {
    return explainGate(model, span, /** @type {any} */ (hop).gate, words);
  }
  if (hop.kind === 'plugin') {
    return explainGate(model, span, /** @type {any} */ (hop).phase, words, hop.seq);
  }
  return explainRequest(model, span, words);
}

/** @param {Model} model @param {import('../trace/index.js').Span|null} span @param {Words} words */
function explainSpan(model, span, words) {
  if (!span) return null;
  if (span.type === 'request')
    return explainStream(model, span, words) || explainRequest(model, span, words);
  const { component } = /** @type {any} */ (span.open);
  if (component === 'scheduler') return explainCycle(model, span, words);
  return explainWork(model, component, span, words);
}
