// @ts-check
/**
 * What is looked at as an address, and back: the moment, what is chosen, the tab, what is looked
 * for. Live and with nothing chosen an address says none of it. Pure.
 */

/** @typedef {import('../explain/index.js').Selected} Selected */

/**
 * @typedef {Object} View
 * @property {number} rev   0 for live
 * @property {number} hop   the record of that moment; 0: the one that wrote the revision
 * @property {Selected|null} selected
 * @property {string} tab
 * @property {string|null} find
 * @property {string} trace  the recording, '' for the cluster
 */

const OWN = ['r', 'h', 'sel', 'tab', 'q', 'trace'];

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
  const { rev, hop, selected, tab, find, trace } = view;
  if (trace) query.set('trace', trace);
  if (rev) query.set('r', String(rev));
  if (hop) query.set('h', String(hop));
  if (selected) {
    const text = /** @type {(one: Selected) => string} */ (TEXTS[selected.type])(selected);
    query.set('sel', `${selected.type}/${text}`);
  }
  if (tab !== 'why') query.set('tab', tab);
  if (find) query.set('q', find);
  const text = query.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return text && `?${text}`;
}

/** @param {string} text  a query @returns {View} */
export function viewOf(text) {
  const query = new URLSearchParams(text);
  const number = (/** @type {string} */ name) =>
    Number(/^\d{1,15}$/.exec(query.get(name) || '')?.[0] || 0);
  const [, type, what] = /^(\w+)\/(.+)$/.exec(query.get('sel') || '') || [];
  const select = Object.hasOwn(SELECTED, type || '') && SELECTED[/** @type {'pod'} */ (type)];
  return {
    rev: number('r'),
    hop: number('h'),
    selected: select ? select(what) : null,
    tab: query.get('tab') || 'why',
    find: query.get('q'),
    trace: query.get('trace') || '',
  };
}
