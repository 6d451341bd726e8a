// @ts-check
/**
 * What is looked at as an address, and back: the cluster and the one it is compared with, the
 * moment, what is chosen, pinned and followed, the tab, what is looked for. Live and with nothing
 * chosen an address says none of it. Pure.
 */

/** @typedef {import('../explain/index.js').Selected} Selected */

/**
 * @typedef {Object} View
 * @property {number} rev   0 for live
 * @property {number} hop   the record of that moment; 0: the one that wrote the revision
 * @property {Selected|null} selected
 * @property {string} tab
 * @property {string|null} find
 * @property {string[]} shows  what else is looked through
 * @property {string} trace  the recording, '' for the cluster
 * @property {string} cluster  '' for the one that is served
 * @property {string} compared  the cluster it is compared with, '' for none
 * @property {boolean} split  each of the two has a half of the map
 * @property {string} focus  the part of the map that is pinned
 * @property {string} follow  the pod that is followed
 */

const OWN = 'cluster with map r h sel follow tab q show trace'.split(' ');
const SPLIT = 'split';
const PINNED = ['api', 'scheduler'];

/** @type {{[T in Selected['type']]: (one: Extract<Selected, {type: T}>) => string}} */
const TEXTS = {
  pod: ({ key }) => key.replace(/^pods\//, ''),
  object: ({ key }) => key,
  node: ({ name }) => name,
  component: ({ name }) => name,
  span: ({ seq }) => String(seq),
  rev: ({ rev }) => String(rev),
  gate: ({ span, gate, seq }) => [span, gate, ...(seq ? [seq] : [])].join('/'),
};

/** @type {{[T in Selected['type']]: (text: string) => Selected}} */
const SELECTED = {
  pod: (text) => ({ type: 'pod', key: `pods/${text}` }),
  object: (key) => ({ type: 'object', key }),
  node: (name) => ({ type: 'node', name }),
  component: (name) => ({ type: 'component', name }),
  span: (text) => ({ type: 'span', seq: Number(text) || 0 }),
  rev: (text) => ({ type: 'rev', rev: Number(text) || 0 }),
  gate(text) {
    const [span, gate = '', seq] = text.split('/');
    return { type: 'gate', span: Number(span) || 0, gate, seq: Number(seq) || 0 };
  },
};

/**
 * The query of a view; what else stands in the one before is kept.
 * @param {View} view @param {string} before
 */
export function queryOf(view, before) {
  const query = new URLSearchParams(before);
  for (const name of OWN) query.delete(name);
  const { rev, hop, selected, tab, find, follow } = view;
  const set = (/** @type {string} */ name, /** @type {string|number} */ value) =>
    value && query.set(name, String(value));
  set('trace', view.trace);
  set('cluster', view.cluster);
  set('with', view.compared);
  set('map', view.split ? SPLIT : view.focus);
  set('r', rev);
  set('h', hop);
  if (selected) {
    const text = /** @type {(one: Selected) => string} */ (TEXTS[selected.type])(selected);
    query.set('sel', `${selected.type}/${text}`);
  }
  set('follow', follow.replace(/^pods\//, ''));
  if (tab !== 'why') query.set('tab', tab);
  if (find !== null) query.set('q', find);
  set('show', view.shows.join(','));
  const text = query.toString().replace(/%(2F|3A|2C)/g, decodeURIComponent);
  return text && `?${text}`;
}

/** @param {string} text  a query @returns {View} */
export function viewOf(text) {
  const query = new URLSearchParams(text);
  const number = (/** @type {string} */ name) =>
    Number(/^\d{1,15}$/.exec(query.get(name) || '')?.[0] || 0);
  const [, type, what] = /^(\w+)\/(.+)$/.exec(query.get('sel') || '') || [];
  const map = query.get('map') || '';
  const follow = query.get('follow') || '';
  const select = Object.hasOwn(SELECTED, type || '') && SELECTED[/** @type {'pod'} */ (type)];
  return {
    rev: number('r'),
    hop: number('h'),
    selected: select ? select(what) : null,
    tab: query.get('tab') || 'why',
    find: query.get('q'),
    shows: (query.get('show') || '').split(',').filter(Boolean),
    trace: query.get('trace') || '',
    cluster: query.get('cluster') || '',
    compared: query.get('with') || '',
    split: map === SPLIT,
    focus: PINNED.includes(map) ? map : '',
    follow: follow && `pods/${follow}`,
  };
}
