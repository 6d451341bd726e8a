// @ts-check
/** Forks by their names. Pure. */

/**
 * @typedef {Object} Fork   as the product API tells of it
 * @property {string} name
 * @property {string} cluster    that it was made from
 * @property {number} seq        the last record that both have
 * @property {number} revision
 * @property {number} t
 * @property {string} title
 * @property {'making'|'ready'|'failed'} state
 * @property {number} done       0 to 1
 * @property {'rerun'|'objects'|'anew'|null} how
 * @property {string} why        it is not exact, or it failed
 * @property {boolean} anew      it began from nothing, as its cluster did, and has no past of it
 */

/** The cluster that a fork was made from; itself for one that is none. @param {string} name */
export const originOf = (name) => name.replace(/-fork-\d+$/, '');

/** The cluster that is served here. @param {string} name  of it, or of any fork */
export const rootOf = (name) => name.replace(/(-fork-\d+)+$/, '');

/**
 * The copy, begun from nothing, that a cluster is; undefined for any other.
 * @param {string} cluster @param {Fork[]} forks
 */
export const copyOf = (cluster, forks) => forks.find(({ name, anew }) => anew && name === cluster);

/**
 * Of two that are compared, a fork and what it was made from, the fork; '' when they are not two
 * such.
 * @param {string} first @param {string} other
 */
export function pairOf(first, other) {
  if (!other) return '';
  if (originOf(first) === other) return first === other ? '' : first;
  return originOf(other) === first ? other : '';
}

/**
 * The other one of two that are compared; '' for a cluster that is neither.
 * @param {string} fork  '' for none @param {string} cluster
 */
export function otherOf(fork, cluster) {
  if (!fork) return '';
  if (cluster === fork) return originOf(fork);
  return cluster === originOf(fork) ? fork : '';
}

/** @param {string} name */
export const isFork = (name) => originOf(name) !== name;

/**
 * @typedef {Object} Difference   where what an object says parts
 * @property {string} key
 * @property {string} kind
 * @property {string} name
 * @property {string} name_there  differs where a name was generated
 * @property {string} what       a field, or "existence"
 * @property {any} there         in the cluster it was made from
 * @property {any} here          in the fork
 * @property {number} after      µs since the fork
 * @property {boolean} asked     somebody outside wrote it
 * @property {number|null} seq_there
 * @property {number|null} seq_here
 */
/**
 * @typedef {Object} Comparison
 * @property {string} fork        its name
 * @property {number} from        the last record that both have
 * @property {number} until       µs since the fork, up to which both were compared
 * @property {Difference|null} first   that nobody asked for
 * @property {Difference[]} differences
 * @property {number} more
 * @property {import('../timeline/secondtrack.js').SecondTrack} [second]  not open
 */

/**
 * A difference in a few words: "node-2 → node-3".
 * @param {Difference} one @param {import('../text/words.js').Words} words
 * @param {{origin: string, fork: string}} names
 */
export function differenceText({ what, there, here }, words, names) {
  if (what === 'existence') return words.t(here ? 'fork.onlyHere' : 'fork.onlyThere', names);
  return `${textOf(there)} → ${textOf(here)}`;
}

const VALUE_MAX = 40; // characters

/** @param {any} value */
function textOf(value) {
  if (value === null) return '—';
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}

/**
 * The differences by object, each with its most telling one first.
 * @param {Difference[]} differences
 */
export function byObject(differences) {
  /** @type {Map<string, Difference[]>} */ const objects = new Map();
  for (const difference of differences)
    objects.set(difference.key, [...(objects.get(difference.key) || []), difference]);
  return [...objects.values()];
}
