// @ts-check
/**
 * What one gate went by, beyond its sentence: everybody it asked in order, the rule it used, the
 * numbers it counted. Each gate has its own maker of blocks; all read the gate's record.
 */
import { nested, startupOf } from '../trace/startup.js';
import { duration } from '../text/words.js';
import { yaml } from '../text/yaml.js';
import { code, facts, fold, h, p, said } from './blocks.js';

/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../request/corridor.js').GateRow} GateRow */

/** @type {Record<string, (row: GateRow, index: Index, words: Words) => Block[]>} */
const MAKERS = {
  authentication,
  audit,
  flowcontrol,
  authorization,
  routing,
  decode,
  validation,
  etcd,
};

/** @param {GateRow} row @param {Index} index @param {Words} words @returns {Block[]} */
export function reasons(row, index, words) {
  const make = MAKERS[row.gate];
  return make ? make(row, index, words) : [];
}

// -- who asks -----------------------------------------------------------------------------------

/** @param {GateRow} row @param {Index} index @param {Words} words */
function authentication(row, index, words) {
  const { tries = [], dropped = [] } = row.detail;
  const parts = startupOf(index).authentication || [];
  /** @type {Block[]} */ const blocks = [];
  if (tries.length) blocks.push(h(words.t('reason.asked')), askedTree(parts, tries, words));
  const hit = tries.find((/** @type {any} */ t) => t.detail?.cached);
  if (hit) blocks.push(p(words, 'reason.tokenCache', { name: hit.detail.authenticator || '' }));
  if (dropped.length) blocks.push(p(words, 'reason.dropped', { names: dropped.join(', ') }));
  const { user } = row.detail;
  if (user)
    blocks.push(
      facts([
        [words.t('fact.user'), user.name],
        [words.t('fact.groups'), (user.groups || []).join(', ')],
      ]),
    );
  return blocks;
}

/**
 * All authenticators as they are nested, those that were asked with what they said.
 * @param {import('../trace/startup.js').Part[]} parts @param {any[]} tries @param {Words} words
 * @returns {Block}
 */
function askedTree(parts, tries, words) {
  const answers = new Map(tries.map((t) => [t.name, t]));
  const lines = nested(parts);
  const inside = new Set(lines.map((line) => line.part.name));
  const alone = tries
    .filter((t) => !inside.has(t.name))
    .map((t) => treeItem(0, t.name, t.verdict, t.error || t.why));
  const tree = lines.map(({ depth, part, repeats, below }) => {
    const own = answers.get(part.name);
    if (own && !repeats) return treeItem(depth, part.name, own.verdict, own.error || own.why);
    if (repeats) return treeItem(depth, part.name, 'wait', words.t('reason.sameBelow'));
    if (!part.of) return treeItem(depth, part.name, 'wait', words.t('reason.notAsked'));
    return treeItem(depth, part.name, groupVerdict(below, answers), '');
  });
  return { type: 'tree', items: [...alone, ...tree] };
}

/** A union says what the one of its members said that decided. */
function groupVerdict(/** @type {string[]} */ names, /** @type {Map<string, any>} */ answers) {
  const verdicts = names.map((name) => answers.get(name)?.verdict).filter(Boolean);
  for (const verdict of ['allow', 'deny']) if (verdicts.includes(verdict)) return verdict;
  return verdicts.length ? 'skip' : 'wait';
}

/**
 * @param {number} depth @param {string} name @param {string} verdict @param {string} [small]
 * @returns {import('./index.js').TreeLine}
 */
export const treeItem = (depth, name, verdict, small = '') => ({
  depth,
  verdict,
  title: [{ text: name, as: 'b' }],
  small,
});

// -- written down, counted ----------------------------------------------------------------------

