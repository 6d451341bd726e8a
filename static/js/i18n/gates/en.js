// @ts-check
/** English sentences about what each gate went by, about streams and about the server's start. */

/** @type {Record<string, string>} */
export default {
  'why.older': 'In older texts',
  'gate.authentication.older':
    'Older texts have user names with passwords, too (`--basic-auth-file`): no API server has ' +
    'taken them since 1.19.',
  'gate.decode.older':
    'Older texts let kubectl make the object by generators (`DeploymentV1Beta1` and others): ' +
    'since 1.18 kubectl run has only the one for pods.',
  'gate.mutating.older':
    'Older texts have one list of plugins. Since 1.9 there are two rounds: first those that ' +
    'change, and after validation those that only judge. `InitialResources` is gone, and ' +
    'so is `SecurityContextDeny` since 1.30.',
  'gate.etcd.older':
    'In older texts Initializers come next, and hide the object until each had its turn. They ' +
    'never left alpha and are gone since 1.14; admission webhooks do it, before the object is ' +
    'stored. And no get confirms a create: the answer of the transaction is enough.',
  'step.older':
    'Often listed as CRI, CNI, CSI. The order is another one: volumes (CSI) first, then the ' +
    'sandbox (CRI) and within it the network (CNI), then image and container (CRI).',
  'reason.asked': 'Who was asked, in this order',
  'reason.notAsked': 'not asked: the answer was there before',
  'reason.notYet': 'not asked yet',
  'reason.sameBelow': 'the same authenticators as above',
  'reason.tokenCache':
    'The token was verified less than ten seconds ago by *{name}*, so nobody verified it again.',
  'reason.dropped':
    'Taken off the request once it was known who asks, so that no later part sees it: `{names}`.',
  'reason.noPolicy': 'There is no audit policy: the request has an id, but no event is written.',
  'reason.auditEvent': 'The event, as it was logged',
  'reason.flowSeat':
    'The flow schema *{schema}* sorts this request into *{level}*, which has {limit} ' +
    'seat{limit||s}. One was free.',
  'reason.flowExempt':
    'The flow schema *{schema}* sorts this request into *{level}*, which is never limited.',
  'reason.flowWaited':
    'All {limit} seats of *{level}* were taken, so the request queued until it got ' +
    '{seats|a seat|its seats}.',
  'reason.flowRefused':
    'The seats of *{level}* were taken and its queues could not hold this request. The client ' +
    'is asked to come again.',
  'reason.modes': 'The authorizers, in the order of --authorization-mode',
  'reason.rule': 'The rule that allowed it',
  'reason.readCache':
    'Roles and bindings were read from the API server’s own cache; etcd was ' + 'asked {n} times.',
  'reason.readEtcd': 'Roles and bindings were read from etcd, {n} time{n||s}.',
  'reason.webhookAsked': '{name} asked somebody else',
  'reason.request': 'What was sent',
  'reason.answer': 'What came back',
  'gate.routing.passed.title': 'The aggregator passes this on to {to}.',
  'reason.servers': 'The servers of the chain',
  'reason.passedOn': 'has no such path and passed it on',
  'reason.answers': 'answers',
  'reason.settled':
    'The definition is new. The create waited, so that all API servers would know it.',
  'reason.unknown': '{n} field{n||s} that no schema knows',
  'reason.dropping': 'dropped, or warned of; it is not stored',
  'reason.fields': 'The fields that break a rule',
  'reason.dryRun': 'A dry run passes every gate, and then this transaction is left out.',
  'reason.hidden':
    'Lists and watches leave it out until each of these has acted and taken its own name ' +
    'away, the first one first: {names}.',
  'reason.initialized':
    'The last initializer has acted. From this revision on lists show it, and watches are ' +
    'told of it as of a new object.',
  'reason.noChange': 'Nothing differs from what is stored, so no revision was made.',
  'reason.silent': '{n} plugin{n||s} with nothing to say',
  'class.resourcemanagement': 'resource management',
  'class.security': 'security',
  'class.defaulting': 'defaulting',
  'class.referentialconsistency': 'referential consistency',
  'class.extension': 'extension',
  'asked.allow': 'allowed',
  'asked.deny': 'refused',
  'asked.change': 'changed the object',
  'asked.failed': 'failed, and its failurePolicy is Fail',
  'asked.ignored': 'failed, and its failurePolicy is Ignore',
  'asked.skip': 'not asked: its matchConditions do not hold',
  'asked.is': 'is {value}',
  'denied.existing': 'A role that is there already would do, too: *{role}*.',
  'stream.exec.title': 'A command runs in {name}, and its output flows back here.',
  'stream.attach.title': 'The client is attached to the process of {name}.',
  'stream.log.title': 'The log of {name} flows back to the client.',
  'stream.portforward.title': 'Ports of {name} are open on the client’s side.',
  'stream.proxy.title': 'The request is passed on to {name}.',
  'stream.exit.title': 'The process in {name} ended with exit code {code}.',
  'stream.proxied.title': '{name} answered {code}, and the API server passed it on.',
  'stream.end.title': 'The stream to {name} has ended.',
  'stream.refused.title': 'The node could not open the stream to {name}.',
  'stream.way':
    'After its gates the request becomes a connection: bytes pass through the API server, ' +
    'and etcd has no part in it.',
  'stream.refused.why': 'The request passed its gates, but the node had another answer.',
  'stream.nobody.title': 'Nobody is there to answer for {name}.',
  'stream.nobody.why':
    'The request passed its gates, but the service has no ready endpoint it could be passed on to.',
  'stream.service': 'picks one of its ready endpoints',
  'stream.client': 'where it begins',
  'stream.api': 'checks the request, then copies bytes both ways',
  'stream.kubelet': 'finds the container',
  'stream.at.exec': 'starts the command',
  'stream.at.attach': 'the process that runs',
  'stream.at.log': 'wrote the log',
  'stream.at.portforward': 'listens on the port',
  'stream.at.proxy': 'answers the request',
  'stream.agreed': 'Agreed on',
  'stream.passed': 'What passed',
  'stream.chip.open': '{word} open',
  'stream.chip.exit': '{word}: exit code {code}',
  'stream.chip.end': '{word}: ended',
  'stream.chip.refused': '{word}: refused',
  'startup.title': 'How this API server was built',
  'startup.intro':
    'Told by the API server when it started, in the order in which it put its parts together.',
  'startup.empty':
    'This trace begins after the API server’s start, so there is nothing to tell. Start a ' +
    'cluster, or open a recording that begins with its first record.',
  'startup.servers': 'The chain of servers',
  'startup.config': 'The configuration, step by step',
  'startup.authentication': 'Authenticators, nested as they are asked',
  'startup.authenticationWhat':
    'A union asks its members in this order. The first that knows the caller ends the search.',
  'startup.authorization': 'Authorizers, in order',
  'startup.authorizationWhat': 'The first that allows or denies decides. No opinion asks the next.',
  'startup.mutating': 'Mutating admission: {n} plugin{n||s}, in order',
  'startup.validating': 'Validating admission: {n} plugin{n||s}, in order',
  'startup.plugin': 'Plugin',
  'startup.flags': 'Flags in force',
  'startup.providers': 'Groups and resources that are installed',
  'startup.resources': 'Groups and resources that are installed',
  'startup.routes': 'Base routes',
  'startup.steps': 'What was counted on the way',
  'startup.checks': 'Health checks',
  'startup.storages': 'Storages, each with its prefix in etcd',
  'startup.pod_storages': 'The storages of pods',
  'startup.table': 'All routes',
  'startup.hooks': 'Post-start hooks',
  'startup.likeness': 'Held against a real Kubernetes {version}, {date}',
  'startup.likeness.compared': 'compared',
  'startup.likeness.equal': 'the same',
  'startup.likeness.pods': 'Decisions of the scheduler, with reasons and scores',
  'startup.likeness.requests': 'Recorded answers to made-up requests',
  'startup.likeness.kubelet': 'Stories of a kubelet, to the last request',
  'startup.likeness.stories': 'Stories of the control plane, to the last request',
  'fact.class': 'Class',
  'fact.auditLevel': 'Level',
  'fact.auditRule': 'Rule of the policy',
  'fact.omitStages': 'Stages left out',
  'fact.auditId': 'Audit id',
  'fact.flowSchema': 'Flow schema',
  'fact.priorityLevel': 'Priority level',
  'fact.seats': 'Seats it takes',
  'fact.seatLimit': 'Seats of the level',
  'fact.flowQueue': 'Queue',
  'fact.position': 'Position in it',
  'fact.waited': 'Waited',
  'fact.executing': 'Executing now',
  'fact.waiting': 'Waiting now',
  'fact.role': 'Role',
  'fact.binding': 'Binding',
  'fact.subject': 'Subject',
  'fact.by': 'Answered by',
  'fact.fromCache': 'From the cache',
  'fact.yes': 'yes',
  'fact.definition': 'Definition',
  'fact.settled': 'Waited for the definition',
  'fact.converted': 'Objects converted',
  'fact.apiService': 'APIService',
  'fact.readFrom': 'Read from',
  'fact.mux': 'Handler',
  'fact.key': 'Key',
  'fact.revision': 'Revision',
  'fact.lease': 'Lease',
  'fact.configuration': 'Configuration',
  'fact.to': 'To',
  'fact.httpCode': 'HTTP code',
  'fact.again': 'Called again',
  'fact.policyBinding': 'Binding',
  'fact.params': 'Parameters',
  'fact.carrier': 'Carried by',
  'fact.protocol': 'Protocol',
  'fact.streams': 'Streams',
  'fact.command': 'Command',
  'fact.container': 'Container',
  'fact.ports': 'Ports',
  'fact.path': 'Path',
  'fact.follow': 'Follows',
  'fact.exit': 'Exit code',
  'fact.in': 'To the node',
  'fact.out': 'From the node',
  'fact.lines': 'Lines',
  'fact.connections': 'Connections',
};
