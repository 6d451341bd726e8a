// @ts-check
/** Forks: make one at the cursor, go there and back, remove it, and see what came out otherwise. */
import { copyOf, isFork, originOf, otherOf, rootOf } from '../../core/cluster/forks.js';
import { SecondTrack } from '../../core/timeline/secondtrack.js';
import { deployment, tainted } from '../../core/commands/scenarios.js';
import { ApiFailure, clusterApi, forks as forksApi } from '../../net/api.js';
import { earlier, Feed } from '../../net/feed.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../../core/cluster/forks.js').Fork} Fork */
/** @typedef {import('../../core/cluster/forks.js').Comparison} Comparison */

const ASK_MS = 250; // how often one that is being made is asked for
const SEEDS = 2 ** 31;
const COMPARE_MS = 1000; // what came out otherwise is asked for so often
const RECORDS_READ = 5000; // of the other cluster, at once

/** @param {unknown} error */
const isMissing = (error) => error instanceof ApiFailure && error.code === 404;

/**
 * @param {App} app
 * @param {import('../bench/commandactions.js').Apply} apply
 */
export function forkActions(app, apply) {
  const { ui } = app;
  const set = (/** @type {any} */ change) => {
    Object.assign(ui, change);
    app.draw();
  };
  /** Those of the cluster that is served here, and those of the copy that is open. */
  const list = async (cluster = app.home.cluster) => {
    /** @type {{forks: Fork[]}} */ const { forks } = await forksApi.list(rootOf(cluster));
    const near = [cluster, originOf(cluster)];
    const copy = forks.find(({ name, anew, state }) => {
      return anew && state === 'ready' && near.includes(name);
    });
    if (copy) forks.push(...(await forksOf(copy.name)));
    set({ forks });
    return forks;
  };
  /** None, once it went: a copy may while it is asked for. @param {string} name */
  const forksOf = async (name) => {
    try {
      return (await forksApi.list(name)).forks;
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  };
  /** Wait until it is made, and go there. @param {string} name */
  const follow = async (name) => {
    while (ui.making === name) {
      const fork = (await list(name)).find(({ name: known }) => known === name);
      if (fork?.state === 'ready') return app.openCluster(name);
      if (!fork || fork.state === 'failed') throw new Error(fork?.why || name);
      await new Promise((done) => setTimeout(done, ASK_MS));
    }
  };
  let waits = false;
  /** Of the fork that is open, or the one from which one went to the other cluster. */
  const recompare = async () => {
    const fork = ui.compares;
    if (!fork || !app.player.live) return;
    try {
      if (!ui.forks.some(({ name }) => name === fork)) await list();
      const comparison = { fork, ...(await forksApi.compare(fork)) };
      if (ui.compares !== fork || !otherOf(fork, app.home.cluster)) return;
      comparison.second = secondOf(comparison);
      set({ comparison });
      if (!feed) await readOn(comparison.second);
      if (ui.split) await begin(comparison.second);
      attend();
    } catch (error) {
      if (!isMissing(error)) set({ forkError: /** @type {Error} */ (error).message });
      else if (ui.compares === fork) set({ compares: '', gone: await whatIsLeft(fork) });
    }
  };
  /**
   * Said of a link to a fork that is not here: which are.
   * @param {string} fork
   */
  const whatIsLeft = async (fork) => {
    const origin = originOf(fork);
    const { forks } = await forksApi.list(origin).catch(() => ({ forks: [] }));
    const names = forks.map((/** @type {Fork} */ { name }) => name);
    const key = names.length ? 'link.fork' : 'link.forkNone';
    return { key, rev: fork, first: rootOf(fork), last: names.join(', ') };
  };
  /** What is known of the cluster that is not open. @param {Comparison} comparison */
  const secondOf = ({ fork, from }) => {
    const other = otherOf(fork, app.home.cluster);
    const known = ui.comparison?.second;
    const isSame = known?.cluster === other && known.from === from;
    return isSame ? known : new SecondTrack(other, from);
  };
  /** What it was at the fork. @param {SecondTrack} second */
  const begin = async (second) => {
    if (second.isWhole) return;
    const { keyframe, records } = await earlier(second.cluster, second.from, second.from);
    if (!second.isWhole) second.begin(keyframe, records);
    app.draw();
  };
  /** @type {Feed|null} of the cluster that has the other half of the map */ let feed = null;
  /** Hear of it while it has. */
  const attend = () => {
    const second = (ui.compares && ui.split && ui.comparison?.second) || null;
    if (feed && feed.cluster === second?.cluster) return;
    feed?.close();
    feed = second?.isWhole ? feedOf(second) : null;
    feed?.open();
  };
  /** @param {SecondTrack} second */
  const feedOf = (second) => {
    const clock = (/** @type {import('../../types.js').Clock} */ { mode, frozen }) => {
      second.isStopped = frozen || mode === 'paused';
      app.draw();
    };
    const nothing = () => {};
    const listener = {
      hello: clock,
      clock,
      keyframe: nothing,
      records(/** @type {import('../../types.js').TraceRecord[]} */ records) {
        second.append(records);
        app.draw();
      },
      missing: nothing,
      failed: () => feed?.close(), // it was removed: what is known of it stays
      connection: nothing,
    };
    return new Feed(second.cluster, listener, () => second.last + 1);
  };
  /** What went on there since. @param {SecondTrack} second */
  const readOn = async (second) => {
    while (second.next && ui.comparison?.second === second) {
      const { records } = await clusterApi(second.cluster).records(second.next, RECORDS_READ);
      second.append(records);
      if (records.length < RECORDS_READ) break;
    }
    app.draw();
  };
  /**
   * Make one and go there; whether that was possible.
   * @param {string} cluster @param {Parameters<typeof forksApi.make>[1]} moment
   */
  const make = async (cluster, moment) => {
    set({ making: '…', copying: 'anew' in moment ? cluster : '', menu: '', forkError: '' });
    try {
      const { name } = await forksApi.make(cluster, moment);
      set({ making: name });
      await follow(name);
      set({ making: '' });
      return app.home.cluster === name;
    } catch (error) {
      set({ making: '', forkError: /** @type {Error} */ (error).message });
      return false;
    }
  };
  return {
    /** @param {{cluster?: string, seq?: number, seed?: number}} [more]  else here, as it is */
    async fork(more = {}) {
      if (!app.canFork || ui.making) return;
      const { cluster = app.home.cluster, ...rest } = more;
      await make(cluster, { seq: app.player.state().seq, ...rest });
    },
    /**
     * Go where nobody has changed anything: stay, or make a copy that is as the cluster was when
     * it was ready, in place of the one that is open. Whether one is there.
     */
    async openFresh() {
      if (ui.making) return false;
      const { untouched } = await app.api.state().catch(() => ({ untouched: false }));
      const { cluster } = app.home;
      if (!untouched) {
        if (!(await make(rootOf(cluster), { anew: true, replaces: cluster }))) return false;
      } else if (!app.player.live) app.openLive();
      const { player } = app;
      await app.arrival;
      return player === app.player;
    },
    /** This moment, or the one where this fork began, with other random numbers. */
    forkWithSeed() {
      const here = ui.forks.find(({ name }) => name === app.home.cluster);
      const moment = here ? { cluster: here.cluster, seq: here.seq } : {};
      return app.act.fork({ ...moment, seed: Math.floor(Math.random() * SEEDS) });
    },
    listForks: () => list().catch((error) => set({ forkError: error.message })),
    noFork: () => set({ forkError: '' }),
    /** The list of the kept ones. */
    clusters() {
      app.act.menu('clusters');
      app.act.listForks();
    },
    /** @param {string} name @param {number} [seq]  the moment there */
    openCluster(name, seq = 0) {
      const { cluster } = app.home;
      set({ menu: '', left: isFork(cluster) ? cluster : ui.left });
      if (name === app.home.cluster && seq >= app.history.first) app.act.visit(seq);
      else {
        app.openCluster(name, seq);
      }
    },
    /** The fork of a link is not here: its cluster is, and what else. */
    async openWhatIsLeft() {
      const { cluster } = app.home;
      if (!isFork(cluster) || app.history.last) return;
      const isThere = await clusterApi(cluster)
        .state()
        .then(
          () => true,
          (error) => !isMissing(error),
        );
      if (isThere || app.home.cluster !== cluster || app.history.last) return;
      const gone = await whatIsLeft(cluster);
      app.openCluster(rootOf(cluster));
      set({ gone });
    },
    /** @param {string} name */
    async removeFork(name) {
      const { cluster } = app.home;
      if ([cluster, originOf(cluster)].includes(name)) app.openCluster(originOf(name));
      try {
        await app.act.tookAlong();
        await forksApi.remove(name);
        await list();
      } catch (error) {
        set({ forkError: /** @type {Error} */ (error).message });
      }
    },
    /** Keep new pods off a node, as kubectl does. @param {string} node */
    taint(node) {
      set({ menu: '' });
      const command = `kubectl taint nodes ${node} dedicated=gpu:NoSchedule`;
      return apply(tainted(node), ui.user, command, true);
    },
    /** Have etcd refuse the next pod. */
    refuseNext() {
      set({ menu: '' });
      app.act.fault({ resource: 'pods', op: 'create' });
    },
    /** A manifest of one's own. */
    write() {
      set({ menu: '', picked: 'kind' });
      app.act.suggest(ui.lastApplied || deployment('nginx', 3));
    },
    /** Open or close what came out otherwise. */
    async compare() {
      const compares = ui.compares ? '' : app.home.cluster;
      set({ compares, split: false, menu: '', find: null });
      await recompare();
    },
    /** The two that are compared beside each other on the map, or this one alone again. */
    async split() {
      const { cluster } = app.home;
      const isThere = !!ui.compares && !!ui.comparison;
      if (!isThere && (!isFork(cluster) || copyOf(cluster, ui.forks))) return;
      const compares = ui.compares || cluster;
      set({ split: !(isThere && ui.split), compares, menu: '', find: null });
      await recompare();
    },
    recompare,
    /** More came of this cluster or the other. */
    recompareSoon() {
      attend();
      if (!ui.compares || waits) return;
      waits = true;
      setTimeout(() => {
        waits = false;
        recompare();
      }, COMPARE_MS);
    },
  };
}
