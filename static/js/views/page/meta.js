// @ts-check
/** What the bar tells: of which cluster, which version, and what time it is there. */

/**
 * What is known of the cluster, and its clock between two messages.
 * @param {import('./app.js').Home} given
 */
export function metaOf(given) {
  let at = 0;
  let heardAt = performance.now();
  const meta = {
    cluster: given.cluster,
    version: given.version,
    epoch: '',
    /** the last record of a recording before its file was cut */ cut: 0,
    users: ['admin', 'student'],
    /** where those work who do not in `default` */
    namespaces: /** @type {Record<string, string>} */ ({}),
    connected: false,
    refused: false,
    opened: false,
    server: false,
    running: () => 0,
    /** @param {number} t */
    heard(t) {
      if (t < at) return;
      at = t;
      heardAt = performance.now();
    },
    /** Another trace begins: its time has nothing to do with what was heard before. */
    forget() {
      at = 0;
      heardAt = performance.now();
    },
    now: () => at + (performance.now() - heardAt) * 1000 * meta.running(),
    /** The clock may count from 1970; the trace counts from its epoch. @param {number} us */
    sinceEpoch(us) {
      const start = Date.parse(meta.epoch) * 1000;
      return us > 1e15 && start ? us - start : us;
    },
  };
  return meta;
}
