// @ts-check
/** What the console does: run a line, go through those typed before. */

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./console.js').Run} Run */

const RUNS_MAX = 30;
const TICK_MS = 250;
const MEMBER_STARTS_MS = 4000; // after it was added

/** @param {App} app */
export function consoleActions(app) {
  const { ui } = app;
  /** lines typed, the newest last, and how far back we are */
  const typed = /** @type {string[]} */ ([]);
  let back = 0;
  let id = 0;
  /** @param {Run} run */
  const ask = async (run) => {
    const timer = setInterval(() => app.draw(), TICK_MS);
    try {
      const said = await app.api.console(run.command);
      Object.assign(run, { output: said.output, errors: said.errors, code: said.exit_code });
    } catch (error) {
      Object.assign(run, { errors: /** @type {Error} */ (error).message, code: 1 });
    }
    clearInterval(timer);
    run.began = 0;
    app.draw();
    await members();
    if (/\bmember add\b/.test(run.command)) setTimeout(members, MEMBER_STARTS_MS);
  };
  /** Ask who is a member of etcd: a line each, as `member list` prints them. */
  const members = async () => {
    try {
      const said = await app.api.console('etcdctl member list');
      if (said.exit_code) return;
      const lines = said.output.split('\n').filter(Boolean);
      ui.members = lines.map((/** @type {string} */ line) => {
        const [id, status, name, urls, , learner] = line.split(', ');
        return { id, name, urls, started: status === 'started', learner: learner === 'true' };
      });
    } catch {
      ui.members = []; // the card is not shown; a command says why
    }
    app.draw();
  };
  return {
    members,
    /** @param {string} text */
    consoleLine(text) {
      ui.line = text;
      back = 0;
    },
    /** One line back in what was typed, or forward. @param {1|-1} step */
    consoleBack(step) {
      back = Math.max(0, Math.min(typed.length, back + step));
      ui.line = back ? typed[typed.length - back] : '';
      app.draw();
    },
    /** @param {string} text */
    console(text) {
      const command = text.trim();
      if (!command || ui.runs.some((/** @type {Run} */ run) => run.began)) return undefined;
      if (typed[typed.length - 1] !== command) typed.push(command);
      back = 0;
      ui.line = '';
      id += 1;
      const run = { id, command, output: '', errors: '', code: 0, began: 0 };
      ui.runs = [...ui.runs.slice(1 - RUNS_MAX), run];
      const isOurs = /^etcdctl(\s|$)/.test(command);
      if (isOurs) run.began = performance.now();
      else Object.assign(run, { errors: app.words().t('console.other'), code: 127 });
      app.draw();
      return isOurs ? ask(run) : undefined;
    },
  };
}
