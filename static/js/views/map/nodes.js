// @ts-check
/** The nodes with their pods and the kubelet's stops; how many of a crowd are how far. */
import { nodesOf, passedUnseen, podsOf, stepsOf } from '../../core/cluster/objects.js';
import { startSteps } from '../../core/trace/facts.js';
import { crowdCounts } from '../../core/explain/crowd.js';
import { streamsAt } from '../../core/cluster/streams.js';
import { isBroken } from '../../core/outcome/index.js';
import { duration } from '../../core/text/words.js';
import { h } from '../kit/dom.js';
import { glyph, podGlyph } from '../kit/glyphs.js';
import { answerOf, countsOf } from '../begin/ballot.js';
import { guess, guessable } from '../begin/lesson.js';
import { elsewhere, isNodeParted, partedClass, partedOf } from '../forks/secondtrack.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/objects.js').Node} NodeView */
/** @typedef {import('../../core/cluster/objects.js').Pod} Pod */
/** @typedef {import('../../core/cluster/schedule.js').Cycle} Cycle */

const NODES_MAX = 6;

/** @param {Context} ctx @param {Cycle|null} cycle */
export function nodeCards(ctx, cycle) {
  const nodes = nodesOf(ctx.state);
  const most = ctx.compact ? 3 : NODES_MAX;
  const list = nodes.length > most ? pickNodes(nodes, ctx, cycle, most) : nodes;
  const rest = nodes.length - list.length;
  return [
    list.map((node) => nodeCard(ctx, node, cycle)),
    rest > 0 ? h('p.note', { key: 'rest' }, ctx.words.t('crowd.more', { n: rest })) : null,
  ];
}

/** Those that matter now come first, the others fill up. */
function pickNodes(
  /** @type {NodeView[]} */ nodes,
  /** @type {Context} */ ctx,
  /** @type {import('../../core/cluster/schedule.js').Cycle|null} */ cycle,
  /** @type {number} */ most,
) {
  const mine = followedPod(ctx);
  const wanted = new Set([cycle && cycle.chosen, mine && mine.node].filter(Boolean));
  const picked = nodes.filter((n) => wanted.has(n.name));
  for (const node of nodes) if (picked.length < most && !picked.includes(node)) picked.push(node);
  return nodes.filter((n) => picked.includes(n));
}

/** The pod the page is with: the chosen one, or the one of the current hop. @param {Context} ctx */
export function followedPod(ctx) {
  const { ui, player, state, current } = ctx;
  const chosen = ui.selected?.type === 'pod' ? ui.selected.key : player.follow.pod;
  // in a crowd hops come too fast to look at, so the command's first pod is followed
  if (!chosen && ctx.focus === 'crowd') {
    const own = podsOf(state).filter((pod) => !pod.system);
    return own.find((pod) => isOfCommand(ctx, pod.key)) || own[0] || null;
  }
  const key = chosen || podOfHop(current);
  return key ? podsOf(state).find((pod) => pod.key === key) || null : null;
}

/** Whether a pod was made by what the current command caused. @param {Context} ctx */
function isOfCommand({ index, current }, /** @type {string} */ key) {
  const made = index.histories.get(key)?.[0];
  return !!made && !!index.spans.get(made.span)?.roots.includes(current.root);
}

/** @param {import('../../core/story/follow.js').Current} current */
export function podOfHop(current) {
  const { hop } = current;
  if (!hop) return '';
  if ('pod' in hop) return `pods/${hop.pod}`;
  const open = current.span?.open;
  if (open?.kind === 'work') return open.component === 'scheduler' ? `pods/${open.key}` : '';
  return open?.resource === 'pods' && open.name ? `pods/${open.namespace}/${open.name}` : '';
}

