// @ts-check
/**
 * The steps inside two gates: what the kind's strategy was asked, and which calls of upstream's
 * storage.Interface reached etcd. Read from the records of the request; what is the same for every
 * request is not in them and stands here. Pure.
 *
 * Models kubernetes staging/src/k8s.io/apiserver pkg/registry/rest/create.go (RESTCreateStrategy),
 * pkg/registry/generic/registry/dryrun.go, pkg/storage/interfaces.go and etcd3/store.go.
 */
import { kindOf } from './records.js';
import { startupOf } from './startup.js';

/** @typedef {import('./index.js').Index} Index */
/** @typedef {import('./index.js').Span} Span */

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

const READS = { get: 'Get', list: 'GetList', watch: 'Watch' };
const BY_OP = { create: 'Create', update: 'GuaranteedUpdate', delete: 'Delete' };
const BY_VERB = {
  create: 'Create',
  update: 'GuaranteedUpdate',
  patch: 'GuaranteedUpdate',
  delete: 'Delete',
};
const ACCESSES_SHOWN = 8;
// groups whose objects etcd holds as JSON, beside custom resources
const IN_JSON = ['apiextensions.k8s.io', 'apiregistration.k8s.io'];

/** @param {number} depth @param {string} verdict @param {string} call @param {string} [key] */
const step = (depth, verdict, call, key = '', params = {}) =>
  /** @type {Step} */ ({ depth, verdict, call, key, params });

// -- etcd ---------------------------------------------------------------------------------------

/**
 * Every call of the storage interface that a request made up to a record.
 * @param {Span} span @param {number} seq @returns {Step[]}
 */
