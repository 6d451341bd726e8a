// @ts-check
/** What a user can do: every button and key ends here. Talks to player and API, draws nothing. */
import { traces as tracesApi } from '../../net/api.js';
import { ballotActions } from '../begin/ballot.js';
import { axisActions } from '../time/axisactions.js';
import { bookmarkActions } from '../time/bookmarks.js';
import { applying, commandActions } from '../bench/commandactions.js';
import { editorActions } from '../bench/editoractions.js';
import { failureActions } from './failureactions.js';
import { findActions } from '../time/find.js';
import { forkActions } from '../forks/forkactions.js';
import { objectActions } from '../bench/objectactions.js';
import { questionActions } from '../begin/questions.js';
import { serverActions } from '../bench/serveractions.js';
import { serviceActions } from '../bench/serviceactions.js';
import { stageActions } from '../forks/stage.js';

/** @typedef {import('./app.js').App} App */

const PRESETS = [
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

/** @param {App} app */
export function actionsOf(app) {
  const apply = applying(app);
  return {
    ...transport(app),
    ...looking(app),
    ...axisActions(app),
    ...bookmarkActions(app),
    ...recordings(app),
    ...commandActions(app, apply),
    ...serverActions(app),
    ...serviceActions(app),
    ...failureActions(app),
    ...findActions(app),
    ...objectActions(app),
    ...editorActions(app, apply),
    ...forkActions(app, apply),
    ...questionActions(app, apply),
    ...stageActions(app),
    ...ballotActions(app),
  };
}

/** @param {App} app */
function transport(app) {
  const { ui } = app;
  const sent = async (/** @type {any[]} */ list) => {
    const { player } = app;
    if (player.live && !player.drives) return;
    const { server } = player;
    const before = server.breakpoints;
    server.breakpoints = list; // of a recording they stop what is shown
    const set = list.map(({ label, ...rest }) => rest);
    const isSet = await app.control({ action: 'breakpoint', set });
    if (!isSet && server.breakpoints === list) server.breakpoints = before;
  };
  const points = () => app.player.server.breakpoints || [];
  return {
    /** @param {boolean} [byChapter] */
    toggle(byChapter) {
      app.player.toggle(byChapter);
      app.draw();
    },
    noFailure() {
      ui.failure = '';
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
      app.act.goAlong(ui.stage);
      app.draw();
    },
    /** @param {1|-1} direction */
    chapter(direction) {
      ui.selected = null;
      app.moved();
      app.player.chapter(direction);
      app.draw();
    },
    /** @param {import('../../core/story/pace.js').Story} story */
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
      app.player.seek(app.history.index.settled(seq));
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
      set({ dialog: 'startup', menu: '', sure: '' });
      if (!app.player.live || !app.meta.server || ui.startup) return;
      app.api.startup().then(
        (startup) => set({ startup }),
        () => {}, // what the trace tells stays
      );
    },
    /** The table of an answer, large. @param {number} id */
    showAnswer(id) {
      set({ dialog: 'answer', answer: id });
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
        app.player.seek(app.history.index.settled(write.seq));
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
    benchTab: (/** @type {string} */ benchTab) => set({ benchTab }),
    /** Leave whatever is open or pinned, the last one first. */
    escape() {
      if (ui.dialog || ui.menu) set({ dialog: '', menu: '' });
      else if (ui.bookmark) set({ bookmark: 0 });
      else if (ui.find !== null) set({ find: null, found: 0 });
      else if (ui.split) set({ split: false });
      else if (ui.compares) set({ compares: '' });
      else if (ui.selected) set({ selected: null });
      else if (ui.focus) set({ focus: '' });
      else if (app.player.behind && app.player.live) app.act.goLive();
    },
  };
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
      if (ui.saving) return;
      Object.assign(ui, { saving: true, traceError: '' });
      app.draw();
      try {
        await tracesApi.save(
          ui.traceName || `${app.meta.cluster} r${app.history.head.rev}`,
          app.meta.cluster,
        );
        ui.traceName = '';
        await list();
      } catch (error) {
        fail(error);
      } finally {
        ui.saving = false;
        app.draw();
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
