// @ts-check
/** Says each stop once, politely, in the headline's words. */

const CALM_MS = 700;
let saidLast = '';
let due = 0;
let wanted = '';
let waits = false;

/**
 * What comes too soon after another is said a moment later, unless something else came meanwhile:
 * nothing may be drawn then that would say it.
 * @param {HTMLElement} host @param {string} text
 */
export function narrate(host, text) {
  wanted = text;
  if (waits || wanted === saidLast) return;
  const rest = due - performance.now();
  waits = rest > 0;
  if (waits) setTimeout(say, rest, host);
  else say(host);
}

/** @param {HTMLElement} host */
function say(host) {
  waits = false;
  if (wanted === saidLast) return;
  saidLast = wanted;
  due = performance.now() + CALM_MS;
  host.textContent = wanted;
}