export function storageSteps(span, seq) {
  const open = /** @type {any} */ (span.open);
  const seen = /** @type {any[]} */ (span.records).filter((one) => one.seq <= seq);
  const read = /** @type {any} */ (READS)[open.verb];
  const route = seen.find((one) => one.gate === 'routing')?.detail || {};
  if (route.apiservice) return [];
  const close = /** @type {any} */ (span.close);
  const answered = close && close.seq <= seq ? close : null;
  if (read) return open.resource ? readSteps(read, open.name, seen, route, answered) : [];
  const accesses = accessesOf(open, seen);
  if (!accesses.length) return [];
  const stored = formOf(open.resource, route);
  const shown = accesses.slice(0, ACCESSES_SHOWN);
  const steps = open.verb === 'deletecollection' ? [step(0, 'allow', 'GetList', 'list')] : [];
  for (let i = 0; i < shown.length; i += 1) {
    const { call } = shown[i];
    if (call === 'GuaranteedUpdate') {
      const tries = [shown[i]];
      while (isStale(shown[i]) && shown[i + 1]?.key === shown[i].key) tries.push(shown[(i += 1)]);
      steps.push(...updateSteps(tries, open.verb, stored));
    } else if (call === 'Delete') steps.push(...deleteSteps(shown[i], open.verb));
    else steps.push(...createSteps(shown[i], stored));
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

/** @param {any} open @param {any[]} seen @returns {Access[]} */
function accessesOf(open, seen) {
  /** @type {Access[]} */ const found = [];
  /** @type {any[]} */ let writes = [];
  const made = (/** @type {any} */ write, detail = {}) => ({
    call: /** @type {any} */ (BY_OP)[write.op],
    key: write.key || '',
    verdict: 'allow',
    detail,
    write,
  });
  for (const one of seen) {
    if (one.kind === 'write') writes.push(one);
    if (one.kind !== 'gate' || one.gate !== 'etcd') continue;
    const last = one.verdict === 'allow' ? writes.pop() : null;
    found.push(...writes.map((write) => made(write)));
    writes = [];
    if (last) found.push({ ...made(last, one.detail), key: one.detail.key || last.key });
    else if (one.detail?.word !== 'not stored')
      found.push({
        call: one.detail?.call || /** @type {any} */ (BY_VERB)[open.verb] || 'Get',
        key: one.detail?.key || '',
        verdict: one.verdict,
        detail: one.detail || {},
        write: null,
      });
  }
  return [...found, ...writes.map((write) => made(write))];
}

/** @param {Access} access */
const isStale = ({ verdict, detail }) => verdict === 'deny' && detail.found !== undefined;

/** @param {string} resource @param {any} route */
function formOf(resource, route) {
  const group = resource.slice(resource.indexOf('.') + 1);
  return route.definition || IN_JSON.includes(group) ? 'JSON' : 'protobuf';
}

/**
 * @param {string} call @param {string} name @param {any[]} seen @param {any} route
 * @param {any} close
 */
function readSteps(call, name, seen, route, close) {
  const refused = seen.find((one) => one.gate === 'etcd' && one.verdict === 'deny');
  if (!route.word) return [];
  /** @type {Step[]} */ const steps = [];
  const flow = seen.find((one) => one.gate === 'flowcontrol');
  if (call === 'GetList' && flow && !name)
    steps.push(step(0, 'allow', 'Count', 'count', { n: flow.detail?.seats || 1 }));
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

/** @param {Access} access @param {string} form */
function createSteps({ key, verdict, detail, write }, form) {
  const isDry = detail.word === 'dry run';
  const isNamed = verdict === 'deny' && /resourceVersion should not be set/.test(detail.message);
  const taken = isStale({ call: '', key, verdict, detail, write });
  /** @type {Step[]} */ const steps = [{ ...step(0, verdict, 'Create'), said: key }];
  if (isDry)
    return [
      ...steps,
      step(1, 'skip', 'DryRunnableStorage', 'dryRun'),
      step(1, 'allow', 'Get', 'free'),
      step(1, 'skip', 'put', 'left'),
      step(1, 'allow', 'copyInto', 'copied', { form }),
    ];
  steps.push(step(1, isNamed ? 'deny' : 'allow', 'Versioner', 'unversioned'));
  steps.push(step(1, isNamed ? 'wait' : 'allow', 'encode', 'encode', { form }));
  if (isNamed) return steps;
  steps.push(put('putNew', verdict, { expected: 0, rev: write?.rev }, detail));
  if (taken) steps.push(step(1, 'allow', 'Get', 'deleting', { rev: detail.found }));
  else if (verdict === 'allow') steps.push(step(1, 'skip', 'Get', 'readBack', { rev: write.rev }));
  return steps;
}

/**
 * The transaction: what it went by, and how it ended.
 * @param {string} key @param {string} verdict @param {any} params @param {any} detail
 */
function put(key, verdict, params, detail) {
  if (verdict === 'allow')
    return step(1, 'change', 'put', key, texts({ ...params, to: params.rev }));
  if (isStale({ call: '', key, verdict, detail, write: null }))
    return step(1, 'deny', 'put', detail.found ? 'putStale' : 'putGone', texts(detail));
  return { ...step(1, 'deny', 'put', detail.injected ? 'putInjected' : ''), said: detail.message };
}

/** Numbers of revisions are names: no separators. @param {any} params */
const texts = (params) =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value ?? '')]));

/** @param {Access[]} tries @param {string} verb @param {string} form */
function updateSteps(tries, verb, form) {
  const last = tries[tries.length - 1];
  /** @type {Step[]} */ const steps = [
    { ...step(0, last.verdict, 'GuaranteedUpdate'), said: last.key },
  ];
  tries.forEach((one, i) => {
    const { detail, write } = one;
    const missing = detail.word === '404' || detail.word === 'NotFound';
    const from = write ? write.prev : detail.expected;
    if (missing) {
      steps.push(step(1, 'deny', 'Get', 'absent'));
      return;
    }
    const again = i > 0 ? 'readAgain' : from ? 'read' : 'readAny';
    steps.push(step(1, 'allow', 'Get', again, texts({ rev: from, n: i + 1 })));
    const marks = verb === 'delete' || verb === 'deletecollection';
    steps.push(step(1, 'change', 'tryUpdate', marks ? 'marks' : 'tries'));
    if (detail.word === 'dry run') {
      steps.push(step(1, 'skip', 'DryRunnableStorage', 'dryRun'), step(1, 'skip', 'put', 'left'));
      return;
    }
    if (detail.word === 'no change') {
      steps.push(step(1, 'allow', 'encode', 'encodeSame'), step(1, 'skip', 'put', 'same'));
      return;
    }
    if (one.verdict === 'deny' && !isStale(one) && !detail.injected) {
      steps.push({ ...step(1, 'deny', 'preconditions'), said: detail.message });
      return;
    }
    steps.push(step(1, 'allow', 'encode', 'encode', { form }));
    steps.push(put('putOver', one.verdict, { expected: from, rev: write?.rev }, detail));
  });
  const ends = last.write && (verb === 'delete' || verb === 'deletecollection');
  if (ends) steps.push(step(0, 'skip', 'Delete', 'later'));
  return steps;
}

