// @ts-check
/** Below the nodes: each service with its address, and its endpoints as discs. */
import { shortPod } from '../../core/cluster/objects.js';
import { sentAt, servicesOf } from '../../core/cluster/services.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/cluster/services.js').Service} Service */
/** @typedef {import('../../core/cluster/services.js').Sent} Sent */

const SERVICES_MAX = 3;
const DISCS_MAX = 12;
const OUT_MAX = 3;

/** @param {Context} ctx */
export function servicesBand(ctx) {
  const { words, state, compact, ui } = ctx;
  const services = servicesOf(state);
  if (!services.length) return null;
  const sent = sentAt(state, ctx.current.request);
  const most = !compact ? SERVICES_MAX : isTight(ctx) || sent ? 1 : 2;
  // where there is no room for all, the one that is asked or chosen comes first
  const chosen = ui.selected?.type === 'object' ? ui.selected.key : '';
  const rank = (/** @type {Service} */ { key }) => (key === sent?.key ? 2 : Number(key === chosen));
  const first = services.slice(most).find((it) => rank(it) > 0);
  const shown = first ? [first, ...services.slice(0, most - 1)] : services.slice(0, most);
  const rest = services.length - shown.length;
  return h(
    'section.comp.services',
    { id: 'services', key: 'services', 'aria-label': words.t('services.title') },
    shown.map((it) => service(ctx, it, it.key === sent?.key ? sent : null)),
    rest ? h('p.note', { key: 'rest' }, words.t('services.more', { n: rest })) : null,
  );
}

/** Beside all gates there is room for the discs alone. @param {Context} ctx */
const isTight = ({ compact, focus }) => compact && focus === 'api';

/** @param {Context} ctx @param {Service} service @param {Sent|null} sent  to it, where we are */
function service(ctx, service, sent) {
  const { words, act, player } = ctx;
  const { key, name, ip, ports, endpoints, rev } = service;
  const ready = endpoints.filter((endpoint) => endpoint.ready).length;
  const params = { n: ready, of: endpoints.length, rev: String(rev) };
  return h(
    'div.service',
    { key, id: sent ? 'service-asked' : false, class: sent ? 'is-asked' : '' },
    h(
      'header',
      null,
      h(
        'h2',
        null,
        h('button', { onClick: () => act.select({ type: 'object', key }) }, name),
        ' ',
        h('span.second', null, 'Service'),
      ),
      player.drives && service.port && !isTight(ctx)
        ? h(
            'button.ask',
            { onClick: () => act.askService(service) },
            glyph('play'),
            words.t('services.send'),
          )
        : null,
    ),
    h('code.second', null, `${ip} ${ports}`),
    h(
      'ul.discs',
      null,
      endpoints.slice(0, DISCS_MAX).map(({ address, pod, ready: is }) => {
        const what = `${pod || address}, ${address}`;
        const title = words.t(is ? 'services.in' : 'services.out', { what });
        const cls = `${is ? '' : 'is-out'} ${sent && pod && sent.pod === pod ? 'is-asked' : ''}`;
        const named = { class: cls.trim(), role: 'img', title, 'aria-label': title };
        return h('li', { key: address }, h('span.disc', named));
      }),
      h('li', { key: 'n' }, words.t(endpoints.length ? 'services.ready' : 'services.none', params)),
    ),
    isTight(ctx) ? null : outLine(ctx, service),
    sent && !isTight(ctx) ? sentLine(ctx, service, sent) : null,
  );
}

/** Who is left out, and why. @param {Context} ctx @param {Service} service */
function outLine({ words }, { out, endpoints, selector }) {
  if (!out.length)
    return endpoints.length
      ? null
      : h('p.second', { key: 'out' }, words.t('services.noPod', { selector }));
  const list = out
    .slice(0, OUT_MAX)
    .map(({ pod, why }) => `${shortPod(pod)} (${words.t(`services.out.${why}`)})`);
  const more = out.length - list.length;
  if (more) list.push(words.t('map.more', { n: more }));
  return h('p.second', { key: 'out' }, words.t('services.leftOut', { who: list.join(', ') }));
}

/** How the request there is getting on. @param {Context} ctx @param {Service} service */
function sentLine({ words, act }, { port }, /** @type {Sent} */ { span, pod, node, code, why }) {
  const isWell = code > 0 && code < 400;
  const [tone, sign] = !code ? ['hold', 'work'] : isWell ? ['allow', 'allow'] : ['deny', 'deny'];
  const key = pod && code ? 'services.answered' : code ? 'services.refused' : 'services.sent';
  const onClick = () => act.select({ type: 'span', seq: span.seq });
  const text = words.t(key, { port: String(port), pod: shortPod(pod), node, code, why });
  return h(
    `p.sent.is-${tone}`,
    { key: 'sent', role: 'status' },
    glyph(sign),
    h('button', { onClick }, text),
  );
}
