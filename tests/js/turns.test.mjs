// @ts-check
// Facts about lines that are sent while another runs: none is lost, and they come in their order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turns } from '../../static/js/views/bench/turns.js';

/** Lines that run until they are ended by hand. */
function begun() {
  /** @type {{text: string, user: string, end: (failed?: boolean) => Promise<void>}[]} */
  const ran = [];
  /** @type {{answers: any[], waiting: any[], user: string}} */
  const ui = { answers: [], waiting: [], user: 'admin' };
  const given = /** @type {string[]} */ ([]);
  const app = { ui, home: { cluster: 'demo' }, player: { drives: true }, draw: () => {} };
  const run = (/** @type {string} */ text, /** @type {string} */ user) =>
    new Promise((done) => {
      const end = async (failed = false) => {
        done(/** @type {any} */ ({ lines: [{ failed, text: '' }] }));
        await new Promise((turn) => setImmediate(turn));
      };
      ran.push({ text, user, end });
    });
  const turns = new Turns(/** @type {any} */ (app), /** @type {any} */ (run), (text) => {
    given.push(text);
  });
  const send = (/** @type {string} */ text, /** @type {'api'|'etcdctl'} */ sort = 'api') =>
    turns.take({ text, command: text, sort });
  return { turns, app, ui, given, ran, send, texts: () => ran.map(({ text }) => text) };
}

test('lines that are sent while one runs follow in their order, as each ends', async () => {
  const { ran, send, texts, ui } = begun();
  for (const text of ['one', 'two', 'three']) send(text);
  assert.deepEqual(texts(), ['one']);
  assert.deepEqual(
    ui.waiting.map(({ command }) => command),
    ['two', 'three'],
  );
  await ran[0].end();
  assert.deepEqual(texts(), ['one', 'two']);
  await ran[1].end();
  assert.deepEqual(texts(), ['one', 'two', 'three']);
  assert.equal(ui.waiting.length, 0);
});

test('a line of etcdctl does not wait for a request', () => {
  const { send, texts } = begun();
  send('kubectl get pods');
  send('etcdctl version', 'etcdctl');
  assert.deepEqual(texts(), ['kubectl get pods', 'etcdctl version']);
});

test('a line waits for what was sent elsewhere on the page, too', () => {
  const { send, texts, turns, ui } = begun();
  ui.answers = [{ began: 1, sort: 'api', cluster: 'demo' }];
  send('one');
  assert.deepEqual(texts(), []);
  ui.answers[0].began = 0;
  turns.next();
  assert.deepEqual(texts(), ['one']);
});

test('a line is sent as who was chosen when it was sent', async () => {
  const { ran, send, ui } = begun();
  send('one');
  send('two');
  ui.user = 'student';
  await ran[0].end();
  assert.equal(ran[1].user, 'admin');
});

test('a line goes to the cluster it was written for, and not while a recording plays', async () => {
  const { app, ran, send, texts, turns } = begun();
  send('one');
  send('two');
  app.home.cluster = 'demo-fork-1';
  await ran[0].end();
  send('three');
  assert.deepEqual(texts(), ['one', 'three']);
  app.home.cluster = 'demo';
  app.player.drives = false;
  turns.next();
  assert.deepEqual(texts(), ['one', 'three']);
  app.player.drives = true;
  turns.next();
  assert.deepEqual(texts(), ['one', 'three', 'two']);
});

test('a line that waits can be taken back, and one that was refused comes back', async () => {
  const { given, ran, send, texts, turns, ui } = begun();
  send('one');
  send('two');
  send('three');
  turns.takeBack(ui.waiting[0].id);
  await ran[0].end(true);
  assert.deepEqual(given, ['two', 'one']);
  assert.deepEqual(texts(), ['one', 'three']);
});
