// @ts-check
/** Why a request was refused: the rules looked at, the closest one, and the smallest change. */
import { httpMethod, pluralOf } from '../trace/records.js';
import { yaml } from '../text/yaml.js';
import { askedBlocks } from './asked.js';
import { code, explanation, facts, h, json, p, said, sourceText, tab, whyTab } from './blocks.js';
import { gateSource, pluginSource } from '../trace/facts.js';
import { isOrdinary } from '../request/corridor.js';
import { classText, whatBlocks } from './request.js';
import { authorizerBlocks, readFrom, reasons } from './reasons.js';
import { stepBlocks } from './steps.js';
import { classOf } from '../trace/startup.js';
import { whoAsks } from './who.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/index.js').Span} Span */

const RBAC_SOURCE = 'plugin/pkg/auth/authorizer/rbac/rbac.go Authorize';

/**
 * @param {Model} model @param {Span} span @param {any} row @param {any} record
 * @param {string} crumb @param {Words} words
 */
export function explainDenied(model, span, row, record, crumb, words) {
  const close = /** @type {any} */ (span.close);
  const detail = record.detail || {};
  const open = /** @type {any} */ (span.open);
  const params = {
    user: span.user?.name || open.client,
    verb: open.verb,
    resource: open.resource,
    what: `${httpMethod(open.verb)} ${pluralOf(open.resource)}`,
    plugin: record.plugin || '',
    code: String(close?.code || ''),
    n: (detail.errors || []).length,
    namespace: open.namespace || '',
  };
  const isAuthorization = row.gate === 'authorization';
  const ordinary = isOrdinary(span, record);
  const title = ordinary
    ? words.t('again.title', { who: whoAsks(open, words) })
    : titleOf(row, record, params, words);
  const message = detail.message || close?.message || record.why || '';
  const why = isAuthorization
    ? authorizationWhy(detail, params, words)
    : otherWhy(model, row, record, message, words);
  if (ordinary) why.unshift(p(words, 'again.why', { who: whoAsks(open, words) }));
  const what = isAuthorization ? [] : whatBlocks(model, span, row.gate, words);
  const tabs = [whyTab(words, why, what)];
  if (isAuthorization) tabs.push(tab(words, 'rules', ruleBlocks(detail, words)));
  else tabs.push(tab(words, 'steps', stepBlocks(model, span, row.gate, words)));
  tabs.push(tab(words, 'object', [p(words, 'object.refused')]));
  tabs.push(tab(words, 'raw', [json(record), ...(close ? [json(close)] : [])]));
  return explanation({
    crumb,
    title,
    voice: ordinary ? title : `${params.code} ${title}`,
    tabs,
    badge: words.t('badge.modelled'),
    source: sourceText(
      model.version,
      record.source ||
        detail.source ||
        (record.plugin && pluginSource(model.index, row.gate, record.plugin)) ||
        (isAuthorization ? RBAC_SOURCE : gateSource(model.index, row.gate, open)),
    ),
  });
}

/** @param {any} row @param {any} record @param {any} params @param {Words} words */
function titleOf(row, record, params, words) {
  if (row.gate === 'authorization') {
    const denied = (record.detail?.tries || []).find(
      (/** @type {any} */ t) => t.verdict === 'deny',
    );
    return denied
      ? words.t('denied.byOne', { ...params, name: denied.name })
      : words.t('denied.nobody', params);
  }
  if (record.kind === 'plugin') return words.t('denied.plugin', params);
  const { end, word } = record.detail || {};
  if (end === 'absent') return words.t('denied.absent', params);
  const own = [end, word].map((name) => `denied.${row.gate}.${name}`).find(words.has);
  const key = own || `denied.${row.gate}`;
  return words.t(words.has(key) ? key : 'denied.other', params);
}

/**
 * The bindings that apply to the user, as RBAC looked at them, the closest one last.
 * @param {any} detail @returns {any[]}
 */
function lookedAt(detail) {
  const rbac = (detail.tries || []).find((/** @type {any} */ t) => t.detail?.bindings);
  const list = detail.rules || rbac?.detail.bindings || [];
  const missing = (/** @type {any} */ entry) =>
    (entry.closest?.missing || ['verb', 'apiGroup', 'resource']).length;
  return [...list].sort((a, b) => missing(b) - missing(a));
}

