// @ts-check
/** Many pods at once: where they wait, how fast they move, and which stage holds them up. */
import { countStages, objectsOf, podsOf } from '../cluster/objects.js';
import { code, explanation, h, json, p, said, sourceText, tab } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../text/words.js').Words} Words */

const OWNERS = [
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'replicationcontrollers',
  'daemonsets.apps',
  'jobs.batch',
];

/** @param {import('../../types.js').KubernetesObject} object */
const wantedOf = ({ spec = {}, status = {} }) =>
  spec.replicas ?? spec.completions ?? status.desiredNumberScheduled ?? 1;

/** How many pods are wanted: what specs say, and the pods nobody owns. @param {State} state */
function wantedPods(state) {
  let wanted = 0;
  for (const resource of OWNERS)
    for (const { namespace, object } of objectsOf(state, resource).values()) {
      const isOwned = (object.metadata.ownerReferences || []).some((owner) => owner.controller);
      if (namespace !== 'kube-system' && !isOwned) wanted += wantedOf(object);
    }
  return wanted + podsOf(state).filter((pod) => !pod.system && !pod.owner).length;
}

/** @param {State} state */
export function crowdCounts(state) {
  const pods = podsOf(state).filter((pod) => !pod.system);
  const stages = countStages(pods);
  const wanted = wantedPods(state);
  return {
    wanted,
    made: pods.length,
    missing: Math.max(0, wanted - pods.length),
    queued: stages.stored,
    starting: stages.bound,
    running: stages.running + stages.ready,
    ready: stages.ready,
    failed: stages.failed,
    stuck: pods.filter((pod) => pod.stuck).length,
    message: pods.find((pod) => pod.stuck)?.stuck || '',
  };
}

/** @param {Model} model @param {Words} words */
export function explainCrowd(model, words) {
  const counts = crowdCounts(model.state);
  const stage = bottleneck(counts);
  const rates = ratesOf(model);
  const rows = [
    [words.t('crowd.created'), words.number(rates.created, 1), words.number(counts.made)],
    [
      words.t('crowd.bound'),
      words.number(rates.bound, 1),
      words.number(counts.starting + counts.running),
    ],
    [words.t('crowd.ready'), words.number(rates.ready, 1), words.number(counts.ready)],
  ];
  return explanation({
    crumb: words.t('crumb.crowd', { n: counts.wanted }),
    title: words.t(`crowd.${stage}.title`, {
      n: stage === 'full' ? counts.stuck : counts.running,
      of: counts.wanted,
    }),
    tabs: [
      tab(words, 'why', [
        p(words, `crowd.${stage}.why`, counts),
        ...(stage === 'full' ? [code(counts.message)] : []),
        {
          type: 'table',
          head: ['', words.t('crowd.perSecond'), words.t('crowd.soFar')],
          rows,
          foot: [words.t('crowd.wanted'), '', words.number(counts.wanted)],
        },
        h(words.t('crowd.readable')),
        p(words, 'crowd.squares'),
      ]),
      tab(words, 'raw', [model.current.hop ? json(model.current.hop) : said('')]),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(model.version, 'pkg/controller/replicaset/replica_set.go slowStartBatch'),
  });
}

/** @param {ReturnType<typeof crowdCounts>} counts */
function bottleneck(counts) {
  if (counts.wanted && counts.ready >= counts.wanted) return 'done';
  const waiting = [
    ['creation', counts.missing],
    ['scheduling', counts.queued - counts.stuck],
    ['full', counts.stuck],
    ['starting', counts.starting],
  ];
  waiting.sort((a, b) => Number(b[1]) - Number(a[1]));
  return Number(waiting[0][1]) > 0 ? String(waiting[0][0]) : 'done';
}

const RATE_US = 1_000_000;

/** What happened to pods in the last virtual second, a second. @param {Model} model */
function ratesOf(model) {
  const rates = { created: 0, bound: 0, ready: 0 };
  const { writes } = model.index;
  const passed = Math.max(1, model.state.t - (writes[0]?.t || 0));
  for (let i = writes.length - 1; i >= 0; i -= 1) {
    const write = writes[i];
    if (write.seq > model.state.seq || write.resource !== 'pods') continue;
    if (write.t < model.state.t - RATE_US) break;
    if (write.op === 'create') rates.created += 1;
    else if (write.subresource === 'binding') rates.bound += 1;
    else if (write.object?.status?.phase === 'Running') rates.ready += 1;
  }
  if (passed < RATE_US) {
    const scale = RATE_US / passed;
    rates.created *= scale;
    rates.bound *= scale;
    rates.ready *= scale;
  }
  return rates;
}
