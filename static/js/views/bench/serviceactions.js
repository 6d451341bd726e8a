// @ts-check
/** One request to a Service, and what is answered; what the inspector shows of it. */
import { answerLines } from '../../core/commands/answers.js';
import { answered } from './commandactions.js';

/** @typedef {import('../page/app.js').App} App */

const LINE_MAX = 120;
const AGAIN_MS = 2000;

/** @param {App} app */
export function serviceActions(app) {
  const { ui } = app;
  let isLoading = false;
  return {
    /** Loads what the inspector shows of one; what could not be fetched is asked for again. */
    async service() {
      if (isLoading) return;
      isLoading = true;
      try {
        const { serviceOn } = await import('../inspector/service.js');
        ui.service = serviceOn(app);
      } catch {
        setTimeout(() => (isLoading = false), AGAIN_MS);
      }
      app.draw();
    },
    /** @param {import('../../core/cluster/services.js').Service} service */
    async askService(service) {
      const { namespace, name, port } = service;
      if (app.player.past) app.player.goLive();
      Object.assign(ui, { selected: null, focus: '' });
      app.player.follow = {};
      app.player.playing = true;
      const path = `/api/v1/namespaces/${namespace}/services/${name}:${port}/proxy/`;
      await answered(app, `kubectl get --raw ${path}  # ${ui.user}`, async () =>
        linesOf(await app.api.askService(service, ui.user)),
      );
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
