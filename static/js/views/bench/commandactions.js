// @ts-check
/** What the field for commands does: send what is written, keep what is answered, go back. */
import { answerLines, failureLines } from '../../core/commands/answers.js';
import { KUBECTL, commandOf, isLine } from '../../core/commands/commands.js';
import { membersIn } from './commands.js';
import { Turns } from './turns.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('./commands.js').Answer} Answer */
/** @typedef {import('../../core/commands/acts.js').Act} Act */
/** @typedef {import('../../core/commands/answers.js').Line} Line */
/** @typedef {import('../../core/commands/commands.js').Get} Get */
/** @typedef {import('../../core/commands/commands.js').Command} Command */
/**
 * Sends a manifest as a user, shown as a command; `merges` into what is there already. `client` is
 * what kubectl said and did before.
 * @typedef {(text: string, user: string, command?: string, merges?: boolean, client?: Command) =>
 *   Promise<Answer>} Apply
 */

const ANSWERS_MAX = 30;
const TYPED_MAX = 50;
const TICK_MS = 250;
const MEMBER_STARTS_MS = 4000; // after it was added
const MEMBERS = 'etcdctl member list';

/**
 * Keep a command, and what comes of it, the newest first.
 * @param {App} app @param {string} command @param {() => Promise<Line[]>|Line[]} work
 * @param {Answer['sort']} [sort] @param {Command['steps']} [steps]
 */
export async function answered(app, command, work, sort = 'api', steps) {
  const { ui } = app;
  const id = (ui.answers[0]?.id || 0) + 1;
  const began = performance.now();
  const { cluster } = app.home;
  /** @type {Answer} */ const answer = { id, command, sort, cluster, lines: [], steps, began };
  ui.answers = [answer, ...ui.answers.slice(0, ANSWERS_MAX - 1)];
  const timer = setInterval(() => app.draw(), TICK_MS);
  app.draw();
  try {
    answer.lines = await work();
  } catch (error) {
    answer.lines = failureLines(error, app.words());
  }
  clearInterval(timer);
  answer.began = 0;
  app.act.nextLines();
  return answer;
}

/** Nothing that was looked at before stands between the user and what is sent. */
export function lookAt(/** @type {App} */ app) {
  if (app.player.past) app.player.goLive();
  Object.assign(app.ui, { selected: null, focus: '', benchTab: 'commands', isWriting: false });
  app.player.playing = true;
}

/** Sends a manifest, and shows what is answered. @param {App} app @returns {Apply} */
export function applying(app) {
  return (manifest, user, command = '', merges = false, client) => {
    lookAt(app);
    if (!merges) app.ui.lastApplied = manifest;
    const work = async () => [
      ...(client?.notes || []),
      ...answerLines(await app.api.apply(manifest, user, merges), manifest),
    ];
    const shown = `${command || summary(manifest)}  # ${user}`;
    return answered(app, shown, work, 'api', client?.steps);
  };
}

