// @ts-check
/** What the API server answered, in the form in which kubectl prints it. Pure. */

/** @typedef {import('../text/words.js').Words} Words */
/**
 * @typedef {Object} Line
 * @property {boolean} failed
 * @property {string} text
 * @property {boolean} [isLine]  to be sent
 * @property {boolean} [table]   its columns stand below each other
 */

/**
 * Each document's answer in kubectl's form; upstream's words for refusals.
 * @param {any} body @param {string} [manifest]
 */
export function answerLines(body, manifest = '') {
  const groups = groupsIn(manifest);
  const list = Array.isArray(body) ? body : body.results || body.items || body.answers || [body];
  return list.map((/** @type {any} */ entry) => {
    if (entry.code) {
      const where = entry.kind.toLowerCase() + (groups[entry.kind] || '');
      return entry.code < 400
        ? { failed: false, text: `${where}/${entry.name} ${entry.message || 'created'}` }
        : { failed: true, text: `Error from server (${entry.reason}): ${entry.message}` };
    }
    const object = entry.object || (entry.status?.kind && entry.status) || entry.body || entry;
    if (object.kind === 'Status' && object.status !== 'Success') {
      const reason = object.reason ? ` (${object.reason})` : '';
      return { failed: true, text: `Error from server${reason}: ${object.message}` };
    }
    const group = (object.apiVersion || '').includes('/')
      ? `.${object.apiVersion.split('/')[0]}`
      : '';
    const name = object.metadata?.name || '';
    return {
      failed: false,
      text: `${(object.kind || 'object').toLowerCase()}${group}/${name} created`,
    };
  });
}

/**
 * The API groups that a manifest names, by kind, as kubectl writes them.
 * @param {string} manifest
 */
function groupsIn(manifest) {
  /** @type {Record<string, string>} */ const groups = {};
  for (const document of manifest.split(/^---/m)) {
    const group = /(?:^|[{,])\s*"?apiVersion"?:\s*"?([\w.]+)\/\w+/m.exec(document);
    const kind = /(?:^|[{,])\s*"?kind"?:\s*"?(\w+)/m.exec(document);
    if (group && kind) groups[kind[1]] = `.${group[1]}`;
  }
  return groups;
}

/**
 * Why there is no answer, or what was wrong with what was sent before anybody was asked.
 * @param {any} error @param {Words} words @returns {Line[]}
 */
export function failureLines(error, words) {
  const { body, code } = error;
  const detail = Array.isArray(body?.detail) ? body.detail[0] : body?.detail;
  if (code === 400 && detail) return [{ failed: true, text: `error: ${detail}` }];
  const message = code ? detail || error.message : words.t('commands.lost');
  return [{ failed: true, text: words.t('bench.failed', { message }) }];
}
