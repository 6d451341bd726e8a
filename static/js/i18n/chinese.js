// @ts-check
/** All of Chinese. */
import zh from './page/zh.js';
import zhBegin from './begin/zh.js';
import zhCommands from './commands/zh.js';
import zhDetails from './details/zh.js';
import zhExplain from './explain/zh.js';
import zhGates from './gates/zh.js';
import zhKinds from './kinds/zh.js';
import zhObjects from './objects/zh.js';
import zhOutcome from './outcome/zh.js';
import zhParts from './parts/zh.js';
import zhSteps from './steps/zh.js';
import zhStory from './story/zh.js';
import zhTerms from './terms/zh.js';
import zhViews from './views/zh.js';

export const TAG = 'zh-Hans';

/** @type {Record<string, string>} */
export const TABLE = {
  ...zh,
  ...zhBegin,
  ...zhCommands,
  ...zhExplain,
  ...zhGates,
  ...zhKinds,
  ...zhObjects,
  ...zhOutcome,
  ...zhParts,
  ...zhSteps,
  ...zhStory,
  ...zhTerms,
  ...zhViews,
};

export const DETAILS = zhDetails;
