// @ts-check
/** The languages of the page. */
import { words } from '../core/text/words.js';
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

export const ENGLISH = {
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
export const CHINESE = {
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

/** @param {string} lang  "en" or "zh" */
export function wordsFor(lang) {
  return lang === 'zh'
    ? words('zh-Hans', CHINESE, ENGLISH, zhDetails)
    : words('en', ENGLISH, ENGLISH);
}
