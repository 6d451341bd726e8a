// @ts-check
/** The product API as the page uses it. Answers are handed on as they come; nothing is kept. */

import { pageLanguage, wordsFor } from '../i18n/index.js';

const BASE = '/viz/v1';

/** @param {string} path @param {RequestInit} [options] */
async function ask(path, options = {}) {
  const response = await fetch(`${BASE}${path}`, options).catch(() => {
    throw new Error(unreachable()); // what the browser says of it helps nobody
  });
  const text = await response.text();
  const type = response.headers.get('Content-Type') || '';
  const body = type.includes('json') && text ? JSON.parse(text) : text;
  if (!response.ok) throw new ApiFailure(response.status, body);
  return body;
}

/** @param {string} method @param {string} path @param {any} body */
const send = (method, path, body) =>
  ask(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
/** @param {string} path @param {any} body */
const post = (path, body) => send('POST', path, body);
/** @param {string} path @param {any} body */
const put = (path, body) => send('PUT', path, body);

/** In the language of the page. */
const unreachable = () => wordsFor(pageLanguage()).t('commands.lost');

export class ApiFailure extends Error {
  /** @param {number} code @param {any} body */
  constructor(code, body) {
    super(
      typeof body === 'object' && body
        ? body.message || body.detail || body.error || `HTTP ${code}`
        : `HTTP ${code}`,
    );
    this.code = code;
    this.body = body;
  }
}

/** @param {string} cluster */
export function clusterApi(cluster) {
  const base = `/clusters/${encodeURIComponent(cluster)}`;
  // until the cluster has heard what it was told: what is asked of it then finds it so, as a
  // request the breakpoint that was set before it
  let told = Promise.resolve();
  /** @param {any} body @returns {Promise<any>} */
  const control = (body) => {
    const answer = told.then(() => post(`${base}/control`, body));
    told = answer.catch(() => {});
    return answer;
  };
  /** @type {typeof post} */
  const request = async (path, body) => {
    await told;
    return post(path, body);
  };
  return {
    state: () => ask(base),
    bookmarks: () => ask(`${base}/bookmarks`),
    /** @param {import('../types.js').Bookmark[]} bookmarks */
    keepBookmarks: (bookmarks) => put(`${base}/bookmarks`, { bookmarks }),
    startup: () => ask(`${base}/startup`),
    addons: () => ask('/addons'),
    /** @param {number} from @param {number} limit */
    records: (from, limit) => ask(`${base}/records?from=${from}&limit=${limit}`),
    /** When it had a revision, or which is the oldest that is kept. @param {number} revision */
    moment: (revision) => ask(`${base}/moment?revision=${revision}`),
    /** @param {number} seq  of the request */
    forms: (seq) => ask(`${base}/requests/${seq}/forms`),
    /** @param {any} body */
    control,
    /** @param {{span: number, page: string, node: string}} answer */
    vote: (answer) => request(`${base}/vote`, answer),
    /** @param {string} command */
    console: (command) => request(`${base}/console`, { command }),
    /** @param {import('../core/cluster/services.js').Service} service @param {string} user */
    askService: ({ namespace, name, port }, user) => {
      const as = encodeURIComponent(user);
      return request(`${base}/services/${namespace}/${name}/request?as=${as}`, { port });
    },
    /** @param {{namespace: string, name: string}} service */
    rules: ({ namespace, name }) => ask(`${base}/services/${namespace}/${name}/rules`),
    /** @param {string} name @param {string} namespace  of the pod that asks */
    resolve: (name, namespace) =>
      ask(`${base}/resolve?${new URLSearchParams({ name, namespace })}`),
    /** @param {import('../core/commands/commands.js').Get} get @param {string} user */
    get: (get, user) => request(`${base}/get?as=${encodeURIComponent(user)}`, get),
    /** @param {import('../core/commands/acts.js').ObjectRequest} act @param {string} user */
    act: (act, user) => request(`${base}/object/request?as=${encodeURIComponent(user)}`, act),
    /** @param {string} version @param {string} kind @param {string} user */
    openapi: (version, kind, user) =>
      ask(`${base}/openapi?${new URLSearchParams({ 'api-version': version, kind, as: user })}`),
    /**
     * @param {string} manifest @param {string} user @param {boolean} merges
     * @param {boolean} [dry]  nothing is stored
     */
    async apply(manifest, user, merges, dry = false) {
      await told;
      const how = `as=${encodeURIComponent(user)}&server-side=${merges}&dry-run=${dry}`;
      return ask(`${base}/apply?${how}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/yaml' },
        body: manifest,
      });
    },
  };
}

export const forks = {
  /** @param {string} cluster  that they were made from */
  list: (cluster) => ask(`/clusters/${encodeURIComponent(cluster)}/forks`),
  /**
   * @param {string} cluster
   * @param {{seq: number, seed?: number}|{anew: true, replaces: string}} moment  or from nothing
   */
  make: (cluster, moment) => post(`/clusters/${encodeURIComponent(cluster)}/forks`, moment),
  /** @param {string} fork  what came out otherwise than in the cluster it was made from */
  compare: (fork) => ask(`/clusters/${encodeURIComponent(fork)}/comparison`),
  /** @param {string} name */
  remove: (name) => ask(`/clusters/${encodeURIComponent(name)}`, { method: 'DELETE' }),
};

export const traces = {
  list: () => ask('/traces'),
  /** @param {string} name @param {string} cluster */
  save: (name, cluster) => post('/traces', { name, cluster }),
  /** @param {string} id @param {import('../types.js').Bookmark[]} bookmarks */
  keepBookmarks: (id, bookmarks) =>
    put(`/traces/${encodeURIComponent(id)}/bookmarks`, { bookmarks }),
  /** @param {string} id */
  fileUrl: (id) => `${BASE}/traces/${encodeURIComponent(id)}`,
  /** @param {string} id @param {number} from @param {number} limit */
  records: (id, from, limit) =>
    ask(`/traces/${encodeURIComponent(id)}/records?from=${from}&limit=${limit}`),
  /** @param {Blob} file */
  import: (file) =>
    ask('/traces/import', {
      method: 'POST',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: file,
    }),
};
