// @ts-check
/**
 * Where the page stands in the trace and how it moves: live at the end, telling what it has not
 * shown yet, or in the past. At the end the transport drives the cluster's own clock through
 * `control`; behind it, only the page. Wall time comes in through tick; nothing here is drawn.
 */
import { chapterAt, chaptersOf } from './chapters.js';
import { isUnderWay, toldNext } from './film.js';
import { nextStop, rootOf, trailOf } from './follow.js';
import { lastAtMost } from '../trace/index.js';
import { BACKLOG_MAX, Pace, SPEED_TOLD_MAX } from './pace.js';

// about as many as one command causes
const COMMAND_HOPS = 500;

/** @typedef {import('../trace/history.js').History} History */
/** @typedef {import('./follow.js').Follow} Follow */

/**
 * @typedef {Object} ServerClock  what the cluster's clock last said
 * @property {string} mode   run, paused, step, max
 * @property {number|'max'} speed
 * @property {number} now    virtual µs since the epoch
 * @property {boolean} frozen
 * @property {import('../../types.js').Clock['held']} held
 * @property {string} [alarm]   why the store takes no writes
 * @property {string[]} [quarantined]   what stopped the cluster twice and is not run again
 * @property {number} waiting   requests from outside that wait while it is frozen
 * @property {import('../../types.js').Breakpoint[]} breakpoints
 * @property {import('../../types.js').Clock['votes']} votes
 */

/** @typedef {(body: {action: string, speed?: number|'max',
 *   set?: import('../../types.js').Breakpoint[], [more: string]: unknown}) => void} Control */

