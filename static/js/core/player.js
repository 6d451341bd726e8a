// @ts-check
/**
 * Where the page stands in the trace and how it moves: live at the end, telling what it has not
 * shown yet, or in the past. At the end the transport drives the cluster's own clock through
 * `control`; behind it, only the page. Wall time comes in through tick; nothing here is drawn.
 */
import { isStop, nextStop, trailOf } from './follow.js';
import { lastAtMost } from './index.js';
import { BACKLOG_MAX, Pace, SPEED_TOLD_MAX } from './pace.js';

/** @typedef {import('./history.js').History} History */
/** @typedef {import('./follow.js').Follow} Follow */

/**
 * @typedef {Object} ServerClock  what the cluster's clock last said
 * @property {string} mode   run, paused, step, max
 * @property {number|'max'} speed
 * @property {number} now    virtual µs since the epoch
 * @property {boolean} frozen
 * @property {import('../types.js').Clock['held']} held
 * @property {number} waiting   requests from outside that wait while it is frozen
 * @property {import('../types.js').Breakpoint[]} breakpoints
 */

/** @typedef {(body: {action: string, speed?: number|'max',
 *   set?: import('../types.js').Breakpoint[], [more: string]: unknown}) => void} Control */

export class Player {
  /**
   * @param {History} history
   * @param {{live: boolean, watches?: boolean, control?: Control, reach?: (seq: number) => void}}
   *   options  `reach` is asked for what lies before the history
   */
  constructor(history, { live, watches = false, control, reach }) {
    this.history = history;
    this.live = live;
    /** whether what is done here reaches the cluster */ this.drives = live && !watches;
    this.control = control || (() => {});
    this.reach = reach || (() => {});
    /** where to go once it is there, 0 for nowhere */ this.sought = 0;
    this.cursor = 0;
    /** scrubbed back by hand: the banner shows until live again */ this.past = false;
    /** whether the cursor moves by itself when it is behind */ this.playing = live;
    /** records up to here are taken as known when the page opens; first, how many is not known */
    this.knownUpTo = live ? Infinity : 0;
    this.speed = 1;
    /** @type {Follow} */ this.follow = {};
    /** @type {ServerClock} */
    this.server = {
      mode: 'run',
      speed: 1,
      now: 0,
      frozen: false,
      held: null,
      waiting: 0,
      breakpoints: [],
    };
    this.pace = new Pace();
    /** the hop shown repeats what was shown before, so it is not drawn in full */
    this.quick = false;
    /** many pods are on view: counts are shown as they are, nothing is told */
    this.crowded = false;
    /** the last step asked of the cluster went on by a whole request */ this.byRequest = false;
    this._rest = 0;
  }

  /** Begin again with another history: what was before it is lost. @param {History} history */
  restart(history) {
    this.history = history;
    this.cursor = 0;
    this.sought = 0;
    this.past = false;
    this.follow = {};
  }

  /** Go on with the same history from further back on. @param {History} history */
  extend(history) {
    this.history = history;
    if (this.sought) this.seek(this.sought);
  }

  get head() {
    return this.history.last;
  }

  /** Whether records that were there when the page opened are still on their way. */
  get loading() {
    return this.live && this.head < this.knownUpTo;
  }

  get behind() {
    return this.cursor < this.head;
  }

  /** live, telling, past, recorded: what kind of moment is shown. */
  get moment() {
    if (!this.live) return 'recorded';
    if (this.past) return 'past';
    return this.behind ? 'telling' : 'live';
  }

  /** Whether the cluster's clock stands still at the end of what is known. */
  get stopped() {
    return this.live ? this.server.frozen || this.server.mode === 'paused' : !this.behind;
  }

  /** Whether hops are drawn travelling, or only counted. */
  get travels() {
    const speed = this.live ? this.server.speed : this.speed;
    return !this.crowded && speed !== 'max' && Number(speed) <= SPEED_TOLD_MAX;
  }

  state() {
    return this.history.stateAt(this.cursor);
  }

  // -- records come in --------------------------------------------------------------------------

  /** New records are there. Live, the cursor goes along unless there is something to tell. */
  arrived() {
    const { index } = this.history;
    if (!this.live || this.past) return;
    if (this.cursor < this.knownUpTo || !this.travels) {
      this.cursor = this.head;
      return;
    }
    const next = this._nextShown();
    if (!next && this._isStoring()) return;
    if (!next || this._backlog() > BACKLOG_MAX) this.cursor = this.head;
    else if (index.record(this.cursor) === undefined) this.cursor = this.head;
  }

  /** @param {Partial<ServerClock>} clock */
  serverSaid(clock) {
    Object.assign(this.server, clock);
    if (this.live && typeof this.server.speed === 'number') this.speed = this.server.speed;
  }

