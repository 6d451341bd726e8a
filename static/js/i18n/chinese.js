// @ts-check
/** All of Chinese. */
import zh from './zh.js';
import zhBegin from './zh-begin.js';
import zhCommands from './zh-commands.js';
import zhDetails from './zh-details.js';
import zhExplain from './zh-explain.js';
import zhGates from './zh-gates.js';
import zhKinds from './zh-kinds.js';
import zhObjects from './zh-objects.js';
import zhOutcome from './zh-outcome.js';
import zhParts from './zh-parts.js';
import zhSteps from './zh-steps.js';
import zhStory from './zh-story.js';
import zhTerms from './zh-terms.js';
import zhViews from './zh-views.js';

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
