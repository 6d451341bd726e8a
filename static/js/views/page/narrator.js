// @ts-check
/** Says each stop once, politely, in the headline's words. */

let saidLast = '';
let due = 0;
const CALM_MS = 700;

/** @param {HTMLElement} host @param {string} text @param {number} now  wall ms */
export function narrate(host, text, now) {
  if (text === saidLast || now < due) return;
  saidLast = text;
  due = now + CALM_MS;
  host.textContent = text;
}
