// @ts-check
/** Both languages of the page, learned, with what is loaded later. */
import { DETAILS, TABLE as CHINESE } from '../../static/js/i18n/chinese.js';
import { TABLE as ENGLISH } from '../../static/js/i18n/english.js';
import enService from '../../static/js/i18n/service/en.js';
import zhService from '../../static/js/i18n/service/zh.js';
import enAddons from '../../static/js/i18n/addons/en.js';
import zhAddons from '../../static/js/i18n/addons/zh.js';
import { learn, wordsFor } from '../../static/js/i18n/index.js';

await learn('en');
await learn('zh');
wordsFor('en').add(enService);
wordsFor('zh').add(zhService);
wordsFor('en').add(enAddons);
wordsFor('zh').add(zhAddons);

export { CHINESE, DETAILS, ENGLISH, wordsFor };
