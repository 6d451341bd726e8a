// @ts-check
/**
 * Where the keyboard is. What had the focus may go when it is pressed, as an item of a menu does:
 * then the button that opened the menu has it, or the dialog it was in. Nothing is taken from who
 * uses a pointer: Space plays then.
 */

/** what had the focus by keyboard, and what it was in, from the inside out */
let path = /** @type {Element[]} */ ([]);

export function listenToFocus() {
  document.addEventListener('focusin', ({ target }) => {
    path = [];
    let part = /** @type {Element|null} */ (target);
    if (!part?.matches(':focus-visible')) return;
    for (; part; part = part.parentElement) path.push(part);
  });
}

/** What has the focus, once it was given on from what is gone. */
export function focused() {
  const here = /** @type {HTMLElement} */ (document.activeElement);
  if (here !== document.body || !path.length || path[0].isConnected) return here;
  const around = path.find((part) => part.isConnected && part.matches('.anchor, .dialog'));
  const next = around?.matches('.anchor') ? around.querySelector('button') : around;
  path = [];
  /** @type {HTMLElement|null|undefined} */ (next)?.focus();
  return /** @type {HTMLElement} */ (document.activeElement);
}
