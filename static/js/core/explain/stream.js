// @ts-check
/** A stream into a node: the way it takes, what both ends agreed on, what passed, how it ended. */
import { bytesText, streamOf } from '../cluster/streams.js';
import { explanation, facts, h, json, p, said, sourceText, tab, whyTab } from './blocks.js';
import { crumb, requestFacts } from './request.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

/** @type {Record<string, string>} */
const SOURCES = {
  exec: 'pkg/registry/core/pod/rest/subresources.go ExecREST.Connect',
  attach: 'pkg/registry/core/pod/rest/subresources.go AttachREST.Connect',
  portforward: 'pkg/registry/core/pod/rest/subresources.go PortForwardREST.Connect',
  log: 'pkg/registry/core/pod/rest/log.go LogREST.Get',
  proxy: 'staging/src/k8s.io/apimachinery/pkg/util/proxy/upgradeaware.go',
};

/** @param {Model} model @param {Span} span @param {Words} words */
export function explainStream(model, span, words) {
  const stream = streamOf(model.state, span);
  if (!stream) return null;
  const { detail, word, state } = stream;
  const params = {
    name: (word === 'proxy' && detail.to) || stream.name,
    node: stream.node || '?',
    why: detail.why || '',
    code: String(detail.exit ?? detail.code ?? ''),
  };
  const records = span.records.filter((r) => r.kind === 'stream');
  return explanation({
    crumb: crumb(model, span, '', words),
    title: words.t(titleKey(stream), params),
    tabs: [
      whyTab(words, whyBlocks(stream, params, words), requestFacts(model, span, words)),
      tab(words, 'raw', records.map(json)),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(model.version, SOURCES[word] || SOURCES.proxy),
  });
}

/** A service that leads to nobody. @param {import('../cluster/streams.js').Stream} stream */
function isNobody({ state, word, detail, span }) {
  const { resource } = /** @type {any} */ (span.open);
  return state === 'refused' && word === 'proxy' && resource === 'services' && !detail.to;
}

/** @param {import('../cluster/streams.js').Stream} stream */
function titleKey(stream) {
  const { word, state, detail } = stream;
  if (isNobody(stream)) return 'stream.nobody.title';
  if (state === 'refused') return 'stream.refused.title';
  if (state === 'open') return `stream.${word}.title`;
  if (detail.exit !== undefined) return 'stream.exit.title';
  return word === 'proxy' ? 'stream.proxied.title' : 'stream.end.title';
}

/**
 * @param {import('../cluster/streams.js').Stream} stream @param {any} params @param {Words} words
 * @returns {Block[]}
 */
function whyBlocks(stream, params, words) {
  const { detail, state, word } = stream;
  /** @type {Block[]} */ const blocks = [p(words, wayKey(stream), params), way(stream, words)];
  if (detail.why) blocks.push(said(`${detail.why[0].toUpperCase()}${detail.why.slice(1)}.`));
  blocks.push(
    h(words.t('stream.agreed')),
    facts([
      [words.t('fact.carrier'), detail.carrier || (word === 'log' ? 'HTTP' : '')],
      [words.t('fact.protocol'), detail.protocol],
      [words.t('fact.streams'), (detail.streams || []).join(', ')],
      [words.t('fact.command'), (detail.command || []).join(' ')],
      [words.t('fact.container'), detail.container],
      [words.t('fact.ports'), (detail.ports || []).join(', ')],
      [words.t('fact.to'), detail.to],
      [words.t('fact.by'), detail.by],
      [words.t('fact.path'), detail.path],
      [words.t('fact.follow'), detail.follow ? words.t('fact.yes') : ''],
    ]),
  );
  if (state === 'end')
    blocks.push(
      h(words.t('stream.passed')),
      facts([
        [words.t('fact.exit'), detail.exit],
        [words.t('fact.in'), detail.in === undefined ? '' : bytesText(detail.in)],
        [words.t('fact.out'), detail.out === undefined ? '' : bytesText(detail.out)],
        [words.t('fact.lines'), detail.lines],
        [words.t('fact.connections'), detail.connections],
        [words.t('fact.httpCode'), detail.code],
      ]),
    );
  const isEmpty = (/** @type {Block|undefined} */ block) =>
    block?.type === 'facts' && !block.rows.length;
  return blocks.filter((block, i) => !isEmpty(block) && !isEmpty(blocks[i + 1]));
}

/** @param {import('../cluster/streams.js').Stream} stream */
const wayKey = (stream) =>
  isNobody(stream)
    ? 'stream.nobody.why'
    : stream.state === 'refused'
      ? 'stream.refused.why'
      : 'stream.way';

/**
 * Each stop on the way, as a list.
 * @param {import('../cluster/streams.js').Stream} stream @param {Words} words @returns {Block}
 */
function way(stream, words) {
  const open = /** @type {any} */ (stream.span.open);
  const verdict = stream.state === 'refused' ? 'deny' : 'allow';
  const stop = (/** @type {string} */ name, /** @type {string} */ small, sign = 'allow') => ({
    verdict: sign,
    title: [{ text: name, as: /** @type {'b'} */ ('b') }],
    small,
  });
  return {
    type: 'rules',
    items: [
      stop((open.client || 'client').split(/[/ ]/)[0], words.t('stream.client')),
      stop(words.t('map.api'), words.t('stream.api')),
      ...(open.resource === 'services'
        ? [stop(`Service ${open.name}`, words.t('stream.service'), verdict)]
        : stream.node
          ? [stop(`kubelet ${stream.node}`, words.t('stream.kubelet'), verdict)]
          : []),
      ...(open.resource === 'nodes' || isNobody(stream)
        ? []
        : [stop(stream.detail.to || stream.name, words.t(`stream.at.${stream.word}`), verdict)]),
    ],
  };
}
