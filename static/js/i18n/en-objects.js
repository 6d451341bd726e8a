// @ts-check
/** English: what one does with an object. */

/** @type {Record<string, string>} */
export default {
  'menu.theme': 'Theme',
  'menu.speed': 'Pace and speed',
  'menu.breaks': 'Breakpoints',
  'menu.clusters': 'Clusters',
  'menu.change': 'Change one thing',
  'menu.object': 'Change it',
  'acts.menu': 'Change it',
  'acts.scale': 'Scale to',
  'acts.replicas': 'Replicas',
  'acts.restart': 'Restart',
  'acts.cordon': 'Cordon: no new pods here',
  'acts.uncordon': 'Uncordon: new pods again',
  'acts.delete': 'Delete',
  'acts.sure': '{name} is deleted for all who look.',
  'acts.sureAlso': '{name} is deleted for all who look, and with it {also}.',
  'acts.yes': 'Delete {name}',
  'acts.no': 'Keep it',
  'acts.copy': 'Copy',
  'acts.copied': 'Copied',
  'acts.past': 'You look at the past. Go back to now to change what is there.',
  'acts.fork': 'For this fork kubectl takes a --server that ends in /clusters/{name}.',
};
