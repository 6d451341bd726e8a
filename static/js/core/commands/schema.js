// @ts-check
/**
 * What the server's OpenAPI says of a manifest that is being written: which fields can stand at a
 * place, and what is wrong by the schema alone. What else is wrong only the server can say. Pure.
 */
import { lineOf, pathOf, textOf } from './yamlsource.js';

/** @typedef {import('./yamlsource.js').Path} Path */
/** @typedef {import('./yamlsource.js').Document} Document */
/** @typedef {import('./yamlsource.js').Field} Field */
/** @typedef {Record<string, any>} Schema */
/** @typedef {{root: string, schemas: Record<string, Schema>, message: string}} OpenApi */
/**
 * @typedef {Object} Candidate   what can be written at a place
 * @property {string} name
 * @property {string} type       as it is shown
 * @property {string} text       what stands there of it
 * @property {boolean} isNeeded
 * @property {string} below      what follows the key: '' for a value, 'map' or 'list' for lines
 */
/** @typedef {{line: number, key: string, params: Record<string, string>}} Problem  a sentence */

const REFERENCE = '#/components/schemas/';

/** What is referred to is taken in. @param {OpenApi} api @param {Schema|undefined} schema */
function resolved(api, schema) {
  let { allOf, $ref, ...rest } = schema || {};
  for (let depth = 0; depth < 5; depth += 1) {
    $ref ||= allOf?.length === 1 ? allOf[0].$ref : '';
    if (!$ref) break;
    const referred = api.schemas[$ref.slice(REFERENCE.length)] || {};
    rest = { ...referred, ...rest };
    ({ allOf, $ref } = referred);
  }
  return rest;
}

/** The schema of a path; null where none is known. @param {OpenApi} api @param {Path} path */
function schemaAt(api, path) {
  /** @type {Schema|null} */ let here = resolved(api, api.schemas[api.root]);
  for (const step of path) {
    if (!here) return null;
    /** @type {Schema|null} */
    const next = typeof step === 'number' ? here.items : inner(here, step);
    here = next ? resolved(api, next) : null;
  }
  return here;
}

/** @param {Schema} schema @param {string} name */
function inner({ properties, additionalProperties }, name) {
  const own = properties && Object.hasOwn(properties, name) ? properties[name] : null;
  return own || (typeof additionalProperties === 'object' ? additionalProperties : null);
}

/** Whether fields that are not named may be there. @param {Schema} schema */
const isOpen = (schema) =>
  !schema.properties ||
  !!schema.additionalProperties ||
  !!schema['x-kubernetes-preserve-unknown-fields'];

/**
 * "string", "[]object", "integer or string"
 * @param {OpenApi} api @param {Schema} schema @returns {string}
 */
function typeOf(api, schema) {
  if (schema.items) return `[]${typeOf(api, resolved(api, schema.items))}`;
  const types = schema.oneOf || schema.anyOf;
  if (!schema.type && types)
    return types.map((/** @type {Schema} */ type) => type.type).join(' or ');
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  return schema.type || 'object';
}

/**
 * What can be written at a place, those that are needed first, without what is there already.
 * @param {OpenApi} api @param {import('./yamlsource.js').Place} place @param {Document} document
 * @returns {Candidate[]}
 */
export function candidatesAt(api, place, document) {
  const schema = schemaAt(api, place.path);
  if (!schema) return [];
  const typed = place.typed.toLowerCase();
  if (place.isValue) return valuesOf(schema).filter((value) => startsWith(value, typed));
  const there = new Set(
    document.fields
      .filter(({ path }) => isChild(path, place.path))
      .map(({ path }) => String(path.at(-1))),
  );
  const required = new Set(schema.required || []);
  return Object.entries(schema.properties || {})
    .map(([name, property]) => candidate(api, name, resolved(api, property), required.has(name)))
    .filter(
      (candidate) =>
        startsWith(candidate, typed) &&
        (!there.has(candidate.name) || candidate.name === place.typed),
    )
    .sort((a, b) => Number(b.isNeeded) - Number(a.isNeeded) || (a.name < b.name ? -1 : 1));
}

/** @param {Candidate} one @param {string} typed */
const startsWith = ({ name }, typed) => name.toLowerCase().startsWith(typed);

/** @param {Path} path @param {Path} parent */
const isChild = (path, parent) =>
  path.length === parent.length + 1 && parent.every((step, i) => step === path[i]);

/** @returns {Candidate} */
function candidate(
  /** @type {OpenApi} */ api,
  /** @type {string} */ name,
  /** @type {Schema} */ schema,
  /** @type {boolean} */ isNeeded,
) {
  const type = typeOf(api, schema);
  const below = type.startsWith('[]') ? 'list' : type === 'object' ? 'map' : '';
  return { name, type, text: schema.description || '', isNeeded, below };
}