/** @param {App} app @param {Apply} apply */
export function commandActions(app, apply) {
  const { ui } = app;
  /** what was sent, the newest last, how far back we are, and what was being written before that */
  const typed = /** @type {string[]} */ ([]);
  let back = 0;
  let draft = '';
  /** What was typed is drawn first: only what differs from what was drawn is changed. */
  const put = (/** @type {string} */ text) => {
    app.drawNow();
    ui.text = text;
    app.drawNow();
  };
  const write = (/** @type {string} */ text) => {
    ui.isWriting = true;
    put(text);
  };
  /** @param {string} text @param {string} user @returns {Promise<Answer>} */
  const run = async (text, user) => {
    const line = text.trim();
    const now = app.context().clock;
    const namespace = app.meta.namespaces[user] || 'default';
    let command = commandOf(text, { state: app.history.head, now, namespace });
    if (command.line) {
      const { version } = app.meta;
      try {
        const { madeOf } = await import('../../core/commands/generators.js');
        command = madeOf(command.line, { version, namespace });
      } catch (error) {
        return answered(app, line, () => Promise.reject(error)); // without a server
      }
    }
    switch (command.sort) {
      case 'manifest':
        return command.manifest === text
          ? apply(text, user)
          : apply(command.manifest || '', user, line, false, command);
      case 'etcdctl':
        return etcdctl(app, line);
      case 'act': {
        const { act } = command;
        return app.act.perform({ .../** @type {Act} */ (act), command: line }, user);
      }
      case 'get':
        return answered(app, `${line}  # ${user}`, async () => {
          const { lines } = await app.api.get(/** @type {Get} */ (command.get), user);
          return lines;
        });
      default: {
        const [first] = line.split('\n');
        const said = () => spoken(command, app.words());
        return answered(app, first, said, 'api', command.steps);
      }
    }
  };
  /** What was refused comes back, to be mended. */
  const refused = (/** @type {string} */ text) => {
    if (!ui.text) put(text);
  };
  const turns = new Turns(app, run, refused);
  return {
    nextLines: () => turns.next(),
    takeBack: (/** @type {number} */ id) => turns.takeBack(id),
    /** @param {string} text */
    command(text) {
      ui.text = text;
      back = 0;
      if (!ui.isWriting && text.includes('\n')) app.act.writing(true);
    },
    /** @param {boolean} isWriting */
    writing(isWriting) {
      ui.isWriting = isWriting;
      app.draw();
    },
    /** Back in what was sent, or forward. @param {1|-1} step */
    back(step) {
      if (!back) draft = ui.text;
      back = Math.max(0, Math.min(typed.length, back + step));
      write(back ? typed[typed.length - back] : draft);
    },
    /** Have something written in the field, to be sent or changed. @param {string} text */
    suggest(text) {
      ui.benchTab = 'commands';
      back = 0;
      write(text);
      /** @type {HTMLElement|null} */ (document.querySelector('.command textarea'))?.focus();
    },
    /** What is written; while something runs, nothing is no line to wait for it. */
    send() {
      const { text } = ui;
      const sort = /^\s*etcdctl\b/.test(text) ? 'etcdctl' : 'api';
      if (!text.trim() && turns.isBusy(sort)) return;
      if (text.trim() && typed.at(-1) !== text) typed.push(text);
      typed.splice(0, typed.length - TYPED_MAX);
      back = 0;
      Object.assign(ui, { benchTab: 'commands', isWriting: false });
      put('');
      turns.take({ text, command: isLine(text) ? text.trim() : summary(text), sort });
    },
    async addons() {
      Object.assign(ui, { dialog: 'addons', menu: '' });
      app.draw();
      try {
        const { addons } = await import('./addons.js');
        ui.addons = await addons(app, apply);
      } catch {
        ui.addons = () => app.words().t('commands.lost');
      }
      app.draw();
    },
    resend() {
      ui.user = app.meta.users[0];
      return apply(ui.lastApplied, ui.user);
    },
    /** @param {string} user */
    user(user) {
      ui.user = user;
      app.draw();
    },
  };
}

/**
 * Why a line is not sent: in kubectl's words where it has some, then in ours.
 * @param {import('../../core/commands/commands.js').Command} command
 * @param {import('../../core/text/words.js').Words} words
 */
function spoken({ text, key = '', failed = !text, params, instead }, words) {
  /** @type {Line[]} */ const lines = text ? [{ failed, text }] : [];
  if (key)
    lines.push({
      failed: !text,
      text: words.t(key, { lines: KUBECTL.join(', '), ...params }),
    });
  if (instead) lines.push({ failed: false, text: instead, isLine: true });
  return lines;
}

/** Run a line of etcdctl; who is a member, after what is about members. */
async function etcdctl(/** @type {App} */ app, /** @type {string} */ line) {
  const ask = async () => linesOf(await app.api.console(line), app);
  const answer = await answered(app, line, ask, 'etcdctl');
  const members = async () => {
    const reply = await app.api.console(MEMBERS).catch(() => null); // it was told with the answer
    if (reply && !reply.exit_code) answer.members = membersIn(reply.output);
    app.draw();
  };
  if (/\bmember\b/.test(line)) await members();
  if (/\bmember add\b/.test(line)) setTimeout(members, MEMBER_STARTS_MS);
  return answer;
}

/** @param {{output: string, errors: string, exit_code: number}} said @param {App} app */
function linesOf({ output, errors, exit_code: code }, app) {
  /** @type {Line[]} */ const lines = [];
  if (output) lines.push({ failed: false, text: output });
  if (errors) lines.push({ failed: true, text: errors });
  const exit = app.words().t('commands.exit', { code: String(code) });
  if (code) lines.push({ failed: true, text: exit });
  return lines;
}

/** @param {string} manifest */
function summary(manifest) {
  const kinds =
    kindsInJson(manifest) || [...manifest.matchAll(/^\s*"?kind"?:\s*"?(\w+)/gm)].map((m) => m[1]);
  return `kubectl create -f -  (${kinds.slice(0, 3).join(', ') || '?'})`;
}

/** The kinds in a manifest that is JSON, on however many lines. @param {string} manifest */
function kindsInJson(manifest) {
  try {
    const object = JSON.parse(manifest);
    const list = Array.isArray(object.items) ? object.items : [object];
    return list.map((/** @type {any} */ item) => item.kind).filter(Boolean);
  } catch {
    return null;
  }
}