/** @param {any} detail @param {any} params @param {Words} words @returns {Block[]} */
function authorizationWhy(detail, params, words) {
  const looked = lookedAt(detail);
  /** @type {Block[]} */ const blocks = [
    p(words, looked.length ? 'denied.rbac' : 'denied.rbacNone', { ...params, n: looked.length }),
  ];
  const items = looked.map((entry) => ruleItem(entry, params, words));
  if (items.length) blocks.push({ type: 'rules', items: items.slice(-4) });
  const rbac = (detail.tries || []).find((/** @type {any} */ t) => t.detail?.smallest_rule)?.detail;
  if (rbac?.read) blocks.push(readFrom(rbac.read, words));
  for (const attempt of detail.tries || [])
    if (attempt.detail?.review) blocks.push(...authorizerBlocks(attempt, words));
  const rule = rbac?.smallest_rule;
  blocks.push(
    h(words.t('denied.smallest'), 'allow', 'allow'),
    code(rule ? ['rules:', ...yaml([rule])].join('\n') : smallestRule(params)),
  );
  if (rbac?.role_that_would_do)
    blocks.push(p(words, 'denied.existing', { role: rbac.role_that_would_do }));
  const role = `${pluralOf(params.resource)}-${params.verb}`;
  const where = params.namespace ? ` -n ${params.namespace}` : '';
  const [kind, binding] = params.namespace
    ? ['role', 'rolebinding']
    : ['clusterrole', 'clusterrolebinding'];
  blocks.push({
    type: 'ways',
    items: [
      {
        code:
          `kubectl create ${kind} ${role} --verb=${params.verb}` +
          ` --resource=${params.resource}${where}\n` +
          `kubectl create ${binding} ${role}-${params.user}` +
          ` --${kind}=${role} --user=${params.user}${where}`,
        small: words.t('denied.grant'),
      },
    ],
  });
  return blocks;
}

/** @param {any} params */
function smallestRule(params) {
  const at = params.resource.indexOf('.');
  const group = at < 0 ? '' : params.resource.slice(at + 1);
  return [
    'rules:',
    `- apiGroups: ["${group}"]`,
    `  resources: ["${pluralOf(params.resource)}"]`,
    `  verbs: ["${params.verb}"]`,
  ].join('\n');
}

/** @param {any} entry @param {any} params @param {Words} words */
function ruleItem(entry, params, words) {
  const rule = entry.closest?.rule || {};
  const missing = entry.closest?.missing || [];
  const isNear = missing.length === 1;
  const resource = pluralOf(params.resource);
  const role = entry.role?.name || '?';
  const by =
    entry.binding && entry.binding.name !== role
      ? words.t('denied.by', { binding: bindingText(entry.binding) })
      : '';
  const near =
    missing[0] === 'verb'
      ? words.t('denied.near', { resource, verbs: (rule.verbs || []).join(', ') })
      : words.t('denied.nearOther', { what: missing[0] || '', rule: ruleText(rule, words) });
  return {
    verdict: isNear ? 'skip' : 'noop',
    tone: isNear ? 'change' : 'noop',
    title: [
      { text: role, as: /** @type {'b'} */ ('b') },
      { text: by, as: /** @type {''} */ ('') },
    ],
    small: isNear ? near : ruleText(rule, words),
  };
}

/** @param {any} binding */
const bindingText = (binding) =>
  `${binding.kind} ${binding.namespace ? `${binding.namespace}/` : ''}${binding.name}`;

/** @param {any} rule @param {Words} words */
function ruleText(rule, words) {
  const urls = rule.nonResourceURLs || [];
  if (urls.length)
    return words.t('denied.urls', {
      urls: `${urls.slice(0, 5).join(', ')}${urls.length > 5 ? ' …' : ''}`,
    });
  const resources = rule.resources || [];
  const more = resources.length > 4 ? ' …' : '';
  return `${(rule.verbs || []).join(', ')}: ${resources.slice(0, 4).join(', ')}${more}`;
}

/** @param {any} detail @param {Words} words @returns {Block[]} */
function ruleBlocks(detail, words) {
  const looked = lookedAt(detail).reverse();
  if (!looked.length) return [p(words, 'denied.noRules')];
  return looked.flatMap((/** @type {any} */ entry) => [
    h(`${entry.role?.kind || ''} ${entry.role?.name || ''}`),
    said(
      words.t('denied.through', {
        binding: entry.binding ? bindingText(entry.binding) : '',
        subject: entry.subject ? `${entry.subject.kind} ${entry.subject.name}` : '',
      }),
    ),
    code(yaml(entry.closest?.rule || {}).join('\n')),
  ]);
}

/**
 * @param {Model} model @param {any} row @param {any} record @param {string} message
 * @param {Words} words
 */
function otherWhy(model, row, record, message, words) {
  /** @type {Block[]} */ const blocks = [];
  if (message) blocks.push(code(message));
  if (words.has(`denied.${row.gate}.why`)) blocks.push(p(words, `denied.${row.gate}.why`));
  const label = record.plugin ? classOf(model.index, row.gate, record.plugin) : '';
  if (label) blocks.push(facts([[words.t('fact.class'), classText(label, words)]]));
  blocks.push(...askedBlocks(record, words), ...reasons(row, model.index, words));
  blocks.push(p(words, 'denied.nothing'));
  return blocks;
}
