// @ts-check
/**
 * The steps inside two gates: what the kind's strategy was asked, and which calls of upstream's
 * storage.Interface reached etcd. The API server tells when it starts which steps each call has and
 * how they end (`apiserver_app/registry/storagecalls.py`); the records of a request say which
 * calls it made and to which end. Pure.
 */
import { gateOf } from '../trace/facts.js';
import { kindOf } from '../trace/records.js';
import { startupOf } from '../trace/startup.js';

/** @typedef {import('../trace/index.js').Index} Index */
/** @typedef {import('../trace/index.js').Span} Span */

/**
 * @typedef {Object} Step
 * @property {number} depth
 * @property {string} verdict  allow, change, skip, noop, deny, wait
 * @property {string} call     as upstream names it
 * @property {string} key      of the words about it, '' for none
 * @property {any} [params]
 * @property {string} [said]   a sentence that came with the record
 */

/**
 * @typedef {Object} Access   one call of the storage interface that ended
 * @property {string} call
 * @property {string} key
 * @property {string} verdict
 * @property {any} detail     of the etcd gate, {} when the gate told of a later call
 * @property {any} write      the revision it made, or null
 */

/**
 * @typedef {Object} Calls    what the API server told of the storage interface
 * @property {Record<string, string>} writes   operation of a write record -> call
 * @property {Record<string, string>} [reads]  verb of a read -> call
 * @property {string[]} [json]  groups whose objects etcd holds as JSON, beside custom resources
 * @property {Record<string, string>} before   verb -> the step before its call
 * @property {Record<string, string[]>} done   call -> its steps
 * @property {Record<string, Record<string, (number|string)[]>>} ends  call -> end -> its steps
 */

const ACCESSES_SHOWN = 8;

/** @param {number} depth @param {string} verdict @param {string} call @param {string} [key] */
const step = (depth, verdict, call, key = '', params = {}) =>
  /** @type {Step} */ ({ depth, verdict, call, key, params });

/** @param {Index} index @returns {Calls|undefined} */
const callsOf = (index) => startupOf(index).storage;

/** The call of a verb that reads; a trace from before that was told has none. */
export const readCall = (/** @type {Index} */ index, /** @type {string} */ verb) =>
  callsOf(index)?.reads?.[verb] || '';

/** A step as it was told. @param {number} depth @param {string} row @returns {Step} */
function stepOf(depth, row, params = {}) {
  const [call, verdict, key = ''] = row.split(' ');
  return step(depth, verdict, call, key, params);
}

// -- etcd ---------------------------------------------------------------------------------------

/**
 * Every call of the storage interface that a request made up to a record.
 * @param {Index} index @param {Span} span @param {number} seq @returns {Step[]}
 */
export function storageSteps(index, span, seq) {
  const open = /** @type {any} */ (span.open);
  const calls = callsOf(index);
  const seen = /** @type {any[]} */ (span.records).filter((record) => record.seq <= seq);
  const route = seen.find((record) => record.gate === 'routing')?.detail || {};
  if (!calls || route.apiservice) return [];
  const close = /** @type {any} */ (span.close);
  const answered = close && close.seq <= seq ? close : null;
  const read = readCall(index, open.verb);
  if (read) return open.resource ? readSteps(calls, read, open, seen, answered) : [];
  const accesses = accessesOf(calls, seen);
  if (!accesses.length) return [];
  const form = formOf(calls, open.resource, route);
  const shown = accesses.slice(0, ACCESSES_SHOWN);
  const isMany = open.verb === 'deletecollection';
  const steps = isMany ? [stepOf(0, calls.before[open.verb])] : [];
  for (let i = 0; i < shown.length; i += 1) {
    const tries = [shown[i]];
    while (goesOn(shown[i], shown[i + 1])) tries.push(shown[(i += 1)]);
    if (tries[0].call === 'Delete' && (isMany || open.verb === 'delete'))
      steps.push({ ...stepOf(0, calls.before.delete), said: tries[0].key });
    steps.push(...accessSteps(calls, tries, form));
  }
  if (accesses.length > shown.length)
    steps.push(step(0, 'allow', '…', 'more', { n: accesses.length - shown.length }));
  if (!answered || answered.code < 400)
    steps.push(step(0, answered ? 'skip' : 'wait', 'decorate', 'decorate'));
  return [...steps, respond(answered)];
}

/** @param {any} close */
function respond(close) {
  if (!close) return step(0, 'wait', 'respond', 'respondWait');
  const verdict = close.code < 400 ? 'allow' : 'deny';
  return step(0, verdict, 'respond', 'respond', { code: String(close.code) });
}

