// @ts-check
/**
 * Reads [[name, one, other], …] on stdin and prints of each pair that is not the same program to
 * TypeScript's parser its name, and of each that is no program what is wrong: for test_scripts.py.
 */
import { readFileSync } from 'node:fs';
import ts from 'typescript';

/** @param {string} text @returns {string} */
function tree(text) {
  const file = ts.createSourceFile('x.js', text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
  const { parseDiagnostics: wrong } = /** @type {any} */ (file);
  if (wrong.length) return `${wrong[0].messageText} at ${wrong[0].start}`;
  /** @type {string[]} */ const parts = [];
  const see = (/** @type {any} */ node) => {
    parts.push(`(${node.kind} ${node.flags & ts.NodeFlags.BlockScoped} ${node.text ?? ''}`);
    parts.push(`${node.rawText ?? ''} ${node.operator ?? ''}`);
    ts.forEachChild(node, see);
    parts.push(')');
  };
  ts.forEachChild(file, see);
  return parts.join('\n');
}

const differ = JSON.parse(readFileSync(0, 'utf8')).flatMap(
  (/** @type {string[]} */ [name, one, other]) => {
    const [before, after] = [tree(one), tree(other)];
    if (before === after && before.startsWith('(')) return [];
    return [`${name}: ${after.startsWith('(') ? 'another program' : after}`];
  },
);
process.stdout.write(JSON.stringify(differ));
