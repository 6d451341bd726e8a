// @ts-check
/** Why the scheduler chose this node and not that one, from its own scores. */
import { cycleAt, outcome, partsOf, taintIn } from '../cluster/schedule.js';
import { shortPod, objectsOf, podOf } from '../cluster/objects.js';
import { componentOf, schedulerPlugin } from '../trace/facts.js';
import { keyOf } from '../trace/records.js';
import { nameOf, preemptionBlocks } from './preemption.js';
import { asYaml, code, explanation, h, json, p, sourceText, tab, whyTab } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

/** @param {Model} model @param {Span} span @param {Words} words */
export function explainCycle(model, span, words) {
  const component = componentOf(model.index, /** @type {any} */ (span.open).component);
  const cycle = cycleAt(span, model.state.seq);
  const result = outcome(cycle);
  const key = keyOf('pods', cycle.pod);
  const write = model.index.objectAt(key, model.state.seq);
  const name = nameOf(cycle.pod);
  return explanation({
    crumb: words.t('crumb.cycle', { number: cycle.number, pod: name }),
    title: titleOf(model, cycle, result, words),
    tabs: [
      whyTab(words, whyBlocks(model, cycle, result, words), pluginBlocks(component, words)),
      tab(words, 'whynot', whyNotBlocks(cycle, words)),
      tab(words, 'object', write ? [asYaml(write.object)] : [p(words, 'object.none')]),
      tab(words, 'raw', span.records.filter((r) => r.kind === 'schedule').map(json)),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(model.version, component.source || ''),
  });
}

/**
 * What each plugin asks, in order.
 * @param {import('../trace/facts.js').Component} component @param {Words} words @returns {Block[]}
 */
function pluginBlocks({ plugins = [] }, words) {
  const items = plugins.map(({ name, weight }) => {
    const asks = words.has(`cycle.plugin.${name}`) ? words.t(`cycle.plugin.${name}`) : '';
    const counts = weight ? words.t('cycle.weight', { n: weight }) : '';
    return {
      verdict: 'podRun',
      title: [{ text: name, as: /** @type {'b'} */ ('b') }],
      small: [asks, counts].filter(Boolean).join(' · '),
    };
  });
  return items.length ? [h(words.t('cycle.asked')), { type: 'rules', items }] : [];
}

/**
 * @param {Model} model @param {import('../cluster/schedule.js').Cycle} cycle @param {any} result
 * @param {Words} words
 */
function titleOf(model, cycle, result, words) {
  const { preemption } = cycle;
  if (preemption?.node) {
    const { node, victims } = preemption;
    return words.t('cycle.preempts', { pod: nameOf(cycle.pod), node, n: victims.length });
  }
  if (cycle.message) return words.t('cycle.none');
  const pod = shortPod(cycle.pod);
  if (!cycle.chosen) {
    if (Object.keys(cycle.total).length) return words.t('cycle.scoring', { pod });
    if (!cycle.nodes.length) return words.t('cycle.begins', { pod });
    return words.t('cycle.filtered', { n: result.feasible.length, of: cycle.nodes.length, pod });
  }
  if (cycle.nominated) return words.t('cycle.nominated', { node: cycle.nominated });
  if (!result.second) return words.t('cycle.only', { node: result.winner });
  if (result.margin === 0) {
    return words.t(cycle.ties.length > 2 ? 'cycle.tieMany' : 'cycle.tie', {
      node: result.winner,
      other: result.second,
      n: cycle.ties.length,
    });
  }
  const [most] = result.parts;
  const params = { node: result.winner, other: result.second, n: result.margin, plugin: most.name };
  const because = `cycle.because.${most.name}`;
  // what is said of pods like it holds only where there are some
  const speaksOfPods = words.has(`cycle.part.${most.name}`);
  const fits = !speaksOfPods || siblings(model, cycle, result.second) > 0;
  return words.t(fits && words.has(because) ? because : 'cycle.wins', params);
}

/**
 * The object that is sent to bind it: which pod, by its uid that very one, and where to.
 * @param {import('../cluster/schedule.js').Cycle} cycle @param {Words} words @returns {Block[]}
 */
function bindingBlocks({ pod, bind }, words) {
  if (!bind?.uid) return [];
  const [namespace, name] = pod.split('/');
  const metadata = { name, namespace, uid: bind.uid };
  const target = { kind: 'Node', name: bind.node };
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata, target };
  return [h(words.t('cycle.binding')), asYaml(binding), p(words, 'cycle.bindingAbout')];
}

/** How many pods of the same owner a node holds. */
function siblings(
  /** @type {Model} */ model,
  /** @type {any} */ cycle,
  /** @type {string} */ node,
) {
  const write = model.index.objectAt(keyOf('pods', cycle.pod), model.state.seq);
  if (!write) return 0;
  const { owner } = podOf(write);
  let count = 0;
  for (const other of objectsOf(model.state, 'pods').values()) {
    const pod = podOf(other);
    if (owner && pod.owner === owner && pod.node === node && pod.key !== write.key) count += 1;
  }
  return count;
}

/**
 * @param {Model} model @param {import('../cluster/schedule.js').Cycle} cycle @param {any} result
 * @param {Words} words
 */
