// @ts-check
/** English: the rollout of a Deployment. */

/** @type {Record<string, string>} */
export default {
  'rollout.title': 'Rollout of {name}',
  'rollout.old': 'Old, revision {n}',
  'rollout.new': 'New, revision {n}',
  'rollout.noSet': 'No ReplicaSet has this template yet.',
  'rollout.changes': 'and {n} more field{n||s}',
  'rollout.n.ready': '{n} ready',
  'rollout.n.starting': '{n} starting',
  'rollout.n.stored': '{n} stored',
  'rollout.n.failed': '{n} failed',
  'rollout.n.ending': '{n} ending',
  'rollout.n.gone': '{n} gone',
  'rollout.n.missing': '{n} to come',
  'rollout.pod.ready': 'ready',
  'rollout.pod.starting': 'starting',
  'rollout.pod.stored': 'stored',
  'rollout.pod.failed': 'failed',
  'rollout.pod.succeeded': 'finished',
  'rollout.pod.ending': 'ending',
  'rollout.now': '{ready} ready, {all} in all',
  'rollout.most': 'at most {n} in all',
  'rollout.least': 'at least {n} ready',
  'rollout.step': 'Step {n}:',
  'rollout.lastStep': 'Last step:',
  'rollout.and': '; ',
  'rollout.step.room': 'at most {most} in all, so *{n} new* may come',
  'rollout.step.gone': '{n} old gone or going, so *{n} new* may come',
  'rollout.step.up': '*{n} new* may come',
  'rollout.step.ready': '{n} new ready, so *{n} old* may go',
  'rollout.step.spare': '{ready} ready and {least} must stay, so *{n} old* may go',
  'rollout.step.unready': '*{n} old* that {n|is|are} not ready may go first',
  'rollout.step.down': '*{n} old* may go',
  'rollout.step.sized': 'the Deployment wants {of} now, so both sides are scaled',
  'rollout.step.recreateDown': 'Recreate: *all {n} old* go first',
  'rollout.step.recreateUp': 'no old pod is left, so *{n} new* may come',
  'rollout.recreates':
    'Recreate ends all old pods before it makes new ones: nothing serves between.',
  'rollout.done': '{n} of {of} new ready. The old ReplicaSet stays, with no pods, for an undo.',
  'rollout.paused': 'Paused: nothing moves from old to new until it is resumed.',
  'rollout.late':
    '{seconds} s without progress, {n} of {of} new ready. That is only a mark: it goes on trying.',
  'rollout.more': 'The arithmetic, and every step',
  'rollout.share': '{value} of {of} = {is}',
  'rollout.sumMost':
    'maxSurge: {value}, rounded up *{extra}*. At most {of} + {extra} = *{most}* in all.',
  'rollout.sumLeast':
    'maxUnavailable: {value}, rounded down *{fewer}*. At least {of} − {fewer} = *{least}* ready.',
  'rollout.sumBoth': 'Both came to 0, which would never move: so one may be missing.',
};