  // -- time passes ------------------------------------------------------------------------------

  /** @param {number} ms of wall time @returns {boolean} whether the cursor moved */
  tick(ms) {
    if (this.live && !this.past && this.playing && this.behind && !this.travels) {
      this._arriveAtEnd();
      return true;
    }
    if (!this.behind || !this.playing) {
      this._rest = 0;
      return false;
    }
    const from = this.cursor;
    this._rest += ms;
    for (let guard = 0; guard < 5000; guard += 1) {
      const next = this._nextShown();
      if (!next) {
        if (!this._isStoring()) this._arriveAtEnd();
        break;
      }
      const { index } = this.history;
      const record = index.record(this.cursor);
      const shown = record && isStop(record);
      const dwell = shown ? this.pace.dwell(index, record, this._backlog(), this.speed) : 0;
      if (shown) this.quick = this.pace.isRepeated(index, record);
      if (this._rest < dwell) break;
      this._rest -= dwell;
      this.cursor = next;
      const reached = /** @type {import('./records.js').TraceRecord} */ (index.record(next));
      if (this.pace.isDrawn(index, reached)) {
        this._rest = 0;
        break;
      }
    }
    return this.cursor !== from;
  }

  // -- transport --------------------------------------------------------------------------------

  play() {
    this.playing = true;
    if (this.live && !this.past && this.stopped) this.control({ action: 'resume' });
  }

  pause() {
    this.playing = false;
    if (this.live && !this.past && !this.stopped) this.control({ action: 'pause' });
  }

  toggle() {
    if (this.isRunning) this.pause();
    else this.play();
  }

  get isRunning() {
    if (this.behind || this.past) return this.playing && this.behind;
    return this.live && !this.stopped;
  }

  /** One hop or one request on or back. @param {1|-1} direction @param {boolean} byRequest */
  step(direction, byRequest = false) {
    this.playing = false;
    if (direction > 0 && !this.behind) {
      this.byRequest = byRequest;
      if (this.live) this.control({ action: byRequest ? 'step-request' : 'step' });
      this.playing = true;
      return;
    }
    const { index } = this.history;
    const next = nextStop(index, this.follow, this.cursor, direction, byRequest);
    if (direction > 0) this._moveTo(next || this.head);
    else if (next >= this.history.first) this._moveTo(next);
    else if (this.history.first > 1) this.seek(next || this.history.first - 1);
    this.past = this.live && this.behind && (this.past || direction < 0);
  }

  /** Look at any record. @param {number} seq */
  seek(seq) {
    this.playing = false;
    this.sought = seq < this.history.first ? seq : 0;
    if (this.sought) this.reach(seq);
    this._moveTo(Math.max(this.history.first, Math.min(seq, this.head)));
    this.past = this.live && this.behind;
  }

  goLive() {
    this.sought = 0;
    this.past = false;
    this.playing = true;
    this.cursor = this.head;
    this.follow = this.follow.root ? {} : this.follow;
  }

  /** @param {number|'max'} speed */
  setSpeed(speed) {
    this.speed = speed === 'max' ? 1000 : speed;
    if (this.live) {
      this.server.speed = speed;
      this.control({ action: 'speed', speed });
      if (!this.travels && !this.past) this.cursor = this.head;
    }
  }

  // -- inside -----------------------------------------------------------------------------------

  /** @param {number} seq */
  _moveTo(seq) {
    this.cursor = seq;
    this.quick = false;
    this._rest = 0;
    if (!this.behind && this.live) this.past = false;
  }

  _arriveAtEnd() {
    this.cursor = this.head;
    this.quick = false;
    this.past = false;
    this._rest = 0;
    if (!this.live) this.playing = false;
  }

  /**
   * Whether the request at the cursor has stored something and the gate that did so has yet to
   * tell: the object is shown with its gate, never before.
   */
  _isStoring() {
    const { index } = this.history;
    const record = index.record(this.cursor);
    const span = record && index.spanOf(record);
    return !this.stopped && !!span && !span.close && span.records.at(-1)?.kind === 'write';
  }

  _nextShown() {
    const { index } = this.history;
    const next = nextStop(index, this._telling(), this.cursor, 1, false);
    const root = index.roots[lastAtMost(index.roots, this.cursor) + 1];
    return root && (!next || root < next) ? root : next;
  }

  /** While telling, the way is that of the newest root at the cursor, whatever is pinned. */
  _telling() {
    return this.follow.pod && this.past ? this.follow : {};
  }

  _backlog() {
    const { index } = this.history;
    const trail = trailOf(index, this._telling(), this.cursor);
    return trail.length - lastAtMost(trail, this.cursor);
  }
}
