// @ts-check
/** What a user can do: every button and key ends here. Talks to player and API, draws nothing. */
import { traces as tracesApi } from '../net/api.js';
import { axisActions } from './axisactions.js';
import { bookmarkActions } from './bookmarks.js';
import { consoleActions } from './consoleactions.js';
import { editorActions } from './editoractions.js';
import { failureActions } from './failureactions.js';
import { findActions } from './find.js';
import { forkActions } from './forkactions.js';
import { objectActions } from './objectactions.js';
import { questionActions } from './questions.js';
import { serverActions } from './serveractions.js';
import { serviceActions } from './serviceactions.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('../core/words.js').Words} Words */

export const PRESETS = [
  {
    id: 'token',
    label: 'breaks.token',
    kind: 'plugin',
    plugin: 'ServiceAccount',
    phase: 'mutating',
    resource: 'pods',
    verb: 'create',
  },
  { id: 'predict', label: 'breaks.predict', kind: 'schedule', phase: 'filter' },
  { id: 'decision', label: 'breaks.decision', kind: 'schedule', phase: 'select' },
  { id: 'image', label: 'breaks.image', kind: 'kubelet', step: 'image', state: 'begin' },
  {
    id: 'refusal',
    label: 'breaks.refusal',
    kind: 'gate',
    gate: 'authorization',
    verdict: 'deny',
    outside: true,
  },
];

/**
 * Sends a manifest as a user, shown as a command; `merges` into what is there already.
 * @typedef {(manifest: string, user: string, command?: string, merges?: boolean) => Promise<void>}
 *   Apply
 */

/** @param {App} app */
export function actionsOf(app) {
  return {
    ...transport(app),
    ...looking(app),
    ...axisActions(app),
    ...bookmarkActions(app),
    ...asking(app),
    ...recordings(app),
    ...consoleActions(app),
    ...serverActions(app),
    ...serviceActions(app),
    ...failureActions(app),
    ...findActions(app),
    ...objectActions(app),
    ...editorActions(app, create(app)),
    ...forkActions(app, create(app)),
    ...questionActions(app, create(app)),
  };
}

/** @param {App} app */
function transport(app) {
  const { ui } = app;
  const sent = (/** @type {any[]} */ list) => {
    if (app.player.live && !app.player.drives) return;
    app.player.server.breakpoints = list; // of a recording they stop what is shown
    app.control({ action: 'breakpoint', set: list.map(({ label, ...rest }) => rest) });
  };
  const points = () => app.player.server.breakpoints || [];
  return {
    /** @param {boolean} [byChapter] */
    toggle(byChapter) {
      app.player.toggle(byChapter);
      app.draw();
    },
    /** @param {1|-1} direction @param {boolean} byRequest */
    step(direction, byRequest) {
      ui.selected = null;
      app.moved();
      app.player.step(direction, byRequest);
      app.draw();
    },
    goLive() {
      ui.selected = null;
      app.moved();
      app.player.goLive();
      app.draw();
    },
    /** @param {1|-1} direction */
    chapter(direction) {
      ui.selected = null;
      app.moved();
      app.player.chapter(direction);
      app.draw();
    },
    /** @param {import('../core/pace.js').Story} story */
    story(story) {
      Object.assign(ui, { story, menu: '' });
      app.player.pace.story = story;
      app.draw();
    },
    /** @param {number|'max'} speed */
    speed(speed) {
      ui.menu = '';
      app.player.setSpeed(speed);
      app.draw();
    },
    /** @param {number} seq */
    visit(seq) {
      app.moved();
      ui.selected = null;
      app.player.seek(settled(app, seq));
      app.draw();
    },
    /** @param {number} t */
    scrub(t) {
      app.moved();
      app.player.seek(app.history.seqAtTime(t));
      app.draw();
    },
    presets: () => PRESETS,
    /** @param {any} point */
    breakpoint(point) {
      const list = points();
      const has = list.some((/** @type {any} */ b) => b.id === point.id);
      sent(has ? list.filter((/** @type {any} */ b) => b.id !== point.id) : [...list, point]);
    },
    /** @param {any[]} list */
    setBreakpoints: sent,
    clearBreakpoints() {
      ui.menu = '';
      sent([]);
    },
    /** @param {string} gate */
    hasBreakpoint: (gate) =>
      points().some(
        (/** @type {any} */ b) =>
          (b.kind === 'gate' && b.gate === gate) || (b.kind === 'plugin' && b.phase === gate),
      ),
    /**
     * Stop requests like the one on view at this gate; at rest, any from outside.
     * @param {string} gate
     */
    breakAtGate(gate) {
      const list = points();
      const here = list.filter(
        (/** @type {any} */ b) => b.gate === gate || (b.kind === 'plugin' && b.phase === gate),
      );
      if (here.length) {
        sent(list.filter((/** @type {any} */ b) => !here.includes(b)));
        return;
      }
      const { current, state } = app.context();
      const { request, root } = current;
      const rests = !app.player.behind && !state.held && !!request?.close;
      const about =
        request && request.seq !== root && !rests
          ? {
              verb: request.open.verb,
              resource: request.open.resource,
            }
          : { outside: true };
      sent([...list, { id: `gate-${gate}`, kind: 'gate', gate, ...about }]);
    },
  };
}

