// @ts-check
/** The pointer on the timeline: drag to go there, wheel and pinch to zoom, sideways to move on. */
import { remPixels } from '../kit/dom.js';
import { rangeOf } from './timeline.js';

/** @typedef {import('../page/app.js').App} App */

// of the wheel, for twice as close; a pinch on a touchpad comes as a wheel, in smaller steps
const WHEEL_PX = 300;
const PINCH_PX = 60;

/** @param {Event} event */
const isOnPlot = ({ target }) => !!(/** @type {HTMLElement} */ (target).closest('.plot'));

/** @param {HTMLElement} host @param {App} app */
export function listenToTimeline(host, app) {
  /** @type {Map<number, number>} where the fingers are */ const fingers = new Map();
  let dragging = false;
  const usable = () => {
    const box = /** @type {HTMLElement} */ (host.querySelector('.plot')).getBoundingClientRect();
    const rem = remPixels();
    return { left: box.left + 0.6 * rem, width: Math.max(50, box.width - 4.2 * rem) };
  };
  const timeAt = (/** @type {number} */ x) => {
    const { from, to } = rangeOf(app.context());
    const { left, width } = usable();
    return from + ((x - left) / width) * (to - from);
  };
  const to = (/** @type {PointerEvent} */ event) => app.act.scrub(timeAt(event.clientX));
  const over = (/** @type {number|null} */ t) => {
    if (app.ui.hover === t) return;
    app.ui.hover = t;
    app.draw();
  };
  const drag = (/** @type {boolean} */ on) => {
    dragging = on;
    app.ui.dragging = on;
  };
  /** @param {PointerEvent} event */
  const pinch = (event) => {
    const before = [...fingers.values()];
    fingers.set(event.pointerId, event.clientX);
    const after = [...fingers.values()];
    const apart = (/** @type {number[]} */ [a, b]) => Math.max(8, Math.abs(a - b));
    const middle = (/** @type {number[]} */ [a, b]) => (a + b) / 2;
    app.act.pan((middle(before) - middle(after)) / usable().width);
    app.act.zoom(apart(after) / apart(before), timeAt(middle(after)));
  };
  host.addEventListener('pointerdown', (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (!isOnPlot(event) || event.button) return;
    if (event.pointerType === 'touch') fingers.set(event.pointerId, event.clientX);
    if (target.classList.contains('bar-box') && fingers.size < 2) return;
    host.setPointerCapture(event.pointerId);
    drag(fingers.size < 2);
    if (dragging) to(event);
  });
  host.addEventListener('pointermove', (event) => {
    if (dragging) to(event);
    else if (fingers.size === 2 && fingers.has(event.pointerId)) pinch(event);
    else over(isOnPlot(event) ? timeAt(event.clientX) : null);
  });
  host.addEventListener('pointerleave', () => over(null));
  for (const end of ['pointerup', 'pointercancel']) {
    host.addEventListener(end, (event) => {
      fingers.delete(/** @type {PointerEvent} */ (event).pointerId);
      drag(false);
    });
  }
  host.addEventListener(
    'wheel',
    (event) => {
      if (!isOnPlot(event)) return;
      event.preventDefault();
      const { deltaX, deltaY, shiftKey, ctrlKey, clientX } = event;
      const sideways = shiftKey ? deltaX || deltaY : Math.abs(deltaX) > Math.abs(deltaY) && deltaX;
      if (sideways) app.act.pan(sideways / usable().width);
      else app.act.zoom(2 ** (-deltaY / (ctrlKey ? PINCH_PX : WHEEL_PX)), timeAt(clientX));
    },
    { passive: false },
  );
}