function whyBlocks(model, cycle, result, words) {
  /** @type {Block[]} */ const blocks = [];
  const goes = cycle.preemption?.node || '';
  if (cycle.message) {
    const next = goes ? 'cycle.waits' : 'cycle.again';
    blocks.push(code(cycle.message), p(words, next, { node: goes }));
  }
  blocks.push(...preemptionBlocks(cycle, words));
  if (cycle.chosen) {
    blocks.push(h(words.t('cycle.whyThis', { node: cycle.chosen }), 'star', 'hold'));
    if (cycle.nominated) blocks.push(p(words, 'cycle.whyNominated', { node: cycle.chosen }));
    else if (!result.second) blocks.push(p(words, 'cycle.whyOnly', { node: cycle.chosen }));
    else if (!result.margin) {
      blocks.push(
        p(words, 'cycle.whyTie', {
          points: result.points,
          nodes: cycle.ties.join(', ') || `${result.winner}, ${result.second}`,
        }),
      );
    } else blocks.push(...partBlocks(model, cycle, result, words));
  } else if (!cycle.message && !cycle.preemption) blocks.push(p(words, 'cycle.under'));
  blocks.push(...bindingBlocks(cycle, words), ...lostBlocks(model, cycle, result, words));
  const failed = Object.entries(cycle.failed);
  for (const [node, [plugin, message]] of failed.slice(0, 3)) {
    blocks.push(h(words.t('cycle.whyNot', { node }), 'deny', 'deny'), {
      type: 'p',
      text: words.rich('cycle.failedBy', { plugin, message }),
    });
  }
  if (failed.length > 3) blocks.push(p(words, 'cycle.more', { n: failed.length - 3 }));
  blocks.push(...changeBlocks(model, cycle, words));
  return blocks;
}

/**
 * @param {Model} model @param {any} cycle @param {any} result @param {Words} words
 * @returns {Block[]}
 */
function partBlocks(model, cycle, result, words) {
  const [first, ...rest] = result.parts;
  const there = siblings(model, cycle, result.second);
  const own = `cycle.part.${first.name}`;
  /** @type {Block[]} */ const blocks = [
    p(words, there && words.has(own) ? own : 'cycle.part', {
      points: first.points,
      margin: result.margin,
      plugin: first.name,
      other: result.second,
      n: there,
    }),
  ];
  for (const part of rest.slice(0, 2)) {
    blocks.push(
      p(words, part.points > 0 ? 'cycle.partMore' : 'cycle.partLess', {
        points: Math.abs(part.points),
        plugin: part.name,
        other: result.second,
        node: result.winner,
      }),
    );
  }
  return blocks;
}

/**
 * Nodes that could have taken it and had fewer points; the runner-up is told already.
 * @param {Model} model @param {any} cycle @param {any} result @param {Words} words
 * @returns {Block[]}
 */
function lostBlocks(model, cycle, result, words) {
  if (!cycle.chosen) return [];
  const lost = Object.keys(cycle.total).filter(
    (node) =>
      node !== cycle.chosen &&
      cycle.total[node] < result.points &&
      (result.margin === 0 || node !== result.second),
  );
  return lost.slice(0, 2).flatMap((node) => {
    const [most] = partsOf(cycle, cycle.chosen, node);
    const there = siblings(model, cycle, node);
    const own = `cycle.lost.${most.name}`;
    return [
      h(words.t('cycle.whyNot', { node }), 'noop', 'noop'),
      p(words, there && words.has(own) ? own : 'cycle.lost', {
        points: most.points,
        margin: result.points - cycle.total[node],
        plugin: most.name,
        node,
        n: there,
      }),
    ];
  });
}

/**
 * @param {Model} model @param {import('../cluster/schedule.js').Cycle} cycle @param {Words} words
 * @returns {Block[]}
 */
function changeBlocks(model, cycle, words) {
  /** @type {{code: string, small: string}[]} */ const items = [];
  for (const [node, [plugin, message]] of Object.entries(cycle.failed).slice(0, 2)) {
    const taint = taintIn(message);
    if (taint) {
      items.push({
        code: `kubectl taint nodes ${node} ${taint[0]}-`,
        small: words.t('cycle.untaint', { node }),
      });
      items.push({
        code: `tolerations:\n- key: ${taint[0]}\n  value: ${JSON.stringify(taint[1])}`,
        small: words.t('cycle.tolerate'),
      });
    } else {
      const code = (schedulerPlugin(model.index, plugin)?.remedy || '').replace('{node}', node);
      const small = `cycle.way.${plugin}`;
      if (code && !items.some((entry) => entry.code === code))
        items.push({ code, small: words.has(small) ? words.t(small, { node }) : '' });
    }
  }
  const { plugins = [] } = componentOf(model.index, 'scheduler');
  const preempts = plugins.find((plugin) => plugin.post_filters);
  if (preempts?.remedy && cycle.preemption && !cycle.preemption.node)
    items.push({ code: preempts.remedy, small: words.t(`cycle.way.${preempts.name}`) });
  return items.length ? [h(words.t('why.change')), { type: 'ways', items }] : [];
}

/** @param {import('../cluster/schedule.js').Cycle} cycle @param {Words} words @returns {Block[]} */
function whyNotBlocks(cycle, words) {
  const failed = Object.entries(cycle.failed);
  /** @type {Block[]} */ const blocks = failed.flatMap(([node, [plugin, message]]) => [
    h(node, 'deny', 'deny'),
    p(words, 'cycle.failedBy', { plugin, message }),
  ]);
  const others = Object.entries(cycle.total)
    .filter(([node]) => node !== cycle.chosen)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 12);
  if (others.length && cycle.chosen) {
    blocks.push({
      type: 'table',
      head: [words.t('cycle.node'), words.t('cycle.points'), words.t('cycle.behind')],
      rows: others.map(([node, total]) => [
        node,
        String(total),
        String(total - cycle.total[cycle.chosen]),
      ]),
    });
  }
  return blocks.length ? blocks : [p(words, 'cycle.nobodyOut')];
}
