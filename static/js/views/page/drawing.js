// @ts-check
/**
 * One drawing of the page: all its parts, of one and the same moment. They are drawn in one frame;
 * while many pods start, one part a frame, so that none of these takes long. What comes meanwhile
 * waits until all of them show the moment that was begun with.
 */
import { chapterOf } from '../time/chapters.js';
import { crowdCounts } from '../../core/explain/crowd.js';
import { explanationOf } from '../kit/explanation.js';
import { narrate } from './narrator.js';
import { renderBar } from './bar.js';
import { renderBench } from '../bench/bench.js';
import { renderInspector } from '../inspector/inspector.js';
import { renderMap } from '../map/map.js';
import { renderTimeline, roomOf } from '../time/timeline.js';

/** @typedef {import('../kit/parts.js').Context} Context */

// as many pods that start are drawn with all they change at once
const AT_ONCE_MAX = 8;
// of more there is a picture so often, later if much came, but not so late
const TURNS_MS = 150;
const TURNS_MS_MAX = 300;
// what came is taken for so long of a frame, for longer if it waits longer than it may
const TAKING_MS = 8;
const TAKING_MS_MAX = 40;
const WAITING_MS_MAX = 500;

export class Drawing {
  /** @param {import('./app.js').App} app */
  constructor(app) {
    this.app = app;
    /** how much there is for the axis */ this.room = { width: 0, height: 0, rem: 16 };
    /** @type {(() => void)[]} the parts that this drawing has yet to draw */ this._parts = [];
    /** @type {(() => void)[]} what is measured and moved once they are drawn */ this._places = [];
    /** whether its parts are drawn in turns */ this._inTurns = false;
    /** @type {((taken: void) => void)[]} what came and waits */ this._waiting = [];
    /** whether some of it had its turn since the last drawing began */ this._hadTurn = false;
    this._begunAt = 0;
    this._frameAt = 0;
    // the axis is drawn for the room it has, which what stands above it may change
    this._observer = new ResizeObserver(() => app.changed());
    /** @type {Element|null} */ this._plot = null;
    /** @type {typeof import('./dialogs.js')|null|undefined} loaded when the first is opened */
    this._dialogs = undefined;
    /** @type {Promise<void>|undefined} until the first dialog is drawn, or cannot be */
    this.loading = undefined;
  }

  /**
   * When what came may be taken: what is drawn in turns must not change before it is whole.
   * @param {number} came  when it did
   */
  async turn(came) {
    while (this._inTurns && !document.hidden) {
      const now = performance.now();
      const room = now - came > WAITING_MS_MAX ? TAKING_MS_MAX : TAKING_MS;
      if (!this._parts.length && now - this._frameAt < room) return;
      this.app.wake();
      await new Promise((/** @type {(taken: void) => void} */ go) => this._waiting.push(go));
    }
  }

  /** Whether there is more to do in the next frame. */
  get goesOn() {
    return this._parts.length > 0 || this._waiting.length > 0;
  }

  /** Before anything is drawn, while nothing has to be laid out for it. */
  measure() {
    fitLayout();
    this.room = roomOf(this.app.hosts.timeline);
  }

  /** @param {() => void} place */
  after(place) {
    this._places.push(place);
  }

  /** The bar alone, on which time passes. @param {Context} context */
  drawBar(context) {
    renderBar(this.app.hosts.bar, context);
  }

  /** @param {Context} context @param {number} now @param {boolean} isAsked  by who is here */
  begin(context, now, isAsked) {
    this._parts = this._partsOf(context);
    const { player } = context;
    this._begunAt = now;
    this._hadTurn = false;
    this._inTurns =
      !isAsked && player.live && !player.past && !player.travels && areMany(context);
    if (this._inTurns) this._next();
    else this._draw();
  }

