// @ts-check
/**
 * Two revisions of an object beside each other, without what every write changes unless it is asked
 * for. Pure.
 */
import { differenceOf, NOTHING_HIDDEN, yaml } from '../text/yaml.js';

/** @typedef {import('../text/yaml.js').Line} Line */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {{text: string, isChanged: boolean}|null} Cell  null for no line */
/** @typedef {{left: Cell, right: Cell, isFold: boolean}} Row */

// of the metadata
const CHURN = ['uid', 'resourceVersion', 'generation', 'managedFields'];
const AROUND = 3;

/**
 * What turns one revision into the other. A deleted one has no lines, nor has a heartbeat that came
 * without its object.
 * @param {WriteRecord} from @param {WriteRecord} to @param {boolean} all  nothing is left out
 */
export function compared(from, to, all) {
  return differenceOf(linesOf(from, all), linesOf(to, all), AROUND);
}

/** @param {WriteRecord} write @param {boolean} all */
function linesOf({ op, object }, all) {
  if (op === 'delete' || !object) return [];
  if (all) return yaml(object, 0, NOTHING_HIDDEN);
  const metadata = Object.fromEntries(
    Object.entries(object.metadata).filter(([name]) => !CHURN.includes(name)),
  );
  return yaml({ ...object, metadata });
}

/** @param {Line[]} lines */
export const countsOf = (lines) => ({
  added: lines.filter(({ sign }) => sign === '+').length,
  gone: lines.filter(({ sign }) => sign === '-').length,
});

/** What was taken away beside what came in its place. @param {Line[]} lines @returns {Row[]} */
export function sideBySide(lines) {
  /** @type {Row[]} */ const rows = [];
  /** @type {string[]} */ let gone = [];
  /** @type {string[]} */ let added = [];
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, added.length); i += 1)
      rows.push({
        left: i < gone.length ? { text: gone[i], isChanged: true } : null,
        right: i < added.length ? { text: added[i], isChanged: true } : null,
        isFold: false,
      });
    [gone, added] = [[], []];
  };
  for (const { sign, text } of lines) {
    if (sign === '-') gone.push(text);
    else if (sign === '+') added.push(text);
    else {
      flush();
      const isFold = sign === '…';
      const same = isFold ? null : { text, isChanged: false };
      rows.push({ left: same, right: same, isFold });
    }
  }
  flush();
  return rows;
}