/** A write is told together with its gate, right after it. @param {App} app @param {number} seq */
export function settled(app, seq) {
  const { index } = app.history;
  const record = index.record(seq);
  const span = record && record.kind === 'write' ? index.spans.get(record.span) : null;
  const gate = span && span.records.find((r) => r.seq > seq && r.kind === 'gate');
  return gate ? gate.seq : seq;
}

/** @param {App} app */
function looking(app) {
  const { ui } = app;
  const set = (/** @type {any} */ change) => {
    Object.assign(ui, change);
    app.draw();
  };
  return {
    /** @param {string} name */
    menu(name) {
      set({ menu: ui.menu === name ? '' : name });
    },
    /** @param {string} theme */
    theme(theme) {
      app.setTheme(theme);
      set({ menu: '' });
    },
    language() {
      app.setLanguage(ui.lang === 'zh' ? 'en' : 'zh');
    },
    /** @param {boolean} on */
    help(on) {
      set({ dialog: on ? 'help' : '', menu: '' });
    },
    /** The trace has the outline of the start; a cluster that runs has all of it. */
    startup() {
      set({ dialog: 'startup', menu: '', sure: false });
      if (!app.player.live || !app.meta.server || ui.startup) return;
      app.api.startup().then(
        (startup) => set({ startup }),
        () => {}, // what the trace tells stays
      );
    },
    close() {
      set({ dialog: '', menu: '' });
    },
    /** @param {string} tab */
    tab(tab) {
      set({ tab });
    },
    /** @param {any} selected */
    select(selected) {
      app.moved();
      set({ selected, tab: 'why' });
    },
    /** @param {string} key */
    selectPod(key) {
      app.moved();
      set({ selected: { type: 'pod', key }, tab: 'story' });
    },
    /** @param {any} write */
    selectRev(write) {
      if (write.seq > app.player.cursor || app.player.past) {
        app.moved();
        app.player.seek(settled(app, write.seq));
      }
      set({ selected: { type: 'rev', rev: write.rev }, tab: 'why' });
    },
    /** @param {string} gate @param {number} [seq] */
    selectGate(gate, seq = 0) {
      const { request } = app.context().current;
      if (!request) return;
      set({ selected: { type: 'gate', span: request.seq, gate, seq }, tab: 'why' });
    },
    /** @param {string} focus */
    focus(focus) {
      app.moved();
      set({ focus: ui.focus === focus ? '' : focus });
    },
    /** @param {string} key */
    followPod(key) {
      app.player.follow = { pod: key };
      app.draw();
    },
    unfollow() {
      app.player.follow = {};
      set({ selected: null });
    },
    /** @param {string} namespace */
    namespace(namespace) {
      set({ namespace });
    },
    /** @param {string} benchTab */
    benchTab(benchTab) {
      set({ benchTab });
      if (benchTab === 'console' && app.player.drives) app.act.members();
    },
    /** Leave whatever is open or pinned, the last one first. */
    escape() {
      if (ui.dialog || ui.menu) set({ dialog: '', menu: '' });
      else if (ui.bookmark) set({ bookmark: 0 });
      else if (ui.find !== null) set({ find: null, found: 0 });
      else if (ui.compares) set({ compares: false });
      else if (ui.selected) set({ selected: null });
      else if (ui.focus) set({ focus: '' });
      else if (app.player.behind && app.player.live) app.act.goLive();
    },
  };
}

/** Sends a manifest, and shows what is answered. @param {App} app @returns {Apply} */
function create(app) {
  const { ui } = app;
  return async (manifest, user, command = '', merges = false) => {
    if (app.player.past) app.player.goLive();
    ui.selected = null;
    ui.focus = '';
    ui.benchTab = 'answers';
    ui.sending += 1;
    if (!merges) ui.lastApplied = manifest;
    app.player.playing = true;
    const answer = {
      id: Date.now() + Math.random(),
      command: `${command || summary(manifest)}  # ${user}`,
      lines: /** @type {any[]} */ ([]),
    };
    ui.answers = [...ui.answers.slice(-19), answer];
    app.draw();
    try {
      answer.lines = answerLines(await app.api.apply(manifest, user, merges), manifest);
    } catch (error) {
      answer.lines = failureLines(error, app.words());
    }
    ui.sending -= 1;
    app.draw();
  };
}

