// @ts-check
/** What repeats, as a number: "2 more Pods, the same way". */
import { kindOf } from '../trace/records.js';
import { sortOf } from '../story/pace.js';

/** @typedef {import('./index.js').Model} Model */

/**
 * How many of the same sort came after the first, up to this hop; '' where nothing repeats.
 * @param {Model} model @param {import('../text/words.js').Words} words
 */
export function sayMore({ index, current }, words) {
  const { hop, span, root } = current;
  if (hop?.kind === 'kubelet') return started(index, root, hop.step, words);
  if (span?.type !== 'request') return '';
  const sort = sortOf(index, span.open, span);
  const same = index.requests.filter(
    (span) => span.roots.includes(root) && sortOf(index, span.open, span) === sort,
  );
  const n = same.length - 1;
  const { verb, resource, subresource } = span.open;
  const known = `more.${subresource === 'binding' ? 'bound' : subresource || verb}`;
  const key = words.has(known) ? known : 'more.other';
  return n > 0 ? words.t(key, { n, verb, kind: kindOf(resource) }) : '';
}

/** @param {import('../trace/index.js').Index} index @param {number} root @param {string} step */
function started(index, root, step, /** @type {import('../text/words.js').Words} */ words) {
  const pods = new Set();
  for (const seq of index.trails.get(root) || []) {
    const record = index.record(seq);
    if (record?.kind === 'kubelet' && record.step === step && record.state === 'end')
      pods.add(record.pod);
  }
  return pods.size > 1 ? words.t('more.started', { n: pods.size - 1 }) : '';
}
