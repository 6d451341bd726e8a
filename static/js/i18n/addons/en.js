// @ts-check
/** English: add-ons. Loaded with their dialog. */

/** @type {Record<string, string>} */
export default {
  'addons.text':
    'The API server, etcd, the controllers and the scheduler make a cluster. What is added to ' +
    'it runs as ordinary pods: installing it is sending its manifest.',
  'addons.then': 'As it was at revision {rev}.',
  'addons.none': 'not installed',
  'addons.part': 'in part: {there} of {n} objects are there',
  'addons.leaving': 'being removed',
  'addons.idle': 'scaled to no pods',
  'addons.starting': 'starting: {ready} of {wanted} pods ready',
  'addons.running': 'running: {ready} of {wanted} pods ready',
  'addons.install': 'Install',
  'addons.rest': 'Install the rest',
  'addons.remove': 'Remove',
  'addons.kubeadm': 'kubeadm installs it with the cluster.',
  'addons.real': 'Not simulated here, so it cannot be installed.',
  'addons.pods': 'Its pods',
  'addons.nopods': 'No pod of it is there.',
  'addons.objects': 'Made of {n} objects, {there} are there',
  'addons.missing': 'not there',
  'addons.manifest': 'Its manifest',
  'addons.ingress-nginx':
    'ingress-nginx: reads the Ingresses of the class nginx, and passes a request on by its host ' +
    'and path to a ready pod of the Service that they name.',
  'addons.coredns':
    'Answers for names: a pod asks for the name of a Service, and gets its address. The Service ' +
    'that leads to its pods is called kube-dns.',
  'addons.kube-proxy':
    'On each node it turns Services and their EndpointSlices into rules, by which a Service’s ' +
    'address leads to one of its ready pods.',
  'addons.metrics-server':
    'Adds the API metrics.k8s.io, behind the aggregator: what pods and nodes use, as their ' +
    'kubelets say. kubectl top and the HorizontalPodAutoscaler ask for it.',
  'addons.dashboard':
    'A web page for a cluster’s objects: it lists them, shows logs, scales and deletes, all by ' +
    'requests to the API server with the token of whoever signs in.',
  'addons.fluentd-elasticsearch':
    'Gathers logs: a fluentd on each node, of a DaemonSet, reads the files that containers write ' +
    'to and sends each line to Elasticsearch; in Kibana they are searched.',
};
