// @ts-check
/** The inspector: the sentence first, then why, what, object and raw; one action; the source. */
import { storyOf } from '../../core/story/story.js';
import { duration } from '../../core/text/words.js';
import { h, render } from '../kit/dom.js';
import { glyph, podGlyph } from '../kit/glyphs.js';
import { explained } from '../kit/glossary.js';
import { faultView } from './faults.js';
import { formsView } from './forms.js';
import { objectMenu } from './objectmenu.js';
import { chapterOf } from '../time/chapters.js';
import { breakable, named, piecesOf, say } from '../kit/parts.js';
import { questions } from '../begin/questions.js';
import { findings } from '../time/find.js';
import { compareButton } from './revisions.js';
import { comparison } from '../forks/comparison.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/explain/index.js').Block} Block */
/** @template {Block['type']} T @typedef {Extract<Block, {type: T}>} BlockOf */

let scrolled = '';

/**
 * @param {HTMLElement} host @param {Context} ctx
 * @param {import('../../core/explain/index.js').Explanation} explanation
 */
export function renderInspector(host, ctx, explanation) {
  const { ui, act, words } = ctx;
  if (ui.find !== null) {
    render(host, findings(ctx));
    return;
  }
  const compared = comparison(ctx);
  if (compared) {
    render(host, compared);
    return;
  }
  const tabs = explanation.tabs.filter((tab) => tab.blocks.length);
  const isRaw = ui.tab === 'raw' && explanation.raw.length > 0;
  const chosen = isRaw ? null : tabs.find((tab) => tab.id === ui.tab) || tabs[0];
  render(
    host,
    h(
      'div.head',
      { key: 'head' },
      chapterLine(ctx),
      h('div.crumb', null, explanation.crumb),
      h('h1', null, headline(explanation.title, words)),
    ),
    tabs.length > 1
      ? h(
          'div.tabs',
          { key: 'tabs', role: 'tablist' },
          tabs.map((tab) =>
            h(
              'button',
              {
                key: tab.id,
                role: 'tab',
                id: `tab-${tab.id}`,
                'aria-selected': String(tab === chosen),
                'aria-controls': 'inspector-body',
                onClick: () => act.tab(tab.id),
              },
              tab.label,
            ),
          ),
        )
      : null,
    h(
      'div.scroll',
      {
        key: 'body',
        id: 'inspector-body',
        role: chosen ? 'tabpanel' : 'region',
        'aria-labelledby': chosen && tabs.length > 1 ? `tab-${chosen.id}` : false,
        'aria-label': chosen ? false : words.t('tab.raw'),
        tabindex: '0',
      },
      (chosen ? chosen.blocks : explanation.raw).map((block, i) => blockView(ctx, block, i)),
    ),
    action(ctx),
    h(
      'footer',
      { key: 'foot' },
      badge(ctx, explanation, isRaw),
      explanation.source ? sourceView(explanation.source) : null,
    ),
  );
  const place = `${explanation.crumb} ${chosen ? chosen.id : 'raw'} ${words.lang}`;
  if (place !== scrolled) ctx.after(() => scrollUp(host));
  scrolled = place;
}

/** @param {HTMLElement} host */
function scrollUp(host) {
  const body = host.querySelector('.scroll');
  if (body) body.scrollTop = 0;
}

/**
 * How this is known; behind it the records themselves.
 * @param {Context} ctx @param {import('../../core/explain/index.js').Explanation} explanation
 * @param {boolean} isRaw
 */
function badge({ words, act }, explanation, isRaw) {
  if (!explanation.raw.length) return h('span.badge', { key: 'badge' }, explanation.badge);
  const label = words.t('raw.show', { badge: explanation.badge });
  return h(
    'button.badge',
    {
      key: 'badge',
      'aria-pressed': String(isRaw),
      'aria-label': label,
      title: label,
      onClick: () => act.tab(isRaw ? 'why' : 'raw'),
    },
    explanation.badge,
  );
}

/** Which chapter this is, and its sentence. @param {Context} ctx */
function chapterLine(ctx) {
  // who follows one pod is on no command's way
  const isElsewhere = ctx.ui.selected || ctx.player.follow.pod || ctx.focus === 'crowd';
  const here = isElsewhere ? null : chapterOf(ctx);
  if (!here) return null;
  const crumb = ctx.words.t('chapter.crumb', { at: here.at + 1, of: here.of, name: here.name });
  const text = headline(here.text, ctx.words);
  return h('div.chapter', null, h('b', null, crumb), ' ', h('span', null, text));
}