/** @param {GateRow} row @param {Index} _ @param {Words} words */
function audit(row, _, words) {
  const { level, rule, id, omitStages = [], event, traceparent } = row.detail;
  /** @type {Block[]} */ const blocks = [
    facts([
      [words.t('fact.auditLevel'), level],
      [words.t('fact.auditRule'), ruleText(rule)],
      [words.t('fact.omitStages'), omitStages.join(', ')],
      [words.t('fact.auditId'), id],
      ['traceparent', traceparent],
    ]),
  ];
  if (!level) blocks.unshift(p(words, 'reason.noPolicy'));
  if (event) blocks.push(h(words.t('reason.auditEvent')), code(yaml(event).join('\n')));
  return blocks;
}

/** @param {any} rule */
const ruleText = (rule) => (rule && typeof rule === 'object' ? JSON.stringify(rule) : rule);

/** @param {GateRow} row @param {Index} _ @param {Words} words */
function flowcontrol(row, _, words) {
  const { detail } = row;
  const refused = detail.word === '429';
  const waited = detail.waited !== undefined;
  const key = refused
    ? 'reason.flowRefused'
    : detail.limit === undefined
      ? 'reason.flowExempt'
      : waited
        ? 'reason.flowWaited'
        : 'reason.flowSeat';
  /** @type {Block[]} */ const blocks = [];
  if (detail.flowSchema)
    blocks.push(
      p(words, key, {
        schema: detail.flowSchema,
        level: detail.priorityLevel,
        seats: detail.seats || 1,
        limit: detail.limit || 0,
      }),
    );
  blocks.push(
    facts([
      [words.t('fact.flowSchema'), detail.flowSchema],
      [words.t('fact.priorityLevel'), detail.priorityLevel],
      [words.t('fact.seats'), detail.limit === undefined ? '' : detail.seats || 1],
      [words.t('fact.seatLimit'), detail.limit],
      [words.t('fact.flowQueue'), detail.queue],
      [words.t('fact.position'), detail.position],
      [words.t('fact.waited'), waited ? duration(detail.waited) : ''],
      [words.t('fact.executing'), detail.executing],
      [words.t('fact.waiting'), detail.waiting],
      ['Retry-After', detail.retryAfter && `${detail.retryAfter} s`],
    ]),
  );
  return blocks;
}

// -- may he -------------------------------------------------------------------------------------

/** @param {GateRow} row @param {Index} _ @param {Words} words @returns {Block[]} */
function authorization(row, _, words) {
  const { tries = [] } = row.detail;
  /** @type {Block[]} */ const blocks = [];
  if (tries.length)
    blocks.push(h(words.t('reason.modes')), {
      type: 'rules',
      items: tries.map((/** @type {any} */ t) => ({
        verdict: t.verdict,
        title: [{ text: t.name, as: 'b' }],
        small: t.error ? `${t.why || ''} (${t.error})` : t.why || '',
      })),
    });
  for (const attempt of tries) blocks.push(...authorizerBlocks(attempt, words));
  return blocks;
}

/** What an authorizer went by: a rule and its binding, or what it was told. */
export function authorizerBlocks(/** @type {any} */ attempt, /** @type {Words} */ words) {
  const { detail = {} } = attempt;
  /** @type {Block[]} */ const blocks = [];
  if (detail.rule) {
    blocks.push(
      h(words.t('reason.rule')),
      code(yaml([detail.rule]).join('\n')),
      facts([
        [words.t('fact.role'), detail.role && `${detail.role.kind} ${detail.role.name}`],
        [words.t('fact.binding'), detail.binding && named(detail.binding)],
        [words.t('fact.subject'), detail.subject && named(detail.subject)],
      ]),
    );
  }
  if (detail.read) blocks.push(readFrom(detail.read, words));
  if (detail.review) {
    blocks.push(
      h(words.t('reason.webhookAsked', { name: attempt.name })),
      facts([
        [words.t('fact.by'), detail.by],
        [words.t('fact.fromCache'), detail.cached ? words.t('fact.yes') : ''],
      ]),
      fold(words.t('reason.request'), detail.review),
    );
    if (detail.status) blocks.push(fold(words.t('reason.answer'), detail.status));
  }
  return blocks;
}

