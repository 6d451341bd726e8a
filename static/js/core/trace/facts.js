// @ts-check
/**
 * What the cluster told of its own make-up when it started: the gates in order, the admission
 * plugins, what each controller works on and reads, the scheduler's plugins, a kubelet's steps.
 * Of a trace that begins later only those names are known that are in its records. The page has
 * no list of its own; its words about a thing are found by the thing's name.
 */

/** @typedef {import('./index.js').Index} Index */

/**
 * @typedef {Object} Gate
 * @property {string} name
 * @property {string} [source]   upstream file and function
 * @property {Record<string, string>} [sources]  by verb or verb/subresource, where that differs
 * @property {number} [cost]     virtual µs
 * @property {boolean} [reads]   reads pass it, too
 * @property {boolean} [plugins] it is a phase of admission
 * @property {string[][]} [asks]  what it asks of the strategy for a new object, and for another
 */
/**
 * @typedef {Object} Component
 * @property {string} [source]
 * @property {string} [resource]  whose objects its keys name
 * @property {string[]} [reads]   resources in its caches
 * @property {string} [process]  that shares its informers
 * @property {Record<string, string[]>} [handlers]  by resource: whose key they enqueue, and when
 * @property {boolean} [drawn_at_rest]
 * @property {{name: string, source: string, weight?: number, remedy?: string,
 *   post_filters?: boolean}[]} [plugins]
 *   of the scheduler
 * @property {{name: string, source: string, starts: boolean}[]} [steps]    of a kubelet
 */

/** @typedef {{record: any, isRead: boolean}} Telling */

const COMPONENT = [
  'source',
  'resource',
  'process',
  'reads',
  'handlers',
  'drawn_at_rest',
  'plugins',
  'steps',
];

/** Gathered record by record; the index keeps one. */
export class Facts {
  constructor() {
    /** @type {any} what the API server told of its start */ this.startup = null;
    /** @type {Map<string, Component>} in the order in which they started */
    this.components = new Map();
    /** @type {Map<string, Gate>} as met in records */ this.gates = new Map();
    /** @type {Map<string, Set<string>>} phase -> plugins met */ this.plugins = new Map();
    /** @type {Set<string>} as met in records */ this.steps = new Set();
    /** @type {Map<string, string>} process and resource -> what its informer listed last */
    this.listed = new Map();
    /** how often something new was told */ this.news = 0;
  }

  /** As they were told up to a record. @param {Telling[]} tellings @param {number} seq */
  static of(tellings, seq) {
    const facts = new Facts();
    for (const { record, isRead } of tellings) {
      if (record.seq > seq) break;
      facts.take(record, isRead);
    }
    return facts;
  }

  /** @param {any} record @param {boolean} isRead  of a gate: whether a read passes it */
  take(record, isRead) {
    if (record.kind === 'component') this.component(record);
    else if (record.kind === 'gate') this.gate(record, isRead);
    else if (record.kind === 'plugin') this.plugin(record);
    else if (!this.steps.has(record.step)) {
      this.news += 1;
      this.steps.add(record.step);
    }
  }

  /** A component that starts tells of itself. @param {any} record */
  component({ name, state, detail }) {
    if (name === 'apiserver') {
      if (state !== 'starting' || !detail) return;
      this.news += 1;
      this.startup = { ...this.startup, ...detail };
      return;
    }
    if (name === 'etcd') return;
    if (state === 'synced' && detail?.resource && detail.why) {
      this.news += 1;
      this.listed.set(`${name} ${detail.resource}`, detail.why);
    }
    const own = familyOf(name);
    const facts = this.components.get(own) || {};
    // what an informer tells of its one resource is no fact of its component
    const tells = detail && (detail.source || detail.reads);
    if (tells)
      for (const key of COMPONENT) if (key in detail) Object.assign(facts, { [key]: detail[key] });
    if (tells || !this.components.has(own)) this.news += 1;
    this.components.set(own, facts);
  }

  /** @param {any} record @param {boolean} isRead */
  gate({ gate, detail }, isRead) {
    const met = this.gates.get(gate);
    if (!met || (isRead && !met.reads)) this.news += 1;
    if (!met) this.gates.set(gate, { name: gate, reads: isRead, plugins: !!detail?.passed });
    else if (isRead) met.reads = true;
    this.passed(gate, detail?.passed);
  }

  /** @param {any} record */
  plugin({ phase, plugin, passed }) {
    if (!this.gates.has(phase)) {
      this.news += 1;
      this.gates.set(phase, { name: phase, plugins: true });
    }
    this.passed(phase, passed);
    this.passed(phase, [[plugin]]);
  }

  /** @param {string} phase @param {string[][]|undefined} passed */
  passed(phase, passed) {
    if (!passed) return;
    const names = this.plugins.get(phase) || new Set();
    const { size } = names;
    for (const [joined] of passed) for (const name of joined.split(',')) names.add(name);
    if (names.size > size) this.news += 1;
    this.plugins.set(phase, names);
  }
}

/** One kubelet tells for all. @param {string} component */
const familyOf = (component) => component.split('/', 1)[0];

/** In the order in which a request meets them. @param {Index} index @returns {Gate[]} */
export function gatesOf({ facts }) {
  return facts.startup?.gates || [...facts.gates.values()];
}

/** @param {Index} index @param {string} name @returns {Gate} */
export function gateOf(index, name) {
  return gatesOf(index).find((gate) => gate.name === name) || { name };
}

/**
 * Where upstream does what a gate does with such a request.
 * @param {Index} index @param {string} name
 * @param {{verb: string, subresource?: string}} request
 */
export function gateSource(index, name, { verb, subresource }) {
  const { source, sources = {} } = gateOf(index, name);
  return sources[`${verb}/${subresource}`] || sources[verb] || source || '';
}

/** The plugins of a phase in the order in which they are asked. */
export function pluginsOf(/** @type {Index} */ { facts }, /** @type {string} */ phase) {
  const plugins = facts.startup?.admission?.[phase];
  return plugins
    ? plugins.map((/** @type {string[]} */ [name]) => name)
    : [...(facts.plugins.get(phase) || [])];
}

/** Where upstream does what a plugin of a phase did; plugins that agreed come joined by commas. */
export function pluginSource(
  /** @type {Index} */ index,
  /** @type {string} */ phase,
  /** @type {string} */ plugin,
) {
  return index.facts.startup?.plugins?.[plugin]?.source || gateOf(index, phase).source || '';
}

/** @param {Index} index @param {string} name @returns {Component} */
export function componentOf({ facts }, name) {
  return facts.components.get(familyOf(name)) || {};
}

/** The controllers that have a lane at all times. @param {Index} index */
export function lanesAtRest({ facts }) {
  return [...facts.components]
    .filter(([, component]) => component.drawn_at_rest)
    .map(([name]) => name);
}

/** A plugin of the scheduler. @param {Index} index @param {string} name */
export function schedulerPlugin(index, name) {
  const plugins = [...index.facts.components.values()].flatMap(
    (component) => component.plugins || [],
  );
  return plugins.find((plugin) => plugin.name === name);
}

/** The steps of a kubelet, or their names as far as met. @param {Index} index */
export function stepFacts({ facts }) {
  const component = [...facts.components.values()].find((candidate) => candidate.steps);
  return component?.steps || [...facts.steps].map((name) => ({ name, source: '', starts: true }));
}

/** The steps by which a pod starts, in order. @param {Index} index */
export function startSteps(index) {
  return stepFacts(index)
    .filter((step) => step.starts)
    .map((step) => step.name);
}
