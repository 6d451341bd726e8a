// @ts-check
/**
 * The page put together: one player, one context for all views, one frame for all drawing. Views
 * are called only when something they show may have changed, and never call each other.
 */
import { currentAt, heldAside } from '../../core/story/follow.js';
import { isFork, otherOf } from '../../core/cluster/forks.js';
import { History } from '../../core/trace/history.js';
import { knownAt } from '../../core/trace/known.js';
import { Player } from '../../core/story/player.js';
import { learn, wordsFor } from '../../i18n/index.js';
import { clusterApi } from '../../net/api.js';
import { earlier, Feed } from '../../net/feed.js';
import { readFile, readSaved } from '../../net/recording.js';
import { actionsOf } from './actions.js';
import { Address } from './address.js';
import { Drawing, fitLayout } from './drawing.js';
import { focusAt } from '../map/focus.js';
import { listenToKeys } from './keys.js';
import { metaOf } from './meta.js';
import { listenToTimeline } from '../time/pointer.js';
import { rolloutAt } from '../map/rollout.js';
import { uiOf } from './ui.js';

// idle, the clock and the lease ages are drawn this often
const IDLE_MS = 250;
// a page that takes longer to load says so
const LOADING_MS = 1000;
// a seek or a step lets the map change its centre at once, for this long
const MOVED_MS = 400;
// records that are fetched at once when somebody looks further back
const EARLIER = 6000;
// and what is fetched around a moment that lies further back, before that is there
const AROUND = 1000;
// what the newest command led to is fetched unasked when it is not longer than this
const COMMAND_MAX = 30_000;

/** @typedef {{cluster: string, version: string, watches: boolean}} Home  watches: and no more */
/** @typedef {import('../../types.js').Hello} Hello */

/** @type {(keyof import('../../types.js').Clock)[]} */
const CLOCK = [
  'mode', 'speed', 'now', 'frozen', 'held', 'waiting', 'alarm', 'quarantined', 'breakpoints',
  'votes',
];

export class App {
  /**
   * @param {Record<string, HTMLElement>} hosts @param {Home} given
   */
  constructor(hosts, given) {
    this.hosts = hosts;
    /** the cluster that is live here, whatever recording is shown */ this.home = given;
    this.meta = metaOf(given);
    this.ui = uiOf(this.meta, given);
    this.history = new History();
    this.player = new Player(this.history, { live: true });
    this.api = clusterApi(given.cluster);
    /** @type {Feed|null} */ this.feed = null;
    this._words = wordsFor(this.ui.lang);
    this._asked = false;
    this._changed = false;
    /** whether a next frame is asked for */ this._awake = false;
    /** until the clock is drawn again @type {ReturnType<typeof setTimeout>|undefined} */
    this._rest = undefined;
    this._frameAt = 0;
    this._drawnAt = 0;
    this._movedAt = -1e9;
    this._openedAt = 0;
    this._unreachable = 0; // where going back failed
    /** once all is read that was there when the cluster was opened */
    this.arrival = Promise.resolve();
    this._arrived = () => {};
    this.address = new Address(this);
    this.act = actionsOf(this);
    this.drawing = new Drawing(this);
  }

  start() {
    listenToKeys(this);
    listenToTimeline(this.hosts.timeline, this);
    addEventListener('resize', () => this.draw());
    document.fonts?.ready.then(() => this.changed());
    this.wake();
  }

  words() {
    return this._words;
  }

  /** Ask for a drawing in the next frame. */
  draw() {
    this._asked = true;
    this.wake();
  }

  /** Something came that nobody here asked for: it is drawn as there is time. */
  changed() {
    this._changed = true;
    this.wake();
  }

  /** Draw what is typed into next, so that no key is lost. */
  drawNow() {
    this.draw();
    this._frame(performance.now());
  }

  /** Draw what was asked for already: the key that comes now is for that. */
  drawAsked() {
    if (this._asked) this._frame(performance.now());
  }

  /** The user went somewhere: the map may change at once. */
  moved() {
    this._movedAt = performance.now();
  }

