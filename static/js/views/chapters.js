// @ts-check
/** The chapters of the command on view, as segments above the time axis. */
import { begunAt, chapterAt, chaptersOf, toCome } from '../core/chapters.js';
import { kindOf } from '../core/records.js';
import { h } from './dom.js';

/** @typedef {import('./parts.js').Context} Context */
/** @typedef {import('../core/words.js').Words} Words */

/** @param {Words} words @param {string} id */
const nameOf = (words, id) => (words.has(`chapter.${id}`) ? words.t(`chapter.${id}`) : kindOf(id));

/** The chapter of this moment, in words; null outside of any. @param {Context} ctx */
export function chapterOf({ words, whole, current, state }) {
  const here = chapterAt(whole, current.root, current.hop, state.seq);
  if (!here) return null;
  const { id, params } = here.chapter;
  const key = `chapter.${id}.text`;
  const text = words.t(words.has(key) ? key : 'chapter.other.text', params);
  return { ...here, name: nameOf(words, id), text };
}

/** @param {Context} ctx */
export function chapterStrip(ctx) {
  const { words, act, whole, current, state } = ctx;
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
    return h(
      `li.is-${is}`,
      { key: id },
      h(
        'button',
        {
          disabled: !seq,
          title: is === 'now' ? here.text : name,
          'aria-current': is === 'now' ? 'step' : false,
          'aria-label': `${at + 1} ${name}, ${words.t(`chapter.state.${is}`)}`,
          onClick: () => act.visit(seq),
        },
        h('i', null, String(at + 1)),
        h('span', null, name),
      ),
    );
  };
  return h(
    'ol.chapters',
    { key: 'chapters', 'aria-label': words.t('chapter.label') },
    [...begun, ...ahead].map((one, at) => segment(one.id, at, one.seq)),
    planned.map((id, i) => segment(id, begun.length + ahead.length + i, 0)),
  );
}
