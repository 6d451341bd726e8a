// @ts-check
/**
 * Elements from plain descriptions, and the patch that changes only what differs from last time.
 * Text goes in as text nodes and styles through the CSSOM; markup is never parsed.
 */

const SVG = 'http://www.w3.org/2000/svg';
const SVG_TAGS = new Set([
  'svg',
  'path',
  'rect',
  'circle',
  'line',
  'text',
  'g',
  'polygon',
  'defs',
  'marker',
  'title',
]);

/**
 * @typedef {Object} VNode
 * @property {string} tag
 * @property {Record<string, any>} props
 * @property {(VNode|string)[]} kids
 * @property {string|number|undefined} key
 */
/** @typedef {import('../../types.js').Child} Child */

/**
 * Describe an element. `on*` props are listeners, `style` an object, false and null leave a prop
 * out. Lists among the children are flattened; false, null and '' are left out.
 * @param {string} tag  "div.row.is-on" sets classes
 * @param {Record<string, any>|null} [props] @param {...Child} kids @returns {VNode}
 */
export function h(tag, props, ...kids) {
  const { name, classes } = partsOf(tag);
  const { key, class: given, ...rest } = props || NONE;
  const cls = classes && given ? `${classes} ${given}` : classes || given;
  if (cls) rest.class = cls;
  return { tag: name, props: rest, kids: flat(kids, []), key };
}

/** @type {Record<string, any>} */
const NONE = {};
/** @type {Map<string, {name: string, classes: string}>} */
const tags = new Map();

/** "div.row.is-on" -> "div", "row is-on". @param {string} tag */
function partsOf(tag) {
  let parts = tags.get(tag);
  if (!parts) {
    const [name, ...classes] = tag.split('.');
    parts = { name, classes: classes.filter(Boolean).join(' ') };
    tags.set(tag, parts);
  }
  return parts;
}

/** @param {Child[]} kids @param {(VNode|string)[]} out */
function flat(kids, out) {
  for (const kid of kids) {
    if (Array.isArray(kid)) flat(kid, out);
    else if (kid !== null && kid !== undefined && kid !== false && kid !== '' && kid !== true) {
      out.push(typeof kid === 'object' ? kid : String(kid));
    }
  }
  return out;
}

/**
 * The same without ids, where what has them is drawn twice.
 * @param {Child} child @returns {Child}
 */
export function nameless(child) {
  if (Array.isArray(child)) return child.map(nameless);
  if (typeof child !== 'object' || !child) return child;
  const { id, ...props } = child.props;
  return { ...child, props, kids: /** @type {any} */ (child.kids.map(nameless)) };
}

/** @type {WeakMap<Node, VNode>} */
const drawn = new WeakMap();
/** @type {WeakMap<Element, Record<string, EventListener>>} */
const listeners = new WeakMap();

/** Make the children of an element what the list says. @param {Element} host @param {any[]} list */
export function render(host, ...list) {
  patchKids(host, flat(list, []));
}

/**
 * What stands where it stood is changed in place. Of the rest, what is wanted no more goes first:
 * then nothing that stays has to be moved past it.
 * @param {Element} host @param {(VNode|string)[]} wanted
 */
function patchKids(host, wanted) {
  let at = 0;
  /** @type {ChildNode|null} */ let last = null;
  /** @type {ChildNode|null} */ let here = host.firstChild;
  for (; here && at < wanted.length && fits(here, wanted[at]); at += 1) {
    update(here, wanted[at]);
    last = here;
    here = here.nextSibling;
  }
  if (!here && at === wanted.length) return;
  const rest = wanted.slice(at);
  const keyed = keptOf(here, rest);
  here = last ? last.nextSibling : host.firstChild;
  for (const want of rest) {
    const key = typeof want === 'string' ? undefined : want.key;
    const isKeyed = !!here && drawn.get(here)?.key !== undefined;
    const node = key !== undefined ? keyed.get(key) : isKeyed ? null : here;
    if (node && fits(node, want)) {
      if (node !== here) host.insertBefore(node, here);
      else here = here.nextSibling;
      update(node, want);
    } else {
      host.insertBefore(create(want), here);
    }
    keyed.delete(key);
  }
  while (here) {
    const next = here.nextSibling;
    if (!isOwn(here)) here.remove();
    here = next;
  }
}

