// @ts-check
/**
 * The followed way as lanes of bars on a time axis, with the causes between them as arrows. Gives
 * times and names only; pixels are the view's business. Past and future of the cursor alike.
 */
import { ancestry, cause, trailOf } from '../story/follow.js';
import { activityOf } from './activity.js';
import { compareNames, shortPod } from '../cluster/objects.js';
import { lanesAtRest } from '../trace/facts.js';
import { lastAtMost, lastRecordAt } from '../trace/index.js';
import { httpMethod, laneOf, pluralOf } from '../trace/records.js';
import { isOrdinary, writeOf } from '../request/corridor.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */
/** @typedef {import('../story/follow.js').Follow & {all?: boolean}} Seen  all: of any command */

/**
 * @typedef {Object} Bar
 * @property {number} from  virtual µs
 * @property {number} to
 * @property {string} label
 * @property {string} [step]  of the kubelet, which stands behind the label
 * @property {''|'now'|'deny'|'ghost'} tone
 * @property {Came} came   what became of it by the cursor
 * @property {number} seq   record to go to
 * @property {string} title
 */
/**
 * @typedef {Object} Lane
 * @property {string} id
 * @property {Bar[]} bars
 * @property {boolean} on
 * @property {Came} [came]  what became of its newest bar
 * @property {{t: number, code: number, gate: string}[]} marks
 * @property {Bar[]} [second]  of the other cluster that this one is compared with
 */
/** @typedef {'allow'|'deny'|'wait'|'work'} Came  done, failed, to be tried again, under way */
/** @typedef {{from: [string, number], to: [string, number], tone: ''|'now'|'ghost'}} Arrow */

const BARS_MAX = 400;
const ARROWS_MAX = 60;
const LOOK_BACK = 3000;

/**
 * @param {Index} index @param {Seen} follow @param {number} seq
 * @param {{from: number, to: number}} range
 */
export function timelineAt(index, follow, seq, range) {
  const trail = wayOf(index, follow, seq);
  const draft = new Draft(index, seq, range);
  const seen = new Set();
  let current = 0;
  const start = startOf(index, trail, range.from);
  for (let i = start; i < trail.length && draft.count < BARS_MAX; i += 1) {
    const record = index.record(trail[i]);
    if (!record) continue;
    if (record.t > range.to) break;
    const span = index.spanOf(record);
    if (record.kind === 'kubelet') draft.step(/** @type {any} */ (record));
    if (!span || seen.has(span.seq)) continue;
    seen.add(span.seq);
    if (span.seq <= seq && span.cls !== 'minor' && span.cls !== 'read') current = span.seq;
    draft.span(span);
  }
  const way = trailOf(index, follow, seq);
  const here = way[lastAtMost(way, seq)];
  const span = here ? index.spanOf(/** @type {any} */ (index.record(here))) : null;
  const drawn = draft.finish(
    span && span.cls !== 'minor' ? span : index.spans.get(current) || null,
  );
  // among all that went on only the causes of what is followed are drawn
  if (follow.all) drawn.arrows = drawn.arrows.filter((arrow) => arrow.tone === 'now');
  return drawn;
}

/** The followed way, or all that went on. @returns {number[]} */
function wayOf(/** @type {Index} */ index, /** @type {Seen} */ seen, /** @type {number} */ seq) {
  return seen.all ? activityOf(index).trail : trailOf(index, seen, seq);
}

/**
 * Where to begin reading: before the range, by what may still reach into it.
 * @param {Index} index @param {number[]} trail @param {number} t
 */
function startOf(index, trail, t) {
  return Math.max(0, placeOf(index, trail, t, false) - LOOK_BACK);
}

