// @ts-check
/** Lines between the parts of the map, measured after layout: orthogonal, with one rounded bend. */
import { h, render } from '../kit/dom.js';

/**
 * @typedef {[string, 'l'|'r', number, string, 'l'|'r', number, string, number]} Wire
 *   from, side, where on it, to, side, where on it, class, bend; below 0 around their left sides
 */

const AROUND = 14; // px

/** @param {Element} svg @param {Element} map @param {Wire[]} wires */
export function drawWires(svg, map, wires) {
  const origin = map.getBoundingClientRect();
  const at = (
    /** @type {string} */ id,
    /** @type {'l'|'r'} */ side,
    /** @type {number} */ where,
  ) => {
    const element = document.getElementById(id);
    const target = id.startsWith('g-') && element ? element.querySelector('.g') : element;
    if (!target) return null;
    const box = target.getBoundingClientRect();
    const list = id.startsWith('g-') ? target.closest('.gates')?.getBoundingClientRect() : null;
    const top = box.top + box.height * where;
    return [
      (side === 'l' ? box.left : box.right) - origin.left,
      // a gate that is scrolled away is reached at the edge of its list
      (list ? Math.min(Math.max(top, list.top), list.bottom) : top) - origin.top,
    ];
  };
  render(
    svg,
    wires.map(([a, sideA, whereA, b, sideB, whereB, cls, bend], i) => {
      const from = at(a, sideA, whereA);
      const to = at(b, sideB, whereB);
      if (!from || !to) return null;
      const d = route(from, to, bend);
      return h('path', { key: `${a}-${b}-${i}`, 'data-to': b, class: `wire ${cls}`, d });
    }),
  );
}

/**
 * Between two left sides it goes around them.
 * @param {number[]} from @param {number[]} to @param {number} bend
 */
function route([x1, y1], [x2, y2], bend) {
  if (Math.abs(y2 - y1) < 2) return `M${x1} ${y1}H${x2}`;
  const isAround = bend < 0;
  const middle = isAround ? Math.min(x1, x2) + AROUND * bend : x1 + (x2 - x1) * bend;
  const r = Math.min(9, Math.abs(y2 - y1) / 2, isAround ? 9 : Math.abs(x2 - x1) / 2);
  const s = Math.sign(y2 - y1) || 1;
  const q = Math.sign(middle - x1) || 1;
  const p = isAround ? -q : q;
  return (
    `M${x1} ${y1}H${middle - q * r}Q${middle} ${y1} ${middle} ${y1 + s * r}` +
    `V${y2 - s * r}Q${middle} ${y2} ${middle + p * r} ${y2}H${x2}`
  );
}
