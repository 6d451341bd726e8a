// @ts-check
/** The keyboard, and dragging and turning the wheel on the timeline. */
import { gatesOf } from '../core/facts.js';
import { remPixels } from './dom.js';
import { rangeOf } from './timeline.js';

/** @typedef {import('./app.js').App} App */

const TYPING = new Set(['INPUT', 'TEXTAREA', 'SELECT']);

/** @param {App} app */
export function listenToKeys(app) {
  /** the button focused by a click: Space is not for it */
  let clicked = /** @type {Element|null} */ (null);
  let taken = false;
  document.addEventListener('keydown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key === 'Escape') {
      if (TYPING.has(target.tagName)) target.blur();
      app.act.escape();
      return;
    }
    if (TYPING.has(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const pressed = KEYS[event.key];
    if (!pressed || (app.ui.dialog && event.key !== '?')) return;
    if (event.key === ' ' && isForButton(target, clicked)) return;
    if (event.key.startsWith('Arrow') && target.getAttribute('role') === 'tab') return;
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
 * Space presses a button that was reached by keyboard; the main one is play and pause anyway.
 * @param {HTMLElement} target @param {Element|null} clicked
 */
function isForButton(target, clicked) {
  return target.tagName === 'BUTTON' && !target.classList.contains('main') && target !== clicked;
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
    const admission = gatesOf(app.context().index).find((one) => one.plugins)?.name;
    const chosen = gate || here || admission;
    if (chosen) app.act.breakAtGate(chosen);
  },
  '/': (app) => app.act.openFind(),
  f: (app) => app.act.fork(),
  F: (app) => app.act.nextFailure(),
  n: (app) => app.act.chapter(1),
  p: (app) => app.act.chapter(-1),
  l: (app) => app.act.goLive(),
  '?': (app) => app.act.help(app.ui.dialog !== 'help'),
  '+': (app) => app.act.zoom(2),
  '=': (app) => app.act.zoom(2),
  '-': (app) => app.act.zoom(0.5),
};

/** @param {Event} event */
const isOnPlot = ({ target }) => !!(/** @type {HTMLElement} */ (target).closest('.plot'));

/** @param {HTMLElement} host @param {App} app */
export function listenToTimeline(host, app) {
  let dragging = false;
  const timeAt = (/** @type {PointerEvent} */ event) => {
    const plot = /** @type {HTMLElement} */ (host.querySelector('.plot'));
    const box = plot.getBoundingClientRect();
    const range = rangeOf(app.context());
    const rem = remPixels();
    const pad = 0.6 * rem;
    const share = (event.clientX - box.left - pad) / Math.max(50, box.width - 2 * pad - 3 * rem);
    return range.from + share * (range.to - range.from);
  };
  const to = (/** @type {PointerEvent} */ event) => app.act.scrub(timeAt(event));
  const over = (/** @type {number|null} */ t) => {
    if (app.ui.hover === t) return;
    app.ui.hover = t;
    app.draw();
  };
  host.addEventListener('pointerdown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (!isOnPlot(event) || event.button || target.classList.contains('bar-box')) return;
    dragging = true;
    app.ui.dragging = true;
    host.setPointerCapture(event.pointerId);
    to(event);
  });
  host.addEventListener('pointermove', (event) => {
    if (dragging) to(event);
    else over(isOnPlot(event) ? timeAt(event) : null);
  });
  host.addEventListener('pointerleave', () => over(null));
  host.addEventListener('pointerup', () => {
    dragging = false;
    app.ui.dragging = false;
  });
  host.addEventListener(
    'wheel',
    (event) => {
      if (!isOnPlot(event)) return;
      event.preventDefault();
      app.act.zoom(event.deltaY < 0 ? 1.25 : 0.8);
    },
    { passive: false },
  );
}