/** @param {Calls} calls @param {any[]} seen @returns {Access[]} */
function accessesOf(calls, seen) {
  /** @type {Access[]} */ const accesses = [];
  /** @type {any[]} */ let writes = [];
  const made = (/** @type {any} */ write, detail = {}) => ({
    call: calls.writes[write.op],
    key: write.key || '',
    verdict: 'allow',
    detail,
    write,
  });
  for (const record of seen) {
    if (record.kind === 'write') writes.push(record);
    if (record.kind !== 'gate' || record.gate !== 'etcd') continue;
    const { detail = {}, verdict } = record;
    const last = verdict === 'allow' ? writes.pop() : null;
    accesses.push(...writes.map((write) => made(write)));
    writes = [];
    if (last) accesses.push({ ...made(last, detail), key: detail.key || last.key });
    else if (detail.call)
      accesses.push({ call: detail.call, key: detail.key || '', verdict, detail, write: null });
  }
  return [...accesses, ...writes.map((write) => made(write))];
}

/** Whether an update that came too late was tried again. */
const goesOn = (/** @type {Access} */ access, /** @type {Access|undefined} */ next) =>
  access.detail.end === 'stale' && next?.call === access.call && next.key === access.key;

/** '' where it was not told. @param {Calls} calls @param {string} resource @param {any} route */
function formOf({ json }, resource, route) {
  if (!json) return '';
  const group = resource.slice(resource.indexOf('.') + 1);
  return route.definition || json.includes(group) ? 'JSON' : 'protobuf';
}

/** @param {Access} access */
function endOf({ verdict, detail }) {
  if (detail.end) return detail.end;
  if (verdict === 'deny') return 'refused';
  return verdict === 'skip' ? detail.word : 'done';
}

/**
 * One call, with all its tries.
 * @param {Calls} calls @param {Access[]} tries @param {string} form @returns {Step[]}
 */
function accessSteps(calls, tries, form) {
  const { call, verdict, detail, key } = tries[tries.length - 1];
  const steps = tries.flatMap((access, i) => trySteps(calls, access, form, i + 1));
  const text = steps.length || verdict !== 'deny' ? key : detail.message;
  const later = detail.end === 'marked' ? [step(0, 'skip', 'Delete', 'later')] : [];
  return [{ ...step(0, verdict, call), said: text }, ...steps, ...later];
}

/**
 * The steps inside a call as they were told, with its numbers.
 * @param {Calls} calls @param {Access} access @param {string} form @param {number} n which try
 * @returns {Step[]}
 */
function trySteps(calls, access, form, n) {
  const { call, detail, write } = access;
  const done = calls.done[call] || [];
  const end = endOf(access);
  const ends = calls.ends[call]?.[end];
  const [same, ...own] = ends || (end === 'done' ? [done.length] : refusal(done));
  const rows = /** @type {string[]} */ ([...done.slice(0, Number(same)), ...own]);
  const from = call === 'Create' ? 0 : write ? write.prev : detail.expected;
  const params = texts({ ...detail, expected: from, rev: from, n, to: write?.rev, form });
  const steps = rows.map((row) => stepOf(1, row, params));
  for (const row of steps) {
    if (row.verdict === 'deny' && !('found' in detail)) row.said = detail.message;
    if (row.key === 'encode' && !form) row.key = '';
  }
  if (call === 'GuaranteedUpdate' && steps[0].verdict === 'allow')
    steps[0].key = n > 1 ? 'readAgain' : from ? 'read' : 'readAny';
  return steps;
}

/** The end at the first step that changes something. @param {string[]} done */
function refusal(done) {
  const at = done.findIndex((row) => row.split(' ')[1] === 'change');
  return at < 0 ? [0] : [at, `${done[at].split(' ')[0]} deny`];
}

/** Numbers of revisions are names: no separators. @param {any} params */
const texts = (params) =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value ?? '')]));

/**
 * @param {Calls} calls @param {string} call @param {any} open @param {any[]} seen
 * @param {any} close
 */
