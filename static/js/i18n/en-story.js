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
  'chapter.state.failed': 'failed',
  'chapter.ask': 'Ask',
  'chapter.ask.text': '{client} asks the API server to {verb} a {kind}; each gate looks at it.',
  'chapter.ask.done':
    '{client} asked the API server to {verb} a {kind}, and every gate let it pass.',
  'chapter.ask.failed': 'The API server refused to {verb} the {kind}: {code} {reason}.',
  'chapter.store': 'Store',
  'chapter.store.text': 'etcd writes revision {rev}, and whoever watches wakes up.',
  'chapter.store.done': 'etcd has written revision {rev}, and whoever watches woke up.',
  'chapter.replicaset': 'ReplicaSet',
  'chapter.replicaset.text':
    'The {component} controller sees the change and sets a ReplicaSet to work.',
  'chapter.pods': 'Pods',
  'chapter.pods.text':
    'The {component} controller sees to it that as many pods are stored as are wanted.',
  'chapter.made.done': 'The {component} controller stored {n} {kind}{n||s}.',
  'chapter.made.failed':
    'The {component} controller stored {n} {kind}{n||s}; one more was refused: {message}.',
  'chapter.schedule': 'Schedule',
  'chapter.schedule.text': 'The scheduler chooses a node for {pod}: filter, score, bind.',
  'chapter.schedule.done': 'The scheduler found a node for {n} of {of} pod{of||s}.',
  'chapter.schedule.failed': 'The scheduler found no node for {pod}: {message}.',
  'chapter.start': 'Start',
  'chapter.start.text':
    'The kubelet on {node} brings {pod} up: volumes, sandbox, network, image, container.',
  'chapter.start.done': '{n} of {of} pod{of||s} {of|has|have} been started by the kubelet{of||s}.',
  'chapter.start.failed': 'The kubelet on {node} could not start {pod}: {message}.',
  'chapter.start.image.failed':
    'The kubelet on {node} could not start {pod}: it cannot pull the image {image}.',
  'chapter.start.exit.failed':
    'The kubelet on {node} started {pod}, and it exited with code {code}.',
  'chapter.report': 'Report',
  'chapter.report.text':
    'What became of it is written back: the kubelet first, then each controller.',
  'chapter.report.done': 'What became of it is written back: {text}.',
  'chapter.stop': 'Stop',
  'chapter.stop.text': 'The kubelet on {node} ends {pod} and frees what it had.',
  'chapter.stop.done': 'The kubelet on {node} ended {pod}, and the pod is gone.',
  'chapter.remove': 'Remove',
  'chapter.remove.text': 'The {component} controller clears away what depended on it.',
  'chapter.remove.done': 'The {component} controller cleared away what depended on it.',
  'chapter.other.text': 'The {component} controller does its part.',
  'lane.came.allow': 'done',
  'lane.came.deny': 'failed',
  'lane.came.wait': 'to be tried again',
  'map.api.underway': '{n} under way',
  'more.create': '{n} more {kind}{n||s}, the same way.',
  'more.bound': '{n} more bound to a node, the same way.',
  'more.status': '{n} more status of {kind} written, the same way.',
  'more.started': '{n} more started, the same way.',
  'more.other': '{n} more: {verb} {kind}, the same way.',
};