/**
 * With its words explained; a name breaks only where a line has no room for it.
 * @param {string} title @param {import('../../core/text/words.js').Words} words
 */
const headline = (title, words) =>
  explained([{ text: title, as: '' }], words).map((part) =>
    typeof part === 'string' ? named(part) : part,
  );

/** A path is code, a sentence is not. @param {string} source */
function sourceView(source) {
  if (!/\.go\b/.test(source)) return source;
  const parts = source.split('/');
  return h(
    'code',
    null,
    parts.map((part, i) => (i < parts.length - 1 ? [`${part}/`, h('wbr', null)] : part)),
  );
}

/** One, always at the same place, and what can be done with an object. @param {Context} ctx */
function action(ctx) {
  const { ui, act, words, player } = ctx;
  const button = (
    /** @type {string} */ key,
    /** @type {string} */ sign,
    /** @type {any} */ onClick,
    params = {},
  ) =>
    h(
      'div.action',
      { key: 'action' },
      h('button.go.quiet', { onClick }, glyph(sign), words.t(key, params)),
      objectMenu(ctx),
    );
  if (ui.selected?.type === 'pod') {
    const { key } = ui.selected;
    return player.follow.pod === key
      ? button('inspector.unfollow', 'back', () => act.unfollow())
      : button('inspector.follow', 'mark', () => act.followPod(key));
  }
  if (ui.selected) return button('inspector.live', 'back', () => act.select(null));
  const close = ctx.current.hop;
  if (
    close &&
    close.kind === 'response' &&
    close.code === 403 &&
    ui.lastApplied &&
    player.drives &&
    !player.behind
  ) {
    return button('inspector.runAs', 'play', () => act.resend(), { user: ctx.meta.users[0] });
  }
  return null;
}

/** @param {Context} ctx @param {Block} block @param {number} i */
export function blockView(ctx, block, i) {
  const key = `${i}${block.type}`;
  switch (block.type) {
    case 'p':
      return h('p', { key }, explained(block.text, ctx.words));
    case 'h':
      return h(
        'h2',
        { key, class: block.tone ? `is-${block.tone}` : '' },
        block.glyph ? glyph(block.glyph) : null,
        block.text,
      );
    case 'code':
      return h('div.code', { key, tabindex: '0' }, block.text);
    case 'fold':
      return h(
        'details.fold',
        { key: `${key}${block.title}` },
        h('summary', null, block.title),
        h('div.code', { tabindex: '0' }, block.text),
      );
    case 'tree':
      return tree(block, key);
    case 'diff':
      return diff(ctx, block, key);
    case 'rules':
      return h(
        'ul.rules',
        { key },
        block.items.map((item) =>
          h(
            `li.is-${item.tone || item.verdict}`,
            null,
            glyph(item.verdict),
            h('span', null, piecesOf(item.title), item.small ? h('small', null, item.small) : null),
          ),
        ),
      );
    case 'ways':
      return h(
        'ul.ways',
        { key },
        block.items.map((item) =>
          h('li', null, h('code', null, item.code), h('small', null, item.small)),
        ),
        ctx.player.drives
          ? h(
              'li',
              { key: 'try' },
              h(
                'button.act',
                { title: ctx.words.t('fork.tryText'), onClick: () => ctx.act.fork() },
                glyph('layers'),
                ctx.words.t('fork.try'),
              ),
            )
          : null,
      );
    case 'story':
      return story(ctx, block, key);
    case 'facts':
      return h(
        'dl.facts',
        { key },
        block.rows.map(([name, value]) => [h('dt', null, name), h('dd', null, breakable(value))]),
      );
    case 'table':
      return table(block, key);
    case 'links':
      return h(
        'ul.links',
        { key },
        block.items.map((item) =>
          h('li', null, h('button.link', { onClick: () => ctx.act.visit(item.seq) }, item.text)),
        ),
      );
    case 'compare':
      return compareButton(ctx, block, key);
    case 'fault':
      return faultView(ctx, block, key);
    case 'forms':
      return formsView(ctx, block.seq, key);
    case 'service':
      if (ctx.ui.service) return ctx.ui.service(ctx, block.service, key);
      ctx.after(ctx.act.service);
      return h('p.second', { key }, ctx.words.t('forms.loading'));
    case 'pods':
      return pods(ctx, block, key);
    case 'cards':
      return h(
        'div',
        { key },
        ctx.player.live && !ctx.player.drives
          ? h('p', { key: 'looks' }, ctx.words.t('begin.looks'))
          : null,
        questions(ctx, 'questions'),
      );
    default:
      return legend(ctx, key);
  }
}

