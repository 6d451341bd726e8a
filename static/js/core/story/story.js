// @ts-check
/**
 * The story of one pod, from the command to Ready, as rows of what happened when, read back
 * through the causes in the trace. Rows name a sentence and its parameters; words come later.
 */
import { ancestry } from './follow.js';
import { kindOf } from '../trace/records.js';
import { shortPod } from '../cluster/objects.js';
import { cycleAt, outcome } from '../cluster/schedule.js';
import { nameOf, writeOf } from '../request/corridor.js';
import { duration } from '../text/words.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */

/**
 * @typedef {Object} Row
 * @property {number} t     virtual µs since the command
 * @property {number} seq
 * @property {number} rev   0 when nothing was stored
 * @property {string} key   of the sentence
 * @property {Record<string, string|number>} params
 * @property {boolean} [critical]  the longest part of the way
 */

/**
 * @param {Index} index @param {string} key  the pod's
 * @returns {{rows: Row[], path: {image: number, node: number, control: number, total: number}|null,
 *   done: boolean}}
 */
export function storyOf(index, key) {
  const history = index.histories.get(key) || [];
  const [made] = history;
  if (!made) return { rows: [], path: null, done: false };
  const origin = index.spans.get(made.span) || null;
  const chain = ancestry(index, origin).reverse();
  const start = chain.length ? chain[0].span.t : made.t;
  /** @type {Row[]} */ const rows = [];
  const add = (
    /** @type {number} */ t,
    /** @type {number} */ seq,
    /** @type {number} */ rev,
    /** @type {string} */ word,
    params = {},
  ) => {
    rows.push({ t: t - start, seq, rev, key: word, params });
  };
  opening(chain, made, add);
  scheduling(index, key, made, add);
  const marks = kubeletRows(index, key, add);
  const ready = history.find((w) => isReady(w));
  if (ready) add(ready.t, ready.seq, ready.rev, 'story.ready', {});
  const gone = history.find((w) => w.op === 'delete');
  if (gone) add(gone.t, gone.seq, gone.rev, 'story.gone', {});
  rows.sort((a, b) => a.seq - b.seq);
  const path = ready ? criticalPath(rows, marks, ready.t - start) : null;
  return { rows, path, done: !!ready };
}

/** @typedef {(t: number, seq: number, rev: number, key: string, params?: any) => void} Add */

/** @param {{span: Span}[]} chain @param {any} made @param {Add} add */
function opening(chain, made, add) {
  for (const { span } of chain) {
    if (span.type === 'work') continue;
    const open = /** @type {any} */ (span.open);
    const write = writeOf(span);
    if (span === chain[0].span) {
      add(span.t, span.seq, 0, 'story.asked', {
        who: span.user?.name || open.client,
        verb: open.verb,
        what: `${kindOf(open.resource).toLowerCase()} ${nameOf(null, span)}`,
      });
    }
    if (!write) continue;
    if (write === made && !open.outside) {
      add(write.t, write.seq, write.rev, 'story.pod', {
        pod: shortPod(write.name),
        who: open.client,
      });
    } else if (open.parent) {
      add(write.t, write.seq, write.rev, 'story.made', {
        who: open.client,
        what: kindOf(write.resource),
        name: write.name,
      });
    } else
      add(write.t, write.seq, write.rev, 'story.stored', {
        name: `${kindOf(write.resource)} ${write.name}`,
      });
  }
}

/** @param {Index} index @param {string} key @param {any} made @param {Add} add */
function scheduling(index, key, made, add) {
  for (const span of index.cycles.get(key) || []) {
    const cycle = cycleAt(span, Infinity);
    const waited = span.t - made.t;
    if (span === (index.cycles.get(key) || [])[0] && waited > 0) {
      add(span.t, span.seq, 0, 'story.waited', { time: duration(waited) });
    }
    if (cycle.message) {
      add(span.t, span.seq, 0, 'story.unschedulable', { message: cycle.message });
      continue;
    }
    const result = outcome(cycle);
    const bind = (index.histories.get(key) || []).find(
      (w) => w.subresource === 'binding' && w.seq > span.seq,
    );
    if (!bind) continue;
    const second = result.second ? cycle.total[result.second] : 0;
    const how = !result.second
      ? 'story.boundOnly'
      : result.margin
        ? 'story.bound'
        : 'story.boundTie';
    add(bind.t, bind.seq, bind.rev, how, {
      node: result.winner,
      points: result.points || 0,
      second,
    });
  }
}

/** @param {Index} index @param {string} key @param {Add} add */
function kubeletRows(index, key, add) {
  /** @type {Map<string, any>} */ const began = new Map();
  /** @type {Map<string, number>} container -> how often it was started */
  const starts = new Map();
  /** @type {{image: number, first: number}} */ const marks = { image: 0, first: 0 };
  for (const record of index.steps.get(key) || []) {
    const step = /** @type {any} */ (record);
    if (!marks.first) marks.first = step.t;
    if (step.state === 'begin') {
      began.set(step.step, step);
      continue;
    }
    const from = began.get(step.step);
    const took = from ? step.t - from.t : 0;
    const detail = step.detail || {};
    if (step.step === 'container' && detail.exitCode !== undefined) {
      add(step.t, step.seq, 0, 'story.exited', { code: String(detail.exitCode) });
    } else if (step.state === 'fail') {
      add(step.t, step.seq, 0, 'story.failed', { step: step.step, why: detail.message || '' });
    } else if (step.step === 'network') {
      add(step.t, step.seq, 0, 'story.network', { ip: detail.ip || detail.address || '' });
    } else if (step.step === 'image') {
      if (starts.size) continue; // of a restart: it was there at the first start
      marks.image = took;
      add(step.t, step.seq, 0, detail.cached ? 'story.imageThere' : 'story.image', {
        image: detail.image || '',
        time: duration(took),
      });
    } else if (step.step === 'container') {
      const n = (starts.get(detail.container) || 0) + 1;
      starts.set(detail.container, n);
      if (n > 1) add(step.t, step.seq, 0, 'story.again', { n });
      else add(step.t, step.seq, 0, 'story.container', { time: duration(took) });
    } else if (step.step === 'terminate') add(step.t, step.seq, 0, 'story.terminated', {});
  }
  return marks;
}

/** @param {Row[]} rows @param {{image: number, first: number}} marks @param {number} total */
function criticalPath(rows, marks, total) {
  const first = rows.find((row) => row.key === 'story.network');
  const bound = rows.find((row) => row.key.startsWith('story.bound'));
  const control = bound ? bound.t : 0;
  const node = Math.max(0, total - control - marks.image);
  if (marks.image > total / 2) {
    const image = rows.find((row) => row.key === 'story.image');
    if (image) {
      image.critical = true;
      image.key = 'story.imageMost';
      image.params.percent = Math.round((marks.image / total) * 100);
    }
  }
  return first || bound ? { image: marks.image, node, control, total } : null;
}

/** @param {any} write */
function isReady(write) {
  return (write.object?.status?.conditions || []).some(
    (/** @type {any} */ c) => c.type === 'Ready' && c.status === 'True',
  );
}
