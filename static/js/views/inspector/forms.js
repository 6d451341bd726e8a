// @ts-check
/** One object in its forms: as it was sent, as it was decoded, as etcd holds it. Asked for. */
import { hexdump } from '../../core/text/hexdump.js';
import { yaml } from '../../core/text/yaml.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../kit/dom.js').Child} Child */
/** @typedef {import('../../core/text/words.js').Words} Words */
/** @typedef {{media: string, size: number, text: string, hex: string}} Bytes */
/** @typedef {import('../../types.js').KubernetesObject} KubernetesObject */
/** @typedef {{body: Bytes|null, internal: KubernetesObject|null,
 *   stored: (Bytes & {key: string, object: KubernetesObject})|null}} Carried */
/** @typedef {{seq: number, data: Carried|null, error: string}} Forms  of the request seq */

/** @param {Context} ctx @param {number} seq  of the request @param {string} key */
export function formsView(ctx, seq, key) {
  const { words, act, ui, player } = ctx;
  if (!player.live) return h('p.second', { key }, words.t('forms.replay'));
  const known = ui.forms && ui.forms.seq === seq ? ui.forms : null;
  if (!known)
    return h(
      'p',
      { key },
      h('button.link', { onClick: () => act.forms(seq) }, words.t('forms.show')),
    );
  if (known.error) return h('p.is-deny', { key, role: 'alert' }, known.error);
  if (!known.data) return h('p.second', { key }, words.t('forms.loading'));
  const { body, internal, stored } = known.data;
  return h(
    'div.forms',
    { key },
    part(words, 'body', body && about(words, body), body && bytesView(words, body)),
    part(words, 'internal', '', internal && codeView(yaml(internal).join('\n'))),
    part(
      words,
      'stored',
      stored && `${stored.key} · ${about(words, stored)}`,
      stored && [
        bytesView(words, stored),
        stored.text ? null : fold(words.t('forms.decoded'), stored.object),
      ],
    ),
  );
}

/** @param {Words} words @param {string} name @param {string|null} small @param {Child} content */
function part(words, name, small, content) {
  const sign = content ? 'allow' : 'skip';
  return h(
    'section',
    { key: name },
    h(`h2.is-${sign}`, null, glyph(sign), words.t(`forms.${name}`)),
    small ? h('small', null, small) : null,
    content || h('p.second', null, words.t(`forms.${name}.none`)),
  );
}

/** @param {Words} words @param {Bytes} bytes */
const about = (words, bytes) => words.t('forms.about', { media: bytes.media, n: bytes.size });

/** @param {Words} words @param {Bytes} bytes */
function bytesView(words, bytes) {
  const dump = hexdump(bytes.hex, bytes.size);
  if (!bytes.text) return codeView(dump);
  return [
    codeView(pretty(bytes.text)),
    h('details.fold', null, h('summary', null, words.t('forms.bytes')), codeView(dump)),
  ];
}

/** JSON in lines, anything else as it is. @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @param {string} title @param {any} value */
const fold = (title, value) =>
  h('details.fold', null, h('summary', null, title), codeView(yaml(value || {}).join('\n')));

/** @param {string} text */
const codeView = (text) => h('div.code', { tabindex: '0' }, text);