/**
 * Who contains whom: a step to the right for each level.
 * @param {BlockOf<'tree'>} block @param {string} key
 */
function tree(block, key) {
  return h(
    'ul.rules.nest',
    { key },
    block.items.map((/** @type {import('../../core/explain/index.js').TreeLine} */ item) =>
      h(
        `li.is-${item.verdict}`,
        { style: { '--depth': String(item.depth) } },
        glyph(item.verdict),
        h('span', null, piecesOf(item.title), item.small ? h('small', null, item.small) : null),
      ),
    ),
  );
}

/** @param {Context} ctx @param {BlockOf<'diff'>} block @param {string} key */
function diff(ctx, block, key) {
  const cls = { '+': 'add', '-': 'gone', '…': 'fold', ' ': '' };
  return h(
    'div.diff',
    { key, role: 'group', tabindex: '0', 'aria-label': ctx.words.t('diff.label') },
    block.lines.map((line) =>
      h(
        'div',
        { class: /** @type {any} */ (cls)[line.sign] },
        line.text || (line.sign === '…' ? '⋯' : ' '),
      ),
    ),
  );
}

/** @param {BlockOf<'table'>} block @param {string} key */
function table(block, key) {
  return h(
    'table.scores',
    { key },
    h(
      'thead',
      null,
      h(
        'tr',
        null,
        block.head.map((/** @type {string} */ t) => (t ? h('th', { scope: 'col' }, t) : h('td'))),
      ),
    ),
    h(
      'tbody',
      null,
      block.rows.map((/** @type {string[]} */ row) =>
        h(
          'tr',
          null,
          row.map((cell, i) => h(i ? 'td' : 'th', i ? null : { scope: 'row' }, cell)),
        ),
      ),
    ),
    block.foot
      ? h(
          'tfoot',
          null,
          h(
            'tr',
            null,
            block.foot.map((/** @type {string} */ cell, /** @type {number} */ i) =>
              h(i ? 'td' : 'th', i ? null : { scope: 'row' }, cell),
            ),
          ),
        )
      : null,
  );
}

/** @param {Context} ctx @param {BlockOf<'story'>} block @param {string} key */
function story(ctx, block, key) {
  const here = block.rows.at(-1);
  const ahead = storyOf(ctx.whole, block.key).rows.filter((row) => row.seq > ctx.state.seq);
  return h(
    'ol.story',
    { key },
    [...block.rows, ...ahead].map((row) =>
      h(
        'li',
        {
          key: `${row.seq}${row.key}`,
          class: [
            row === here ? 'here' : ahead.includes(row) ? 'ghost' : '',
            row.critical ? 'crit' : '',
          ].join(' '),
        },
        h('span.t', null, row.t ? `+${duration(row.t)}` : '0'),
        h('span.d', null),
        h(
          'span.s',
          null,
          h(
            'button',
            {
              'aria-current': row === here ? 'step' : false,
              onClick: () => ctx.act.visit(row.seq),
            },
            say(ctx.words, row.key, row.params),
          ),
          row.rev ? [' ', h('small', null, `r${row.rev}`)] : null,
        ),
      ),
    ),
  );
}

/** @param {Context} ctx @param {BlockOf<'pods'>} block @param {string} key */
function pods(ctx, block, key) {
  return h(
    'ul.cards',
    { key },
    block.items.map((item) =>
      h(
        'li',
        { key: item.key },
        h(
          'button',
          {
            onClick: () => ctx.act.selectPod(item.key),
          },
          glyph(podGlyph(item.stage)),
          h('span', null, h('b', null, item.text), h('small', null, item.small)),
        ),
      ),
    ),
  );
}

/** @param {Context} ctx @param {string} key */
export function legend(ctx, key) {
  return h(
    'ul.legend',
    { key },
    ['allow', 'noop', 'change', 'skip', 'deny', 'wait'].map((sign) =>
      h(`li.is-${sign}`, { key: sign }, glyph(sign), ctx.words.t(`sign.${sign}`)),
    ),
  );
}
