// @ts-check
/**
 * One scheduling cycle as two tables, filter and score, and what decided it. Pure; all numbers are
 * the scheduler's own.
 */

/** @typedef {import('../trace/index.js').Span} Span */

/** @typedef {{raw: any, points: number, sum: number}} Score */

/**
 * Who would have to leave for a pod that no node could take.
 * @typedef {Object} Preemption
 * @property {string} ineligible  why it may preempt nobody now
 * @property {string} node        whose pods have to leave
 * @property {string[]} victims
 * @property {string} by          what decided between the candidates
 * @property {{node: string, victims: string[], violations: number, highest: number}[]} candidates
 * @property {[string, string][]} refused  node -> why nobody's leaving would help
 */

/**
 * @typedef {Object} Cycle
 * @property {Span} span
 * @property {number} number
 * @property {string} pod       "namespace/name"
 * @property {string[]} nodes
 * @property {{name: string, cells: ('allow'|'deny'|'unasked')[]}[]} filters
 * @property {Record<string, [string, string]>} failed  node -> plugin, upstream's message
 * @property {string[]} filterSkipped
 * @property {{name: string, weight: number, cells: (Score|null)[]}[]} scores
 * @property {string[]} scoreSkipped
 * @property {Record<string, number>} total
 * @property {string} chosen
 * @property {string} why
 * @property {{node: string, uid: string}|null} bind  what is sent to bind it, once it is
 * @property {string[]} ties    nodes that shared the highest total
 * @property {string} phase     the newest phase seen
 * @property {[string, string][]} prepared  what the node needs first: claim -> volume or ''
 * @property {string} nominated the node that was asked first, and was enough
 * @property {Preemption|null} preemption
 * @property {string} message   of a failure
 * @property {string[]} unschedulable
 */

/** @param {Span} span @param {number} seq @returns {Cycle} */
export function cycleAt(span, seq) {
  /** @type {Record<string, any>} */ const details = {};
  let phase = '';
  for (const record of span.records) {
    if (record.seq > seq || record.kind !== 'schedule') continue;
    phase = /** @type {any} */ (record).phase;
    details[phase] = record.detail || {};
  }
  const filter = details.filter || {};
  const score = details.score || {};
  const nodes = filter.nodes || Object.keys(score.total || {});
  const failed = filter.failed || {};
  return {
    span,
    number: /** @type {any} */ (span).cycle || 1,
    pod: /** @type {any} */ (span.open).key,
    nodes,
    failed,
    filters: filterTable(filter, nodes, failed),
    filterSkipped: filter.skipped || details.prefilter?.skipped || [],
    scores: scoreTable(score, nodes),
    scoreSkipped: score.skipped || [],
    total: score.total || {},
    ties: details.select?.ties || [],
    chosen: details.select?.node || details.bind?.node || '',
    why: details.select?.why || '',
    bind: details.bind || null,
    phase,
    prepared: preparedBy(details.prebind),
    nominated: filter.nominated || '',
    preemption: preemptionOf(details.preempt),
    message: details.fail?.message || '',
    unschedulable: details.fail?.unschedulable || [],
  };
}

/** @param {any} [prebind] @returns {[string, string][]} */
function preparedBy(prebind) {
  if (!prebind) return [];
  const made = (prebind.provision || []).map((/** @type {string} */ claim) => [claim, '']);
  return [...Object.entries(prebind.reserve || {}), ...made];
}

/** @param {any} [detail] @returns {Preemption|null} */
function preemptionOf(detail) {
  if (!detail) return null;
  const candidates = Object.entries(detail.candidates || {}).map(([node, candidate]) => ({
    node,
    ...candidate,
  }));
  return {
    ineligible: detail.ineligible || '',
    node: detail.node || '',
    victims: detail.victims || [],
    by: detail.by || '',
    candidates,
    refused: Object.entries(detail.refused || {}),
  };
}

/** @param {any} filter @param {string[]} nodes @param {Record<string, [string, string]>} failed */
function filterTable(filter, nodes, failed) {
  const ran = (filter.plugins || []).filter((/** @type {any} */ p) => p.ran !== false);
  const order = ran.map((/** @type {any} */ p) => p.name);
  return ran.map((/** @type {any} */ plugin, /** @type {number} */ i) => ({
    name: plugin.name,
    cells: nodes.map((node) => {
      const by = failed[node] ? order.indexOf(failed[node][0]) : -1;
      if (failed[node] && by < 0) return 'unasked';
      return by < 0 || i < by ? 'allow' : i === by ? 'deny' : 'unasked';
    }),
  }));
}

/** @param {any} score @param {string[]} nodes */
function scoreTable(score, nodes) {
  return (score.plugins || []).map((/** @type {any} */ plugin) => ({
    name: plugin.name,
    weight: plugin.weight,
    cells: nodes.map((node) => {
      const points = (plugin.normalized || {})[node];
      if (points === undefined) return null;
      return { raw: (plugin.raw || {})[node], points, sum: points * plugin.weight };
    }),
  }));
}

/**
 * Who won against whom, by how much, and which plugins made the difference, largest first.
 * @param {Cycle} cycle
 */
export function outcome(cycle) {
  const ranked = Object.entries(cycle.total).sort((a, b) => b[1] - a[1]);
  const winner = cycle.chosen || (ranked[0] || [''])[0];
  const second = ranked.find(([node]) => node !== winner);
  const feasible = cycle.nodes.filter((node) => !cycle.failed[node]);
  if (!second) {
    return { winner, second: '', margin: 0, parts: [], feasible, points: cycle.total[winner] };
  }
  return {
    winner,
    second: second[0],
    margin: (cycle.total[winner] || 0) - second[1],
    parts: partsOf(cycle, winner, second[0]),
    feasible,
    points: cycle.total[winner],
  };
}

/**
 * By how many points, plugin by plugin, one node is ahead of another; largest difference first.
 * @param {Cycle} cycle @param {string} ahead @param {string} behind
 */
export function partsOf(cycle, ahead, behind) {
  const at = cycle.nodes.indexOf(ahead);
  const other = cycle.nodes.indexOf(behind);
  return cycle.scores
    .map((row) => ({
      name: row.name,
      points: (row.cells[at]?.sum || 0) - (row.cells[other]?.sum || 0),
    }))
    .filter((part) => part.points !== 0)
    .sort((a, b) => Math.abs(b.points) - Math.abs(a.points));
}

/** The taint upstream's message names, e.g. "{dedicated: gpu}" -> ["dedicated", "gpu"]. */
export function taintIn(/** @type {string} */ message) {
  const match = /untolerated taint \{([^:}]+):\s*([^}]*)\}/.exec(message);
  return match ? [match[1].trim(), match[2].trim()] : null;
}
