// @ts-check
/** English: the place for commands. */

/** @type {Record<string, string>} */
export default {
  'commands.field': 'YAML, or a line of kubectl or etcdctl',
  'commands.placeholder': 'YAML, kubectl, etcdctl',
  'commands.answers': 'Answers',
  'commands.empty':
    'Here goes a manifest in YAML or JSON, a line of kubectl ({lines}), or one of etcdctl, ' +
    'which asks this cluster’s own etcd, past the API server and all its gates. The arrow up ' +
    'goes back to what was sent.',
  'commands.large': 'Show the table',
  'commands.deployment': 'YAML of a Deployment',
  'commands.pod': 'YAML of a Pod',
  'commands.nothing':
    'There is nothing to send. Write YAML, or a line that begins with kubectl or etcdctl.',
  'commands.unknown':
    'This is neither YAML nor a line of etcdctl or kubectl. Of kubectl these run here: {lines}.',
  'commands.kubectl':
    'Of kubectl these run here: {lines}. For all others use a terminal with the kubeconfig ' +
    'that the server printed.',
  'commands.formerly':
    'Until 1.17 this made a Deployment. Since 1.18 kubectl run makes one pod, and what makes a ' +
    'Deployment is:',
  'commands.flags':
    'In this field {line} takes only {flags}. For other flags use a terminal with the kubeconfig ' +
    'that the server printed.',
  'commands.file': 'There are no files here: write what stands in the file into this field.',
  'commands.read':
    'For this use a terminal with the kubeconfig that the server printed. The YAML of what is ' +
    'there also stands in the tab Objects.',
  'commands.one': 'Here a line is about one object.',
  'commands.not': 'That cannot be done with an object of this type.',
  'commands.lost': 'the server cannot be reached',
  'commands.members': 'etcd has {n} member{n||s}',
  'commands.peers': 'its peers: {names}',
  'commands.alone': 'has no peers',
  'commands.unstarted': 'not started yet',
  'commands.learner': 'a learner, which does not vote',
  'commands.exit': 'exit code {code}',
  'commands.running': 'Running for {n} s …',
  'commands.waits': 'Waits until the one before it has ended.',
  'commands.takeBack': 'Do not send it',
  'run.steps': 'What kubectl {version} did',
  'run.checked': 'the parameters are right: name {name}, image {image}',
  'run.generator.given': 'the generator {generator}, given by --generator',
  'run.generator.inferred': 'the generator {generator}, inferred from --restart={restart}',
  'run.generator.only': 'the generator {generator}, the only one since 1.18',
  'run.made': 'a {kind} of {apiVersion}',
  'run.mapped': 'a {kind} goes to POST {path}',
};
