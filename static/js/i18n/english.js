// @ts-check
/** All of English. */
import en from './en.js';
import enBegin from './en-begin.js';
import enCommands from './en-commands.js';
import enExplain from './en-explain.js';
import enGates from './en-gates.js';
import enKinds from './en-kinds.js';
import enObjects from './en-objects.js';
import enOutcome from './en-outcome.js';
import enParts from './en-parts.js';
import enSteps from './en-steps.js';
import enStory from './en-story.js';
import enTerms from './en-terms.js';
import enViews from './en-views.js';

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