/** @param {Context} ctx @param {NodeView} node @param {Cycle|null} cycle */
function nodeCard(ctx, node, cycle) {
  const { words, act, focus } = ctx;
  const mine = followedPod(ctx);
  const out = cycle && cycle.failed[node.name];
  const won = cycle
    ? cycle.chosen === node.name
    : focus === 'all' && mine && mine.node === node.name;
  const total = cycle ? cycle.total[node.name] : undefined;
  const tag = out ? words.t('map.out') : total !== undefined ? words.number(total) : node.ip;
  const pods = podList(ctx, node, mine, cycle);
  const differs = isNodeParted(ctx, node.name);
  return h(
    'section.comp.node',
    {
      key: node.name,
      id: `n-${node.name}`,
      class: `${out ? 'out' : ''} ${won ? 'won' : ''} ${differs ? 'is-parted' : ''}`,
    },
    h(
      'header',
      null,
      h(
        'h2',
        null,
        h('button', { onClick: () => act.select({ type: 'node', name: node.name }) }, node.name),
      ),
      h('span.second', null, tag),
    ),
    cycle ? guesses(ctx, cycle, node.name) : null,
    facts(ctx, node, cycle),
    taints(ctx, node),
    streamChips(ctx, node),
    h('ul.pods', null, pods),
    kubelet(ctx, node, mine),
  );
}

/** To say it is this one, and how many say so. @param {Context} ctx @param {Cycle} cycle */
function guesses(ctx, cycle, /** @type {string} */ node) {
  const { words, player } = ctx;
  const isPressed = answerOf(ctx, cycle) === node;
  const n = countsOf(ctx, cycle)[node] || 0;
  const count = n ? h('p.polled', { key: 'n' }, words.t('predict.count', { n })) : null;
  if (!guessable(ctx, cycle).includes(node)) return count;
  const pressed = player.drives ? null : { 'aria-pressed': String(isPressed) };
  const onClick = () => guess(ctx, cycle, node);
  return [
    h('button.guess', { key: 'guess', onClick, ...pressed }, words.t('predict.this', { node })),
    count,
  ];
}

/** @param {Context} ctx @param {NodeView} node @param {Cycle|null} cycle */
function facts(ctx, node, cycle) {
  const { words, compact, current, focus } = ctx;
  if (!node.ready) {
    const attributes = { title: node.why };
    return h('div.facts.is-deny', attributes, h('span.v', null, words.t('map.notReady')));
  }
  if (focus === 'all') return null;
  if (!current.root && node.renewed) {
    return h(
      'div.facts',
      null,
      words.t(compact ? 'map.renewedShort' : 'map.renewed', {
        time: duration(Math.round(Math.max(0, ctx.now - node.renewed) / 1e5) * 1e5),
      }),
    );
  }
  if (compact || cycle) return null;
  return h(
    'div.facts',
    null,
    [node.cpu && `${node.cpu} CPU`, node.memory].filter(Boolean).join(', '),
    node.cidr ? [h('br', null), words.t('map.cidr', { cidr: node.cidr })] : null,
  );
}

/** Streams that end at this node, with what is known of them now. */
function streamChips(/** @type {Context} */ ctx, /** @type {NodeView} */ node) {
  const { words, act, index, state, current } = ctx;
  const list = streamsAt(index, state, current.request).filter((s) => s.node === node.name);
  if (!list.length) return null;
  return h(
    'ul.streams',
    null,
    list.slice(-3).map((stream) => {
      const { detail } = stream;
      const ended = detail.exit === undefined ? 'end' : 'exit';
      const key = `stream.chip.${stream.state === 'end' ? ended : stream.state}`;
      const sign =
        stream.state === 'open'
          ? 'work'
          : stream.state === 'refused' || detail.exit
            ? 'deny'
            : 'allow';
      const tone = sign === 'work' ? 'hold' : sign;
      return h(
        'li',
        { key: stream.span.seq },
        h(
          `button.stream.is-${tone}`,
          {
            id: `s-${stream.span.seq}`,
            title: `${stream.word} ${stream.name} ${detail.protocol || ''}`.trim(),
            onClick: () => act.select({ type: 'span', seq: stream.span.seq }),
          },
          glyph(sign),
          h('span', null, words.t(key, { word: stream.word, code: String(detail.exit ?? '') })),
        ),
      );
    }),
  );
}

