// @ts-check
/**
 * The add-ons of the cluster, a card each: what it adds, how it stands, what it is made of, and
 * what installs or removes it, as a command of the chosen user, watched as any other.
 * Loaded when it is opened first, with its words and its styles.
 */
import { found, removal, removed, standingOf } from '../../core/cluster/addons.js';
import { answered, lookAt } from './commandactions.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';
import { readOnly } from '../kit/parts.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../kit/dom.js').Child} Child */
/** @typedef {import('../../core/cluster/addons.js').Addon} Addon */
/** @typedef {import('../../core/cluster/addons.js').Standing} Standing */
/** @typedef {import('./commandactions.js').Apply} Apply */
/** @typedef {{app: App, apply: Apply}} Kit */
/** @typedef {(ctx: Context) => Child} View */

const SHEET = '/static/css/addons.css';
/** In the order of the cards; of the last two there is no program here. */
const TITLES = /** @type {Record<string, string>} */ ({
  'ingress-nginx': 'Ingress controller',
  'metrics-server': 'Metrics Server',
  coredns: 'CoreDNS',
  'kube-proxy': 'kube-proxy',
  dashboard: 'Dashboard',
  'fluentd-elasticsearch': 'Fluentd-Elasticsearch',
});
/** The sign of each state, and its colour. */
const SIGNS = /** @type {Record<Standing['state'], [string, string]>} */ ({
  none: ['podNone', 'wait'],
  part: ['podHalf', 'hold'],
  leaving: ['podEnd', 'hold'],
  idle: ['podNew', 'wait'],
  starting: ['podHalf', 'hold'],
  running: ['podRun', 'allow'],
});

/** @type {Map<string, Addon>} by name, once they are known */
const known = new Map();

/**
 * Learns the words and the add-ons; what draws them.
 * @param {App} app @param {Apply} apply @returns {Promise<View>}
 */
export async function addons(app, apply) {
  const [words, { addons: list }] = await Promise.all([
    app.ui.lang === 'zh'
      ? import('../../i18n/addons/zh.js')
      : import('../../i18n/addons/en.js'),
    app.api.addons(),
    styles(),
  ]);
  app.words().add(words.default);
  for (const addon of list) known.set(addon.name, addon);
  return (ctx) => view(ctx, { app, apply });
}

/** Its styles, before it is drawn. */
function styles() {
  if (document.querySelector(`link[href="${SHEET}"]`)) return null;
  const link = document.createElement('link');
  Object.assign(link, { rel: 'stylesheet', href: SHEET });
  const drawn = new Promise((done) => {
    link.onload = link.onerror = done;
  });
  document.head.append(link);
  return drawn;
}

/** @param {Context} ctx @param {Kit} kit */
function view(ctx, kit) {
  const { words, player, state } = ctx;
  return [
    h('p', { key: 'text' }, words.t('addons.text')),
    player.drives ? who(ctx) : readOnly(ctx),
    player.past || (player.behind && !player.playing)
      ? h('p.second', { key: 'then', role: 'note' }, words.t('addons.then', { rev: state.rev }))
      : null,
    h(
      'ul.addons',
      { key: 'cards' },
      Object.keys(TITLES).map((name) => h('li', { key: name }, card(ctx, kit, name))),
    ),
  ];
}

/** As whom the manifest is sent. @param {Context} ctx */
function who({ words, ui, meta, act }) {
  return h(
    'label.as',
    { key: 'as' },
    words.t('bench.as'),
    h(
      'select',
      {
        value: ui.user,
        onChange: (/** @type {{target: HTMLSelectElement}} */ e) => act.user(e.target.value),
      },
      meta.users.map((user) => h('option', { value: user, selected: user === ui.user }, user)),
    ),
  );
}

