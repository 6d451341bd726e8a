// @ts-check
/** What one can begin with: Run it, and the questions. Each runs at any time, under a free name. */
import { objectsOf } from '../core/cluster.js';
import { h } from './dom.js';
import { glyph } from './glyphs.js';

/** @typedef {import('./app.js').App} App */
/** @typedef {import('./parts.js').Context} Context */

// what was asked before, by whoever uses this browser
const ASKED = 'asked';
/** @type {{name: string, tone: string, sign: string, stop: string}[]} */
const QUESTIONS = [
  { name: 'token', tone: 'change', sign: 'change', stop: 'token' },
  { name: 'refused', tone: 'deny', sign: 'deny', stop: '' },
  { name: 'node', tone: 'hold', sign: 'star', stop: 'decision' },
  { name: 'crowd', tone: 'allow', sign: 'podRun', stop: '' },
];

export const NGINX = deployment('nginx', 3);

/**
 * What `kubectl create deployment NAME --image=nginx --replicas=N` sends.
 * @param {string} name @param {number} replicas @param {string} [namespace]
 */
function deployment(name, replicas, namespace = '') {
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}${namespace ? `\n  namespace: ${namespace}` : ''}
  labels:
    app: ${name}
spec:
  replicas: ${replicas}
  selector:
    matchLabels:
      app: ${name}
  template:
    metadata:
      labels:
        app: ${name}
    spec:
      containers:
      - name: nginx
        image: nginx
`;
}

/**
 * @param {App} app
 * @param {(manifest: string, user: string, command: string) => Promise<void>} apply
 */
export function questionActions(app, apply) {
  const { ui } = app;
  const wasAsked = (/** @type {string} */ name) =>
    (localStorage.getItem(ASKED) || '').split(' ').includes(name);
  const create = (/** @type {string} */ name, /** @type {number} */ n, namespace = '') => {
    const free = freeName(app, name);
    const where = namespace ? ` -n ${namespace}` : '';
    const command = `kubectl create deployment ${free} --image=nginx --replicas=${n}${where}`;
    ui.dialog = '';
    if (app.player.past) app.player.goLive();
    app.player.play(); // a cluster that stands still answers nobody
    return apply(deployment(free, n, namespace), ui.user, command);
  };
  return {
    /** The panel to begin with; it opens at any time. */
    begin() {
      Object.assign(ui, { dialog: 'begin', menu: '' });
      app.draw();
    },
    runIt: () => create('nginx', 3),
    /** As many pods as the nodes can take, 1,000 at most. */
    crowdSize: () => Math.min(1000, 100 * Math.max(1, objectsOf(app.player.state(), 'nodes').size)),
    wasAsked,
    /** @param {string} name */
    card(name) {
      const before = localStorage.getItem(ASKED) || '';
      if (!wasAsked(name)) localStorage.setItem(ASKED, `${before} ${name}`);
      const stop = QUESTIONS.find((one) => one.name === name)?.stop;
      app.act.setBreakpoints(app.act.presets().filter((one) => one.id === stop));
      ui.user = name === 'refused' ? 'student' : app.meta.users[0];
      if (name === 'refused') return create('nginx', 3, 'default');
      return name === 'crowd' ? create(name, app.act.crowdSize()) : create('nginx', 3);
    },
  };
}

/** A name that no Deployment has: so that what one begins with can be begun again. */
function freeName(/** @type {App} */ app, /** @type {string} */ name) {
  const taken = new Set();
  for (const one of objectsOf(app.history.head, 'deployments.apps').values()) taken.add(one.name);
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}-${n}`;
  return free;
}

/** The questions, and which were asked before. @param {Context} ctx @param {string} key */
export function questions(ctx, key) {
  const { words, act, player } = ctx;
  return h(
    'ul.cards',
    { key },
    QUESTIONS.map(({ name, tone, sign }) =>
      h(
        'li',
        { key: name },
        h(
          `button.is-${tone}`,
          { disabled: !player.drives, onClick: () => act.card(name) },
          glyph(sign),
          h(
            'span',
            null,
            h('b', null, words.t(`cards.${name}`, { n: act.crowdSize() })),
            h('small', null, words.t(`cards.${name}Text`)),
          ),
          act.wasAsked(name) ? glyph('allow', words.t('begin.asked'), 'asked') : null,
        ),
      ),
    ),
  );
}

/** The command to begin with. @param {Context} ctx */
export function runButton({ words, act, player }) {
  return h(
    'button.go',
    { disabled: !player.drives, onClick: () => act.runIt() },
    glyph('play'),
    words.t('map.run'),
  );
}
