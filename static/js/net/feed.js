// @ts-check
/**
 * The live feed: one WebSocket that is taken up again where it broke off. Hands on frames as they
 * are; knows nothing of what they mean. A gap makes it ask again from the last record it has.
 */

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 10_000;
const UNAUTHORIZED = 4401; // the code of a socket whose session has ended
// the server says something every ten seconds, be it that there is nothing to say
const SILENT_MS = 30_000;
const HIDDEN_MS = 10_000; // a page that nobody sees for so long listens no more
const INFLATES = typeof DecompressionStream === 'function';

/**
 * @typedef {Object} Listener
 * @property {(hello: import('../types.js').Hello) => void} hello
 * @property {(keyframe: import('../types.js').Keyframe) => void} keyframe  what it begins with
 * @property {(records: import('../types.js').TraceRecord[]) => void} records
 * @property {(clock: import('../types.js').Clock) => void} clock
 * @property {(gap: {first: number, last: number}) => void} missing  records nobody has any more
 * @property {(why: string) => void} failed
 * @property {(came: number) => Promise<void>} [turn]  when what came may be taken
 * @property {(connected: boolean, refused: boolean) => void} connection
 */

export class Feed {
  /**
   * @param {string} cluster @param {Listener} listener
   * @param {() => number} next  the seq wanted next, 0 for a keyframe and what follows it
   */
  constructor(cluster, listener, next) {
    this.cluster = cluster;
    this.listener = listener;
    this.next = next;
    this.wait = WAIT_MS_MIN;
    this.closed = false;
    /** @type {WebSocket|null} */ this.socket = null;
    this.resting = false; // nobody looks
    /** when the last message came, 0 before the first */ this.heardAt = 0;
    /** messages that came and are not taken yet */ this.pending = 0;
    /** when the last one was taken, or the first of those that wait came */ this.takenAt = 0;
    /** @type {ReturnType<typeof setTimeout>|undefined} to the next attempt */
    this.timer = undefined;
    /** messages in their order, though some take time to unpack */
    this.taken = Promise.resolve();
    document.addEventListener('visibilitychange', () => this._seen(!document.hidden));
    globalThis.addEventListener?.('offline', () => this._giveUp());
    globalThis.addEventListener?.('online', () => this._again());
  }

  open() {
    const next = this.next();
    const socket = connect(this.cluster, next ? `from=${next}` : 'keyframe=now');
    this.socket = socket;
    // what came by another connection is taken no more, and nothing waits for it
    Object.assign(this, { heardAt: 0, pending: 0, taken: Promise.resolve() });
    socket.addEventListener('message', ({ data }) => {
      if (socket !== this.socket) return;
      const came = performance.now();
      this.heardAt = came;
      if (!this.pending) this.takenAt = came;
      this.pending += 1;
      const text = textOf(data);
      const take = async () => {
        const said = await text;
        await this.listener.turn?.(came);
        if (socket !== this.socket) return;
        this.pending -= 1;
        this.takenAt = performance.now();
        this._take(said, socket);
      };
      this.taken = this.taken.then(take).catch(reportError);
    });
    socket.addEventListener('open', () => {
      if (this.closed || this.resting || socket !== this.socket) return;
      this.wait = WAIT_MS_MIN;
      this.listener.connection(true, false);
    });
    socket.addEventListener('close', ({ code }) => this._lost(socket, code === UNAUTHORIZED));
  }

  close() {
    this.closed = true;
    end(this.socket);
  }

  /**
   * A connection on which nothing comes any more does not say so itself, and what has come and is
   * not unpacked for so long will not be.
   * @param {number} now
   */
  check(now) {
    const since = this.pending ? Math.min(this.heardAt, this.takenAt) : this.heardAt;
    if (since && now - since > SILENT_MS) this._giveUp();
  }

  _giveUp() {
    const { socket } = this;
    if (!socket || this.closed || this.resting) return;
    this._lost(socket, false);
    end(socket);
  }

