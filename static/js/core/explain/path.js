// @ts-check
/**
 * How a client makes the path of a request: from a kind to its resource, and from that, part by
 * part, to the path. Models the RESTMapping of apimachinery pkg/api/meta and the Request of
 * client-go rest/request.go. Pure.
 */
import { httpMethod, kindOf, pluralOf } from '../trace/records.js';
import { facts, h, p } from './blocks.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */

const VERSION = /^\/(?:api|apis\/([^/]+))\/([^/]+)/;

/**
 * Nothing of a path that names no resource.
 * @param {any} open  the record that begins the request
 * @param {Words} words @returns {Block[]}
 */
export function pathBlocks(open, words) {
  const { client, path, resource, subresource, namespace, name, verb } = open;
  const [root, group, version] = VERSION.exec(path) || [];
  if (!root || !resource) return [];
  const place = namespace && pluralOf(resource) !== 'namespaces' ? `/namespaces/${namespace}` : '';
  const isOne = !!name || verb === 'create'; // of a list without one it is not known
  const scope = place ? 'path.namespaced' : 'path.unscoped';
  const named = path.includes(`/${pluralOf(resource)}/`);
  /** @type {Block[]} */ const blocks = [
    h(words.t('path.title')),
    facts([
      [words.t('path.kind'), `${group ? `${group}/` : ''}${version} ${kindOf(resource)}`],
      [words.t('path.resource'), pluralOf(resource)],
      [words.t('path.method'), `${httpMethod(verb)} (${verb})`],
      [words.t(group ? 'path.group' : 'path.core'), root],
      [words.t('path.namespace'), place || (isOne ? words.t(scope) : '')],
      [words.t('path.collection'), `/${pluralOf(resource)}`],
      [words.t('path.name'), named && name ? `/${name}` : ''],
      [words.t('path.subresource'), subresource ? `/${subresource}` : ''],
    ]),
  ];
  if (client.startsWith('kubectl')) blocks.push(p(words, 'path.discovery'));
  return blocks;
}
