// @ts-check
/**
 * The live feed: one WebSocket that is taken up again where it broke off. Hands on frames as they
 * are; knows nothing of what they mean. A gap makes it ask again from the last record it has.
 */

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 10_000;

/**
 * @typedef {Object} Listener
 * @property {(hello: import('../types.js').Hello) => void} hello
 * @property {(records: import('../types.js').TraceRecord[]) => void} records
 * @property {(clock: import('../types.js').Clock) => void} clock
 * @property {(gap: {first: number, last: number}) => void} missing  records nobody has any more
 * @property {(why: string) => void} failed
 * @property {(connected: boolean) => void} connection
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
  }

  open() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const name = encodeURIComponent(this.cluster);
    const socket = new WebSocket(
      `${scheme}://${location.host}/ws/v1/clusters/${name}/trace?from=${this.next()}`,
    );
    this.socket = socket;
    socket.addEventListener('message', (event) => this._take(event.data));
    socket.addEventListener('open', () => {
      this.wait = WAIT_MS_MIN;
      this.listener.connection(true);
    });
    socket.addEventListener('close', () => this._lost(socket));
  }

  close() {
    this.closed = true;
    this.socket?.close();
  }

  /** @param {string} data */
  _take(data) {
    const frame = JSON.parse(data);
    if (frame.hello) this.listener.hello(frame.hello);
    if (frame.records) {
      try {
        this.listener.records(frame.records);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        this.socket?.close();
      }
    }
    if (frame.clock) this.listener.clock(frame.clock);
    if (frame.missing) this.listener.missing(frame.missing);
    if (frame.error) this.listener.failed(frame.error);
  }

  /** @param {WebSocket} socket */
  _lost(socket) {
    if (this.closed || socket !== this.socket) return;
    this.listener.connection(false);
    setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, WAIT_MS_MAX);
  }
}
