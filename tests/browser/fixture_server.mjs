// @ts-check
/**
 * Serves the page with a made-up trace over the real feed's protocol, so that the front end can be
 * looked at and tested without a cluster. Test equipment: nothing here is simulated.
 * node tests/browser/fixture_server.mjs [port]; the cluster's name chooses the trace:
 * /?cluster=full
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { HEADER, TRACES, boot, createDeployment, refusedStudent } from '../js/fixture.mjs';

const ROOT = new URL('../../', import.meta.url).pathname;
const TYPES = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};
const CSP = "default-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self' ws:";
/** @type {Map<string, any>} */ const clusters = new Map();

/** @param {string} name */
function clusterOf(name) {
  let cluster = clusters.get(name);
  if (!cluster) {
    const maker = (TRACES[name.split('-')[0]] || TRACES.start)();
    const held = maker.records.at(-1).kind === 'held';
    cluster = {
      name,
      maker,
      sockets: new Set(),
      clock: {
        mode: held ? 'paused' : 'run',
        speed: 1,
        frozen: held,
        held: null,
        breakpoints: held
          ? [{ id: 'bp-1', kind: 'plugin', phase: 'mutating', plugin: 'ServiceAccount' }]
          : [],
      },
    };
    clusters.set(name, cluster);
  }
  return cluster;
}

/** @param {string} text */
function template(text, cluster) {
  return text
    .replace('{% load static %}', '')
    .replace(/\{% static '([^']+)' %\}/g, '/static/$1')
    .replace(/\{\{ cluster[^}]*\}\}/, cluster)
    .replace(/\{\{ version[^}]*\}\}/, '1.33');
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url || '/', 'http://x');
  const send = (code, type, body) =>
    response
      .writeHead(code, {
        'Content-Type': type,
        'Content-Security-Policy': CSP,
        'Cache-Control': 'no-store',
      })
      .end(body);
  const json = (value, code = 200) => send(code, 'application/json', JSON.stringify(value));
  if (url.pathname === '/') {
    return send(
      200,
      'text/html; charset=utf-8',
      template(
        readFileSync(join(ROOT, 'templates/page.html'), 'utf8'),
        url.searchParams.get('cluster') || 'start',
      ),
    );
  }
  if (url.pathname.startsWith('/static/')) {
    try {
      const path = normalize(url.pathname);
      return send(200, TYPES[extname(path)] || 'text/plain', readFileSync(join(ROOT, path)));
    } catch {
      return send(404, 'text/plain', 'no such file');
    }
  }
  const [, , , kind, name, action] = url.pathname.split('/');
  if (kind === 'traces' && !name)
    return json([{ id: 'full', name: 'nginx, three pods', records: TRACES.full().records.length }]);
  if (kind === 'traces' && action === 'records') {
    const from = Number(url.searchParams.get('from'));
    const { records } = TRACES[name]();
    return json({
      header: HEADER,
      records: records.slice(from - 1, from - 1 + Number(url.searchParams.get('limit'))),
    });
  }
  if (kind !== 'clusters') return json({ message: 'not here' }, 404);
  const cluster = clusterOf(name);
  if (!action) return json({ users: ['kubernetes-admin', 'student'], clock: clockOf(cluster) });
  const body = await new Promise((done) => {
    let text = '';
    request
      .on('data', (d) => {
        text += d;
      })
      .on('end', () => done(text));
  });
  if (action === 'control') {
    control(cluster, JSON.parse(body));
    return json(clockOf(cluster));
  }
  if (url.searchParams.get('as') === 'student') {
    append(cluster, refusedStudent);
    return json([
      {
        kind: 'Status',
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        message: cluster.maker.records.at(-1).message,
      },
    ]);
  }
  append(cluster, createDeployment);
  return json([{ kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'nginx' } }]);
});

const clockOf = (cluster) => ({ ...cluster.clock, now: cluster.maker.t });

function append(cluster, what) {
  const from = cluster.maker.records.length;
  cluster.maker.wait(400_000);
  what(cluster.maker);
  frame(cluster, { records: cluster.maker.records.slice(from) });
}

function control(cluster, { action, speed, set }) {
  const { clock } = cluster;
  if (action === 'pause') Object.assign(clock, { mode: 'paused', frozen: true });
  if (action === 'resume') Object.assign(clock, { mode: 'run', frozen: false });
  if (action === 'speed') clock.speed = speed;
  if (action === 'breakpoint') clock.breakpoints = set;
  frame(cluster, { clock: clockOf(cluster) });
}

function frame(cluster, value) {
  for (const socket of cluster.sockets) write(socket, value);
}

/** One WebSocket text frame. */
function write(socket, value) {
  const data = Buffer.from(JSON.stringify(value));
  const head =
    data.length < 126
      ? Buffer.from([0x81, data.length])
      : data.length < 65536
        ? Buffer.from([0x81, 126, data.length >> 8, data.length & 255])
        : Buffer.alloc(10);
  if (data.length >= 65536) {
    head[0] = 0x81;
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(data.length), 2);
  }
  socket.write(Buffer.concat([head, data]));
}

server.on('upgrade', (request, socket) => {
  const url = new URL(request.url, 'http://x');
  const cluster = clusterOf(url.pathname.split('/')[4]);
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
  const { records } = cluster.maker;
  const from = Number(url.searchParams.get('from')) || 1;
  write(socket, {
    hello: { ...HEADER, cluster: cluster.name, seq: records.length, ...clockOf(cluster) },
  });
  for (let i = from - 1; i < records.length; i += 2000)
    write(socket, { records: records.slice(i, i + 2000) });
  cluster.sockets.add(socket);
  socket
    .on('close', () => cluster.sockets.delete(socket))
    .on('error', () => cluster.sockets.delete(socket));
  socket.on('data', () => {});
});

void boot;
const port = Number(process.argv[2] || 0);
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