  /** Whether it was done, or is about a recording. @param {any} body @returns {Promise<boolean>} */
  async control(body) {
    this.ui.failure = '';
    this.draw();
    if (!this.player.drives) return true;
    try {
      const answer = await this.api.control(body);
      // the feed tells every change in its order; an answer may be older than what it told
      if (answer && !this.meta.connected) this._clock(answer);
    } catch (error) {
      this.failed(error);
      return false;
    } finally {
      this.draw();
    }
    return true;
  }

  /** What was asked for was not done: it is said where one looks. @param {unknown} error */
  failed(error) {
    this.ui.failure = /** @type {Error} */ (error).message;
    this.draw();
  }

  /** @returns {import('../kit/parts.js').Context} */
  context() {
    const state = this.player.state();
    const whole = this.player.history.index;
    const index = knownAt(whole, state.seq);
    const current = heldAside(index, state.held) || currentAt(index, this.player.follow, state.seq);
    const context = {
      player: this.player,
      index,
      whole,
      state,
      current,
      words: this._words,
      ui: this.ui,
      meta: this.meta,
      now: this.player.live && !this.player.behind ? this.meta.now() : state.t,
      clock: 0,
      compact: document.documentElement.dataset.layout === 'compact',
      focus: 'api',
      room: this.drawing.room,
      after: (/** @type {() => void} */ place) => this.drawing.after(place),
      act: this.act,
    };
    context.clock = (Date.parse(this.meta.epoch) || 0) + context.now / 1000;
    this.ui.moved = performance.now() - this._movedAt < MOVED_MS;
    context.focus = focusAt(context, performance.now());
    return context;
  }

  // -- sources of records -----------------------------------------------------------------------

  openLive() {
    this._reset(true);
    Object.assign(this.meta, this.home);
    this.arrival = new Promise((arrived) => (this._arrived = () => arrived(undefined)));
    this.feed = new Feed(
      this.meta.cluster,
      {
        hello: (hello) => this._hello(hello),
        keyframe: (keyframe) => {
          this.history.begin(keyframe);
          this.player.arrived();
          this._began();
        },
        records: (records) => this._take(records),
        clock: (clock) => {
          this._clock(clock);
          this.changed();
        },
        turn: (came) => this.drawing.turn(came),
        missing: () => {
          this.history = new History();
          this.player.restart(this.history);
        },
        failed: (why) => {
          this.ui.traceError = why;
          this.act.goOn();
          this.act.openWhatIsLeft();
          this.draw();
        },
        connection: (on, refused) => {
          Object.assign(this.meta, { connected: on, refused });
          if (on) this.meta.opened = true;
          this.changed();
        },
      },
      () => this.history.last && this.history.last + 1,
    );
    this.feed.open();
    this.act.nextLines();
    if (isFork(this.home.cluster)) this.act.listForks();
    this.act.readBookmarks();
    const { player } = this;
    this.api.state().then(
      (state) => {
        if (player !== this.player) return; // for another cluster, whose clock this is not
        this.meta.server = true;
        this._users(state);
        if (!this.meta.connected) this._clock(state.clock || state);
        this.changed();
      },
      () => this.changed(),
    );
  }

  /** Whether a fork can be made at the cursor. */
  get canFork() {
    return this.player.live && !this.home.watches && this.history.last > 0;
  }

  /** Another cluster that runs here. @param {string} cluster @param {number} [hop] the moment */
  openCluster(cluster, hop = 0) {
    this.address.lead(cluster, hop);
    this.open(cluster);
  }

  /** The same, where the address leads already. @param {string} cluster */
  open(cluster) {
    this.home = { ...this.home, cluster };
    this.api = clusterApi(cluster);
    if (!otherOf(this.ui.comparison?.fork || '', cluster)) this.ui.comparison = null;
    this.act.takeAlong();
    this.openLive();
  }

  /** @param {string} id */
  async openSaved(id) {
    this._reset(false);
    const { player } = this;
    player.awaits(new History());
    const isLeft = () => this.player !== player; // for the live cluster, or another recording
    await readSaved(id, (header, records) => {
      if (isLeft()) return false;
      if (header) {
        this._header(header);
        this.ui.trace = id;
        this.meta.server = true;
      }
      this._take(records);
      return true;
    }).finally(() => player.open());
    if (isLeft()) return;
    this.address.arrive();
    this.draw();
  }

