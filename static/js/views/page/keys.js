// @ts-check
/** The keyboard. */
import { gatesOf } from '../../core/trace/facts.js';
import { listenToFocus } from './focus.js';

/** @typedef {import('./app.js').App} App */

const TYPING = new Set(['INPUT', 'TEXTAREA', 'SELECT']);

/** @param {App} app */
export function listenToKeys(app) {
  /** the button focused by a click: Space is not for it */
  let clicked = /** @type {Element|null} */ (null);
  let taken = false;
  listenToFocus();
  document.addEventListener(
    'keydown',
    (event) => {
      // a key that is held down must not wait for more drawings than there are frames
      if (!event.repeat) app.drawAsked();
    },
    { capture: true },
  );
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (movesInMenu(event, target)) return;
    if (event.key === 'Escape') {
      if (TYPING.has(target.tagName)) target.blur();
      app.act.escape();
      return;
    }
    if (TYPING.has(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const pressed = KEYS[event.key];
    if (!pressed || (app.ui.dialog && event.key !== '?')) return;
    if (event.key === ' ' && isForButton(target, clicked)) return;
    if (event.key.startsWith('Arrow') && isForPlace(target)) return;
    event.preventDefault();
    if (event.key === ' ') {
      taken = true;
      if (event.repeat) return;
    }
    pressed(app, event, target);
  });
  document.addEventListener('keyup', (event) => {
    // some browsers press a focused button when Space is let go
    if (event.key === ' ' && taken) event.preventDefault();
    if (event.key === ' ') taken = false;
  });
  document.addEventListener('focusout', () => {
    clicked = null;
  });
  document.addEventListener('click', (event) => {
    const button = /** @type {HTMLElement} */ (event.target).closest('button');
    // a click from the keyboard has no count
    if (event.detail && button === document.activeElement) clicked = button;
  });
  document.addEventListener('pointerdown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (app.ui.menu && !target.closest('.anchor')) app.act.menu('');
  });
}

/**
 * In a menu up and down go from one to the next; Escape goes back to the button that opened it.
 * @param {KeyboardEvent} event @param {HTMLElement} target @returns {boolean} whether that was all
 */
function movesInMenu(event, target) {
  const anchor = target.closest('.anchor');
  if (!anchor) return false;
  const list = [.../** @type {NodeListOf<HTMLElement>} */ (anchor.querySelectorAll('.item'))];
  if (event.key === 'Escape') anchor.querySelector('button')?.focus();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !list.length || target.tagName === 'INPUT') return false;
  event.preventDefault();
  const at = list.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  const to = at < 0 && step < 0 ? list.length - 1 : (at + step + list.length) % list.length;
  list[to].focus();
  return true;
}

/**
 * Space presses a button that was reached by keyboard; the main one is play and pause anyway.
 * @param {HTMLElement} target @param {Element|null} clicked
 */
function isForButton(target, clicked) {
  return target.tagName === 'BUTTON' && !target.classList.contains('main') && target !== clicked;
}

/**
 * Arrows go from tab to tab, and to the cells of a table and the ends of lines for which there is
 * no room beside each other.
 * @param {HTMLElement} target
 */
function isForPlace(target) {
  if (target.getAttribute('role') === 'tab') return true;
  for (let part = /** @type {Element|null} */ (target); part; part = part.parentElement) {
    const mayScroll = part.matches('[tabindex]') || part.querySelector('table');
    if (!mayScroll || part.scrollWidth <= part.clientWidth + 1) continue;
    if (['auto', 'scroll'].includes(getComputedStyle(part).overflowX)) return true;
  }
  return false;
}

/** @type {Record<string, (app: App, event: KeyboardEvent, target: HTMLElement) => void>} */
const KEYS = {
  ' ': (app) => app.act.toggle(true),
  ArrowLeft: (app, event) => app.act.step(-1, event.shiftKey),
  ArrowRight: (app, event) => app.act.step(1, event.shiftKey),
  b(app, event, target) {
    const gate = target.closest('.gate')?.querySelector('[data-gate]')?.getAttribute('data-gate');
    const here = document
      .querySelector('.gate.is-hold [data-gate], .gate.is-deny [data-gate]')
      ?.getAttribute('data-gate');
    const admission = gatesOf(app.context().index).find((gate) => gate.plugins)?.name;
    const chosen = gate || here || admission;
    if (chosen) app.act.breakAtGate(chosen);
  },
  '/': (app) => app.act.openFind(),
  f: (app) => app.act.fork(),
  F: (app) => app.act.nextFailure(),
  s: (app) => app.act.split(),
  n: (app) => app.act.chapter(1),
  p: (app) => app.act.chapter(-1),
  m: (app) => app.act.mark(),
  l: (app) => app.act.goLive(),
  '?': (app) => app.act.help(app.ui.dialog !== 'help'),
  '+': (app) => app.act.zoom(2),
  '=': (app) => app.act.zoom(2),
  '-': (app) => app.act.zoom(0.5),
  0: (app) => app.act.showAll(),
};
