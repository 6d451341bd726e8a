// @ts-check
/** Below the nodes: each service with its address, and its endpoints as discs. */
import { servicesOf } from '../core/services.js';
import { h } from './dom.js';

/** @typedef {import('./parts.js').Context} Context */
/** @typedef {import('../core/services.js').Service} Service */

const SERVICES_MAX = 3;
const DISCS_MAX = 12;

/** @param {Context} ctx */
export function servicesBand(ctx) {
  const { words, state, compact } = ctx;
  const services = servicesOf(state);
  if (!services.length) return null;
  const shown = services.slice(0, compact ? 1 : SERVICES_MAX);
  const rest = services.length - shown.length;
  return h(
    'section.comp.services',
    { id: 'services', key: 'services', 'aria-label': words.t('services.title') },
    shown.map((one) => service(ctx, one)),
    rest ? h('p.note', { key: 'rest' }, words.t('services.more', { n: rest })) : null,
  );
}

/** @param {Context} ctx @param {Service} service */
function service({ words, act }, { key, name, ip, ports, endpoints, rev }) {
  const ready = endpoints.filter((one) => one.ready).length;
  const params = { n: ready, of: endpoints.length, rev: String(rev) };
  return h(
    'div.service',
    { key },
    h(
      'h2',
      null,
      h('button', { onClick: () => act.select({ type: 'object', key }) }, name),
      ' ',
      h('span.second', null, 'Service'),
    ),
    h('code.second', null, `${ip} ${ports}`),
    h(
      'ul.discs',
      null,
      endpoints.slice(0, DISCS_MAX).map(({ address, pod, ready: is }) => {
        const what = `${pod || address}, ${address}`;
        const title = words.t(is ? 'services.in' : 'services.out', { what });
        const named = { class: is ? '' : 'is-out', role: 'img', title, 'aria-label': title };
        return h('li', { key: address }, h('span.disc', named));
      }),
      h('li', { key: 'n' }, words.t(endpoints.length ? 'services.ready' : 'services.none', params)),
    ),
  );
}
