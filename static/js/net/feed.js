// @ts-check
/**
 * The live feed: one WebSocket that is taken up again where it broke off. Hands on frames as they
 * are; knows nothing of what they mean. A gap makes it ask again from the last record it has.
 */

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 10_000;
const UNAUTHORIZED = 4401; // the code of a socket whose session has ended
const HIDDEN_MS = 10_000; // a page that nobody sees for so long listens no more
const INFLATES = typeof DecompressionStream === 'function';

/**
 * @typedef {Object} Listener
 * @property {(hello: import('../types.js').Hello) => void} hello
 * @property {(records: import('../types.js').TraceRecord[]) => void} records
 * @property {(clock: import('../types.js').Clock) => void} clock
 * @property {(gap: {first: number, last: number}) => void} missing  records nobody has any more
 * @property {(why: string) => void} failed
 * @property {(connected: boolean, refused: boolean) => void} connection
 */

export class Feed {
  /** @param {string} cluster @param {Listener} listener @param {() => number} next */
  constructor(cluster, listener, next) {
    this.cluster = cluster;
    this.listener = listener;
    /** the seq wanted next */ this.next = next;
    this.wait = WAIT_MS_MIN;
    this.closed = false;
    /** @type {WebSocket|null} */ this.socket = null;
    this.resting = false; // nobody looks
    /** @type {ReturnType<typeof setTimeout>|undefined} to the next attempt */
    this.timer = undefined;
    /** messages in their order, though some take time to unpack */
    this.taken = Promise.resolve();
    document.addEventListener('visibilitychange', () => this._seen(!document.hidden));
  }

  open() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const name = encodeURIComponent(this.cluster);
    const socket = new WebSocket(
      `${scheme}://${location.host}/ws/v1/clusters/${name}/trace?from=${this.next()}` +
        (INFLATES ? '&encoding=deflate' : ''),
    );
    this.socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }) => {
      const text = typeof data === 'string' ? data : inflated(data);
      const take = async () => this._take(await text, socket);
      this.taken = this.taken.then(take).catch(reportError);
    });
    socket.addEventListener('open', () => {
      this.wait = WAIT_MS_MIN;
      this.listener.connection(true, false);
    });
    socket.addEventListener('close', ({ code }) => this._lost(socket, code === UNAUTHORIZED));
  }

  close() {
    this.closed = true;
    this.socket?.close();
  }

  /** @param {string} data @param {WebSocket} socket */
  _take(data, socket) {
    if (socket !== this.socket) return; // the next one begins with what this one left
    const frame = JSON.parse(data);
    if (frame.hello) this.listener.hello(frame.hello);
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
        this.socket?.close();
      }, HIDDEN_MS);
    } else if (this.resting) {
      this.resting = false;
      this.open();
    }
  }

  /** @param {WebSocket} socket @param {boolean} refused */
  _lost(socket, refused) {
    if (this.closed || this.resting || socket !== this.socket) return;
    this.listener.connection(false, refused);
    if (refused) return;
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, WAIT_MS_MAX);
  }
}

/** @param {ArrayBuffer} data */
function inflated(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).text();
}
