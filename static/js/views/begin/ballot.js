// @ts-check
/** What a class expects of a scheduling cycle that is held: this page’s answer, and all counts. */

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/schedule.js').Cycle} Cycle */
/** @typedef {{span: number, node: string}} Answer  span: the cycle */

// the name under which the server counts this page, also when it is loaded again
const PAGE = 'page';

/** @param {App} app */
export function ballotActions(app) {
  const { ui } = app;
  return {
    /** Of two answers the last one counts. @param {Cycle} cycle @param {string} node */
    async vote(cycle, node) {
      const span = spanOf(cycle);
      try {
        await app.api.vote({ span, page: pageName(), node });
        ui.vote = { span, node };
      } catch (error) {
        app.failed(error);
      }
      app.draw();
    },
  };
}

/** Whether all who look are asked: the cluster stands where this is shown. */
export function isAsked(/** @type {Context} */ { player }, /** @type {Cycle} */ cycle) {
  const { held } = player.server;
  return player.live && held?.breakpoint === 'predict' && held.span === spanOf(cycle);
}

/** What this page said of it, '' for nothing. @param {Context} ctx @param {Cycle} cycle */
export const answerOf = ({ ui: { vote } }, cycle) =>
  vote && vote.span === spanOf(cycle) ? vote.node : '';

/**
 * How many say which node. Who is asked does not see it before it is decided.
 * @param {Context} ctx @param {Cycle} cycle @returns {Record<string, number>}
 */
export function countsOf({ player }, cycle) {
  const { votes } = player.server;
  const isShown = player.drives || cycle.chosen;
  return votes && isShown && votes.span === spanOf(cycle) ? votes.counts : {};
}

/** How many have answered. @param {Record<string, number>} counts */
export const sumOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0);

/** @param {Cycle} cycle */
const spanOf = (cycle) => /** @type {any} */ (cycle.span.open).seq;

function pageName() {
  const known = sessionStorage.getItem(PAGE);
  if (known) return known;
  const made = [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join('-');
  sessionStorage.setItem(PAGE, made);
  return made;
}
