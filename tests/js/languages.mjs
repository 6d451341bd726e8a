// @ts-check
/** Both languages of the page, learned. */
import { DETAILS, TABLE as CHINESE } from '../../static/js/i18n/chinese.js';
import { TABLE as ENGLISH } from '../../static/js/i18n/english.js';
import { learn, wordsFor } from '../../static/js/i18n/index.js';

await learn('en');
await learn('zh');

export { CHINESE, DETAILS, ENGLISH, wordsFor };