export class Player {
  /**
   * @param {History} history
   * @param {{live: boolean, watches?: boolean, control?: Control, reach?: (seq: number) => void}}
   *   options  `reach` is asked for what lies before the history
   */
  constructor(history, { live, watches = false, control, reach }) {
    this.history = history;
    /** all that is known, while one moment before it is shown alone; else null */
    this.rest = /** @type {History|null} */ (null);
    /** the recording that is being read */ this.coming = /** @type {History|null} */ (null);
    this.live = live;
    /** whether what is done here reaches the cluster */ this.drives = live && !watches;
    this.control = (!watches && control) || (() => {});
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
      votes: null,
    };
    this.pace = new Pace();
    /** words of the headline that is shown; whoever draws it says so */ this.words = 8;
    /** the hop shown repeats what was shown before, so it is not drawn in full */
    this.quick = false;
    /** the breakpoint at which what is shown was stopped, as a seq */ this.heldAt = 0;
    /** after which chapter it rests: root and place; null to play on */
    this.until = /** @type {{root: number, at: number}|null} */ (null);
    /** many pods are on view: counts are shown as they are, nothing is told */
    this.crowded = false;
    /** the last step asked of the cluster went on by a whole request */ this.byRequest = false;
    this._rest = 0;
    this._high = 0; // what was told has got as far as this
    this._begun = 0; // commands up to here were told, or passed over,
    /** @type {Set<number>} and these, which are newer */ this._told = new Set();
  }

  /** Begin again with another history: what was before it is lost. @param {History} history */
  restart(history) {
    this.history = history;
    this.rest = null;
    this.cursor = 0;
    this.sought = 0;
    this.past = false;
    this.playing = this.live;
    this.follow = {};
  }

  /** Go on with the same history from further back on. @param {History} history */
  extend(history) {
    const to = this.rest ? this.cursor : this.sought;
    this.history = history;
    this.rest = null;
    if (to) this.seek(to);
  }

  /**
   * A moment before all that is known: it is shown alone until what lies between is there.
   * @param {History} history  around it @param {number} seq
   */
  lookAt(history, seq) {
    this.rest ||= this.history;
    this.history = history;
    this._moveTo(seq);
    this.sought = 0;
    this.playing = false;
    this.past = true;
  }

  /** What is known up to now, also while a moment is shown alone. */
  get newest() {
    return this.rest || this.history;
  }

  get head() {
    return this.history.last;
  }

  /** Whether records that were there when the page opened, or of a recording, are on their way. */
  get loading() {
    return this.newest.last < this.knownUpTo;
  }

  get behind() {
    return !!this.rest || this.cursor < this.head;
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

  /** A recording comes in pages: `nothing` plays until it is whole. @param {History} nothing */
  awaits(nothing) {
    this.coming = this.history;
    this.history = nothing;
    this.knownUpTo = Infinity;
  }

  /** It is whole, or nothing more comes. */
  open() {
    if (this.coming) this.restart(this.coming);
    this.coming = null;
    this.knownUpTo = 0;
    this.begin();
  }

  /** A recording opens where its first command begins. */
  begin() {
    this._moveTo(this.history.index.roots[0] || this.history.first);
  }

  // -- records come in --------------------------------------------------------------------------

  /** New records are there. Live, the cursor goes along unless there is something to tell. */
  arrived() {
    const { index } = this.history;
    if (!this.live || this.past || this.rests) return;
    if (this.cursor < this.knownUpTo || !this.travels) {
      this._arriveAtEnd();
      return;
    }
    const next = this._nextTold().seq;
    if (!next && this._isUnderWay()) return;
    if (!next || this._backlog() > BACKLOG_MAX) this._arriveAtEnd();
    else if (index.record(this.cursor) === undefined) this.cursor = this.head;
  }

  /** @param {Partial<ServerClock>} clock */
  serverSaid(clock) {
    Object.assign(this.server, clock);
    if (this.live && typeof this.server.speed === 'number') this.speed = this.server.speed;
    // what is shown was stopped before it was known that the cluster itself stands there
    if (this.heldAt && this.server.held?.seq === this.heldAt) this._arriveAtEnd();
  }

  // -- time passes ------------------------------------------------------------------------------

  /** @param {number} ms of wall time @returns {boolean} whether anything changed */
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
    const { playing } = this;
    this._rest += ms;
    for (let guard = 0; guard < 500; guard += 1) {
      const next = this._nextTold();
      if (!next.seq) {
        if (!this._isUnderWay()) this._arriveAtEnd();
        break;
      }
      const dwell = this._dwell(next.as);
      if (this._rest < dwell || this._restsBefore(next.seq)) break;
      this._rest -= dwell;
      const held = this._breakpointBefore(next.seq);
      this._tell(held || next.seq, next.as);
      if (held) this.playing = false;
      this.heldAt = held;
      if (held || next.as === 'full') {
        // what is told in full is drawn before the next comes, however slow the machine is
        this._rest = 0;
        break;
      }
    }
    return this.cursor !== from || this.playing !== playing;
  }

  // -- transport --------------------------------------------------------------------------------

  play() {
    this.playing = true;
    this.heldAt = 0;
    if (this.live && !this.past && this.stopped) this.control({ action: 'resume' });
  }

  pause() {
    this.playing = false;
    if (this.live && !this.past && !this.stopped) this.control({ action: 'pause' });
  }

  /** Pause, or go on: to the end, or of the chapter only. @param {boolean} [byChapter] */
  toggle(byChapter = false) {
    if (this.isRunning) {
      this.pause();
      return;
    }
    const next = byChapter ? this._nextTold().seq : 0;
    this.until = next ? this._chapterOf(next) : null;
    this.play();
  }

  /** The beginning of a chapter. @param {1|-1} direction */
  chapter(direction) {
    const { index } = this.history;
    const root = rootOf(index, this.cursor);
    const list = chaptersOf(index, root).filter((chapter) => chapter.seq <= this.head);
    const at = list.findLastIndex((chapter) => chapter.seq <= this.cursor);
    const to = list[direction > 0 || list[at]?.seq === this.cursor ? at + direction : at];
    const beside = index.roots[index.roots.indexOf(root) + direction];
    this.playing = false;
    if (to) this._moveTo(to.seq);
    else if (beside) this._moveTo(beside);
    else if (direction > 0) this._moveTo(this.head);
    this.past = this.live && this.behind && (this.past || direction < 0);
  }

  get isRunning() {
    if (this.behind || this.past) return this.playing && this.behind;
    return this.live && !this.stopped && !this.rests;
  }

  /** Who only watches has paused what is shown; the cluster goes on. */
  get rests() {
    return this.live && !this.drives && !this.playing;
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
    this._leave(seq);
    this.playing = false;
    this.sought = seq < this.history.first ? seq : 0;
    if (this.sought) this.reach(seq);
    this._moveTo(Math.max(this.history.first, Math.min(seq, this.head)));
    this.past = this.live && this.behind;
  }

  goLive() {
    this._leave(Infinity);
    this.sought = 0;
    this._arriveAtEnd();
    this.playing = true;
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

  /** Go back to all that is known, unless a record is shown alone. @param {number} seq */
  _leave(seq) {
    if (!this.rest || (seq >= this.history.first && seq <= this.head)) return;
    this.history = this.rest;
    this.rest = null;
  }

  /** @param {number} seq */
  _moveTo(seq) {
    this.cursor = seq;
    this._high = seq;
    this._begun = seq;
    this._told.clear();
    this.quick = false;
    this.until = null;
    this.heldAt = 0;
    this._rest = 0;
    if (this.behind || !this.live) return;
    this.past = false;
    this.playing = true; // what comes next is told
  }

  _arriveAtEnd() {
    if (this.rest) {
      this.playing = false; // what follows is on its way
      return;
    }
    this._moveTo(this.head);
    this.past = false;
    if (!this.live) this.playing = false;
  }

  /** @param {number} seq @param {'full'|'more'|''} as */
  _tell(seq, as) {
    this.cursor = seq;
    this._high = Math.max(this._high, seq);
    this._told.add(seq);
    this.quick = as === 'more';
  }

  /**
   * What is told next: the rest of what is on view, then what began after it, then another command.
   * What repeats is left out once what was told has gone beyond it.
   * @returns {{seq: number, as: 'full'|'more'|''}}
   */
  _nextTold() {
    const { index } = this.history;
    let trail = this._trail();
    let seq = this.cursor;
    for (;;) {
      let next = toldNext(index, trail, seq, 1);
      const root = this.past && this.follow.pod ? 0 : this._rootBefore(seq, next);
      if (root) {
        trail = index.trails.get(root) || [];
        next = root;
      }
      const record = next ? index.record(next) : undefined;
      if (!record) return { seq: 0, as: '' };
      const as = this.pace.toldAs(index, record, rootOf(index, next));
      const isNew = next > this._high && !this._isOfEarlier(next);
      if (as === 'full' || (as === 'more' && isNew)) return { seq: next, as };
      seq = next;
    }
  }

  /** The command that comes before the next stop, and is told first. */
  _rootBefore(/** @type {number} */ seq, /** @type {number} */ next) {
    const { index } = this.history;
    const newer = index.roots.slice(lastAtMost(index.roots, this._begun) + 1);
    const root = newer.find((candidate) => !this._told.has(candidate) && candidate !== seq);
    if (!root || this._isUnderWay(seq)) return 0;
    const record = next ? index.record(next) : undefined;
    const span = record && index.spanOf(record);
    const begins = !!record && (span ? span.seq === next : true);
    return !next || (begins && root < next) ? root : 0;
  }

  /** Whether what is on view goes on, though its next record has yet to come. */
  _isUnderWay(seq = this.cursor) {
    const { index } = this.history;
    return this.live && !this.stopped && isUnderWay(index, trailOf(index, {}, seq), seq);
  }

  /** How long the stop at the cursor stays. @param {'full'|'more'|''} next  how the next is told */
  _dwell(next) {
    const { index } = this.history;
    const record = index.record(this.cursor);
    const as = record ? this.pace.toldAs(index, record, rootOf(index, this.cursor)) : '';
    if (!record || !as) return 0;
    const { pace, speed } = this;
    if (as === 'more' && next === 'more') return pace.dwellOfRepeat(this._backlog(), speed);
    return pace.dwell(record, this.words, this._backlog(), speed);
  }

  /** The chapter of a stop, or the one that is cut there. @param {number} seq */
  _chapterOf(seq) {
    const { index } = this.history;
    const root = rootOf(index, seq);
    const cut = chaptersOf(index, root).findIndex((chapter) => chapter.cut === seq);
    const chapter = chapterAt(index, root, index.record(seq) || null, seq);
    return { root, at: cut < 0 && chapter ? chapter.at : Math.max(0, cut) };
  }

  /** Whether a hop belongs to a chapter before the one on view. @param {number} seq */
  _isOfEarlier(seq) {
    const here = this._chapterOf(this.cursor);
    const there = this._chapterOf(seq);
    return here.root === there.root && there.at < here.at;
  }

  /** At the end of a chapter it rests when it was asked to. @param {number} next */
  _restsBefore(next) {
    if (!this.until) return false;
    const { root, at } = this._chapterOf(next);
    if (root === this.until.root && at <= this.until.at) return false;
    this.until = null;
    this.playing = false;
    return true;
  }

  /**
   * The first hop on the way to the next one that a breakpoint waits for; 0 for none. Who only
   * watches stops where the cluster does: who drives cannot let what they are shown go on.
   */
  _breakpointBefore(/** @type {number} */ next) {
    const { breakpoints, held } = this.server;
    if (!breakpoints.length || (this.live && !this.drives)) return 0;
    const { index } = this.history;
    const trail = trailOf(index, {}, next);
    for (let i = lastAtMost(trail, this._high) + 1; i < trail.length && trail[i] <= next; i += 1) {
      if (this.live && held?.seq === trail[i]) return 0; // the cluster itself is held there
      if (breakpoints.some((breakpoint) => this._isHit(breakpoint, trail[i]))) return trail[i];
    }
    return 0;
  }

  /** @param {import('../../types.js').Breakpoint} breakpoint @param {number} seq */
  _isHit({ id, label, ...wanted }, seq) {
    const { index } = this.history;
    const record = /** @type {any} */ (index.record(seq));
    if (record.kind !== wanted.kind) return false;
    const open = /** @type {any} */ (index.spanOf(record)?.open || {});
    return Object.entries(wanted).every(([name, value]) =>
      name in record ? record[name] === value : open[name] === value,
    );
  }

  /** While telling, the way is that of the command at the cursor, whatever is pinned. */
  _trail() {
    const follow = this.follow.pod && this.past ? this.follow : {};
    return trailOf(this.history.index, follow, this.cursor);
  }

  /** How many hops wait to be told; another command that waits counts as many. */
  _backlog() {
    const { roots } = this.history.index;
    const trail = this._trail();
    const waiting = roots.length - 1 - lastAtMost(roots, this.cursor);
    return trail.length - lastAtMost(trail, this.cursor) + waiting * COMMAND_HOPS;
  }
}
