// @ts-check
/** English sentences of the chapters, and of the pace at which they are told. */

/** @type {Record<string, string>} */
export default {
  'bar.story': 'Story',
  'bar.clusterSpeed': 'Cluster',
  'story.read': 'Read',
  'story.watch': 'Watch',
  'story.fast': 'Fast',
  'help.chapters': 'Next chapter, chapter before',
  'chapter.label': 'Chapters',
  'chapter.crumb': '{at} of {of} · {name}',
  'chapter.state.past': 'told',
  'chapter.state.now': 'here',
  'chapter.state.next': 'not yet',
  'chapter.ask': 'Ask',
  'chapter.ask.text': '{client} asks the API server to {verb} a {kind}; each gate looks at it.',
  'chapter.store': 'Store',
  'chapter.store.text': 'etcd writes revision {rev}, and whoever watches wakes up.',
  'chapter.replicaset': 'ReplicaSet',
  'chapter.replicaset.text':
    'The {component} controller sees the change and sets a ReplicaSet to work.',
  'chapter.pods': 'Pods',
  'chapter.pods.text':
    'The {component} controller sees to it that as many pods are stored as are wanted.',
  'chapter.schedule': 'Schedule',
  'chapter.schedule.text': 'The scheduler chooses a node for {pod}: filter, score, bind.',
  'chapter.start': 'Start',
  'chapter.start.text':
    'The kubelet on {node} brings {pod} up: volumes, sandbox, network, image, container.',
  'chapter.report': 'Report',
  'chapter.report.text':
    'What became of it is written back: the kubelet first, then each controller.',
  'chapter.stop': 'Stop',
  'chapter.stop.text': 'The kubelet on {node} ends {pod} and frees what it had.',
  'chapter.remove': 'Remove',
  'chapter.remove.text': 'The {component} controller clears away what depended on it.',
  'chapter.other.text': 'The {component} controller does its part.',
  'more.create': '{n} more {kind}{n||s}, the same way.',
  'more.bound': '{n} more bound to a node, the same way.',
  'more.status': '{n} more status of {kind} written, the same way.',
  'more.started': '{n} more started, the same way.',
  'more.other': '{n} more: {verb} {kind}, the same way.',
};