/**
 * The children with a key that stay, by it; those that do not are removed.
 * @param {ChildNode|null} here  the first of them @param {(VNode|string)[]} wanted
 */
function keptOf(here, wanted) {
  /** @type {Map<any, VNode>} */ const wants = new Map();
  for (const want of wanted)
    if (typeof want !== 'string' && want.key !== undefined) wants.set(want.key, want);
  /** @type {Map<any, ChildNode>} */ const kept = new Map();
  while (here) {
    const next = here.nextSibling;
    const key = drawn.get(here)?.key;
    const want = wants.get(key);
    if (want && fits(here, want)) kept.set(key, here);
    else if (key !== undefined) here.remove();
    here = next;
  }
  return kept;
}

/** Whether somebody else draws it. @param {ChildNode} node */
const isOwn = (node) => node instanceof Element && node.hasAttribute('data-own');

/** @param {ChildNode} node @param {VNode|string} want */
function fits(node, want) {
  if (typeof want === 'string') return node.nodeType === Node.TEXT_NODE;
  const old = drawn.get(node);
  return !!old && old.tag === want.tag && old.key === want.key;
}

/** @param {VNode|string} want @returns {ChildNode} */
function create(want) {
  if (typeof want === 'string') return document.createTextNode(want);
  const element = SVG_TAGS.has(want.tag)
    ? document.createElementNS(SVG, want.tag)
    : document.createElement(want.tag);
  for (const name of Object.keys(want.props)) setProp(element, name, want.props[name], undefined);
  for (const kid of want.kids) element.appendChild(create(kid));
  drawn.set(element, want);
  return /** @type {any} */ (element);
}

/** @param {ChildNode} node @param {VNode|string} want */
function update(node, want) {
  if (typeof want === 'string') {
    if (node.nodeValue !== want) node.nodeValue = want;
    return;
  }
  const element = /** @type {Element} */ (/** @type {unknown} */ (node));
  const old = /** @type {VNode} */ (drawn.get(node));
  if (old === want) return;
  for (const name in old.props) {
    if (!(name in want.props)) setProp(element, name, null, old.props[name]);
  }
  for (const name in want.props) {
    if (want.props[name] !== old.props[name]) {
      setProp(element, name, want.props[name], old.props[name]);
    }
  }
  if (!sameKids(old.kids, want.kids)) patchKids(element, want.kids);
  drawn.set(node, want);
}

/**
 * Children that are the very descriptions drawn last time.
 * @param {any[]} old @param {any[]} want
 */
function sameKids(old, want) {
  if (old.length !== want.length) return false;
  for (let i = 0; i < old.length; i += 1) if (old[i] !== want[i]) return false;
  return true;
}

/** @param {Element} element @param {string} name @param {any} value @param {any} old */
function setProp(element, name, value, old) {
  if (name.startsWith('on')) listen(element, name.slice(2).toLowerCase(), value);
  else if (name === 'style') setStyle(/** @type {HTMLElement} */ (element), value, old);
  else if (name === 'value' || name === 'checked') {
    if (/** @type {any} */ (element)[name] !== value) /** @type {any} */ (element)[name] = value;
  } else if (value === null || value === undefined || value === false) {
    element.removeAttribute(name);
  } else element.setAttribute(name, value === true ? '' : String(value));
}

/** @param {HTMLElement} element @param {any} value @param {any} old */
function setStyle(element, value, old) {
  for (const name of Object.keys(old || {})) {
    if (!value || !(name in value)) element.style.removeProperty(name);
  }
  for (const name of Object.keys(value || {})) {
    if (!old || old[name] !== value[name]) element.style.setProperty(name, value[name]);
  }
}

/** @param {Element} element @param {string} type @param {any} handler */
function listen(element, type, handler) {
  let known = listeners.get(element);
  if (!known) listeners.set(element, (known = {}));
  if (!known[type]) {
    element.addEventListener(type, (event) => {
      const now = /** @type {any} */ (listeners.get(element))[type];
      if (now) now(event);
    });
  }
  known[type] = handler || null;
}

/** The pixels of one rem now; the whole page scales with it. */
export function remPixels() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize);
}