/** @param {Access} access @param {string} verb @returns {Step[]} */
function deleteSteps({ key, verdict, detail, write }, verb) {
  const missing = verdict === 'deny' && !write && !detail.injected && detail.found === undefined;
  /** @type {Step[]} */ const steps = [];
  if (verb === 'delete' || verb === 'deletecollection') {
    steps.push({ ...step(0, missing ? 'deny' : 'allow', 'Get'), said: detail.message || key });
    if (missing) return steps;
  }
  steps.push({ ...step(0, verdict, 'Delete'), said: key });
  if (detail.word === 'dry run')
    return [
      ...steps,
      step(1, 'skip', 'DryRunnableStorage', 'dryRun'),
      step(1, 'skip', 'put', 'left'),
    ];
  const txn = put('putDelete', verdict, { expected: write?.prev, rev: write?.rev }, detail);
  return [...steps, { ...txn, call: 'delete' }];
}

// -- the strategy -------------------------------------------------------------------------------

/** [upstream's name, the steps that are the kind's own] @param {Index} index */
export function strategyOf(index, /** @type {string} */ resource, custom = false) {
  if (custom) return ['customResourceStrategy', ['PrepareForCreate', 'Validate']];
  const told = startupOf(index).strategies || [];
  const found = told.find((/** @type {any[]} */ [name]) => name === resource);
  return found ? found.slice(1) : ['strategy', null];
}

/**
 * What the strategy of the kind was asked about an object, in upstream's order.
 * @param {Index} index @param {Span} span @param {number} seq @returns {Step[]}
 */
export function strategySteps(index, span, seq) {
  const open = /** @type {any} */ (span.open);
  const seen = /** @type {any[]} */ (span.records).filter((one) => one.seq <= seq);
  const gate = (/** @type {string} */ name) => seen.findLast((one) => one.gate === name);
  const decoded = gate('decode');
  if (!decoded || decoded.verdict === 'deny' || open.subresource === 'binding') return [];
  const prepared = gate('prepare');
  const judged = gate('validation');
  const custom = !!gate('routing')?.detail?.definition;
  const [name, own] = strategyOf(index, open.resource, custom);
  const creates = !!prepared?.detail?.uid || (!prepared && open.verb === 'create');
  const write = seen.findLast((one) => one.kind === 'write' && one.resource === open.resource);
  const suffix = creates ? 'Create' : 'Update';
  const isStatus = open.subresource === 'status';
  const who = (/** @type {string} */ call) =>
    !own || isStatus ? 'kind' : own.includes(call) ? 'own' : 'generic';
  const version = open.path.startsWith('/api/') ? 'v1' : open.path.split('/').slice(2, 4).join('/');
  const kind = kindOf(open.resource);
  const steps = [
    step(0, prepared ? 'allow' : 'wait', isStatus ? ofStatus(name) : name, 'strategy', { kind }),
    step(1, 'allow', 'ObjectTyper', 'typer', { kind, version }),
    open.namespace
      ? step(1, 'allow', 'NamespaceScoped', 'scoped', { namespace: open.namespace })
      : step(1, 'allow', 'NamespaceScoped', 'unscoped'),
  ];
  if (creates) steps.push(nameStep(prepared));
  const prepare = `PrepareFor${suffix}`;
  const how = isStatus ? 'status' : who(prepare);
  const touched = write?.object && prepared ? touches(write, creates) : '';
  steps.push({
    ...step(1, prepared ? 'change' : 'wait', prepare, `prepare.${how}`),
    said: touched,
  });
  const validate = creates ? 'Validate' : 'ValidateUpdate';
  const errors = judged?.detail?.errors?.length || 0;
  steps.push(
    step(
      1,
      judged ? judged.verdict : 'wait',
      validate,
      errors ? 'errors' : `validate.${who(validate)}`,
      { n: errors },
    ),
  );
  const legal = judged?.verdict === 'allow';
  steps.push(step(1, legal ? 'noop' : 'wait', 'Canonicalize', 'canonical'));
  return steps;
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