  /** @param {Blob} file */
  async openFile(file) {
    const { header, records } = await readFile(file);
    this._reset(false);
    this._header(header);
    this._take(records);
    this.player.begin();
    this.draw();
  }

  /** @param {boolean} live */
  _reset(live) {
    this.feed?.close();
    this.feed = null;
    this.history = new History();
    this.player = new Player(this.history, {
      live,
      watches: this.home.watches,
      control: (body) => this.control(body),
      reach: (seq) => this.reach(seq),
    });
    this.player.pace.story = this.ui.story;
    Object.assign(this.ui, { selected: null, focus: '', dialog: '', menu: '', traceError: '' });
    this.ui.failure = '';
    this._openedAt = performance.now();
    Object.assign(this.ui, { startup: null, trace: '', gone: null, window: null });
    Object.assign(this.ui, { bookmarks: [], bookmark: 0, lesson: null, vote: null });
    Object.assign(this.meta, { connected: !live, opened: !live });
    this.meta.forget();
    this.moved();
    this.draw();
  }

  /** @param {import('../../types.js').Header} header */
  _header(header) {
    const { meta } = this;
    if (header.bookmarks) this.ui.bookmarks = header.bookmarks;
    meta.epoch = header.epoch || meta.epoch;
    meta.cut = header.cut || 0;
    meta.version = header.kubernetes || String(header.version || meta.version);
    meta.cluster = header.cluster || header.name || meta.cluster;
  }

  /** @param {import('../../types.js').Hello} hello */
  _hello(hello) {
    const { epoch, cluster } = this.meta;
    if (this.history.last && cluster === this.home.cluster && hello.epoch !== epoch) {
      this.openLive(); // the cluster began anew: nothing that is known here is true of it
      return;
    }
    this._header(hello);
    if (this.player.knownUpTo === Infinity) this.player.knownUpTo = hello.seq || 0;
    this._users(hello);
    this._clock(hello);
    this.changed();
  }

  /** @param {Pick<Hello, 'users'|'namespaces'>} cast  the administrator first */
  _users({ users, namespaces }) {
    if (!users || !users.length) return;
    Object.assign(this.meta, { users, namespaces });
    if (!users.includes(this.ui.user)) [this.ui.user] = users;
  }

  /**
   * Told from the beginning: a story, a rollout.
   * @param {import('../kit/parts.js').Context} context
   */
  lookBack(context) {
    const { whole, ui, player } = context;
    const key = ui.selected?.type === 'pod' ? ui.selected.key : player.follow.pod;
    const rollout = context.focus === 'rollout' && rolloutAt(context);
    const isCut = rollout && !rollout.isWhole && whole.first - rollout.began < COMMAND_MAX;
    if (isCut || (key && !whole.hasAllOf(key))) this.reach(whole.first - 1);
  }

  /** The newest command is shown from its beginning, if that is not far. */
  _began() {
    const { index, first } = this.history;
    const root = index.rootAt(first);
    if (root && root < first && first - root < COMMAND_MAX) this.reach(root);
  }

  /**
   * Fetch what lies before the history, down to a record and some more; false when it is not to be
   * had. What is being fetched comes first, whoever asked for it: ask again for what lies before.
   * @param {number} seq @returns {Promise<boolean>}
   */
  reach(seq) {
    if (this.ui.reaching) return this.ui.reaching;
    const { first } = this.history;
    const isThere = seq >= first || first <= 1 || first === this._unreachable;
    if (isThere || !this.player.live) return Promise.resolve(false);
    this.ui.reaching = this._fetchBack(seq);
    this.changed();
    return this.ui.reaching;
  }

  /**
   * Show a moment far before the history at once, alone; `reach` fetches what lies between.
   * @param {number} seq
   */
  async lookAt(seq) {
    const { player, history } = this;
    if (seq >= history.first - EARLIER) return;
    const { keyframe, records } = await earlier(this.meta.cluster, seq, seq + AROUND);
    if (player !== this.player || seq >= this.history.first) return;
    this.player.lookAt(new History().from(keyframe, records), seq);
    this.moved();
    this.draw();
  }

