// @ts-check
/** What a gate, an admission plugin or a whole request did, and what would have changed it. */
import { gateSource, gatesOf, pluginSource } from '../trace/facts.js';
import { kindOf, pluralOf } from '../trace/records.js';
import { difference, patchLines } from '../text/yaml.js';
import { gateRows, nameOf, STOPPED, UNNAMED, writeOf } from '../request/corridor.js';
import { admissionOrder, classOf } from '../trace/startup.js';
import { askedBlocks } from './asked.js';
import { code, explanation, h, json, facts, p, said, sourceText, tab, whyTab } from './blocks.js';
import { explainDenied } from './denied.js';
import { pathBlocks } from './path.js';
import { reasons } from './reasons.js';
import { classText, crumb, formBlocks, objectBlocks, requestFacts, whatBlocks } from './request.js';
import { stepBlocks } from './steps.js';
import { whoAsks, whoIs } from './who.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

// a gate of which neither the start record nor any other says anything
/** @type {import('../request/corridor.js').GateRow} */
const UNKNOWN = Object.freeze({
  gate: '',
  verdict: 'wait',
  said: '',
  detail: {},
  record: null,
  plugins: [],
  passed: false,
});

/**
 * @param {Model} model @param {Span} span @param {string} gate @param {Words} words
 * @param {number} [plugin]  seq of the plugin meant, else the gate as a whole
 */
