// @ts-check
/** From what is not as wanted to the hop that failed, one after the other. */
import { failedAt, summaryOf } from '../../core/outcome/index.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('../../core/outcome/sentence.js').Outcome} Outcome */

/** @param {App} app */
export function failureActions(app) {
  let visited = '';
  /**
   * @param {Outcome} outcome
   * @param {import('../../core/trace/index.js').Index} index  what is known of it
   */
  const failure = (outcome, index) => {
    const { write } = outcome.because || outcome;
    const isPod = write.resource === 'pods';
    app.moved();
    app.player.follow = isPod ? { pod: write.key } : {};
    app.player.seek(app.history.index.settled(failedAt(index, write)));
    visited = outcome.write.key;
    const selected = isPod ? null : { type: /** @type {'object'} */ ('object'), key: write.key };
    Object.assign(app.ui, { selected, tab: 'why', focus: '' });
    app.draw();
  };
  return {
    failure,
    nextFailure() {
      const { unmet } = summaryOf(app.history.head);
      const at = unmet.findIndex((outcome) => outcome.write.key === visited);
      if (unmet.length) failure(unmet[(at + 1) % unmet.length], app.history.index);
    },
  };
}