function readSteps(calls, call, open, seen, close) {
  const route = seen.find((record) => record.gate === 'routing')?.detail || {};
  const refused = seen.find((record) => record.gate === 'etcd' && record.verdict === 'deny');
  if (!route.word) return [];
  /** @type {Step[]} */ const steps = [];
  const flow = seen.find((record) => record.gate === 'flowcontrol');
  const before = calls.before[open.verb];
  if (before && flow && !open.name) steps.push(stepOf(0, before, { n: flow.detail?.seats || 1 }));
  const by = route.read?.by || '';
  const verdict = refused ? 'deny' : 'allow';
  steps.push({
    ...step(0, verdict, call, by ? (by === 'etcd' ? 'fromEtcd' : 'fromCache') : ''),
    said: route.read?.why || '',
  });
  if (refused) steps.push({ ...step(1, 'deny', 'etcd'), said: refused.detail.message });
  if (call === 'Watch' && close && close.code < 400)
    return [...steps, step(0, 'allow', 'respond', 'stream', { code: String(close.code) })];
  return [...steps, respond(close)];
}

// -- the strategy -------------------------------------------------------------------------------

/** [upstream's name, the steps that are the kind's own] @param {Index} index */
function strategyOf(index, /** @type {string} */ resource) {
  const strategies = startupOf(index).strategies || [];
  const strategy = strategies.find((/** @type {any[]} */ [name]) => name === resource);
  return strategy ? strategy.slice(1) : ['strategy', null];
}

/**
 * What the strategy of the kind was asked about an object, in upstream's order.
 * @param {Index} index @param {Span} span @param {number} seq @returns {Step[]}
 */
export function strategySteps(index, span, seq) {
  const open = /** @type {any} */ (span.open);
  const seen = /** @type {any[]} */ (span.records).filter((record) => record.seq <= seq);
  const gate = (/** @type {string} */ name) => seen.findLast((record) => record.gate === name);
  const decoded = gate('decode');
  if (!decoded || decoded.verdict === 'deny' || open.subresource === 'binding') return [];
  const prepared = gate('prepare');
  const judged = gate('validation');
  const isCustom = !!gate('routing')?.detail?.definition;
  const [name, own] = strategyOf(index, isCustom ? '' : open.resource);
  const creates = !!prepared?.detail?.uid || (!prepared && open.verb === 'create');
  const write = seen.findLast(
    (record) => record.kind === 'write' && record.resource === open.resource,
  );
  const isStatus = open.subresource === 'status';
  const who = (/** @type {string} */ call) =>
    !own || isStatus ? 'kind' : own.includes(call) ? 'own' : 'generic';
  const version = open.path.startsWith('/api/') ? 'v1' : open.path.split('/').slice(2, 4).join('/');
  const kind = kindOf(open.resource);
  const { namespace } = open;
  const errors = judged?.detail?.errors?.length || 0;
  /** @type {Record<string, (call: string) => Step>} */
  const steps = {
    ObjectTyper: (call) => step(1, 'allow', call, 'typer', { kind, version }),
    NamespaceScoped: (call) =>
      step(1, 'allow', call, namespace ? 'scoped' : 'unscoped', { namespace }),
    GenerateName: () => nameStep(prepared),
    prepare: (call) => ({
      ...step(1, prepared ? 'change' : 'wait', call, `prepare.${isStatus ? 'status' : who(call)}`),
      said: write?.object && prepared ? touches(write, creates) : '',
    }),
    validation: (call) =>
      step(1, judged ? judged.verdict : 'wait', call, errors ? 'errors' : `validate.${who(call)}`, {
        n: errors,
      }),
  };
  const asked = ['prepare', 'validation'].flatMap((gate) =>
    (gateOf(index, gate).asks?.[creates ? 0 : 1] || []).map((call) =>
      (steps[call] || steps[gate])(call),
    ),
  );
  const title = isStatus ? ofStatus(name) : name;
  return [step(0, prepared ? 'allow' : 'wait', title, 'strategy', { kind }), ...asked];
}

/** Upstream has a second strategy for the status. @param {string} name */
const ofStatus = (name) => name.replace(/[sS]trategy$/, (word) => `Status${cap(word)}`);

/** @param {string} word */
const cap = (word) => word[0].toUpperCase() + word.slice(1);

/** @param {any} prepared */
function nameStep(prepared) {
  if (!prepared) return step(1, 'wait', 'GenerateName');
  const { generateName, name } = prepared.detail;
  return generateName
    ? step(1, 'change', 'GenerateName', 'named', { from: generateName, name })
    : step(1, 'skip', 'GenerateName', 'nameGiven', { name });
}

/** What only the server sets, as it was stored. @param {any} write @param {boolean} creates */
function touches(write, creates) {
  const { metadata = {}, status } = write.object;
  const parts = [];
  if (metadata.generation) parts.push(`generation: ${metadata.generation}`);
  for (const name of ['phase', 'qosClass']) {
    if (creates && status?.[name]) parts.push(`${name}: ${status[name]}`);
  }
  return parts.join(', ');
}