/** @param {Context} ctx @param {Kit} kit @param {string} name */
function card(ctx, kit, name) {
  const { words, state } = ctx;
  const addon = known.get(name);
  const title = h('h3', null, TITLES[name]);
  const adds = h('p', null, words.t(`addons.${name}`));
  if (!addon)
    return h('section.addon', null, title, adds, h('p.second', null, words.t('addons.real')));
  const standing = standingOf(state, addon);
  const [sign, tone] = SIGNS[standing.state];
  const counts = { ...standing, n: addon.objects.length };
  return h(
    'section.addon',
    null,
    title,
    h(
      `p.state.is-${tone}`,
      { role: 'status' },
      h('span.v', null, glyph(sign)),
      words.t(`addons.${standing.state}`, /** @type {any} */ (counts)),
    ),
    adds,
    pods(ctx, standing),
    parts(ctx, addon, standing),
    addon.manifest
      ? h(
          'details.fold',
          { key: 'manifest' },
          h('summary', null, words.t('addons.manifest')),
          h('div.code', { tabindex: '0' }, addon.manifest),
        )
      : null,
    buttons(ctx, kit, addon, standing),
  );
}

/** @param {Context} ctx @param {Standing} standing */
function pods({ words, act }, { state, pods }) {
  if (state === 'none') return null;
  if (!pods.length) return h('p.second', { key: 'pods' }, words.t('addons.nopods'));
  return h(
    'ul.pods',
    { key: 'pods', 'aria-label': words.t('addons.pods') },
    pods.map(({ key, name, node, isReady, reason }) =>
      h(
        'li',
        { key },
        h(
          'button.link',
          {
            onClick: () => {
              act.close();
              act.selectPod(key);
            },
          },
          glyph(isReady ? 'podRun' : 'podHalf'),
          name,
        ),
        h('small', null, [isReady ? '' : reason, node].filter(Boolean).join(' · ')),
      ),
    ),
  );
}

/** Its objects, and which are there. @param {Context} ctx @param {Addon} addon */
function parts({ words, state, act }, { objects }, /** @type {Standing} */ { there }) {
  return h(
    'details.fold',
    { key: 'objects' },
    h('summary', null, words.t('addons.objects', { n: objects.length, there })),
    h(
      'ul.parts',
      null,
      objects.map((part) => {
        const write = found(state, part);
        const name = `${part.kind} ${part.name}`;
        const go = () => {
          act.close();
          act.select({ type: 'object', key: write?.key });
        };
        return h(
          'li',
          { key: name },
          write
            ? h('button.link', { onClick: go }, name)
            : [name, h('small', null, words.t('addons.missing'))],
        );
      }),
    ),
  );
}

/**
 * What installs it, and what removes it: only who drives has them.
 * @param {Context} ctx @param {Kit} kit @param {Addon} addon @param {Standing} standing
 */
function buttons(ctx, kit, addon, { state, there }) {
  const { words, player } = ctx;
  if (!addon.manifest) return h('p.second', { key: 'note' }, words.t('addons.kubeadm'));
  if (!player.drives) return null;
  const title = TITLES[addon.name];
  const button = (/** @type {string} */ key, /** @type {string} */ sign, onClick = () => {}) =>
    h(
      `button.act${key === 'addons.remove' ? '' : '.first'}`,
      { key, 'aria-label': `${words.t(key)}: ${title}`, onClick },
      glyph(sign),
      words.t(key),
    );
  const isWhole = there === addon.objects.length;
  const install = there ? 'addons.rest' : 'addons.install';
  return h(
    'div.form',
    { key: 'buttons' },
    isWhole || state === 'leaving' ? null : button(install, 'play', () => send(kit, addon)),
    there && state !== 'leaving'
      ? button('addons.remove', 'podEnd', () => remove(kit, addon))
      : null,
  );
}

/** As kubectl create -f does it. @param {Kit} kit @param {Addon} addon */
function send({ app, apply }, { name, manifest }) {
  app.act.close();
  apply(manifest, app.ui.user, `kubectl create -f ${name}.yaml`);
}

/** As kubectl delete -f does it: object by object. @param {Kit} kit @param {Addon} addon */
function remove({ app }, { name, objects }) {
  const { user } = app.ui;
  app.act.close();
  lookAt(app);
  answered(app, `kubectl delete -f ${name}.yaml  # ${user}`, async () => {
    const lines = [];
    for (const part of objects) {
      const { code, reason, message } = await app.api.act(removal(part), user);
      const failed = code >= 400;
      const text = failed ? `Error from server (${reason}): ${message}` : removed(part);
      lines.push({ failed, text });
    }
    return lines;
  });
}
