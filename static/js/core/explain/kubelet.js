// @ts-check
/** What a kubelet does for a pod, and what a node is. */
import { startSteps, stepFacts } from '../trace/facts.js';
import { keyOf } from '../trace/records.js';
import { shortPod, nodesOf, passedUnseen, stepsOf } from '../cluster/objects.js';
import { isBroken } from '../outcome/index.js';
import { duration } from '../text/words.js';
import { asYaml, explanation, facts, h, json, p, said, sourceText, tab } from './blocks.js';
import { storyBlocks } from './objects.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('../text/words.js').Words} Words */

/** @param {Model} model @param {any} record @param {Words} words */
export function explainKubelet(model, record, words) {
  const key = keyOf('pods', record.pod);
  const steps = stepsOf(model.index, key, model.state.seq);
  const detail = record.detail || {};
  const began = steps.get(record.step)?.began;
  const params = {
    pod: shortPod(record.pod),
    node: record.node,
    image: detail.image || '',
    ip: detail.ip || detail.address || '',
    code: String(detail.exitCode ?? ''),
    container: detail.container || '',
    took: began ? duration(record.t - began.t) : '',
  };
  // a container that was started and has ended
  const exited = record.step === 'container' && detail.exitCode !== undefined;
  const blocks = [p(words, `step.${record.step}.what`, params)];
  if (detail.why || detail.message) blocks.push(said(detail.why || detail.message));
  if (record.step === 'image' && detail.policy)
    blocks.push(p(words, 'step.image.policy', { policy: detail.policy }));
  const step = stepFacts(model.index).find(({ name }) => name === record.step);
  const story = storyBlocks(model, key, words);
  const write = model.index.objectAt(key, model.state.seq);
  return explanation({
    crumb: words.t('crumb.step', { node: record.node, pod: record.pod }),
    title: words.t(`step.${record.step}.${exited ? 'exited' : record.state}`, params),
    tabs: [
      tab(words, 'why', [
        ...blocks,
        h(words.t('step.stops')),
        stepList(model, steps, words),
        h(words.t('why.older')),
        p(words, 'step.older'),
      ]),
      tab(words, 'story', story),
      tab(words, 'object', write ? [asYaml(write.object)] : [p(words, 'object.none')]),
      tab(words, 'raw', [json(record)]),
    ],
    badge: words.t('badge.simulated'),
    source: sourceText(model.version, step?.source || ''),
  });
}

/**
 * @param {Model} model @param {Map<string, any>} steps @param {Words} words
 * @returns {import('./index.js').Block}
 */
function stepList(model, steps, words) {
  const stops = startSteps(model.index);
  const unseen = passedUnseen(steps, stops);
  return {
    type: 'rules',
    items: stops.map((step) => {
      const at = steps.get(step);
      const verdict = !at
        ? unseen.has(step)
          ? 'allow'
          : 'wait'
        : at.state === 'fail'
          ? 'deny'
          : at.state === 'begin'
            ? 'work'
            : 'allow';
      const took = at && at.began && at.state !== 'begin' ? duration(at.record.t - at.began.t) : '';
      return {
        verdict,
        title: [{ text: words.t(`step.${step}`), as: /** @type {'b'} */ ('b') }],
        small: took,
      };
    }),
  };
}

/** @param {Model} model @param {string} name @param {Words} words */
export function explainNode(model, name, words) {
  const node = nodesOf(model.state).find((n) => n.name === name);
  if (!node) return null;
  const write = model.index.objectAt(keyOf('nodes', name), model.state.seq);
  const mine = node.pods.filter((pod) => !pod.system);
  const broken = mine.filter((pod) => isBroken(model.state, pod.key)).length;
  return explanation({
    crumb: words.t('crumb.node'),
    title: words.t(!node.ready ? 'node.notReady' : broken ? 'node.some' : 'node.ready', {
      node: name,
      n: mine.length,
      broken,
    }),
    tabs: [
      tab(words, 'why', [
        ...(node.why ? [said(node.why)] : []),
        p(words, node.taints.length ? 'node.tainted' : 'node.open', {
          taint: node.taints[0] || '',
        }),
        facts([
          [words.t('fact.address'), node.ip],
          [words.t('fact.cpu'), node.cpu],
          [words.t('fact.memory'), node.memory],
          [words.t('fact.cidr'), node.cidr],
          [words.t('fact.renewed'), node.renewed ? duration(model.state.t - node.renewed) : ''],
        ]),
        ...(mine.length
          ? [
              {
                type: /** @type {'rules'} */ ('rules'),
                items: mine.slice(0, 20).map((pod) => ({
                  verdict: isBroken(model.state, pod.key)
                    ? 'deny'
                    : pod.stage === 'bound'
                      ? 'work'
                      : 'allow',
                  title: [{ text: pod.name, as: /** @type {'b'} */ ('b') }],
                  small: words.t(`stage.${pod.stage}`),
                })),
              },
            ]
          : []),
      ]),
      tab(words, 'object', write ? [asYaml(write.object)] : []),
      tab(words, 'raw', write ? [json(write)] : []),
    ],
    badge: words.t('badge.simulated'),
    source: sourceText(model.version, 'pkg/kubelet/kubelet_node_status.go'),
  });
}
