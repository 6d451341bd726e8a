// @ts-check
/**
 * The object that is chosen, in place of the nodes: what it wants beside what there is, the objects
 * it goes by, its events, and who owns whom.
 */
import { boardOf, hasBoard, ownersOf } from '../../core/outcome/kinds.js';
import { outcomeOf, sayOutcome } from '../../core/outcome/index.js';
import { kindOf } from '../../core/trace/records.js';
import { h } from '../kit/dom.js';
import { glyph, podGlyph } from '../kit/glyphs.js';
import { chosenObject } from '../kit/chosen.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../../core/outcome/kinds.js').Item} Item */
/** @typedef {import('../../core/outcome/kinds.js').Branch} Branch */

const KIDS_MAX = 12;
/** @type {Record<string, string>} */
const TONES = { met: 'allow', underway: 'work', unmet: 'deny' };

/** What is chosen, if its kind has a view here. @param {Pick<Context, 'ui'|'index'|'state'>} ctx */
export function kindAt(ctx) {
  const write = ctx.ui.selected?.type === 'object' ? chosenObject(ctx) : null;
  return write && hasBoard(write) ? write : null;
}

/** @param {Context} ctx @param {WriteRecord} write */
export function kindBoard(ctx, write) {
  const { words, state, clock } = ctx;
  const became = outcomeOf(state, write);
  const tone = TONES[became.state];
  const { pairs, parts } = boardOf(state, write);
  const name = `${kindOf(write.resource)} ${write.name}`;
  return h(
    'section.comp.kindboard',
    { id: 'kind', key: 'kind', tabindex: '0', 'aria-label': name },
    h(
      'header',
      null,
      h('h2', null, write.name),
      h('span.second', null, `${kindOf(write.resource)} · r${write.rev}`),
    ),
    h(
      'p.phase',
      { class: `is-${tone}` },
      glyph(tone),
      h('span', null, sayOutcome(became, words, clock)),
    ),
    pairTable(ctx, pairs),
    parts.map(({ heading, params, isOrdered, items }) =>
      h(
        'div.part',
        { key: heading },
        h('h3', null, words.t(heading, params)),
        h(isOrdered ? 'ol' : 'ul', null, items.map((item) => line(ctx, item))),
      ),
    ),
    tree(ctx, write),
  );
}

/** @param {Context} ctx @param {import('../../core/outcome/kinds.js').Pair[]} pairs */
function pairTable({ words }, pairs) {
  const head = ['kinds.what', 'kinds.wanted', 'kinds.there'];
  const isOnlyTold = pairs.every(({ wanted }) => !wanted);
  return h(
    'table.wants',
    { key: 'wants' },
    h(
      'thead',
      { class: isOnlyTold ? 'narrator' : '' },
      h('tr', null, head.map((key) => h('th', { scope: 'col' }, words.t(key)))),
    ),
    h(
      'tbody',
      null,
      pairs.map(({ label, wanted, is, sign }) =>
        h(
          'tr',
          { key: label },
          h('th', { scope: 'row' }, words.has(label) ? words.t(label) : label),
          wanted ? h('td', null, wanted) : null,
          h(
            'td',
            { class: sign ? `is-${sign}` : '', colspan: wanted ? false : '2' },
            sign ? [glyph(sign), ' '] : null,
            is,
          ),
        ),
      ),
    ),
  );
}

/** @param {string} sign */
const signView = (sign) => glyph(sign.startsWith('pod:') ? podGlyph(sign.slice(4)) : sign);

/** @param {Context} ctx @param {Item} item */
function line(ctx, { key, name, sign, note, params }) {
  const { words } = ctx;
  const values = params.stage ? { ...params, stage: words.t(`stage.${params.stage}`) } : params;
  const text = [
    sign ? signView(sign) : null,
    h('b', null, name),
    note ? h('span.second', null, words.t(note, values)) : null,
  ];
  return h('li', { key: key || name }, key ? door(ctx, key, text) : h('div.item', null, text));
}

/** @param {Context} ctx @param {string} key @param {import('../kit/dom.js').Child} kids */
const door = ({ act }, key, kids, isHere = false) =>
  h(
    'button.item',
    {
      'aria-current': isHere ? 'true' : false,
      onClick: () =>
        key.startsWith('pods/') ? act.selectPod(key) : act.select({ type: 'object', key }),
    },
    kids,
  );

/** Who owns whom, from the top. @param {Context} ctx @param {WriteRecord} write */
function tree(ctx, write) {
  const top = ownersOf(ctx.state, write);
  if (!top.kids.length) return null;
  return h(
    'div.part',
    { key: 'tree' },
    h('h3', null, ctx.words.t('kinds.part.owners')),
    h('ul.owners', null, branch(ctx, top, write.key)),
  );
}

/**
 * @param {Context} ctx @param {Branch} one @param {string} here  the key of what is chosen
 * @returns {import('../kit/dom.js').VNode}
 */
function branch(ctx, { write, kids, sign }, here) {
  const rest = kids.length - KIDS_MAX;
  return h(
    'li',
    { key: write.key },
    door(
      ctx,
      write.key,
      [signView(sign), h('span.second', null, kindOf(write.resource)), h('b', null, write.name)],
      write.key === here,
    ),
    kids.length
      ? h(
          'ul',
          null,
          kids.slice(0, KIDS_MAX).map((kid) => branch(ctx, kid, here)),
          rest > 0 ? h('li.second', { key: 'more' }, ctx.words.t('map.more', { n: rest })) : null,
        )
      : null,
  );
}
