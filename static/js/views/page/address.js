// @ts-check
/**
 * The address of the page: where it leads when it is opened or gone back to, and what it says
 * afterwards. What one went to by a deed of one's own is an entry of the browser's history; how
 * far one stepped there, and what one looks for, only changes the entry.
 */
import { queryOf, viewOf } from '../../core/text/address.js';
import { isFork, otherOf, pairOf, rootOf } from '../../core/cluster/forks.js';
import { SORTS } from '../../core/request/search.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('../../core/text/address.js').View} View */
/**
 * @typedef {Object} Gone  what a link leads to is not here
 * @property {string} key   of the sentence about it
 * @property {string} rev   the revision or the fork of the link
 * @property {string} first  what is here: the oldest revision, or the cluster
 * @property {string} last   the newest revision, or the forks
 * @property {number} [oldest]  to go there
 */

export class Address {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.goal = viewOf(location.search);
    this._query = location.search;
    /** what the entry shows, but for the moment; '' while it is being gone to */ this._place = '';
    /** @type {Promise<void>|null} */ this._way = null;
    this._isThere = false;
    addEventListener('popstate', () => this._return());
  }

  /** Lead to a cluster from now on, and a moment there. @param {string} cluster */
  lead(cluster, hop = 0) {
    const { compares, split, shows } = this.app.ui;
    const view = { ...viewOf(''), cluster: nameOf(cluster), hop, shows };
    this._set({ ...view, compared: otherOf(compares, cluster), split });
    const query = queryOf(this.goal, this._query);
    if (query !== this._query) history.pushState(null, '', location.pathname + query);
    this._query = query;
  }

  /** Go where it leads, once what is there is read. */
  arrive() {
    if (!this._way) {
      const way = this._go(this.goal).finally(() => {
        if (way === this._way) this._isThere = true;
      });
      this._way = way;
    }
    return this._way;
  }

  /** Go to a revision instead of the one that is not kept. @param {number} rev */
  goTo(rev) {
    this._set({ ...this.goal, rev, hop: 0 });
    return this.arrive();
  }

  /** Whether it leads somewhere that is not reached yet. */
  get isUnderWay() {
    return !!this._way && !this._isThere;
  }

  /** @param {View} goal */
  _set(goal) {
    this.goal = goal;
    this._place = '';
    this._way = null;
    this._isThere = false;
  }

  /** Back or forward in the browser. */
  _return() {
    const { app } = this;
    this._query = location.search;
    this._set(viewOf(location.search));
    const { goal } = this;
    const cluster = goal.cluster || rootOf(app.home.cluster);
    const isElsewhere = cluster !== app.home.cluster || !app.history.last;
    if (goal.trace && goal.trace !== app.ui.trace)
      app.openSaved(goal.trace).catch(() => app.openLive());
    else if (!goal.trace && (isElsewhere || app.ui.trace)) app.open(cluster);
    else this.arrive();
  }

  /** @param {View} goal */
  async _go(goal) {
    const { app } = this;
    const { ui } = app;
    const { find, selected, tab, focus, follow } = goal;
    const shows = SORTS.filter((sort) => goal.shows.includes(sort));
    const compares = ui.trace ? '' : pairOf(app.home.cluster, goal.compared);
    Object.assign(ui, { find, shows, compares, split: !!compares && goal.split });
    app.act.recompare();
    if (!(await this._goTo(goal)) || goal !== this.goal) return;
    app.moved();
    if (follow || app.player.follow.pod) app.player.follow = follow ? { pod: follow } : {};
    Object.assign(ui, { selected, tab, focus });
    app.draw();
  }

  /** Whether that moment is there; what is not there any more is told. @param {View} goal */
  async _goTo(goal) {
    const { app } = this;
    const { player } = app;
    const { rev, hop } = goal;
    if (!rev && !hop) {
      if (player.live && player.past) player.goLive();
      return true;
    }
    const { seq, oldest } = await this._find(rev, hop);
    const isLeft = () => goal !== this.goal || player !== app.player;
    if (!isLeft() && seq) await app.lookAt(seq).catch(() => {});
    const { cursor, rest } = player;
    while (!isLeft() && seq && seq < app.history.first && (await app.reach(seq)));
    if (isLeft()) return false;
    const { index, head, first } = app.history;
    const isThere = seq >= Math.max(1, first) && seq <= head.seq;
    const wentOn = rest && player.cursor !== cursor; // somebody stepped meanwhile
    if (isThere && !wentOn) player.seek(hop || index.settled(seq));
    if (!isThere) {
      player.extend(app.history);
      const isAhead = rev > head.rev || hop > head.seq;
      const key = `link.${isAhead ? 'ahead' : 'gone'}${rev ? '' : 'Moment'}`;
      const kept = { first: String(oldest), last: String(head.rev) };
      app.ui.gone = { key, rev: String(rev), ...kept, ...(isAhead ? {} : { oldest }) };
    }
    app.draw();
    return isThere;
  }

  /**
   * The record of a moment, 0 when it is not kept; and the oldest revision that is.
   * @param {number} rev @param {number} hop
   */
  async _find(rev, hop) {
    const { history, player, api } = this.app;
    const { index, first, head } = history;
    const seq = hop || index.byRev.get(rev)?.seq || 0;
    const oldest = index.writes[0]?.rev || head.rev;
    if (!player.live || seq >= first || rev > head.rev) return { seq, oldest };
    const known = await api.moment(rev || 1).catch(() => null);
    if (!known) return { seq, oldest };
    const isKept = !rev || known.moment;
    return { seq: isKept ? hop || known.moment.seq : 0, oldest: known.oldest ?? oldest };
  }

  /** What is looked at, once it stands still. */
  tell() {
    const { app } = this;
    const { player, ui, home } = app;
    const stays = player.past || !player.live;
    if (!this._isThere || ui.reaching || (stays && player.playing)) return;
    const { rev, seq } = player.state();
    const view = {
      ...viewOf(''),
      ...(stays ? { rev, hop: seq } : {}),
      ...{ selected: ui.selected, tab: ui.tab, find: ui.find, shows: ui.shows, trace: ui.trace },
      ...{ focus: ui.focus, follow: player.follow.pod || '' },
      ...(ui.trace ? {} : { cluster: nameOf(home.cluster), split: ui.split }),
      compared: ui.trace ? '' : otherOf(ui.compares, home.cluster),
    };
    this._write(queryOf(view, this._query), placeOf(view));
  }

  /** @param {string} query @param {string} place */
  _write(query, place) {
    const isNew = this._place && place !== this._place;
    this._place = place;
    if (query === this._query) return;
    this._query = query;
    const how = isNew ? 'pushState' : 'replaceState';
    history[how](null, '', location.pathname + query);
  }
}

/** The served cluster needs no name. @param {string} cluster */
const nameOf = (cluster) => (isFork(cluster) ? cluster : '');

/** What one went to: all but how far one stepped and what is looked for. @param {View} view */
function placeOf({ rev, hop, find, shows, ...rest }) {
  return JSON.stringify([!!(rev || hop), find !== null, rest]);
}