  /** Whether this frame is for what was begun, or for what came. @param {number} now */
  goOn(now) {
    this._frameAt = performance.now();
    if (this._parts.length) {
      this._next();
      return true;
    }
    const came = this._waiting.splice(0);
    for (const go of came) go();
    const isFirst = came.length > 0 && !this._hadTurn;
    if (isFirst) this._hadTurn = true; // however slow the machine is, between any two drawings
    const soon = came.length ? TURNS_MS_MAX : TURNS_MS;
    return this._inTurns && (isFirst || now - this._begunAt < soon);
  }

  _next() {
    this._parts.shift()?.();
    this._place();
  }

  _draw() {
    for (const part of this._parts.splice(0)) part();
    this._place();
  }

  /** What is measured comes behind all that is written, so that it is laid out once. */
  _place() {
    for (const place of this._places.splice(0)) place();
  }

  /** @param {Context} context @returns {(() => void)[]} */
  _partsOf(context) {
    const { hosts, act } = this.app;
    const explanation = explanationOf(context);
    return [
      () => {
        this.app.lookBack(context);
        act.follow(context);
        this.drawBar(context);
        renderBench(hosts.bench, context);
      },
      () => renderMap(hosts.map, context),
      () => renderInspector(hosts.inspector, context, explanation),
      () => {
        renderTimeline(hosts.timeline, context);
        this._seeRoom(hosts.timeline.querySelector('.plot'));
        this._drawDialogs(context);
        this._tell(context, explanation);
      },
    ];
  }

  /** @param {Context} context */
  _drawDialogs(context) {
    const { app } = this;
    if (this._dialogs) return this._dialogs.renderDialogs(app.hosts.dialogs, context);
    if (this._dialogs === null || !context.ui.dialog) return;
    this._dialogs = null; // is under way
    this.loading = import('./dialogs.js').then(
      (dialogs) => {
        this._dialogs = dialogs;
        app.drawNow();
      },
      (error) => {
        this._dialogs = undefined;
        context.ui.dialog = '';
        app.failed(error);
      },
    );
  }

  /** @param {Element|null} plot */
  _seeRoom(plot) {
    if (plot === this._plot) return;
    this._observer.disconnect();
    this._plot = plot;
    if (plot) this._observer.observe(plot);
  }

  /**
   * What is said of it: aloud, in the address and in the title.
   * @param {Context} context @param {import('../../core/explain/index.js').Explanation} explanation
   */
  _tell(context, explanation) {
    const { player, ui, words } = context;
    const { address, hosts } = this.app;
    player.words = wordsIn(explanation.title);
    // a story that tells itself is spoken chapter by chapter; where one stops, what is there is
    const tells = player.behind && player.isRunning && !ui.selected && chapterOf(context);
    narrate(hosts.narrator, tells ? tells.text : explanation.voice);
    address.tell();
    const title = `${explanation.title} · ${words.t('app.name')}`;
    if (document.title !== title) document.title = title;
    document.body.classList.toggle('is-past', player.past);
    document.body.setAttribute('aria-busy', String(player.loading || address.isUnderWay));
  }
}

/** Whether so many pods start that what they change comes faster than it is looked at. */
function areMany(/** @type {Context} */ { state }) {
  const { missing, queued, starting } = crowdCounts(state);
  return missing + queued + starting > AT_ONCE_MAX;
}

/** How long a sentence is to a reader, in words; of Chinese two characters count as one. */
function wordsIn(/** @type {string} */ text) {
  const signs = text.match(/[\u3400-\u9fff]/g)?.length || 0;
  return text.split(/\s+/).length + signs / 2;
}

/** Roomy or compact, by the letters that a line has room for; the projector is always compact. */
export function fitLayout() {
  const root = document.documentElement;
  const isWide = root.dataset.theme !== 'projector' && matchMedia('(min-width: 100em)').matches;
  const layout = isWide ? 'roomy' : 'compact';
  if (root.dataset.layout !== layout) root.dataset.layout = layout;
}