  _again() {
    if (this.socket || this.closed || this.resting) return;
    clearTimeout(this.timer);
    this.open();
  }

  /** @param {string} data @param {WebSocket} socket */
  _take(data, socket) {
    // the next one begins with what this one left; one that was closed is of another history
    if (this.closed || socket !== this.socket) return;
    const frame = JSON.parse(data);
    if (frame.hello) this.listener.hello(frame.hello);
    if (frame.keyframe) this.listener.keyframe(frame.keyframe);
    if (frame.records) {
      try {
        this.listener.records(frame.records);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        socket.close();
      }
    }
    if (frame.clock) this.listener.clock(frame.clock);
    if (frame.missing) this.listener.missing(frame.missing);
    if (frame.error) this.listener.failed(frame.error);
  }

  /**
   * A tab that nobody sees costs nothing: it asks for the rest once it is looked at.
   * @param {boolean} seen
   */
  _seen(seen) {
    if (this.closed) return;
    if (!seen) {
      setTimeout(() => {
        if (!document.hidden) return;
        clearTimeout(this.timer);
        this.resting = true;
        end(this.socket);
      }, HIDDEN_MS);
    } else if (this.resting) {
      this.resting = false;
      this.open();
    }
  }

  /** @param {WebSocket} socket @param {boolean} refused */
  _lost(socket, refused) {
    if (this.closed || this.resting || socket !== this.socket) return;
    this.socket = null;
    this.heardAt = 0;
    this.listener.connection(false, refused);
    if (refused) return;
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, WAIT_MS_MAX);
  }
}

/**
 * What lies before what a page has: a keyframe, unless it begins with the first record, and the
 * records up to `to`. Rejects when the store does not have them any more.
 * @param {string} cluster @param {number} from @param {number} to
 * @returns {Promise<{keyframe: import('../types.js').Keyframe|null,
 *   records: import('../types.js').TraceRecord[]}>}
 */
export function earlier(cluster, from, to) {
  const socket = connect(cluster, `${from > 1 ? `keyframe=${from - 1}` : 'from=1'}&to=${to}`);
  const taken = { keyframe: null, records: /** @type {any[]} */ ([]) };
  let reading = Promise.resolve();
  return new Promise((resolve, reject) => {
    const take = (/** @type {any} */ { keyframe, records = [], missing, error }) => {
      if (missing || error) reject(new Error(error || ''));
      if (keyframe) taken.keyframe = keyframe;
      for (const record of records) taken.records.push(record);
      if (records.at(-1)?.seq !== to) return;
      resolve(taken);
      socket.close();
    };
    socket.addEventListener('message', ({ data }) => {
      const text = textOf(data);
      reading = reading.then(async () => take(JSON.parse(await text))).catch(reject);
    });
    socket.addEventListener('close', () => reading.then(() => reject(new Error(''))));
  });
}

/**
 * Closes a socket. One that is not open yet is closed once it is: browsers complain of less.
 * @param {WebSocket|null} socket
 */
function end(socket) {
  if (socket?.readyState === WebSocket.CONNECTING)
    socket.addEventListener('open', () => socket.close());
  else socket?.close();
}

/** @param {string} cluster @param {string} wanted */
function connect(cluster, wanted) {
  const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
  const name = encodeURIComponent(cluster);
  const socket = new WebSocket(
    `${scheme}://${location.host}/ws/v1/clusters/${name}/trace?${wanted}` +
      (INFLATES ? '&encoding=deflate' : ''),
  );
  socket.binaryType = 'arraybuffer';
  return socket;
}

/** @param {string|ArrayBuffer} data */
const textOf = (data) => (typeof data === 'string' ? data : inflated(data));

/** @param {ArrayBuffer} data */
async function inflated(data) {
  const { readable, writable } = new DecompressionStream('deflate');
  const writer = writable.getWriter();
  const written = [writer.write(new Uint8Array(data)), writer.close()];
  const [text] = await Promise.all([new Response(readable).text(), ...written]);
  return text;
}