export function explainGate(model, span, gate, words, plugin = 0) {
  const rows = gateRows(model.index, span, model.state.seq, model.state.held);
  const row = rows.find((candidate) => candidate.gate === gate) || { ...UNKNOWN, gate };
  const denier = row.verdict === 'deny' && row.plugins.find((r) => r.verdict === 'deny');
  const record = (plugin ? row.plugins.find((r) => r.seq === plugin) : denier) || row.record;
  const verdict = record ? record.verdict : 'wait';
  if (verdict === 'deny')
    return explainDenied(model, span, row, record, crumb(model, span, gate, words), words);
  const isPlugin = !!record && record.kind === 'plugin';
  const open = /** @type {any} */ (span.open);
  const params = paramsOf(model, span, row, record, words);
  const title = isPlugin
    ? pluginTitle(record, params, words)
    : gateTitle(gate, titleVerdict(span, row, verdict), params, words, open.subresource);
  const why = isPlugin
    ? pluginWhy(model.index, record, params, words)
    : gateWhy(model.index, row, params, words);
  const source =
    (record && (record.source || record.detail?.source)) ||
    (isPlugin
      ? pluginSource(model.index, gate, record.plugin)
      : gateSource(model.index, gate, open));
  return explanation({
    crumb: crumb(model, span, gate, words),
    title,
    tabs: [
      whyTab(words, why, [
        ...whatBlocks(model, span, gate, words),
        ...(gate === 'routing' ? pathBlocks(open, words) : []),
        ...older(model, open, gate, words),
      ]),
      tab(words, 'steps', isPlugin ? [] : stepBlocks(model, span, gate, words)),
      tab(words, 'object', [
        ...formBlocks(span, gate),
        ...objectBlocks(model, span, record, words),
      ]),
      tab(words, 'raw', record ? [json(record)] : [p(words, 'raw.none')]),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(model.version, source),
  });
}

// what older texts say of a gate is otherwise since this minor release
const OLDER = /** @type {Record<string, number>} */ ({
  authentication: 19,
  decode: 0, // of kubectl, not of the cluster
  mutating: 9,
  etcd: 14,
});

/**
 * What older texts say of a gate, and what is so today: where somebody's command makes something.
 * @param {Model} model @param {any} open @param {string} gate @param {Words} words
 */
function older({ version }, { outside, verb }, gate, words) {
  const minor = Number(version.split('.')[1] || 0);
  const isTold = outside && verb === 'create' && minor >= OLDER[gate];
  return isTold ? [h(words.t('why.older')), p(words, `gate.${gate}.older`)] : [];
}

/**
 * @param {Model} model @param {Span} span @param {any} row @param {any} record
 * @param {Words} words
 */
function paramsOf(model, span, row, record, words) {
  const open = /** @type {any} */ (span.open);
  const write = writeOf(span);
  const changed = row.plugins.filter((/** @type {any} */ r) => r.verdict === 'change');
  const ops = (record && (record.ops || record.detail?.ops)) || [];
  return {
    user: span.user?.name || open.client,
    verb: open.verb,
    resource: open.subresource ? `${open.resource}/${open.subresource}` : open.resource,
    kind: open.subresource === 'binding' ? 'Binding' : kindOf(open.resource),
    what: open.subresource || pluralOf(open.resource) || open.path,
    subresource: open.subresource || '',
    name: nameOf(model.index, span),
    namespace: open.namespace,
    asked: row.plugins.reduce(
      (/** @type {number} */ n, /** @type {any} */ r) => n + r.plugin.split(',').length,
      0,
    ),
    word: words.said(row.detail.word || ''),
    server: row.detail.word || 'kube-apiserver',
    to: row.detail.to || '',
    rev: write?.rev || row.detail.rev || '',
    call: row.detail.call || '',
    node: write?.object?.spec?.nodeName || '',
    n: ops.length,
    changed: changed.length,
    plugin: record?.plugin || '',
    plugins: changed.map((/** @type {any} */ r) => r.plugin).join(', '),
  };
}

/** @param {Span} span @param {any} row @param {string} verdict */
function titleVerdict(span, row, verdict) {
  if (row.detail.apiservice) return 'passed';
  if (row.record) return verdict;
  const isRead = row.gate === 'etcd' && span.cls === 'read' && row.verdict === 'skip';
  return isRead ? 'read' : row.verdict;
}

/**
 * @param {string} gate @param {string} verdict @param {any} params @param {Words} words
 * @param {string} subresource
 */
function gateTitle(gate, verdict, params, words, subresource) {
  if (verdict === 'wait') return words.t(`gate.${gate}.ask`);
  const own = verdict === 'allow' && params.rev ? `gate.${gate}.${subresource}.title` : '';
  const called = params.call ? `gate.${gate}.called.title` : '';
  const keys = [own, `gate.${gate}.${verdict}.title`, called, `gate.${gate}.title`];
  for (const key of keys) {
    if (words.has(key)) return words.t(key, params);
  }
  return words.t(`gate.${gate}`);
}

/**
 * @param {import('../trace/index.js').Index} index @param {any} row @param {any} params
 * @param {Words} words @returns {Block[]}
 */
function gateWhy(index, row, params, words) {
  /** @type {Block[]} */ const blocks = [];
  if (!row.record) return [p(words, 'gate.waiting'), p(words, `gate.${row.gate}.what`, params)];
  const key = `gate.${row.gate}.${row.said || row.verdict}.why`;
  if (words.has(key)) blocks.push(p(words, key, params));
  if (row.detail.why) blocks.push(said(row.detail.why));
  blocks.push(...reasons(row, index, words));
  if (row.plugins.length) blocks.push(...pluginList(index, row, words));
  if (row.detail.uid)
    blocks.push(
      p(words, `gate.${row.gate}.what`),
      facts([
        [words.t('fact.name'), row.detail.name],
        ['uid', row.detail.uid],
      ]),
    );
  const ops = row.detail.ops || [];
  if (ops.length) blocks.push({ type: 'diff', lines: patchLines(ops) });
  if (!blocks.length) blocks.push(p(words, `gate.${row.gate}.what`, params));
  return blocks;
}

/**
 * Those with something to say first, then all others in their order, with their classes.
 * @param {import('../trace/index.js').Index} index @param {any} row @param {Words} words
 * @returns {Block[]}
 */
function pluginList(index, row, words) {
  const list = admissionOrder(index, row.gate, row.plugins);
  const item = (/** @type {any} */ plugin) => ({
    verdict: plugin.said ? plugin.said.verdict : 'wait',
    title: [
      { text: plugin.name, as: /** @type {'b'} */ ('b') },
      {
        text: plugin.label ? ` · ${classText(plugin.label, words)}` : '',
        as: /** @type {''} */ (''),
      },
    ],
    small: plugin.said ? words.said(plugin.said.why || '') : words.t('reason.notYet'),
  });
  const spoke = list.filter((plugin) => plugin.said && plugin.said.verdict !== 'skip');
  const silent = list.filter((plugin) => !spoke.includes(plugin));
  /** @type {Block[]} */ const blocks = [];
  if (spoke.length) blocks.push({ type: 'rules', items: spoke.map(item) });
  if (silent.length)
    blocks.push(h(words.t('reason.silent', { n: silent.length })), {
      type: 'rules',
      items: silent.map(item),
    });
  return blocks;
}

/** As it begins and ends in its language. @param {string} text */
function sentence(text) {
  if (/[\u3400-\u9fff]/.test(text)) return `${text}。`;
  return `${text[0].toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.');
}

/** @param {any} record @param {any} params @param {Words} words */
function pluginTitle(record, params, words) {
  const own = `plugin.${record.plugin}.${record.verdict}.title`;
  return words.t(words.has(own) ? own : `plugin.${record.verdict}.title`, params);
}

/**
 * @param {import('../trace/index.js').Index} index @param {any} record @param {any} params
 * @param {Words} words @returns {Block[]}
 */
function pluginWhy(index, record, params, words) {
  /** @type {Block[]} */ const blocks = [];
  const base = `plugin.${record.plugin}`;
  if (record.verdict === 'change' && words.has(`${base}.why`)) {
    blocks.push(p(words, `${base}.why`, { ...params, ...pluginFacts(record) }));
  } else if (record.why) blocks.push(said(sentence(words.said(record.why))));
  if (record.ops && record.ops.length) blocks.push({ type: 'diff', lines: patchLines(record.ops) });
  if (record.verdict === 'change' && words.has(`${base}.prevent`)) {
    blocks.push(h(words.t('why.prevent')), p(words, `${base}.prevent`, params));
  }
  blocks.push(...askedBlocks(record, words));
  if (words.has(`${base}.what`)) blocks.push(p(words, `${base}.what`));
  if (!blocks.length) blocks.push(p(words, 'plugin.skip.why', params));
  const label = classOf(index, record.phase, record.plugin);
  const { reads = [] } = index.facts.startup?.plugins?.[record.plugin] || {};
  const rows = facts([
    [words.t('fact.class'), label ? classText(label, words) : ''],
    [words.t('fact.reads'), reads.map(pluralOf).join(', ')],
  ]);
  if (rows.rows.length) blocks.push(rows);
  return blocks;
}

/** Numbers a plugin's own sentence wants, read from what it added. @param {any} record */
function pluginFacts(record) {
  const text = JSON.stringify(record.ops || []);
  const seconds = /"expirationSeconds":(\d+)/.exec(text) || /"tolerationSeconds":(\d+)/.exec(text);
  const account = (record.ops || []).find(
    (/** @type {any} */ o) => o.path === '/spec/serviceAccountName',
  );
  const priority = (record.ops || []).find((/** @type {any} */ o) => o.path === '/spec/priority');
  return {
    seconds: seconds ? Number(seconds[1]) : '',
    account: account ? account.value : 'default',
    priority: priority ? String(priority.value) : '0',
  };
}

/** @param {Model} model @param {Span} span @param {Words} words */
export function explainRequest(model, span, words) {
  const close = /** @type {any} */ (span.close);
  const rows = gateRows(model.index, span, model.state.seq, model.state.held);
  const denied = rows.find((row) => STOPPED.includes(row.verdict) || STOPPED.includes(row.said));
  if (denied) return explainGate(model, span, denied.gate, words);
  if (!close) {
    const last = [...rows].reverse().find((row) => row.record);
    if (last) return explainGate(model, span, last.gate, words);
  }
  const open = /** @type {any} */ (span.open);
  const write = writeOf(span);
  const params = paramsOf(model, span, rows.at(-1) || UNKNOWN, null, words);
  const isBound = open.subresource === 'binding' && close && write;
  const key = close ? answerKey(close, write) : askKey(open, params.name);
  const what = {
    ...params,
    who: whoAsks(open, words),
    rev: String(write?.rev || ''),
    code: String(close?.code || ''),
  };
  return explanation({
    crumb: crumb(model, span, '', words),
    title: words.t(isBound ? 'request.bound' : key, what),
    tabs: [
      whyTab(
        words,
        [
          ...answeredBlocks(model, span, write, words),
          ...(close ? [] : pathBlocks(open, words)),
        ],
        [...requestFacts(model, span, words), ...(close ? pathBlocks(open, words) : [])],
      ),
      tab(words, 'steps', stepBlocks(model, span, '', words)),
      tab(words, 'object', [...formBlocks(span, ''), ...objectBlocks(model, span, null, words)]),
      tab(words, 'raw', [json(span.open), ...(close ? [json(close)] : [])]),
    ],
    badge: words.t('badge.modelled'),
    source: sourceText(
      model.version,
      gateSource(model.index, gatesOf(model.index).at(-1)?.name || '', open),
    ),
  });
}

/** @param {any} close @param {any} write */
function answerKey(close, write) {
  if (close.code >= 400) return 'request.failed';
  return write ? `request.${write.op}` : 'request.read';
}

/** @param {any} open @param {string} name */
function askKey({ subresource }, name) {
  if (subresource === 'binding') return 'request.binds';
  if (!name) return 'request.beginsAll';
  if (name === UNNAMED) return 'request.beginsNew';
  return subresource ? 'request.beginsPart' : 'request.begins';
}

/** @param {Model} model @param {Span} span @param {any} write @param {Words} words */
function answeredBlocks(model, span, write, words) {
  const close = /** @type {any} */ (span.close);
  /** @type {Block[]} */ const blocks = [];
  if (close && close.message) blocks.push(code(close.message));
  const maker = model.index.spans.get(span.parent);
  if (maker && maker.type === 'work') {
    const { component, key } = /** @type {any} */ (maker.open);
    blocks.push(p(words, 'request.maker', { who: whoIs(component, words), key }));
  }
  if (!write) {
    const none = close ? 'request.nothing' : 'request.arrived';
    return blocks.length ? blocks : [p(words, none)];
  }
  const before = model.index.before(write);
  blocks.push(p(words, 'request.wrote', { rev: String(write.rev), key: write.key }));
  const lines = before ? difference(before.object, write.object, 1) : [];
  if (lines.length) blocks.push({ type: 'diff', lines });
  const woken = (model.index.caused.get(write.rev) || []).map((seq) => model.index.spans.get(seq));
  if (woken.length) {
    blocks.push(h(words.t('request.woke')), {
      type: 'links',
      items: woken.slice(0, 6).map((s) => {
        const { component, key } = /** @type {any} */ (/** @type {Span} */ (s).open);
        return { text: `${component}: ${key}`, seq: /** @type {Span} */ (s).seq };
      }),
    });
  }
  return blocks;
}
