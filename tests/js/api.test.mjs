// @ts-check
// Facts about what is asked of the server: what was told comes before what is asked after it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

/** @typedef {{path: string, body: any, answer: (status: number) => void}} Asked */

/** what is under way, in its order @type {Asked[]} */
let asked = [];
Object.assign(globalThis, {
  fetch: (/** @type {string} */ path, /** @type {RequestInit} */ { body = '' } = {}) =>
    new Promise((done) => {
      const answer = (/** @type {number} */ status) =>
        done(new Response('{}', { status, headers: { 'Content-Type': 'application/json' } }));
      asked.push({ path: path.replace(/.*\/|\?.*/g, ''), body, answer });
    }),
});
const { clusterApi } = await import('../../static/js/net/api.js');

const told = () => asked.map(({ path }) => path);
/** All that can go on without an answer has done so. */
const turn = () => new Promise((done) => setImmediate(done));

/** @param {ReturnType<typeof clusterApi>} api @returns {Promise<any>[]} */
const requests = (api) => [
  api.apply('kind: Pod', 'admin', false),
  api.act(/** @type {any} */ ({}), 'admin'),
  api.get(/** @type {any} */ ({}), 'admin'),
  api.console('etcdctl version'),
  api.askService(/** @type {any} */ ({ namespace: 'default', name: 'web', port: 80 }), 'admin'),
];

test('a request that follows a breakpoint is sent once the cluster has it', async () => {
  asked = [];
  const api = clusterApi('demo');
  const set = api.control({ action: 'breakpoint', set: [] });
  const sent = requests(api);
  await turn();
  assert.deepEqual(told(), ['control']);
  asked[0].answer(200);
  await set;
  await turn();
  assert.deepEqual(told().sort(), ['apply', 'console', 'control', 'get', 'request', 'request']);
  for (const { answer } of asked) answer(200);
  await Promise.all(sent);
});

test('what the cluster is told comes in the order in which it was told', async () => {
  asked = [];
  const api = clusterApi('demo');
  const both = [api.control({ action: 'breakpoint', set: [] }), api.control({ action: 'resume' })];
  await turn();
  assert.equal(asked.length, 1);
  asked[0].answer(200);
  await turn();
  assert.deepEqual(
    asked.map(({ body }) => JSON.parse(body).action),
    ['breakpoint', 'resume'],
  );
  asked[1].answer(200);
  await Promise.all(both);
});

test('what the cluster refuses to be told keeps no request back', async () => {
  asked = [];
  const api = clusterApi('demo');
  const set = api.control({ action: 'breakpoint', set: [] });
  const applied = api.apply('kind: Pod', 'admin', false);
  await turn();
  asked[0].answer(400);
  await assert.rejects(set);
  await turn();
  assert.deepEqual(told(), ['control', 'apply']);
  asked[1].answer(200);
  await applied;
});

test('what one only looks at waits for nothing', async () => {
  asked = [];
  const api = clusterApi('demo');
  const set = api.control({ action: 'pause' });
  const state = api.state();
  await turn();
  assert.deepEqual(told().sort(), ['control', 'demo']);
  for (const { answer } of asked) answer(200);
  await Promise.all([set, state]);
});
