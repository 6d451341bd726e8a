// @ts-check
/** Objects of one namespace at this revision, each below its controller; crowds as counts. */
import { countStages, namespacesOf, ownerTree } from '../../core/cluster/objects.js';
import { nameOf } from '../../core/request/corridor.js';
import { objectKey } from '../../core/trace/records.js';
import { outcomeOf } from '../../core/outcome/index.js';
import { h } from '../kit/dom.js';
import { podOfHop } from '../map/nodes.js';
import { glyph, podGlyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/objects.js').TreeItem} TreeItem */

const PODS_NAMED_MAX = 8;

/** @param {Context} ctx */
export function objectsPanel(ctx) {
  const { words, state, ui, act, compact } = ctx;
  const tree = ownerTree(state, ui.namespace);
  const names = namespacesOf(state);
  const picker =
    names.length > 1
      ? h(
          'select',
          {
            'aria-label': words.t('objects.ns'),
            value: ui.namespace,
            onChange: (/** @type {{target: HTMLInputElement}} */ e) =>
              act.namespace(e.target.value),
          },
          names.map((name) =>
            h('option', { key: name, value: name, selected: name === ui.namespace }, name),
          ),
        )
      : ui.namespace;
  return h(
    'div.objects',
    { key: 'objects' },
    compact
      ? h('div.compact-door', null, ui.namespace, tableDoor(ctx))
      : h(
          'div.panel-title',
          null,
          h('span', null, `${words.t('bench.objects')} · `, picker, tableDoor(ctx)),
          h(
            'span.soft',
            null,
            ctx.current.root
              ? words.t('objects.revision', { rev: String(state.rev) })
              : words.t('objects.count', { n: countAll(tree) }),
          ),
        ),
    tree.length
      ? h(
          'ul.tree',
          null,
          tree.map((item) => row(ctx, item)),
        )
      : h('p.hint', null, words.t('objects.empty')),
  );
}

/** The namespace itself: of each kind how many, and how many are as wanted. @param {Context} ctx */
const tableDoor = ({ words, ui, act }) =>
  h(
    'button.table-door',
    {
      title: words.t('kinds.door', { name: ui.namespace }),
      'aria-label': words.t('kinds.door', { name: ui.namespace }),
      onClick: () => act.select({ type: 'object', key: objectKey('namespaces', '', ui.namespace) }),
    },
    glyph('list'),
  );

/** @param {TreeItem[]} list @returns {number} */
function countAll(list) {
  return list.reduce((n, item) => n + 1 + countAll(item.kids), 0);
}

/** Of the object that was chosen. @param {Context} ctx */
const selectedKey = ({ ui: { selected } }) =>
  selected && 'key' in selected ? selected.key : undefined;

/** @param {Context} ctx @param {TreeItem} item @returns {import('../kit/dom.js').VNode} */
function row(ctx, item) {
  const { act, player } = ctx;
  const followed =
    player.follow.pod === item.key || selectedKey(ctx) === item.key || isHere(ctx, item);
  const kids = item.kids.length || pending(ctx, item) ? h('ul', null, kidsOf(ctx, item)) : null;
  return h(
    'li',
    { key: item.key },
    h(
      'button.row',
      {
        class: followed ? 'is-followed' : '',
        title: `${item.kind} ${item.name}`,
        onClick: () =>
          item.pod ? act.selectPod(item.key) : act.select({ type: 'object', key: item.key }),
      },
      isUnmet(ctx, item)
        ? glyph('deny')
        : item.pod
          ? glyph(podGlyph(item.pod.stage))
          : null,
      h(
        'span.nm',
        null,
        h('span.kind', null, item.kind),
        ' ',
        shortName(item),
      ),
      h('span.st', null, statusOf(ctx, item)),
    ),
    kids,
  );
}

/** @param {Context} ctx @param {TreeItem} item */
const isUnmet = (ctx, item) => outcomeOf(ctx.state, item.write).state === 'unmet';

/** @param {Context} ctx @param {TreeItem} item */
function isHere(ctx, item) {
  return !!item.pod && podOfHop(ctx.current) === item.key;
}

/**
 * A pod whose creation is under way hangs below its maker as a ghost.
 * @param {Context} ctx @param {TreeItem} item
 */
function pending(ctx, item) {
  const { request } = ctx.current;
  if (!request || item.kind !== 'ReplicaSet') return null;
  const { open } = request;
  const maker = ctx.index.work(request.parent);
  const done = request.records.some((r) => r.kind === 'write' && r.seq <= ctx.state.seq);
  const mine = maker && maker.open.key.endsWith(`/${item.name}`);
  return mine &&
    !done &&
    open.resource === 'pods' &&
    open.verb === 'create' &&
    !open.subresource &&
    !(request.close && request.close.seq <= ctx.state.seq)
    ? request
    : null;
}

/**
 * @param {Context} ctx @param {TreeItem} item
 * @returns {(import('../kit/dom.js').VNode|null)[]}
 */
function kidsOf(ctx, item) {
  const { words } = ctx;
  const pods = item.kids.filter((kid) => kid.pod);
  const rows = item.kids.filter((kid) => !kid.pod).map((kid) => row(ctx, kid));
  const coming = pending(ctx, item);
  if (coming && pods.length <= PODS_NAMED_MAX) {
    rows.push(
      h(
        'li',
        { key: 'coming' },
        h(
          'div.row.is-followed',
          null,
          glyph('podNew'),
          h(
            'span.nm',
            null,
            h('span.kind', null, 'Pod'),
            ' ',
            nameOf(ctx.index, coming, ctx.state.seq),
          ),
          h('span.st', null, words.t('gate.mutating')),
        ),
      ),
    );
  }
  if (pods.length <= PODS_NAMED_MAX) return [...rows, ...pods.map((kid) => row(ctx, kid))];
  const counts = countStages(pods.map((kid) => /** @type {any} */ (kid.pod)));
  const mine = pods.find(
    (kid) => kid.key === ctx.player.follow.pod || kid.key === selectedKey(ctx),
  );
  const line = (/** @type {string} */ key, /** @type {string} */ sign, /** @type {number} */ n) =>
    n
      ? h(
          'li',
          { key },
          h(
            'div.row',
            null,
            glyph(sign),
            h('span.nm', null, h('span.kind', null, 'Pod'), ' ', words.t(key, { n })),
          ),
        )
      : null;
  return [
    ...rows,
    line('objects.running', 'podRun', counts.ready + counts.running),
    mine ? row(ctx, mine) : null,
    line('objects.starting', 'podHalf', counts.bound),
    line('objects.unbound', 'podNew', counts.stored),
    line('objects.failed', 'deny', counts.failed),
  ];
}

/** @param {Context} ctx @param {TreeItem} item */
function statusOf(ctx, item) {
  const { spec = {}, status = {} } = item.write.object || {};
  const rev = ctx.compact && item.pod ? '' : ` · r${item.rev}`;
  if (item.pod) return `${item.pod.node || ctx.words.t('stage.stored')}${rev}`;
  if (spec.replicas !== undefined && item.write.resource.endsWith('.apps'))
    return `${status.readyReplicas || 0} / ${spec.replicas}${rev}`;
  return item.kind === 'Service' ? spec.clusterIP || '' : `r${item.rev}`;
}

/** Of a pod what tells it from its siblings. @param {any} item */
const shortName = (item) =>
  item.pod && item.pod.short !== item.name ? `…-${item.pod.short}` : item.name;
