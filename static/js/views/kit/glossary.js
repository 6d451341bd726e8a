// @ts-check
/** Dotted words: what one means, while the pointer or the focus is on it. A finger focuses it. */
import { marked } from '../../core/text/glossary.js';
import { h } from './dom.js';

/** @typedef {import('../../core/text/words.js').Words} Words */

const GAP_PX = 6;

/**
 * @param {Pick<import('../../core/text/words.js').Piece, 'text'|'as'>[]} pieces
 * @param {Words} words
 */
export function explained(pieces, words) {
  return marked(pieces, words).map(({ text, as, term }) => {
    const plain = as ? h(as, null, text) : text;
    const props = { 'data-term': term, role: 'button', tabindex: '0' };
    return term ? h('span.dotted', props, plain) : plain;
  });
}

/** One note for all words. @param {() => Words} words */
export function listenToTerms(words) {
  const note = document.body.appendChild(document.createElement('div'));
  Object.assign(note, { id: 'term-note', className: 'dotted-note', hidden: true });
  note.setAttribute('role', 'tooltip');
  let here = /** @type {HTMLElement|null} */ (null);
  const place = () => {
    if (!here?.isConnected) hide();
    if (!here) return;
    const { left, top, bottom } = here.getBoundingClientRect();
    const { width, height } = note.getBoundingClientRect();
    const isLow = bottom + GAP_PX + height > innerHeight;
    note.style.left = `${Math.max(GAP_PX, Math.min(left, innerWidth - width - GAP_PX))}px`;
    note.style.top = `${isLow ? top - GAP_PX - height : bottom + GAP_PX}px`;
    requestAnimationFrame(place);
  };
  const hide = () => {
    here?.removeAttribute('aria-describedby');
    here = null;
    note.hidden = true;
  };
  /** @param {EventTarget|null} target */
  const show = (target) => {
    const term = target instanceof Element ? target.closest('[data-term]') : null;
    if (!(term instanceof HTMLElement) || term === here) return;
    hide();
    here = term;
    note.textContent = words().t(`term.${term.dataset.term}`);
    note.hidden = false;
    term.setAttribute('aria-describedby', note.id);
    place();
  };
  const leaves = (/** @type {EventTarget|null} */ to) =>
    here && !(to instanceof Node && (here.contains(to) || note.contains(to)));
  document.addEventListener('pointerover', (event) => {
    if (leaves(event.target) && here !== document.activeElement) hide();
    show(event.target);
  });
  document.addEventListener('focusin', (event) => show(event.target));
  document.addEventListener('focusout', (event) => {
    if (leaves(event.relatedTarget)) hide();
  });
  document.addEventListener(
    'keydown',
    (event) => {
      if (event.key !== 'Escape' || !here) return;
      event.stopPropagation();
      hide();
    },
    true,
  );
}
