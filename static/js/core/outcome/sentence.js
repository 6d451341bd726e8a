// @ts-check
/** What was wanted and what is, as a sentence that has no language yet. */

/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

/**
 * @typedef {Object} Outcome
 * @property {'met'|'underway'|'unmet'} state
 * @property {string} key         of the sentence
 * @property {Record<string, any>} params
 * @property {Outcome|null} because  of a pod or another part that is not as wanted
 * @property {number} next        when it is tried again, ms since 1970; 0 when nobody said
 * @property {WriteRecord} write  the object it is about
 */

/**
 * What became of an object.
 * @param {WriteRecord} write @param {Outcome['state']} state @param {string} key
 * @param {Record<string, any>} [params] @returns {Outcome}
 */
export const outcome = (write, state, key, params = {}) => ({
  state,
  key: `outcome.${key}`,
  params: { name: write.name, ...params },
  because: null,
  next: 0,
  write,
});

/** The first sentence of a message of upstream's. @param {string} message */
export const short = (message) => (message || '').replace(/\.$/, '').split(/\. (?=[A-Zp])/)[0];
