// @ts-check
/** One request to a Service, and what is answered; what kube-proxy has written of it. */
import { answerLines } from '../../core/commands/answers.js';
import { answered } from './commandactions.js';

/** @typedef {import('../page/app.js').App} App */

const LINE_MAX = 120;

/** @param {App} app */
export function serviceActions(app) {
  const { ui } = app;
  const put = (/** @type {import('../inspector/proxy.js').Rules} */ rules) => {
    ui.rules = rules;
    app.draw();
  };
  return {
    /** What kube-proxy has written of it. @param {import('../inspector/proxy.js').Named} service */
    rules(service) {
      const rules = { service, data: null, error: '' };
      const isStill = () => ui.rules?.service === service;
      put(rules);
      return app.api.rules(service).then(
        (data) => isStill() && put({ ...rules, data }),
        (error) => isStill() && put({ ...rules, error: error.message }),
      );
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
