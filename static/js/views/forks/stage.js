// @ts-check
/** Who only watches goes along with who drives, into the copy in which something is shown. */
import { isFork, rootOf } from '../../core/cluster/forks.js';

/** @typedef {import('../page/app.js').App} App */

/** @param {App} app */
export function stageActions(app) {
  const { ui } = app;
  let telling = /** @type {Promise<void>} */ (Promise.resolve());
  return {
    /** Unless one looks at the past or a recording, or has left it. @param {string} stage */
    goAlong(stage) {
      const { home, player } = app;
      ui.stage = stage;
      if (!stage) ui.left = ''; // the next time is another
      if (!home.watches || !player.live || player.past) return;
      if (stage && stage !== home.cluster && stage !== ui.left) app.openCluster(stage);
    },
    /** Who drives goes to another cluster, and takes along who only watches. */
    takeAlong() {
      if (app.home.watches) return;
      // one after the other: of two that are under way the older one could come last
      telling = telling.then(() => tell(app)).catch(() => {}); // it cannot be reached
    },
    /** Ends once the server heard of it: until then no cluster must go. */
    tookAlong: () => telling,
    /** What one watches is gone. */
    goOn() {
      const { cluster, watches } = app.home;
      if (watches && isFork(cluster)) app.openCluster(rootOf(cluster));
    },
  };
}

/** Where who drives is by now. @param {App} app */
const tell = async (app) => {
  await app.api.control({ action: 'stage' });
};
