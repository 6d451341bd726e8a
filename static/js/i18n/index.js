// @ts-check
/** The languages of the page. Each is loaded when it is spoken first. */
import { words } from '../core/text/words.js';

/** @type {Map<string, import('../core/text/words.js').Words>} */
const known = new Map();

/** The language of the page, "en" or "zh". */
export const pageLanguage = () => (document.documentElement.lang.startsWith('zh') ? 'zh' : 'en');

/** Has the words of a language at hand from then on. @param {string} lang  "en" or "zh" */
export async function learn(lang) {
  if (known.has(lang)) return;
  const { TAG, TABLE, DETAILS } = await (lang === 'zh'
    ? import('./chinese.js')
    : import('./english.js'));
  known.set(lang, words(TAG, TABLE, DETAILS));
}

/** The words of a language that was learned. @param {string} lang */
export function wordsFor(lang) {
  const found = known.get(lang);
  if (!found) throw new Error(`the language ${lang} was not learned`);
  return found;
}
