// @ts-check
/** One request to a Service, and what is answered. */
import { answerLines } from './actions.js';

/** @typedef {import('./app.js').App} App */

const LINE_MAX = 120;

/** @param {App} app */
export function serviceActions(app) {
  const { ui } = app;
  return {
    /** @param {import('../core/services.js').Service} service */
    async askService(service) {
      const { namespace, name, port } = service;
      if (app.player.past) app.player.goLive();
      Object.assign(ui, { selected: null, focus: '' });
      ui.sending += 1;
      app.player.follow = {};
      app.player.playing = true;
      const path = `/api/v1/namespaces/${namespace}/services/${name}:${port}/proxy/`;
      const answer = {
        id: Date.now() + Math.random(),
        command: `kubectl get --raw ${path}  # ${ui.user}`,
        lines: /** @type {any[]} */ ([]),
      };
      ui.answers = [...ui.answers.slice(-19), answer];
      app.draw();
      try {
        answer.lines = linesOf(await app.api.askService(service, ui.user));
      } catch (error) {
        const { message } = /** @type {Error} */ (error);
        answer.lines = [{ failed: true, text: app.words().t('bench.failed', { message }) }];
      }
      ui.sending -= 1;
      app.draw();
    },
  };
}

/** @param {{code: number, answer: string}} said */
function linesOf({ code, answer }) {
  if (code < 400) {
    const text = answer.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();
    return [{ failed: false, text: `${code}  ${text.slice(0, LINE_MAX)}` }];
  }
  try {
    return answerLines(JSON.parse(answer)).slice(0, 1);
  } catch {
    return [{ failed: true, text: `${code}  ${answer.slice(0, LINE_MAX)}` }]; // the pod's own words
  }
}