/** @param {Schema} schema @returns {Candidate[]} */
function valuesOf(schema) {
  const values = schema.enum || (schema.type === 'boolean' ? [true, false] : []);
  const rest = { type: schema.type, text: schema.description || '', isNeeded: false, below: '' };
  return values.map((/** @type {any} */ name) => ({ name: String(name), ...rest }));
}

// -- what is wrong ------------------------------------------------------------------------------

/** What is wrong with a document by its schema. */
export function problemsOf(/** @type {OpenApi} */ api, /** @type {Document} */ document) {
  /** @type {Problem[]} */ const problems = [];
  /** @type {Map<string, {path: Path, names: Set<string>}>} */ const given = new Map();
  given.set('', { path: [], names: new Set() });
  for (const field of document.fields) {
    const { path, value } = field;
    given.get(textOf(path.slice(0, -1)))?.names.add(String(path.at(-1)));
    if (value === null) given.set(textOf(path), { path, names: new Set() });
    const wrong = problemOf(api, field);
    if (wrong) problems.push(wrong);
  }
  for (const { path, names } of given.values()) {
    const missing = (schemaAt(api, path)?.required || []).filter(
      (/** @type {string} */ name) => !names.has(name),
    );
    // of what has nothing in it yet the server speaks
    if (missing.length && names.size)
      problems.push({
        line: lineOf(document, path),
        key: 'editor.missing',
        params: { where: textOf(path) || '.', names: missing.join(', ') },
      });
  }
  return problems.sort((a, b) => a.line - b.line);
}

/** @param {OpenApi} api @param {Field} field @returns {Problem|null} */
function problemOf(api, { path, line, value }) {
  const schema = schemaAt(api, path);
  const where = textOf(path);
  if (!schema) {
    const parent = schemaAt(api, path.slice(0, -1));
    const isUnknown = parent && !isOpen(parent) && typeof path.at(-1) === 'string';
    return isUnknown ? { line, key: 'editor.unknown', params: { where } } : null;
  }
  if (value === null || /^[|>{[&*!]/.test(value) || value === 'null' || value === '~') return null;
  const type = typeOf(api, schema);
  /** @type {Record<string, boolean>} */ const rights = {
    integer: /^-?\d+$/.test(value),
    number: /^-?[\d.]+([eE][-+]?\d+)?$/.test(value),
    boolean: /^(true|false)$/.test(value),
    string: !/^(true|false|-?\d+(\.\d+)?)$/.test(value),
  };
  const isWrong = type in rights ? !rights[type] : /^(\[\]|object$)/.test(type);
  if (isWrong && !isOpenObject(schema, type))
    return { line, key: 'editor.type', params: { where, type, value } };
  const plain = value.replace(/^(["'])(.*)\1$/, '$2');
  if (schema.enum && !schema.enum.map(String).includes(plain))
    return { line, key: 'editor.value', params: { where, value, names: schema.enum.join(', ') } };
  return null;
}

/** Of which nothing is known, so that anything may stand there. */
const isOpenObject = (/** @type {Schema} */ schema, /** @type {string} */ type) =>
  type === 'object' && !schema.properties && !schema.additionalProperties;

// -- what the server says -----------------------------------------------------------------------

/**
 * @typedef {Object} Said   what became of one object
 * @property {number} code
 * @property {string} reason
 * @property {string} message
 * @property {{field: string, message: string}[]} [causes]
 */
/**
 * Where in a manifest a refusal of the server's belongs.
 * @param {Document|undefined} document @param {Said} said
 * @returns {{line: number, text: string}[]}  line -1 where it names no field
 */
export function refusalsOf(document, { reason, message, causes = [] }) {
  const lineFor = (/** @type {string} */ field) =>
    document && field ? lineOf(document, pathOf(field)) : -1;
  if (causes.length)
    return causes.map((cause) => ({
      line: lineFor(cause.field),
      text: cause.field ? `${cause.field}: ${cause.message}` : cause.message,
    }));
  const fields = [...message.matchAll(/(?:unknown|duplicate) field "([^"]+)"/g)];
  if (fields.length) return fields.map(([text, field]) => ({ line: lineFor(field), text }));
  const [, field = ''] = /Go struct field \w+\.([\w.]+) of type/.exec(message) || [];
  const [, number] = /yaml: line (\d+)/.exec(message) || [];
  const line = number ? Number(number) - 1 : lineForType(document, field);
  return [{ line, text: reason ? `${reason}: ${message}` : message }];
}

/** Go's decoder names a field without the places in lists. */
function lineForType(/** @type {Document|undefined} */ document, /** @type {string} */ field) {
  const names = (/** @type {Path} */ path) =>
    path.filter((part) => typeof part === 'string').join('.');
  const named = document?.fields.find(({ path }) => names(path) === field);
  return named ? named.line : -1;
}
