// @ts-check
/** English sentences of the inspector. */

/** @type {Record<string, string>} */
export default {
  'gate.waiting': 'The request has not come this far.',
  'gate.authentication.title': 'The API server knows who asks: {user}.',
  'gate.authentication.what':
    'Each authenticator is tried in order until one knows the caller. Nobody is told yet ' +
    'what they may do.',
  'gate.audit.title': 'The request is written down before it is judged.',
  'gate.audit.what': 'Every request gets an audit id, whatever becomes of it.',
  'gate.flowcontrol.title': 'It is this request’s turn: {word}.',
  'gate.flowcontrol.what':
    'Flow schemas sort requests into priority levels, so that one busy client cannot ' +
    'starve the others.',
  'gate.authorization.title': '{user} may {verb} {resource}.',
  'gate.authorization.what':
    'Each authorizer may allow, deny or have no opinion. The first that decides, decides.',
  'gate.routing.title': '{server} answers this itself.',
  'gate.routing.what':
    'Three servers share the port: the aggregator, kube-apiserver and the one for extensions.',
  'gate.decode.title': 'The body is a well-formed {kind}.',
  'gate.decode.change.title': 'Decoding filled in {n} default{n||s}.',
  'gate.decode.change.why':
    'A field that was left out gets the value its version says. The client never sent these.',
  'gate.decode.what':
    'The body is read into the type its kind names; unknown and duplicate fields are noticed here.',
  'gate.mutating.title': 'Admission is asked what is missing.',
  'gate.mutating.allow.title': '{asked} plugins looked, none changed anything.',
  'gate.mutating.change.title': '{changed} plugin{changed||s} changed the {kind}.',
  'gate.mutating.what':
    'Plugins may change the object before anyone validates it. Each change is kept with ' +
    'its author.',
  'gate.prepare.title': 'The {kind} gets its name and its identity.',
  'gate.prepare.what':
    'Only now is a generated name made up; uid and creation time are set, and what a ' +
    'client may not set is cleared.',
  'gate.validation.title': 'Every field of the {kind} is legal.',
  'gate.validation.what': 'All rules of the kind are checked and all errors are reported together.',
  'gate.validating.title': 'No policy objects.',
  'gate.validating.what':
    'Plugins that judge the finished object: nothing may be changed any more.',
  'gate.etcd.title': 'Stored. This is revision {rev}.',
  'gate.etcd.called.title': 'Stored by {call}. This is revision {rev}.',
  'gate.etcd.binding.title':
    'Stored by {call}: the pod’s nodeName is {node} now. This is revision {rev}.',
  'gate.etcd.what':
    'One transaction that succeeds only if nobody was faster. Its revision is the ' +
    'cluster’s next number.',
  'plugin.allow.title': '{plugin} looked and let it pass.',
  'plugin.skip.title': '{plugin} has nothing to say here.',
  'plugin.skip.why': 'This plugin does not apply to this request.',
  'plugin.change.title': '{plugin} made {n} change{n||s} to the {kind}.',
  'plugin.ServiceAccount.change.title': 'The ServiceAccount plugin gave this pod an identity.',
  'plugin.ServiceAccount.why':
    'The template names no service account, so the plugin chose *{account}*, which ' +
    'exists in this namespace and allows automounting. It added a volume through which ' +
    'the kubelet will fetch a token for this pod only, valid for {seconds} s.',
  'plugin.ServiceAccount.prevent':
    '`automountServiceAccountToken: false` on the pod or on the account. Then only ' +
    'serviceAccountName would be set.',
  'plugin.Priority.change.title': 'The Priority plugin gave this pod a number.',
  'plugin.Priority.why':
    'The pod names no priority class and there is no global default, so its priority is ' +
    '*{priority}*.',
  'plugin.Priority.prevent':
    'A PriorityClass with `globalDefault: true`, or a `priorityClassName` on the pod.',
  'plugin.DefaultTolerationSeconds.change.title':
    'The pod may stay for a while on a node that is lost.',
  'plugin.DefaultTolerationSeconds.why':
    'Two tolerations were added: if its node becomes not-ready or unreachable, the pod ' +
    'is evicted after {seconds} s.',
  'plugin.DefaultTolerationSeconds.prevent':
    'Tolerations of your own for `node.kubernetes.io/not-ready` and ' +
    '`node.kubernetes.io/unreachable`.',
  'plugin.LimitRanger.change.title': 'The namespace’s LimitRange filled in what was not asked for.',
  'path.title': 'How the client made its path',
  'path.kind': 'Kind',
  'path.resource': 'Its resource',
  'path.method': 'Method',
  'path.group': 'Group, version',
  'path.core': 'Version (core group)',
  'path.namespace': 'Namespace',
  'path.unscoped': 'none: the kind belongs to the cluster',
  'path.collection': 'Resource',
  'path.name': 'Name',
  'path.subresource': 'Subresource',
  'path.discovery':
    'Which resource a kind has, and whether it has a namespace, kubectl asked before under ' +
    '`/api` and `/apis`. It keeps the answer in `~/.kube/cache/discovery`.',
  'request.begins': '{who} asks to {verb} {kind} {name}.',
  'request.beginsAll': '{who} asks to {verb} {what}.',
  'request.beginsNew': '{who} asks to {verb} a {kind}.',
  'request.beginsPart': '{who} asks to {verb} the {subresource} of {kind} {name}.',
  'request.binds': '{who} asks for {name} to be bound to the node it chose.',
  'request.create': '{kind} {name} is stored at revision {rev}.',
  'request.update': '{kind} {name} has changed: revision {rev}.',
  'request.delete': '{kind} {name} is gone since revision {rev}.',
  'request.bound': '{name} now belongs to {node}: revision {rev}.',
  'request.read': 'Answered with {code}; nothing was written.',
  'request.failed': 'Answered with {code}.',
  'request.maker': '*{who}* made this request while it worked on `{key}`.',
  'request.wrote': 'It wrote revision *{rev}* of `{key}`.',
  'request.woke': 'Whom this revision woke',
  'request.nothing': 'It wrote nothing.',
  'request.arrived': 'No gate has looked at it yet.',
  'denied.nobody': 'Nobody refused this. Nobody allowed it either.',
  'denied.byOne': '{name} refused this.',
  'denied.plugin': 'The {plugin} plugin refused this.',
  'denied.authentication': 'Nobody here knows this credential.',
  'denied.decode': 'The body could not be read as what it says it is.',
  'denied.validation': '{n} field{n||s} break{n|s|} the rules, so nothing was stored.',
  'again.title': '{who} will read again and try once more: somebody wrote in between.',
  'again.why':
    'This is everyday work, no failure: an update names the revision it was made from, and is ' +
    'taken only while that is still the newest. *{who}* loses nothing and waits for nobody.',
  'again.short': 'a newer revision is there; it tries again',
  'denied.absent': 'There is no object of that name.',
  'denied.etcd': 'Someone was faster, so nothing was stored.',
  'denied.etcd.unreached': 'etcd did not answer in time.',
  'denied.routing': 'No server here answers this.',
  'denied.other': 'The request was refused with {code}.',
  'denied.rbac':
    'RBAC has no deny rules. *{user}* gets {code} because none of the {n} role{n||s} ' +
    'that apply covers *{verb}* on {resource}.',
  'denied.rbacNone':
    'RBAC has no deny rules. *{user}* gets {code} because no role that applies covers ' +
    '*{verb}* on {resource}.',
  'denied.smallest': 'The smallest role that would allow it',
  'denied.grant': 'Two commands of an administrator; the next try would pass.',
  'denied.by': ' by {binding}',
  'denied.near': 'The closest: {resource} match; verbs are {verbs}',
  'denied.nearOther': 'Close, but {what} differs: {rule}',
  'denied.through': 'through {binding}, for {subject}',
  'denied.urls': 'URLs only: {urls}',
  'denied.noRules': 'No rules came with this refusal.',
  'denied.nothing': 'Nothing was stored, so nothing woke the controllers.',
  'cycle.begins': 'The scheduler takes {pod} from its queue.',
  'cycle.filtered': '{n} of {of} nodes can take {pod}.',
  'cycle.scoring': 'The nodes that are left are compared for {pod}.',
  'cycle.none': 'No node can take this pod, so it stays Pending.',
  'cycle.only': '{node} is the only node that can take it.',
  'cycle.tie': '{node} and {other} tie; the scheduler picks one of the best by lot.',
  'cycle.tieMany': '{n} nodes tie; the scheduler drew {node} by lot.',
  'cycle.lost': 'It is {margin} points behind; *{points}* of them are {plugin}’s.',
  'cycle.lost.PodTopologySpread':
    'It is {margin} points behind; *{points}* of them are {plugin}’s, because it already ' +
    'holds {n} pod{n||s} of the same owner.',
  'cycle.wins': '{node} wins by {n} point{n||s}, most of them from {plugin}.',
  'cycle.because.PodTopologySpread':
    '{node} wins by {n} point{n||s}, because {other} already runs one of these pods.',
  'cycle.because.NodeResourcesFit':
    '{node} wins by {n} point{n||s}, because it has more room left.',
  'cycle.because.NodeResourcesBalancedAllocation':
    '{node} wins by {n} point{n||s}, because its CPU and memory stay in balance.',
  'cycle.because.ImageLocality':
    '{node} wins by {n} point{n||s}, because it already has the image.',
  'cycle.because.TaintToleration':
    '{node} wins by {n} point{n||s}, because {other} has taints it would rather avoid.',
  'cycle.whyThis': 'Why {node}',
  'cycle.whyNot': 'Why not {node}',
  'cycle.whyOnly': 'Every other node was filtered out, so nothing had to be scored.',
  'cycle.whyTie':
    '{nodes} reach {points} points. Among equals the choice is random, from this cluster’s seed.',
  'cycle.under':
    'Each plugin is asked for each node. A node that one plugin refuses is not asked about again.',
  'cycle.part': '*{points}* of the {margin} points come from {plugin}.',
  'cycle.part.PodTopologySpread':
    '*{points}* of the {margin} points come from {plugin}: {other} holds {n} pod{n||s} ' +
    'of the same owner.',
  'cycle.partMore': '*{points}* come from {plugin}.',
  'cycle.partLess': '{other} is ahead by *{points}* in {plugin}.',
  'cycle.failedBy': '*{plugin}* says: `{message}`',
  'cycle.more': '{n} more nodes were filtered out.',
  'cycle.again':
    'It waits until something changes that could help: a node, a taint, a claim, ' +
    'or a pod that goes.',
  'cycle.waits': 'It is nominated for {node}, and tried again when the room there is free.',
  'cycle.preempts': 'No node has room, so {n} pod{n||s} must leave {node} for {pod}.',
  'cycle.nominated': '{node} was kept for this pod, and takes it.',
  'cycle.whyNominated':
    'The pod was nominated for it when others had to leave. So it is asked first, and if it can ' +
    'take the pod, no other node is.',
  'cycle.preempt': 'Preemption',
  'cycle.preempt.who': 'Who leaves {node}',
  'cycle.preempt.victims':
    '*{victims}* {n|has|have} a lower priority. With {n|it|them} gone the pod fits. ' +
    'Every other pod there can stay.',
  'cycle.preempt.by.only': '{node} is the only node where that helps.',
  'cycle.preempt.by.violations':
    'Of {n} nodes, {node} has the fewest victims that a disruption budget would keep.',
  'cycle.preempt.by.highest':
    'Of {n} nodes, the most important victim on {node} has the lowest priority.',
  'cycle.preempt.by.sum': 'Of {n} nodes, the victims’ priorities on {node} have the lowest sum.',
  'cycle.preempt.by.number': 'Of {n} nodes, {node} has the fewest victims.',
  'cycle.preempt.by.started':
    'Of {n} nodes that cost the same, the victims on {node} started last.',
  'cycle.preempt.by.first': 'Of {n} nodes that cost the same, {node} was tried first.',
  'cycle.preempt.not':
    'The pod may preempt nobody: its class says so, or pods on its nominated node still end.',
  'cycle.preempt.nobody': 'The scheduler looked whether pods of lower priority could leave.',
  'cycle.preempt.refused': '*{node}*: `{reason}`',
  'cycle.preempt.node': 'node',
  'cycle.preempt.leave': 'victims',
  'cycle.preempt.highest': 'highest priority',
  'cycle.preempt.violations': 'budgets violated',
  'cycle.untaint': 'Then {node} takes part in the scoring.',
  'cycle.tolerate': 'In the pod template. That makes new pods; the old ones would be replaced.',
  'cycle.node': 'node',
  'cycle.points': 'points',
  'cycle.behind': 'difference',
  'cycle.nobodyOut': 'No node was filtered out.',
  'rest.pods': '{n} of {of} pod{of||s} {of|is|are} ready, {time} after the command.',
  'rest.done': '{name} has come to rest, {time} after the command.',
  'rest.body':
    'Nothing of this command is under way any more: every queue it filled is empty ' +
    'again, and what is wanted is what is there.',
  'rest.unmet':
    'Nothing of this command is under way now, and what is wanted is not what is there. ' +
    'It is tried again, or waits for a change that helps.',
  'rest.stories': 'Read the story of one pod',
  'rest.numbers': 'In numbers',
  'rest.requests': 'Requests that changed something',
  'rest.revisions': 'Revisions',
  'crumb.rest': '{name} · at rest',
  'step.volumes': 'volumes',
  'step.sandbox': 'sandbox',
  'step.network': 'network',
  'step.image': 'image',
  'step.container': 'container',
  'step.ready': 'ready',
  'step.terminate': 'terminate',
  'step.bound': 'bound',
  'step.stops': 'The kubelet’s stops',
  'step.volumes.begin': 'The kubelet mounts what {pod} asked for.',
  'step.volumes.end': 'All volumes of {pod} are mounted.',
  'step.volumes.fail': 'A volume of {pod} could not be mounted.',
  'step.volumes.what':
    'Nothing else starts before every volume is there; the token is one of them. In other ' +
    'clusters storage drivers mount their own volumes here, through the CSI.',
  'step.sandbox.begin': 'A sandbox is made for {pod} on {node}.',
  'step.sandbox.end': 'The sandbox of {pod} stands.',
  'step.sandbox.fail': 'The sandbox of {pod} could not be made.',
  'step.sandbox.what':
    'One sandbox a pod: its containers share network and namespaces. The container runtime makes ' +
    'it, asked by the kubelet through the CRI.',
  'step.network.begin': 'The network plugin looks for an address.',
  'step.network.end': '{pod} has the address {ip}.',
  'step.network.fail': 'No address for {pod}.',
  'step.network.what':
    'In other clusters the runtime asks a CNI plugin for the address; here it comes from the ' +
    'node’s own range.',
  'step.image.begin': 'The image {image} is pulled on {node}.',
  'step.image.end': 'The image {image} is there after {took}.',
  'step.image.fail': 'The image {image} could not be pulled.',
  'step.image.what':
    'The runtime pulls it, asked through the CRI. Pulled layers are kept on the node. Whether ' +
    'the registry is asked again is the pull policy’s decision.',
  'step.image.policy': 'The pull policy is *{policy}*.',
  'step.container.begin': 'The container of {pod} starts.',
  'step.container.end': 'The container of {pod} runs.',
  'step.container.fail': 'The container of {pod} did not start.',
  'step.container.exited': '{container} of {pod} has exited with code {code}.',
  'step.container.what':
    'The runtime starts it, asked through the CRI. No process starts here: what an image does is ' +
    'data. All up to this point was really decided.',
  'step.ready.begin': 'The kubelet asks whether {pod} is ready.',
  'step.ready.end': '{pod} is ready.',
  'step.ready.fail': '{pod} is not ready.',
  'step.ready.what': 'Only a ready pod gets traffic and counts for its Deployment.',
  'step.terminate.begin': '{pod} is asked to stop.',
  'step.terminate.end': '{pod} has stopped.',
  'step.terminate.fail': '{pod} could not be stopped.',
  'step.terminate.what': 'A container may use its grace period to end by itself.',
  'node.ready': '{node} is ready and runs {n} pod{n||s} of yours.',
  'node.notReady': '{node} is not ready.',
  'node.some': '{node} is ready; {broken} of {n} of your pods {broken|is|are} not as wanted.',
  'node.tainted': 'It carries the taint `{taint}`: only pods that tolerate it may come.',
  'node.open': 'It has no taint, so any pod may come.',
  'stage.stored': 'stored, no node yet',
  'stage.bound': 'starting',
  'stage.running': 'running',
  'stage.ready': 'ready',
  'stage.succeeded': 'finished',
  'stage.failed': 'failed',
  'stage.ending': 'ending',
  'stage.stored.why': '`{pod}` is stored and has no node. {reason}',
  'stage.bound.why': '`{pod}` belongs to {node}, and its kubelet is bringing it up. {reason}',
  'stage.running.why': '`{pod}` runs on {node} and is not ready yet. {reason}',
  'stage.ready.why': '`{pod}` runs on {node} and is ready.',
  'stage.succeeded.why': '`{pod}` has finished its work.',
  'stage.failed.why': '`{pod}` has failed. {reason}',
  'stage.ending.why': '`{pod}` was told to stop and uses its grace period.',
  'story.title': 'The story of one pod, from the command to Ready',
  'story.titleSoFar': 'The story of one pod, as far as it has come',
  'story.none': 'Nothing is recorded about it yet.',
  'story.asked': '*{who}* asked: {verb} `{what}`.',
  'story.stored': '{name} stored.',
  'story.made': 'The {who} controller saw it and made a {what}.',
  'story.pod': 'Pod *{pod}* stored by the {who} controller.',
  'story.waited': 'It waited {time} in the scheduler’s queue.',
  'story.unschedulable': 'No node could take it: `{message}`',
  'story.bound': 'Bound to {node}, {points} points to {second}.',
  'story.boundTie': 'Bound to {node} by lot: others had {points} points too.',
  'story.boundOnly': 'Bound to {node}, the only one left.',
  'story.network': 'Volumes mounted, sandbox up, address {ip}.',
  'story.image': 'Image {image} pulled: {time}.',
  'story.imageMost': '*Image {image} pulled: {time}, {percent} % of the way.*',
  'story.imageThere': 'The image {image} was already there.',
  'story.container': 'Container started in {time}.',
  'story.again': 'Started again: start number {n}.',
  'story.exited': 'Exited with code {code}.',
  'story.failed': 'Failed at {step}: {why}',
  'story.ready': 'Ready.',
  'story.gone': 'Gone.',
  'story.terminated': 'Stopped.',
  'story.path': 'The critical path',
  'story.parts': 'Image {image}, node {node}, control plane {control}.',
  'work.idle': '{who} rests.',
  'work.looks': '{who} looks at {key}.',
  'work.acts': '{who} compared {key} and made {n} request{n||s}.',
  'who.controller': 'The {component} controller',
  'who.scheduler': 'The scheduler',
  'who.kubelet': 'The kubelet on {node}',
  'who.other': '{component}',
  'who.manager': 'The controller manager',
  'who.page': 'The page',
  'work.woken': 'Revision *{rev}* woke it: {what}.',
  'work.requests': 'What it asked for',
  'work.nothing': 'What is wanted and what is there agreed, so it did nothing.',
  'work.waitsFor': 'There was nothing it could do now. {text}.',
  'work.compares': 'It compares what is wanted with what is there.',
  'work.waits': 'Its queue is empty. A watch event will wake it.',
  'work.what':
    'A key waits in its queue only once, however many events made it wait. The worker ' +
    'reads its cache, never the event.',
  'crowd.creation.title':
    'Creation is the bottleneck: the ReplicaSet controller doubles its batches.',
  'crowd.creation.why':
    '{missing} of {wanted} pods are not created yet. One sync creates at most 500, in ' +
    'batches of 1, 2, 4, 8 and so on, each only after the one before it succeeded.',
  'crowd.scheduling.title': 'The scheduler is the bottleneck: it decides one pod at a time.',
  'crowd.scheduling.why': '{queued} pods are stored and wait for a node.',
  'crowd.starting.title': 'The nodes are the bottleneck: pods are bound faster than they start.',
  'crowd.starting.why': '{starting} pods have a node and are starting there.',
  'crowd.full.title': 'The nodes are full: {n} pods fit nowhere.',
  'crowd.full.why':
    '{running} pods run. The scheduler has tried the other {stuck} and will try again ' +
    'when something changes.',
  'crowd.done.title': '{n} of {of} pods run.',
  'crowd.done.why': 'All {wanted} wanted pods are there; {ready} are ready.',
  'crowd.created': 'created',
  'crowd.bound': 'bound',
  'crowd.ready': 'ready',
  'crowd.perSecond': 'a second',
  'crowd.soFar': 'so far',
  'crowd.wanted': 'Wanted',
  'crowd.readable': 'How many become readable',
  'crowd.squares':
    'A pod is one square: dashed is stored, half is starting, full is running. Choose a ' +
    'square to follow its pod.',
};
