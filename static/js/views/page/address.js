// @ts-check
/** The address of the page: where it leads when it is opened, and what it says afterwards. */
import { queryOf, viewOf } from '../../core/text/address.js';
import { isFork } from '../../core/cluster/forks.js';

/** @typedef {import('./app.js').App} App */

export class Address {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.goal = viewOf(location.search);
    this._query = location.search;
    /** @type {Promise<void>|null} */ this._way = null;
    this._isThere = false;
  }

  /** Lead to a cluster from now on, and a moment there. @param {string} cluster */
  lead(cluster, hop = 0) {
    const query = new URLSearchParams(this._query);
    if (isFork(cluster)) query.set('cluster', cluster);
    else query.delete('cluster');
    this._query = query.size ? `?${query}` : '';
    history.replaceState(null, '', location.pathname + this._query);
    this.goal = { ...viewOf(''), hop };
    this._way = null;
    this._isThere = false;
  }

  /** Go where it leads, once what is there is read. */
  arrive() {
    return (this._way ||= this._go().finally(() => (this._isThere = true)));
  }

  /** Whether it leads somewhere that is not reached yet. */
  get isUnderWay() {
    return !!this._way && !this._isThere;
  }

  async _go() {
    const { app } = this;
    const { rev, hop, selected, tab, find } = this.goal;
    app.ui.find = find;
    if ((rev || hop) && !(await this._goTo(rev, hop))) return;
    app.moved();
    Object.assign(app.ui, { selected, tab });
    app.draw();
  }

  /** Whether that moment is there. @param {number} rev @param {number} hop */
  async _goTo(rev, hop) {
    const { app } = this;
    const seq = hop || (await this._seqOf(rev));
    if (seq) await app.lookAt(seq).catch(() => {}); // what is not there any more is told below
    const { cursor, rest } = app.player;
    while (seq && seq < app.history.first && (await app.reach(seq)));
    const { index, head } = app.history;
    const isThere = seq >= Math.max(1, app.history.first) && seq <= head.seq;
    const isLeft = rest && app.player.cursor !== cursor; // somebody went on meanwhile
    if (isThere && !isLeft) app.player.seek(hop || app.history.index.settled(seq));
    if (!isThere) {
      const [first, last] = [index.writes[0]?.rev || head.rev, head.rev].map(String);
      const isAhead = rev > head.rev || hop > head.seq;
      app.player.extend(app.history);
      app.ui.gone = { key: isAhead ? 'link.ahead' : 'link.gone', rev: String(rev), first, last };
    }
    app.draw();
    return isThere;
  }

  /** The record that wrote a revision, however far back; 0 when it is not there. */
  async _seqOf(/** @type {number} */ rev) {
    const { app } = this;
    for (;;) {
      const { index, first, head } = app.history;
      const write = index.byRev.get(rev);
      if (write) return write.seq;
      if (rev > head.rev || !(await app.reach(first - 1))) return 0;
    }
  }

  /** What is looked at, once it stands still. */
  tell() {
    const { player, ui } = this.app;
    const stays = player.past || !player.live;
    if (!this._isThere || ui.reaching || (stays && player.playing)) return;
    const { rev, seq } = player.state();
    const moment = stays ? { rev, hop: seq } : { rev: 0, hop: 0 };
    const { selected, tab, find, trace } = ui;
    const query = queryOf({ ...moment, selected, tab, find, trace }, this._query);
    if (query === this._query) return;
    this._query = query;
    history.replaceState(null, '', location.pathname + query);
  }
}
