// @ts-check
/** All of English. */
import en from './page/en.js';
import enBegin from './begin/en.js';
import enCommands from './commands/en.js';
import enExplain from './explain/en.js';
import enGates from './gates/en.js';
import enKinds from './kinds/en.js';
import enObjects from './objects/en.js';
import enOutcome from './outcome/en.js';
import enParts from './parts/en.js';
import enSteps from './steps/en.js';
import enStory from './story/en.js';
import enTerms from './terms/en.js';
import enViews from './views/en.js';

export const TAG = 'en';

/** @type {Record<string, string>} */
export const TABLE = {
  ...en,
  ...enBegin,
  ...enCommands,
  ...enExplain,
  ...enGates,
  ...enKinds,
  ...enObjects,
  ...enOutcome,
  ...enParts,
  ...enSteps,
  ...enStory,
  ...enTerms,
  ...enViews,
};

/** What was recorded is English. @type {Record<string, string>} */
export const DETAILS = {};
