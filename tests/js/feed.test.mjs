// The live feed: what is compressed arrives in order, and a page that nobody sees listens no more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';

/** @type {FakeSocket[]} */ let sockets = [];

class FakeSocket extends EventTarget {
  static CONNECTING = 0;
  readyState = 1; // open

  /** @param {string} url */
  constructor(url) {
    super();
    this.url = url;
    this.closed = false;
    sockets.push(this);
  }

  close() {
    this.closed = true;
    this.dispatchEvent(new Event('close'));
  }

  /** @param {any} data */
  say(data) {
    const event = /** @type {any} */ (new Event('message'));
    event.data = data;
    this.dispatchEvent(event);
  }
}

const page = Object.assign(new EventTarget(), { hidden: false });
const wire = new EventTarget();
Object.assign(globalThis, {
  addEventListener: wire.addEventListener.bind(wire),
  dispatchEvent: wire.dispatchEvent.bind(wire),
  WebSocket: FakeSocket,
  document: page,
  location: { protocol: 'http:', host: 'here' },
  reportError: (/** @type {unknown} */ error) => assert.ifError(error),
});
const { Feed, earlier } = await import('../../static/js/net/feed.js');

function opened() {
  sockets = [];
  const seqs = /** @type {number[]} */ ([]);
  const nothing = () => undefined;
  const listener = {
    turn: /** @type {() => any} */ (nothing),
    hello: nothing,
    keyframe: nothing,
    records: (/** @type {any[]} */ records) => void seqs.push(...records.map((one) => one.seq)),
    clock: (/** @type {any} */ clock) => void seqs.push(clock),
    missing: nothing,
    failed: nothing,
    connection: nothing,
  };
  const feed = new Feed('demo', /** @type {any} */ (listener), () => seqs.length + 1);
  feed.open();
  return { feed, seqs, listener };
}

/** @param {...number} seqs */
function packed(...seqs) {
  const text = JSON.stringify({ records: seqs.map((seq) => ({ seq })) });
  const data = zlib.deflateSync(text);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

/** @param {boolean} hidden */
function look(hidden) {
  page.hidden = hidden;
  page.dispatchEvent(new Event('visibilitychange'));
}

test('compressed and plain messages are taken in the order in which they came', async () => {
  const { feed, seqs } = opened();
  assert.match(sockets[0].url, /from=1&encoding=deflate$/);
  sockets[0].say(packed(1, 2));
  sockets[0].say(JSON.stringify({ clock: 'between' }));
  sockets[0].say(packed(3));
  await feed.taken;
  assert.deepEqual(seqs, [1, 2, 'between', 3]);
  feed.close();
});

test('what comes before it may be taken waits, and is taken in its order', async () => {
  const { feed, seqs, listener } = opened();
  /** @type {() => void} */ let begin = () => undefined;
  const begun = new Promise((go) => (begin = () => go(undefined)));
  const asked = new Promise((go) => {
    listener.turn = () => {
      go(undefined);
      return begun;
    };
  });
  sockets[0].say(packed(1, 2));
  sockets[0].say(packed(3));
  await asked;
  assert.deepEqual(seqs, []);
  begin();
  await feed.taken;
  assert.deepEqual(seqs, [1, 2, 3]);
  feed.close();
});

test('of a feed that was closed nothing more is taken, though it was on its way', async () => {
  const { feed, seqs } = opened();
  sockets[0].say(packed(1, 2));
  feed.close();
  await feed.taken;
  assert.deepEqual(seqs, []);
});

test('a feed that is left while it connects is closed once it is open', () => {
  const { feed } = opened();
  sockets[0].readyState = FakeSocket.CONNECTING;
  feed.close();
  assert.equal(sockets[0].closed, false);
  sockets[0].dispatchEvent(new Event('open'));
  assert.equal(sockets[0].closed, true);
});

test('a hidden page leaves the feed, and takes it up where it left when it is seen', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { feed, seqs } = opened();
  sockets[0].say(packed(1, 2));
  await feed.taken;
  look(true);
  t.mock.timers.tick(9_000);
  assert.equal(sockets[0].closed, false);
  t.mock.timers.tick(60_000);
  assert.deepEqual([sockets.length, sockets[0].closed], [1, true]);
  look(false);
  assert.match(sockets[1].url, /from=3&/);
  sockets[1].say(packed(3));
  await feed.taken;
  assert.deepEqual(seqs, [1, 2, 3]);
  feed.close();
});