/** How many of a way come before a time, or `until` it. */
function placeOf(
  /** @type {Index} */ index,
  /** @type {number[]} */ trail,
  /** @type {number} */ t,
  /** @type {boolean} */ until,
) {
  let low = 0;
  let high = trail.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const then = index.record(trail[middle])?.t || 0;
    if (until ? then <= t : then < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Draft {
  /** @param {Index} index @param {number} seq @param {{from: number, to: number}} range */
  constructor(index, seq, range) {
    this.index = index;
    this.seq = seq;
    this.range = range;
    /** @type {Map<string, Lane>} */ this.lanes = new Map();
    /** @type {Arrow[]} */ this.arrows = [];
    /** @type {Map<string, any>} open kubelet steps */ this.steps = new Map();
    this.count = 0;
    for (const id of ['kubectl', 'apiserver', 'etcd']) this.lane(id);
  }

  /** @param {string} id @returns {Lane} */
  lane(id) {
    let lane = this.lanes.get(id);
    if (!lane) this.lanes.set(id, (lane = { id, bars: [], on: false, marks: [] }));
    return lane;
  }

  /** @param {string} id @param {Bar} bar */
  bar(id, bar) {
    const lane = this.lane(id);
    if (bar.to < this.range.from || bar.from > this.range.to) return false;
    lane.bars.push(bar);
    this.count += 1;
    return true;
  }

  /** When a span ends as known so far; what is open reaches to the cursor. @param {Span} span */
  end(span) {
    if (span.close) return span.close.t;
    return Math.max(span.t, this.index.record(this.index.last)?.t || span.t);
  }

  /** What became of a span by the cursor. @param {Span} span @returns {Came} */
  cameOf(span) {
    const { close } = span;
    if (!close || close.seq > this.seq) return 'work';
    if (close.kind === 'response') {
      if (close.code < 400) return 'allow';
      return isOrdinary(span, close) ? 'wait' : 'deny';
    }
    const isStuck = span.records.some(
      (record) => record.kind === 'schedule' && record.phase === 'fail',
    );
    if (close.result === 'error' || isStuck) return 'deny';
    return close.result === 'retry' ? 'wait' : 'allow';
  }

  /** @param {Span} span */
  span(span) {
    if (span.type === 'work') this.work(span);
    else if (span.cls === 'change' || span.roots[0] === span.seq) this.request(span);
  }

  /** @param {Span} span */
  request(span) {
    const open = /** @type {any} */ (span.open);
    const close = /** @type {any} */ (span.close);
    const isRoot = span.roots.includes(span.seq);
    const ghost = span.seq > this.seq;
    const came = this.cameOf(span);
    const end = this.end(span);
    const what = open.subresource || pluralOf(open.resource);
    const label = isRoot
      ? `${httpMethod(open.verb)} ${what}`
      : open.subresource || httpMethod(open.verb);
    const title = `${httpMethod(open.verb)} ${open.path}`;
    const tone = ghost ? 'ghost' : came === 'deny' ? 'deny' : '';
    if (isRoot) {
      this.bar('kubectl', {
        from: span.t,
        to: end,
        label: `${open.verb} ${what}`,
        tone: ghost ? 'ghost' : '',
        came,
        seq: span.seq,
        title,
      });
      this.arrow('kubectl', span.t, 'apiserver', span.t + 100, ghost);
    }
    this.bar('apiserver', { from: span.t, to: end, label, tone, came, seq: span.seq, title });
    if (came === 'deny') this.refusal(span, close);
    const write = writeOf(span);
    if (write) this.write(span, write, ghost);
    const maker = this.index.spans.get(span.parent);
    if (maker && maker.type === 'work' && !isRoot) {
      const from = laneOf(/** @type {any} */ (maker.open).component);
      this.arrow(from, span.t - 60, 'apiserver', span.t, ghost);
    }
  }

  /** @param {Span} span @param {any} close */
  refusal(span, close) {
    // what was let through and had nowhere to go was refused at no gate
    const isBeyond = span.records.some((record) => record.kind === 'stream');
    const denied = span.records.find(
      (record) => record.kind === 'gate' && record.verdict === 'deny',
    );
    const gate = denied?.kind === 'gate' && !isBeyond ? denied.gate : '';
    this.lane('apiserver').marks.push({ t: close.t, code: close.code, gate });
  }

  /** @param {Span} span @param {any} write @param {boolean} ghost */
  write(span, write, ghost) {
    const from = write.t;
    const late = ghost || write.seq > this.seq;
    this.bar('etcd', {
      from,
      to: span.close ? span.close.t : from + 60,
      label: String(write.rev),
      tone: late ? 'ghost' : '',
      came: 'allow',
      seq: write.seq,
      title: `${write.rev} ${write.op} ${write.key}`,
    });
    this.arrow('apiserver', from, 'etcd', from + 60, late);
  }

  /** @param {Span} span */
  work(span) {
    const { component, key } = /** @type {any} */ (span.open);
    if (component.startsWith('kubelet/')) return;
    const ghost = span.seq > this.seq;
    const label = component === 'scheduler' ? shortPod(key) : 'sync';
    const came = this.cameOf(span);
    this.bar(component, {
      from: span.t,
      to: this.end(span),
      label,
      tone: ghost ? 'ghost' : came === 'deny' ? 'deny' : '',
      came,
      seq: span.seq,
      title: `${component}: ${key}`,
    });
    const write = cause(this.index, span);
    if (write) this.arrow('etcd', write.t, component, span.t, ghost);
  }

  /** @param {any} record */
  step(record) {
    const id = `${record.pod} ${record.step}`;
    if (record.state === 'begin') {
      this.steps.set(id, record);
      return;
    }
    const began = this.steps.get(id);
    this.steps.delete(id);
    this.stepBar(began || record, record);
  }

  /** @param {any} began @param {any} ended */
  stepBar(began, ended) {
    const short = shortPod(began.pod);
    const ghost = began.seq > this.seq;
    const isOver = ended && ended.seq <= this.seq;
    const came = !isOver ? 'work' : ended.state === 'fail' ? 'deny' : 'allow';
    const end = ended ? ended.t : this.index.record(this.index.last)?.t || began.t;
    this.bar(laneOf(began.node), {
      from: began.t,
      to: end,
      label: short,
      step: began.step,
      seq: began.seq,
      tone: ghost ? 'ghost' : came === 'deny' ? 'deny' : '',
      came,
      title: `${began.pod} ${began.step}`,
    });
  }

  /**
   * @param {string} from @param {number} t1 @param {string} to @param {number} t2
   * @param {boolean} ghost
   */
  arrow(from, t1, to, t2, ghost) {
    if (this.arrows.length >= ARROWS_MAX || t2 < this.range.from || t1 > this.range.to) return;
    this.arrows.push({ from: [from, t1], to: [to, t2], tone: ghost ? 'ghost' : '' });
  }

  /** @param {Span|null} span  the one at the cursor */
  finish(span) {
    for (const began of this.steps.values()) this.stepBar(began, null);
    const { t } = this.index.record(this.seq) || { t: 0 };
    const marked = new Set();
    for (const { span: link } of ancestry(this.index, span).slice(0, 3)) marked.add(link.seq);
    for (const lane of this.lanes.values()) this.settle(lane, t, marked, span);
    for (const arrow of this.arrows) if (this.isLink(arrow, marked)) arrow.tone = 'now';
    const ids = [...this.lanes.keys()];
    const lanes = sortLanes(this.index, ids).map((id) => /** @type {Lane} */ (this.lanes.get(id)));
    return { lanes, arrows: this.arrows };
  }

  /** @param {Lane} lane @param {number} t @param {Set<number>} marked @param {Span|null} span */
  settle(lane, t, marked, span) {
    const newest = lane.bars.findLast((bar) => bar.tone !== 'ghost');
    if (newest) lane.came = newest.came;
    for (const bar of lane.bars) {
      const write = lane.id === 'etcd' ? this.index.record(bar.seq) : null;
      const owner = write ? write.span : bar.seq;
      if (bar.tone !== 'ghost' && bar.to > t) bar.to = Math.max(bar.from, t);
      if (!span || bar.tone) continue;
      const isHere = owner === span.seq || (marked.has(owner) && !this.closed(owner));
      if (isHere) {
        bar.tone = 'now';
        lane.on = true;
      }
    }
  }

  /** @param {number} seq */
  closed(seq) {
    const span = this.index.spans.get(seq);
    return !!span && !!span.close && span.close.seq <= this.seq;
  }

  /** @param {Arrow} arrow @param {Set<number>} marked */
  isLink(arrow, marked) {
    if (arrow.tone) return false;
    for (const seq of marked) {
      const span = /** @type {Span} */ (this.index.spans.get(seq));
      const lane =
        span.type === 'work' ? laneOf(/** @type {any} */ (span.open).component) : 'apiserver';
      if (arrow.to[0] === lane && arrow.to[1] === span.t) return true;
    }
    return false;
  }
}

/** @param {Index} index @param {string[]} ids */
export function sortLanes(index, ids) {
  const order = ['kubectl', 'apiserver', 'etcd', ...lanesAtRest(index)];
  const rank = (/** @type {string} */ id) => {
    const at = order.indexOf(id);
    if (at >= 0) return at;
    if (id === 'scheduler') return 90;
    return /^node/.test(id) ? 100 : 50;
  };
  return ids.sort((a, b) => rank(a) - rank(b) || compareNames(a, b));
}

/**
 * What stands at a time of the followed way: its hop then, and the newest revision. Null before it.
 * @param {Index} index @param {Seen} follow @param {number} cursor @param {number} t
 */
export function previewAt(index, follow, cursor, t) {
  const trail = wayOf(index, follow, cursor);
  const at = placeOf(index, trail, t, true) - 1;
  const record = at < 0 ? undefined : index.record(trail[at]);
  if (!record) return null;
  const open = /** @type {any} */ (index.spanOf(record)?.open || record);
  const rev = index.writes[lastRecordAt(index.writes, record.seq)]?.rev || 0;
  return { seq: record.seq, rev, what: whatIs(open) };
}

/** @param {any} open  of a request or work, or a step of a kubelet */
function whatIs(open) {
  if (open.kind === 'work') return open.component;
  if (open.kind !== 'request') return `${open.node} ${open.step}`;
  return `${httpMethod(open.verb)} ${open.subresource || pluralOf(open.resource)}`;
}

/**
 * For a crowd: how many pods were made, bound and ready in each slice of time.
 * @param {Index} index @param {number} seq @param {{from: number, to: number}} range
 * @param {number} slices
 */
export function areasAt(index, seq, range, slices) {
  const areas = {
    created: new Array(slices).fill(0),
    bound: new Array(slices).fill(0),
    ready: new Array(slices).fill(0),
    failed: new Array(slices).fill(0),
  };
  const width = (range.to - range.from) / slices;
  const { writes } = index;
  for (let i = writes.length - 1; i >= 0; i -= 1) {
    const write = writes[i];
    if (write.t < range.from) break;
    if (write.seq > seq || write.t > range.to) continue;
    if (write.resource !== 'pods' || write.namespace === 'kube-system') continue;
    const slot = Math.min(slices - 1, Math.floor((write.t - range.from) / width));
    const what = podChange(index, write);
    if (what && slot >= 0) areas[what][slot] += 1;
  }
  return areas;
}

/** @type {WeakMap<object, 'created'|'bound'|'ready'|'failed'|null>} */
const changes = new WeakMap();

/** @param {Index} index @param {import('../trace/records.js').WriteRecord} write */
function podChange(index, write) {
  const kept = changes.get(write);
  if (kept !== undefined) return kept;
  const what = describe(index, write);
  changes.set(write, what);
  return what;
}

/** @param {Index} index @param {import('../trace/records.js').WriteRecord} write */
function describe(index, write) {
  if (write.op === 'create') return 'created';
  if (write.op === 'delete') return null;
  if (write.subresource === 'binding') return 'bound';
  const { status = {} } = write.object || {};
  const before = index.before(write)?.object?.status || {};
  if (status.phase === 'Failed' && before.phase !== 'Failed') return 'failed';
  return isReady(status) && !isReady(before) ? 'ready' : null;
}

/** @param {any} status */
function isReady(status) {
  return (status.conditions || []).some(
    (/** @type {any} */ c) => c.type === 'Ready' && c.status === 'True',
  );
}