/** @param {any} read @param {Words} words */
export const readFrom = (read, words) =>
  p(words, read.etcd ? 'reason.readEtcd' : 'reason.readCache', { n: read.etcd || 0 });

/** @param {any} ref */
const named = (ref) =>
  `${ref.kind || ''} ${ref.namespace ? `${ref.namespace}/` : ''}${ref.name}`.trim();

// -- which server, what is in it, is it legal ---------------------------------------------------

/** @param {GateRow} row @param {Index} _ @param {Words} words @returns {Block[]} */
function routing(row, _, words) {
  const { detail } = row;
  const chain = detail.chain || [];
  const at = chain.indexOf(detail.word);
  /** @type {Block[]} */ const blocks = [];
  if (chain.length)
    blocks.push(h(words.t('reason.servers')), {
      type: 'rules',
      items: chain.map((/** @type {string} */ name, /** @type {number} */ i) => ({
        verdict: i === at ? 'allow' : 'skip',
        title: [{ text: name, as: 'b' }],
        small: words.t(i === at ? 'reason.answers' : 'reason.passedOn'),
      })),
    });
  blocks.push(
    facts([
      [words.t('fact.mux'), detail.mux],
      [words.t('fact.readFrom'), detail.read?.by],
      [words.t('fact.reason'), detail.read?.why],
      [words.t('fact.apiService'), detail.apiservice],
      [words.t('fact.to'), detail.to],
      [words.t('fact.definition'), detail.definition],
      [words.t('fact.settled'), detail.seconds ? duration(detail.seconds * 1e6) : ''],
      [words.t('fact.converted'), detail.converted],
    ]),
  );
  if (detail.seconds) blocks.push(p(words, 'reason.settled'));
  return blocks;
}

/** @param {GateRow} row @param {Index} _ @param {Words} words @returns {Block[]} */
function decode(row, _, words) {
  const { unknown = [] } = row.detail;
  if (!unknown.length) return [];
  return [
    h(words.t('reason.unknown', { n: unknown.length })),
    {
      type: 'rules',
      items: unknown.map((/** @type {string} */ field) => ({
        verdict: 'deny',
        tone: 'noop',
        title: [{ text: field, as: 'code' }],
        small: words.t('reason.dropping'),
      })),
    },
  ];
}

/** @param {GateRow} row @param {Index} _ @param {Words} words @returns {Block[]} */
function validation(row, _, words) {
  const errors = row.detail.errors || [];
  if (!errors.length) return [];
  return [
    h(words.t('reason.fields')),
    {
      type: 'rules',
      items: errors.map((/** @type {any} */ e) => ({
        verdict: 'deny',
        title: [{ text: typeof e === 'string' ? e : e.field || '?', as: 'code' }],
        small: typeof e === 'string' ? '' : e.message || e.detail || e.reason || '',
      })),
    },
  ];
}

/** @param {GateRow} row @param {Index} _ @param {Words} words @returns {Block[]} */
function etcd(row, _, words) {
  const { detail } = row;
  /** @type {Block[]} */ const blocks = [];
  if (detail.word === 'dry run') blocks.push(p(words, 'reason.dryRun'));
  else if (detail.word === 'no change') blocks.push(p(words, 'reason.noChange'));
  if (detail.hidden) blocks.push(p(words, 'reason.hidden', { names: detail.hidden.join(', ') }));
  else if (detail.initialized) blocks.push(p(words, 'reason.initialized'));
  if (detail.message && row.verdict !== 'deny') blocks.push(said(detail.message));
  blocks.push(
    facts([
      [words.t('fact.key'), detail.key],
      [words.t('fact.revision'), detail.rev],
      [words.t('fact.lease'), detail.lease],
    ]),
  );
  return blocks.filter((block) => block.type !== 'facts' || block.rows.length);
}