/** "node-role.kubernetes.io/master:NoSchedule" -> "…/master" @param {string} taint */
const shortTaint = (taint) => taint.split(':')[0].replace(/^.*\//, '…/');

/** A line ends behind the domain, if it has to. @param {string} taint */
const byDomain = (taint) =>
  taint.split(/(?<=\/)/).map((part, at) => (at ? [h('wbr', null), part] : part));

/** @param {Context} ctx @param {NodeView} node */
function taints(ctx, node) {
  const list = node.taints
    .slice(0, 2)
    .map((taint) =>
      h(
        'span.taint',
        { title: taint },
        ctx.compact && ctx.focus !== 'all' ? shortTaint(taint) : byDomain(taint),
      ),
    );
  if (node.cordoned) list.push(h('span.taint', null, ctx.words.t('map.cordoned')));
  return list.length ? h('div', null, list) : null;
}

/** @param {Context} ctx @param {NodeView} node @param {Pod|null} mine @param {Cycle|null} cycle */
function podList(ctx, node, mine, cycle) {
  const { words, compact, act } = ctx;
  const system = node.pods.filter((pod) => pod.system && pod !== mine);
  const own = node.pods.filter((pod) => !system.includes(pod));
  const most = (compact ? 4 : 8) + (startingOn(node, mine) ? 0 : 2);
  const shown = own.slice(0, most);
  if (mine && mine.node === node.name && !shown.includes(mine)) shown[most - 1] = mine;
  const parted = partedOf(ctx);
  const items = [];
  if (system.length) {
    items.push(
      compact || system.length > 3
        ? h('li.sys', { key: 'sys' }, glyph('podRun'), words.t('map.system', { n: system.length }))
        : system.map((pod) =>
            h(
              'li.sys',
              { key: pod.key, title: pod.name },
              glyph(podGlyph(pod.stage)),
              baseName(pod.name),
            ),
          ),
    );
  }
  for (const pod of shown) {
    const tone = mine && mine.key === pod.key ? 'mine' : '';
    items.push(
      h(
        'li',
        { key: pod.key, class: `${tone} ${partedClass(parted.get(pod.key))}` },
        h(
          'button',
          { title: pod.name, onClick: () => act.selectPod(pod.key) },
          glyph(isBroken(ctx.state, pod.key) ? 'deny' : podGlyph(pod.stage)),
          fitting(pod.short),
        ),
      ),
    );
  }
  if (own.length > shown.length)
    items.push(h('li', { key: 'more' }, words.t('map.more', { n: own.length - shown.length })));
  items.push(elsewhere(ctx, node, parted));
  if (cycle && cycle.chosen === node.name && mine && !mine.node) {
    items.push(
      h('li.mine', { key: 'if' }, glyph('podNew'), words.t('map.ifBound', { pod: mine.short })),
    );
  }
  return items;
}

/** "coredns-668d6bf9bc-7xq2p" -> "coredns" @param {string} name */
const baseName = (name) =>
  name.replace(/-[a-z0-9]{5}$/, '').replace(/-(?=\w*\d)[a-z0-9]{7,10}$/, '');

/** @param {string} name */
const fitting = (name) => (name.length > 14 ? `${name.slice(0, 13)}…` : name);

/** The followed pod, or one that is starting. @param {NodeView} node @param {Pod|null} mine */
const startingOn = (node, mine) =>
  mine && mine.node === node.name
    ? mine
    : node.pods.find((pod) => !pod.system && pod.stage === 'bound') || null;

/** The stops of the pod that is starting here; the room is the pods' while none does. */
function kubelet(
  /** @type {Context} */ ctx,
  /** @type {NodeView} */ node,
  /** @type {Pod|null} */ mine,
) {
  const { words, index, state, focus } = ctx;
  const pod = startingOn(node, mine);
  if (!pod) return null;
  const steps = stepsOf(index, pod.key, state.seq);
  // whether it is ready is told beside them
  const stops = startSteps(index).filter((step) => step !== 'ready');
  const unseen = passedUnseen(steps, stops, ['running', 'ready'].includes(pod.stage));
  const signs = stops.map((step) => [step, unseen.has(step) ? 'allow' : stepSign(steps.get(step))]);
  if (focus === 'all' && (pod === mine || pod.stage === 'bound')) {
    return h(
      'ol.steps',
      { key: 'steps' },
      signs.map(([step, sign]) =>
        h(
          `li.is-${sign}`,
          { key: step },
          glyph(sign === 'hold' ? 'work' : sign),
          words.t(`step.${step}`),
        ),
      ),
    );
  }
  const label = signs
    .map(([step, sign]) => `${words.t(`step.${step}`)} ${words.t(`verdict.${sign}`)}`)
    .join(', ');
  return h(
    'div.kubelet',
    { key: 'kubelet', role: 'img', 'aria-label': words.t('map.kubelet.label', { steps: label }) },
    h('span', null, words.t('map.kubelet')),
    signs.map(([, sign]) => h(`i.is-${sign}`, null, glyph(sign === 'hold' ? 'work' : sign))),
  );
}

/** @param {any} step */
function stepSign(step) {
  if (!step) return 'wait';
  if (step.state === 'fail') return 'deny';
  return step.state === 'begin' ? 'hold' : 'allow';
}

// -- a crowd ------------------------------------------------------------------------------------

/** @param {Context} ctx */
export function funnel(ctx) {
  const { words } = ctx;
  const counts = crowdCounts(ctx.state);
  const stage = (
    /** @type {string} */ id,
    /** @type {string} */ tone,
    /** @type {string} */ sign,
    /** @type {number} */ n,
    /** @type {string} */ label,
  ) =>
    h(
      `div.stage.is-${tone}`,
      { key: id },
      h('div.n', null, glyph(sign), words.number(n)),
      h('div.l', null, label),
      h(
        'div.m',
        null,
        h('i', { style: { width: `${Math.min(100, (100 * n) / (counts.wanted || n || 1))}%` } }),
      ),
    );
  return h(
    'section.comp.funnel',
    { id: 'funnel', key: 'funnel' },
    h('header', null, h('h2', null, words.t('crowd.wantedN', { n: counts.wanted }))),
    stage('missing', 'wait', 'wait', counts.missing, words.t('crowd.missing')),
    stage('queued', 'skip', 'podNew', counts.queued, words.t('crowd.queued')),
    stage('starting', 'allow', 'podHalf', counts.starting, words.t('crowd.startingN')),
    stage(
      'running',
      'allow',
      'podRun',
      counts.running,
      words.t('crowd.runningN', { ready: counts.ready }),
    ),
    stage(
      'failed',
      counts.failed ? 'deny' : 'noop',
      counts.failed ? 'deny' : 'noop',
      counts.failed,
      words.t('crowd.failedN'),
    ),
  );
}

/** The one pod that keeps its name. @param {Context} ctx */
export function followedBox(ctx) {
  const { words, index, state, act } = ctx;
  const pod = followedPod(ctx);
  if (!pod) return null;
  const steps = stepsOf(index, pod.key, state.seq);
  const row = [
    ['bound', pod.node ? 'allow' : 'wait'],
    ...['sandbox', 'image'].map((s) => [s, stepSign(steps.get(s))]),
    ['ready', pod.stage === 'ready' ? 'allow' : 'wait'],
  ];
  return h(
    'section.comp.follow',
    { id: 'followed', key: 'followed' },
    h(
      'header',
      null,
      h('h2', null, h('button', { onClick: () => act.selectPod(pod.key) }, pod.short)),
      h('span.second', null, pod.node),
    ),
    h(
      'ol.steps',
      null,
      row.map(([step, sign]) =>
        h(
          `li.is-${sign}`,
          { key: step },
          glyph(sign === 'hold' ? 'work' : sign),
          words.t(`step.${step}`),
        ),
      ),
    ),
  );
}
