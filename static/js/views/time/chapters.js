// @ts-check
/** The chapters of the command on view, as segments above the time axis. */
import { begunAt, chapterAt, chaptersOf, toCome } from '../../core/story/chapters.js';
import { endOf } from '../../core/story/chapterends.js';
import { whoAsks } from '../../core/explain/who.js';
import { sayOutcome } from '../../core/outcome/index.js';
import { kindOf } from '../../core/trace/records.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/text/words.js').Words} Words */

/** @param {Words} words @param {string} id */
const nameOf = (words, id) => (words.has(`chapter.${id}`) ? words.t(`chapter.${id}`) : kindOf(id));

/** The chapter of this moment, in words; null outside of any. @param {Context} ctx */
export function chapterOf({ words, whole, index, current, state, clock }) {
  const { root, hop } = current;
  const here = chapterAt(whole, root, hop, state.seq);
  if (!here) return null;
  const { id } = here.chapter;
  const end = endOf(whole, index, state, root, here.chapter);
  const key = `chapter.${id}.text`;
  const plan = end ? end.key : words.has(key) ? key : 'chapter.other.text';
  const text = end?.about ? sayOutcome(end.about, words, clock) : '';
  const who = whoAsks(/** @type {any} */ (whole.spans.get(root)?.open), words);
  const params = { ...here.chapter.params, who, text, ...end?.params };
  return { ...here, name: nameOf(words, id), text: words.t(plan, params) };
}

/** @param {Context} ctx */
export function chapterStrip(ctx) {
  const { words, act, whole, index, current, state } = ctx;
  const here = chapterOf(ctx);
  if (!here) return null;
  const begun = begunAt(whole, current.root, state.seq);
  const ahead = chaptersOf(whole, current.root).slice(begun.length);
  const planned = toCome(whole, current.root, [...begun, ...ahead], state.seq);
  const segment = (
    /** @type {string} */ id,
    /** @type {number} */ at,
    /** @type {number} */ seq,
  ) => {
    const is = at === here.at ? 'now' : at < begun.length ? 'past' : 'next';
    const name = nameOf(words, id);
    const failed = begun[at] && endOf(whole, index, state, current.root, begun[at])?.failed;
    const progress = words.t(failed ? 'chapter.state.failed' : `chapter.state.${is}`);
    return h(
      `li.is-${is}`,
      { key: id },
      h(
        'button',
        {
          disabled: !seq,
          title: is === 'now' ? here.text : name,
          'aria-current': is === 'now' ? 'step' : false,
          'aria-label': `${at + 1} ${name}, ${progress}`,
          onClick: () => act.visit(seq),
        },
        failed ? glyph('deny') : h('i', null, String(at + 1)),
        ' ',
        h('span', null, name),
      ),
    );
  };
  return h(
    'ol.chapters',
    { key: 'chapters', 'aria-label': words.t('chapter.label') },
    [...begun, ...ahead].map((chapter, at) => segment(chapter.id, at, chapter.seq)),
    planned.map((id, i) => segment(id, begun.length + ahead.length + i, 0)),
  );
}
