// @ts-check
/** English of what the inspector shows of a Service: loaded with that. */

/** @type {Record<string, string>} */
export default {
  'rules.show': 'Show the rules of kube-proxy',
  'rules.again': 'Read them again',
  'rules.replay': 'The rules of kube-proxy can be read as long as the cluster runs.',
  'rules.title': 'Rules of kube-proxy',
  'rules.same': 'mode {mode}, the same on {n} of {of} node{of||s} · r{rev}',
  'rules.differ': 'mode {mode}, on {nodes} · r{rev}',
  'rules.later':
    'These are the rules at revision {rev}. The moment shown here is at revision {at}: ' +
    'they may have been others then.',
  'rules.away': 'kube-proxy does not start with the configuration in its config map.',
  'rules.none': 'In the mode {mode} no rules are shown here.',
  'names.title': 'Names',
  'names.text': 'Pods reach it by these. Choose one to look it up.',
  'names.replay':
    'Pods reach it by these names. How one is resolved can be looked up as long as the ' +
    'cluster runs: a recording does not have it.',
  'names.own': 'from pods of the namespace {namespace}',
  'names.any': 'from any pod',
  'names.endpoint': 'the ready pod at {address}',
  'names.field': 'Name to look up',
  'names.from': 'as a pod of',
  'names.ask': 'Look up',
  'names.answer': 'What becomes of the name',
  'names.later':
    'This is how it is at revision {rev}. The moment shown here is at revision {at}: it may ' +
    'have been otherwise then.',
  'names.found': '{name} is {addresses}',
  'names.none': 'There is no {name}: NXDOMAIN',
  'names.noAddress': '{name} has no address',
  'names.nobody': 'Nobody answers what {name} is',
  'names.by.address': '{name} is an address already: nobody is asked',
  'names.by.hosts': '{name} stands in /etc/hosts as {addresses}: nobody is asked',
  'names.conf': '/etc/resolv.conf of a pod in {namespace}',
  'names.order.search':
    'The name has {n} dot{n||s}, fewer than ndots:{ndots}: it is tried with each domain of the ' +
    'search list of {namespace} first, and then as it is.',
  'names.order.first':
    'The name has {n} dot{n||s}, no fewer than ndots:{ndots}: it is tried as it is first.',
  'names.order.only': 'The name ends with a dot: it is tried as it is, and no other way.',
  'names.server': 'is asked: the nameserver of the pod, the cluster IP of the Service {service}',
  'names.alone': 'is asked; no pod stands behind it in this cluster, it answers by itself',
  'names.answers': 'answers: kube-proxy leads there, to the ready pod {pod} on {node}',
  'names.refused':
    'Connection refused: {service} has no ready pod that answers. The program gives up at once ' +
    'with “Temporary failure in name resolution”.',
  'names.lost':
    'Timed out: nothing answers for {service}. The program waits 5 seconds, asks once more, and ' +
    'gives up with “Temporary failure in name resolution”.',
  'names.said': '{how}: {rcode}, {why}',
  'names.unsaid': '{how}: {why}',
  'names.searched': 'with {domain}',
  'names.asIs': 'as it is',
  'names.why.cluster-ip': 'the cluster IP of the Service {about}',
  'names.why.headless': 'the ready pods of the headless Service {about}',
  'names.why.endpoint': 'one ready pod of the Service {about}',
  'names.why.external': 'the Service {about} is another name for that one',
  'names.why.external-outside':
    'the Service {about} is another name, which lies outside of the cluster: there nothing is ' +
    'simulated',
  'names.why.external-none': 'the Service {about} is another name, and that has no address',
  'names.why.loop': 'the Service {about} leads back to itself',
  'names.why.pod': 'the address that the name spells, whether a pod has it or not',
  'names.why.apex': 'a part of the cluster’s domain, without an address',
  'names.why.no-form': 'no Service and no pod has a name of this form',
  'names.why.no-namespace': 'there is no namespace {about}',
  'names.why.no-service': 'there is no Service {about}',
  'names.why.no-endpoints': 'the headless Service {about} has no ready pod',
  'names.why.no-endpoint': 'the Service {about} has no such ready pod',
  'names.why.no-address': 'the name spells no address',
  'names.why.outside':
    'not of cluster.local: CoreDNS asks the nameserver of its node, and outside of the cluster ' +
    'nothing is simulated',
  'names.why.too-long': 'longer than a name can be, so it is not asked for',
};
