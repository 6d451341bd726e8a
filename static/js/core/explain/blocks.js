// @ts-check
/** Small makers of the inspector's blocks, and the tabs that every explanation has. */
import { yaml } from '../text/yaml.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */

/** @param {Words} words @param {string} key @param {any} [params] @returns {Block} */
export const p = (words, key, params) => ({ type: 'p', text: words.rich(key, params) });

/** A sentence that came with the record, as it is. @param {string} text @returns {Block} */
export const said = (text) => ({ type: 'p', text: [{ text, as: '' }] });

/** @param {string} text @param {string} [glyph] @param {string} [tone] @returns {Block} */
export const h = (text, glyph, tone) => ({ type: 'h', text, glyph, tone });

/** @param {string} text @returns {Block} */
export const code = (text) => ({ type: 'code', text });

/** @param {[string, any][]} rows @returns {Extract<Block, {type: 'facts'}>} */
export const facts = (rows) => ({
  type: 'facts',
  rows: /** @type {[string, string][]} */ (
    rows
      .filter(([, v]) => v !== '' && v !== undefined && v !== null)
      .map(([k, v]) => [k, String(v)])
  ),
});

/** @param {any} value @returns {Block} */
export const json = (value) => ({ type: 'code', text: JSON.stringify(value, null, 2) });

/**
 * Something long that is shown when it is asked for.
 * @param {string} title @param {any} value @returns {Block}
 */
export const fold = (title, value) => ({
  type: 'fold',
  title,
  text: typeof value === 'string' ? value : yaml(value).join('\n'),
});

/** @param {any} object @returns {Block} */
export const asYaml = (object) => ({ type: 'code', text: yaml(object).join('\n') });

/** @param {Words} words @param {string} id @param {Block[]} blocks */
export const tab = (words, id, blocks) => ({ id, label: words.t(`tab.${id}`), blocks });

/**
 * What took part goes below the reasons.
 * @param {Words} words @param {Block[]} why @param {Block[]} what
 */
export const whyTab = (words, why, what) =>
  tab(words, 'why', what.length ? [...why, h(words.t('why.what')), ...what] : why);

/**
 * The record as it is has no tab: it is behind the badge.
 * @param {{crumb: string, title: string, voice?: string, tabs: any[], badge: string,
 *   source?: string}} parts
 * @returns {import('./index.js').Explanation}
 */
export function explanation(parts) {
  const [raw] = parts.tabs.filter((tab) => tab.id === 'raw');
  const tabs = parts.tabs.filter((tab) => tab !== raw);
  return { voice: parts.title, source: '', ...parts, tabs, raw: raw?.blocks || [] };
}

// that the names of upstream's files are of; before it some were others
const FILES_OF = 33;

/** The path of upstream's file, with the version in front where it has that path. */
export function sourceText(/** @type {string} */ version, /** @type {string} */ source) {
  const [, minor] = /\.(\d+)/.exec(version) || [];
  return source && Number(minor) >= FILES_OF ? `v${version} ${source}` : source;
}
