// @ts-check
/**
 * Objects as YAML lines, the difference of two revisions, and what a JSON patch adds, all as lines
 * with a sign. Prints only; never parses.
 */

/** @typedef {{sign: ' '|'+'|'-'|'…', text: string}} Line */

const HIDDEN = new Set(['managedFields']);
export const NOTHING_HIDDEN = new Set();
const PLAIN = /^[a-z_./](?:[\w./@%+-]|:(?! |$)| (?!$))*$/i;
const WORDS = /^(?:true|false|null|yes|no|on|off|\.inf|\.nan|\.\d.*)$/i;

/** @param {any} value */
function scalar(value) {
  const isPlain = typeof value === 'string' && PLAIN.test(value) && !WORDS.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/**
 * @param {any} value @param {number} [depth] @param {Set<string>} [hidden]  fields
 * @returns {string[]}
 */
export function yaml(value, depth = 0, hidden = HIDDEN) {
  /** @type {string[]} */ const lines = [];
  const pad = '  '.repeat(depth);
  print(lines, value, pad, pad, hidden);
  return lines;
}

/**
 * @param {string[]} lines  to add to @param {any} value
 * @param {string} first  before its first line @param {string} pad  before the others
 * @param {Set<string>} hidden
 */
function print(lines, value, first, pad, hidden) {
  let lead = first;
  if (Array.isArray(value)) {
    for (const item of value) {
      if (isBranch(item)) print(lines, item, `${lead}- `, `${pad}  `, hidden);
      else lines.push(`${lead}- ${scalar(item)}`);
      lead = pad;
    }
  } else if (value && typeof value === 'object') {
    for (const name of Object.keys(value)) {
      if (hidden.has(name)) continue;
      const item = value[name];
      if (isBranch(item)) {
        const inner = Array.isArray(item) ? pad : `${pad}  `;
        lines.push(`${lead}${scalar(name)}:`);
        print(lines, item, inner, inner, hidden);
      } else lines.push(`${lead}${scalar(name)}: ${scalar(item)}`);
      lead = pad;
    }
  } else lines.push(`${lead}${scalar(value)}`);
}

/** @param {any} value */
function isBranch(value) {
  return value && typeof value === 'object' && Object.keys(value).length > 0;
}

/**
 * What turned one object into the other, with some lines around each change.
 * @param {any} before @param {any} after @param {number} [around] @returns {Line[]}
 */
export function difference(before, after, around = 2) {
  return differenceOf(before ? yaml(before) : [], after ? yaml(after) : [], around);
}

/** The same of lines. @param {string[]} old @param {string[]} now @param {number} around */
export const differenceOf = (old, now, around) => fold(align(old, now), around);

/** @param {string[]} old @param {string[]} now @returns {Line[]} */
function align(old, now) {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail += 1;
  const a = old.slice(head, old.length - tail);
  const b = now.slice(head, now.length - tail);
  /** @type {Line[]} */
  const lines = now.slice(0, head).map((text) => ({ sign: ' ', text }));
  lines.push(...common(a, b));
  for (const text of now.slice(now.length - tail)) if (tail) lines.push({ sign: ' ', text });
  return lines;
}

/** Longest common lines of the differing middle. @param {string[]} a @param {string[]} b */
function common(a, b) {
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      best[i * width + j] =
        a[i] === b[j]
          ? best[(i + 1) * width + j + 1] + 1
          : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  /** @type {Line[]} */ const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: b[j] });
      i += 1;
      j += 1;
    } else if (
      i < a.length &&
      (j >= b.length || best[(i + 1) * width + j] >= best[i * width + j + 1])
    ) {
      lines.push({ sign: '-', text: a[i] });
      i += 1;
    } else {
      lines.push({ sign: '+', text: b[j] });
      j += 1;
    }
  }
  return lines;
}

/** @param {Line[]} lines @param {number} around @returns {Line[]} */
function fold(lines, around) {
  const near = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.sign === ' ') return;
    for (let k = i - around; k <= i + around; k += 1) near[k] = 1;
  });
  /** @type {Line[]} */ const out = [];
  lines.forEach((line, i) => {
    if (near[i]) out.push(line);
    else if (i > 0 && near[i - 1]) out.push({ sign: '…', text: '' });
  });
  if (out[out.length - 1]?.sign === '…') out.pop();
  return out;
}

/**
 * What a JSON patch adds, replaces and removes, each below the fields it hangs on.
 * @param {{op: string, path: string, value?: any}[]} ops @returns {Line[]}
 */
export function patchLines(ops) {
  /** @type {Branch} */ const root = { kids: new Map() };
  for (const op of ops) plant(root, op);
  return grow(root, 0);
}

/** @typedef {{kids: Map<string, Branch>, op?: string, value?: any}} Branch */

/** @param {Branch} root @param {{op: string, path: string, value?: any}} op */
function plant(root, op) {
  let here = root;
  for (const raw of op.path.split('/').slice(1)) {
    const name = raw.replace(/~1/g, '/').replace(/~0/g, '~');
    let next = here.kids.get(name);
    if (!next) here.kids.set(name, (next = { kids: new Map() }));
    here = next;
  }
  here.op = op.op;
  here.value = op.value;
}

/** @param {Branch} branch @param {number} depth @returns {Line[]} */
function grow(branch, depth) {
  const pad = '  '.repeat(depth);
  /** @type {Line[]} */ const lines = [];
  for (const [name, kid] of branch.kids) {
    const item = /^\d+$|^-$/.test(name);
    if (kid.op) {
      const sign = kid.op === 'remove' ? '-' : '+';
      const value = item ? [kid.value] : { [name]: kid.value };
      const text =
        kid.op === 'remove'
          ? [`${pad}${item ? `- # ${name}` : name}`]
          : yaml(value, item ? depth - 1 : depth);
      for (const t of text) lines.push({ sign, text: t });
    } else if (item) {
      const kids = grow(kid, depth);
      kids.forEach((line, i) =>
        lines.push({
          ...line,
          text: i ? line.text : `${pad.slice(2)}- ${line.text.trimStart()}`,
        }),
      );
    } else {
      lines.push({ sign: ' ', text: `${pad}${name}:` }, ...grow(kid, depth + 1));
    }
  }
  return lines;
}

/** "/spec/containers/0/volumeMounts" -> "…[0].volumeMounts" @param {string} path */
export function shortPath(path) {
  const parts = path
    .split('/')
    .slice(1)
    .map((p) => p.replace(/~1/g, '/').replace(/~0/g, '~'));
  const at = parts.findLastIndex((p) => /^\d+$|^-$/.test(p));
  if (at < 0)
    return parts
      .slice(0, 2)
      .concat(parts.length > 3 ? ['…'] : [])
      .concat(parts.length > 2 ? parts.slice(-1) : [])
      .join('.');
  return `…[${parts[at]}]${parts
    .slice(at + 1)
    .map((p) => `.${p}`)
    .join('')}`;
}
