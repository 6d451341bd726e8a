// @ts-check
// Facts about a file that is played here: cut anywhere it plays up to the cut and says so.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { readFile } from '../../static/js/net/recording.js';

const HEADER = { format: 'lifecycle-trace', version: 1, cluster: 'demo', first: 3, last: 8 };
const RECORDS = [3, 4, 5, 6, 7, 8].map((seq) => ({ seq, t: seq, kind: 'gate', note: 'näher' }));
const TEXT = [HEADER, ...RECORDS].map((line) => `${JSON.stringify(line)}\n`).join('');

/** @param {string|Buffer} data */
const read = (data) => readFile(new Blob([/** @type {any} */ (data)]));

// as the server keeps them: the header by itself, and records in pieces
const PIECES = [TEXT.slice(0, 90), TEXT.slice(90, 200), TEXT.slice(200)];
const MEMBERS = Buffer.concat(PIECES.map((piece) => gzipSync(piece)));
const FILES = { plain: Buffer.from(TEXT), packed: gzipSync(TEXT), 'of several members': MEMBERS };

for (const [name, whole] of Object.entries(FILES)) {
  test(`a file (${name}) that was cut anywhere is read up to the cut`, async () => {
    const lasts = new Set();
    for (let size = 0; size <= whole.length; size += 1) {
      const cut = whole.subarray(0, size);
      const found = await read(cut).catch((error) => String(error.message));
      if (typeof found === 'string') {
        assert.match(found, /^line 1: no JSON$|^line 2: the file ends before record 3/);
        continue;
      }
      const { header, records } = found;
      assert.deepEqual(records, RECORDS.slice(0, records.length));
      assert.equal(header.cut, records.length < RECORDS.length ? 8 : undefined);
      lasts.add(records.at(-1)?.seq);
    }
    assert.ok(lasts.has(8));
    if (name === 'plain') assert.deepEqual([...lasts], [3, 4, 5, 6, 7, 8]);
  });
}

test('bytes that begin a member may be within one', async () => {
  const plain = gzipSync(`${JSON.stringify({ ...HEADER, last: 3 })}\n`);
  const name = [0x1f, 0x8b, 8, 0]; // of the file, in the head of the member
  const named = [plain.subarray(0, 3), [8], plain.subarray(4, 10), name, plain.subarray(10)];
  const record = gzipSync(`${JSON.stringify(RECORDS[0])}\n`);
  const whole = Buffer.concat([...named.map((part) => Buffer.from(part)), record]);
  assert.equal(whole.indexOf(Buffer.from(name)), 10);
  const { header, records } = await read(whole);
  assert.deepEqual([header.cut, records], [undefined, [RECORDS[0]]]);
});

test('a broken file is refused with its line and the reason', async () => {
  const lines = TEXT.trimEnd().split('\n');
  const wrong = (/** @type {number} */ i, /** @type {string} */ line) =>
    read([...lines.slice(0, i), line, ...lines.slice(i + 1), ''].join('\n'));
  await assert.rejects(wrong(3, '{"seq":'), { message: /^line 4: no JSON$/ });
  await assert.rejects(wrong(3, lines[4]), { message: 'line 4: record 5 was to come' });
  const timeless = { message: 'line 4: record 5 was to come' };
  await assert.rejects(wrong(3, '{"seq":5,"kind":"gate"}'), timeless);
  await assert.rejects(wrong(6, '{"seq":8,"t"'), { message: /^line 7: no JSON$/ });
  await assert.rejects(read('hello\n'), { message: /^line 1: no JSON$/ });
  await assert.rejects(read('{}\n'), { message: /^line 1: this is no trace/ });
});