test('a page that is seen again at once keeps its feed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { feed } = opened();
  look(true);
  look(false);
  t.mock.timers.tick(60_000);
  assert.deepEqual([sockets.length, sockets[0].closed], [1, false]);
  feed.close();
});

test('a page that has nothing yet asks for a keyframe', () => {
  sockets = [];
  const feed = new Feed('demo', /** @type {any} */ ({ connection: () => undefined }), () => 0);
  feed.open();
  assert.match(sockets[0].url, /trace\?keyframe=now&/);
  feed.close();
});

test('what lies before is read up to its end, and then the page closes', async () => {
  sockets = [];
  const asked = earlier('demo', 11, 14);
  assert.match(sockets[0].url, /keyframe=10&to=14&/);
  sockets[0].say(JSON.stringify({ hello: {} }));
  sockets[0].say(JSON.stringify({ keyframe: { seq: 10 } }));
  sockets[0].say(packed(11, 12));
  sockets[0].say(packed(13, 14));
  const { keyframe, records } = await asked;
  assert.deepEqual([keyframe?.seq, records.map((one) => one.seq)], [10, [11, 12, 13, 14]]);
  assert.equal(sockets[0].closed, true);
});

test('what the store has no more is not taken for the past', async () => {
  sockets = [];
  const asked = earlier('demo', 1, 4);
  sockets[0].say(JSON.stringify({ missing: { first: 1, last: 2 } }));
  await assert.rejects(asked);
});

test('a connection on which nothing comes is given up, and taken up again where it was', () => {
  const { feed, seqs } = opened();
  const [first] = sockets;
  feed.check(1e9);
  assert.equal(first.closed, false, 'who waits for the hello waits');
  first.say(JSON.stringify({ hello: {} }));
  feed.check(performance.now() + 29_000);
  assert.equal(first.closed, false);
  seqs.push(1, 2, 3);
  feed.check(performance.now() + 31_000);
  assert.equal(first.closed, true);
  globalThis.dispatchEvent(new Event('online'));
  assert.match(sockets[1].url, /from=4&/);
  globalThis.dispatchEvent(new Event('online'));
  assert.equal(sockets.length, 2, 'once');
  feed.close();
});

test('what came and is not taken is given up, too, and asked for again', async (t) => {
  const now = t.mock.method(performance, 'now', () => 0);
  const at = (/** @type {number} */ ms) => now.mock.mockImplementation(() => ms);
  const { feed, seqs, listener } = opened();
  const [first] = sockets;
  at(1_000);
  first.say(packed(1));
  await feed.taken;
  /** @type {() => void} */ let begin = () => undefined;
  listener.turn = () => new Promise((go) => (begin = () => go(undefined)));
  at(50_000);
  first.say(packed(2));
  at(79_000);
  first.say(JSON.stringify({ idle: true }));
  feed.check(79_999);
  assert.equal(first.closed, false);
  feed.check(80_001);
  assert.equal(first.closed, true);

  listener.turn = () => undefined;
  globalThis.dispatchEvent(new Event('online'));
  assert.match(sockets[1].url, /from=2&/);
  sockets[1].say(packed(2, 3));
  await feed.taken;
  begin();
  await new Promise((go) => setImmediate(go));
  assert.deepEqual(seqs, [1, 2, 3], 'the other is not taken once more');
  feed.close();
});
