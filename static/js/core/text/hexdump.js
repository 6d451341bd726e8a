// @ts-check
/** Bytes as lines of hexadecimal digits with the letters among them. Pure. */

const WIDTH = 8;

/**
 * @param {string} hex  two digits a byte
 * @param {number} [size]  how many bytes there are, when `hex` has only the first of them
 */
export function hexdump(hex, size = hex.length / 2) {
  const bytes = hex.match(/../g) || [];
  const lines = [];
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const row = bytes.slice(at, at + WIDTH);
    const letters = row.map((byte) => letter(parseInt(byte, 16))).join('');
    const offset = at.toString(16).padStart(4, '0');
    lines.push(`${offset}  ${row.join(' ').padEnd(WIDTH * 3 - 1)}  ${letters}`);
  }
  const rest = size - bytes.length;
  return rest > 0 ? [...lines, `…     +${rest}`].join('\n') : lines.join('\n');
}

/** @param {number} byte */
const letter = (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·');