/** @param {App} app */
function asking(app) {
  const { ui } = app;
  const apply = create(app);
  return {
    /** @param {string} user */
    user(user) {
      ui.user = user;
      app.draw();
    },
    /** @param {string} manifest */
    manifest(manifest) {
      ui.manifest = manifest;
    },
    send: () => apply(ui.manifest, ui.user),
    resend() {
      ui.user = app.meta.users[0];
      return apply(ui.lastApplied, ui.user);
    },
  };
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
    return list.map((/** @type {any} */ one) => one.kind).filter(Boolean);
  } catch {
    return null;
  }
}

/**
 * Each document's answer in kubectl's form; upstream's words for refusals.
 * @param {any} body @param {string} [manifest]
 */
export function answerLines(body, manifest = '') {
  const groups = groupsIn(manifest);
  const list = Array.isArray(body) ? body : body.results || body.items || body.answers || [body];
  return list.map((/** @type {any} */ entry) => {
    if (entry.code) {
      const where = entry.kind.toLowerCase() + (groups[entry.kind] || '');
      return entry.code < 400
        ? { failed: false, text: `${where}/${entry.name} ${entry.message || 'created'}` }
        : { failed: true, text: `Error from server (${entry.reason}): ${entry.message}` };
    }
    const object = entry.object || (entry.status?.kind && entry.status) || entry.body || entry;
    if (object.kind === 'Status' && object.status !== 'Success') {
      const reason = object.reason ? ` (${object.reason})` : '';
      return { failed: true, text: `Error from server${reason}: ${object.message}` };
    }
    const group = (object.apiVersion || '').includes('/')
      ? `.${object.apiVersion.split('/')[0]}`
      : '';
    const name = object.metadata?.name || '';
    return {
      failed: false,
      text: `${(object.kind || 'object').toLowerCase()}${group}/${name} created`,
    };
  });
}

/**
 * The API groups that a manifest names, by kind, as kubectl writes them.
 * @param {string} manifest
 */
function groupsIn(manifest) {
  /** @type {Record<string, string>} */ const groups = {};
  for (const document of manifest.split(/^---/m)) {
    const group = /(?:^|[{,])\s*"?apiVersion"?:\s*"?([\w.]+)\/\w+/m.exec(document);
    const kind = /(?:^|[{,])\s*"?kind"?:\s*"?(\w+)/m.exec(document);
    if (group && kind) groups[kind[1]] = `.${group[1]}`;
  }
  return groups;
}

/** @param {any} error @param {Words} words */
function failureLines(error, words) {
  if (error.body && typeof error.body === 'object') {
    const lines = answerLines(error.body);
    if (lines.some((/** @type {any} */ line) => line.failed)) return lines;
  }
  return [{ failed: true, text: words.t('bench.failed', { message: error.message }) }];
}

/** @param {App} app */
function recordings(app) {
  const { ui } = app;
  const list = async () => {
    try {
      const body = await tracesApi.list();
      ui.traces = Array.isArray(body) ? body : body.traces || body.results || [];
    } catch (error) {
      fail(error);
    }
    app.draw();
  };
  const fail = (/** @type {any} */ error) => {
    ui.traceError = error.message;
    app.draw();
  };
  return {
    openTraces() {
      Object.assign(ui, { dialog: 'traces', traceError: '', menu: '' });
      app.draw();
      return list();
    },
    /** @param {string} name */
    traceName(name) {
      ui.traceName = name;
    },
    async saveTrace() {
      try {
        await tracesApi.save(
          ui.traceName || `${app.meta.cluster} r${app.history.head.rev}`,
          app.meta.cluster,
        );
        ui.traceName = '';
        await list();
      } catch (error) {
        fail(error);
      }
    },
    /** @param {File} file */
    async importTrace(file) {
      if (!file) return;
      try {
        const keeps = app.meta.server && !app.home.watches;
        if (keeps) await app.openSaved((await tracesApi.import(file)).id);
        else await app.openFile(file);
      } catch (error) {
        fail(error);
      }
    },
    /** @param {string} id */
    openTrace: (id) => app.openSaved(id).catch(fail),
    /** @param {string} id */
    traceUrl: (id) => tracesApi.fileUrl(id),
    backToLive() {
      app.openLive();
    },
  };
}
