// @ts-check
/** English: what one can begin with. */

/** @type {Record<string, string>} */
export default {
  'begin.title': 'Begin',
  'begin.text': 'Each of these runs now, beside what is there.',
  'begin.looks': 'Whoever only watches cannot begin anything.',
  'begin.asked': 'asked before',
  'begin.about': 'about {n} s',
  'begin.over': 'Start over with an empty cluster',
  'begin.overText':
    'All objects go, and what happened so far, for everybody who looks. Saved recordings stay.',
  'begin.overSure': 'Start over',
  'theme.of.request': 'The way of a request',
  'theme.of.place': 'A place for a pod',
  'theme.of.wrong': 'When it goes wrong',
  'theme.of.many': 'Many at once',
  'cards.run': 'Make a pod happen',
  'cards.token': 'Who put a token into my pod?',
  'cards.tokenText': 'Stop inside admission and see the change',
  'cards.refused': 'Why does a student get 403?',
  'cards.refusedText': 'Follow the rules that were looked at',
  'cards.node': 'Why this node and not that one?',
  'cards.nodeText': 'Filter, scores, and what would change them',
  'cards.full': 'Why does my pod stay Pending?',
  'cards.fullText': 'It asks for more than any node has',
  'cards.image': 'What if the image has a typo?',
  'cards.imageText': 'The pull fails, and is tried ever later',
  'cards.crash': 'What is a crash loop?',
  'cards.crashText': 'A container that ends at once, and who starts it again',
  'cards.crowd': 'What do {n} pods look like?',
  'cards.crowdText': 'A rollout, and one pod you follow',
};