  /** @param {number} seq */
  async _fetchBack(seq) {
    const { history } = this;
    const { first } = history;
    const more = Math.max(EARLIER, history.index.records.length);
    const from = Math.max(1, Math.min(seq, first - more));
    try {
      const { keyframe, records } = await earlier(this.meta.cluster, from, first - 1);
      this.ui.reaching = null;
      if (history === this.history) {
        this.history = history.from(keyframe, records);
        this.player.extend(this.history);
      }
    } catch (error) {
      this.ui.reaching = null;
      this._unreachable = first;
      this.ui.traceError = /** @type {Error} */ (error).message;
    }
    this.changed();
    return this.history.first < first;
  }

  /** @param {import('../../types.js').TraceRecord[]} records */
  _take(records) {
    this.history.append(records);
    this.player.arrived();
    this.meta.heard(this.history.head.t);
    this.act.recompareSoon();
    if (this.player.live && !this.player.loading) this.address.arrive().then(this._arrived);
    this.changed();
  }

  /** @param {import('../../types.js').Clock} clock */
  _clock(clock) {
    const known = CLOCK.filter((name) => clock[name] !== undefined);
    const sent = Object.fromEntries(known.map((name) => [name, clock[name]]));
    const fields = /** @type {any} */ (sent);
    if (fields.now !== undefined) fields.now = this.meta.sinceEpoch(fields.now);
    this.player.serverSaid(fields);
    if (fields.now !== undefined) this.meta.heard(fields.now);
    if (clock.stage !== undefined) this.act.goAlong(clock.stage);
    this.meta.running = () => (this.player.stopped ? 0 : Number(this.player.server.speed) || 0);
  }

  // -- looks ------------------------------------------------------------------------------------

  /** @param {string} theme */
  setTheme(theme) {
    this.ui.theme = theme;
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('theme', theme);
    fitLayout();
    this.draw();
  }

  /** @param {string} lang */
  async setLanguage(lang) {
    try {
      await learn(lang);
    } catch {
      return; // without a server: the bar says so
    }
    this.ui.lang = lang;
    this._words = wordsFor(lang);
    document.documentElement.lang = lang === 'zh' ? 'zh-Hans' : 'en';
    localStorage.setItem('lang', lang);
    this.draw();
  }

  // -- frames -----------------------------------------------------------------------------------

  /** Have a next frame. A page on which nothing moves has none, but for its clock. */
  wake() {
    if (this._awake) return;
    this._awake = true;
    clearTimeout(this._rest);
    this._frameAt = performance.now(); // what passed at rest is not made up for
    requestAnimationFrame(this._onFrame);
  }

  /** @param {number} now */
  _onFrame = (now) => {
    this._frame(now);
    const { player, drawing } = this;
    const moves = player.playing && player.behind;
    if (moves || this._asked || this._changed || drawing.goesOn) {
      requestAnimationFrame(this._onFrame);
      return;
    }
    this._awake = false;
    this._rest = setTimeout(() => this.wake(), IDLE_MS);
  };

  /** @param {number} now */
  _frame(now) {
    const passed = Math.max(0, Math.min(100, now - this._frameAt));
    this._frameAt = now;
    this.feed?.check(now);
    if (!this._asked && this.drawing.goOn(now)) return;
    const moved = this.player.tick(passed) || this._changed;
    const idle = now - this._drawnAt >= IDLE_MS;
    if (!moved && !this._asked && !idle) return;
    if (this.player.loading && now - this._openedAt < LOADING_MS) return;
    const isAsked = this._asked;
    const full =
      moved || isAsked || !this.history.index.roots.length || now - this._movedAt < 2000;
    this._asked = false;
    this._changed = false;
    this._drawnAt = now;
    // the layout first: a view that is drawn for the other one would be too wide for a frame
    if (full) this.drawing.measure();
    const context = this.context();
    this.player.crowded = context.focus === 'crowd';
    if (full) this.drawing.begin(context, now, isAsked);
    else this.drawing.drawBar(context);
  }
}
