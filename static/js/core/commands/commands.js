// @ts-check
/**
 * What is written in the field for commands: a manifest, a line of etcdctl, or one of the lines of
 * kubectl that the page sends itself. Says of anything else why it cannot be sent. Decides nothing
 * about the objects: that is the API server's. Pure.
 */
import { actsOf } from './acts.js';
import { everyObject, objectsOf } from '../cluster/objects.js';
import { kindOf, objectKey, pluralOf } from '../trace/records.js';

/** @typedef {import('./acts.js').Act} Act */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../trace/reducer.js').State} State */
/**
 * @typedef {Object} Command
 * @property {'manifest'|'etcdctl'|'act'|'get'|'said'|'none'|'made'} sort
 * @property {Line} [line]  made: what kubectl makes an object of, see generators.js
 * @property {string} [manifest]
 * @property {Act} [act]
 * @property {Get} [get]
 * @property {string} [text]  said: what kubectl itself says of the line, and sends nothing
 * @property {boolean} [failed]
 * @property {string} [key]   of the words that say why, or what is said besides
 * @property {Record<string, string>} [params]
 * @property {string} [instead]  a line that does what was meant
 * @property {import('./answers.js').Line[]} [notes]  what kubectl says before it has an answer
 * @property {import('./generators.js').Step[]} [steps]  what kubectl did until it sent that
 */
/**
 * @typedef {Object} Get  what `kubectl get` is asked for
 * @property {string[]} types
 * @property {string[]} names
 * @property {string} namespace  '' for one's own
 * @property {boolean} all_namespaces
 * @property {string} selector
 * @property {string} output
 */
/** @typedef {{words: string[], flags: Record<string, string>}} Parsed */
/**
 * @typedef {Parsed & {verb: string, refused: (own: string[]) => Command|null}} Line  whose words do
 *   not have the verb; refused: why its flags are not taken, of which these are the verb's own
 */
/**
 * @typedef {Object} Known
 * @property {State} state
 * @property {number} now        ms since 1970
 * @property {string} namespace  of the one who sends it
 */

/** Of kubectl: how it is written, and which flags it takes besides the namespace. */
const KNOWN = {
  get: ['all-namespaces', 'selector', 'output'],
  'create deployment': ['image', 'replicas'],
  run: [], // see generators.js
  scale: ['replicas'],
  'rollout restart': [],
  cordon: [],
  uncordon: [],
  delete: [],
};
/** Lines that only look, which are for a terminal. */
const READS = ['describe', 'logs', 'explain', 'top', 'events'];
const OUTPUTS = ['', 'wide', 'name'];
const FLAGS = /** @type {Record<string, string>} */ ({
  A: 'all-namespaces',
  l: 'selector',
  n: 'namespace',
  o: 'output',
});
export const ALL_KEYS = 'etcdctl get / --prefix --keys-only';
export const KUBECTL = Object.freeze(Object.keys(KNOWN));
const SHORT = /** @type {Record<string, string>} */ ({
  cm: 'configmaps',
  cj: 'cronjobs',
  deploy: 'deployments',
  ds: 'daemonsets',
  hpa: 'horizontalpodautoscalers',
  no: 'nodes',
  ns: 'namespaces',
  po: 'pods',
  pvc: 'persistentvolumeclaims',
  rs: 'replicasets',
  sts: 'statefulsets',
  svc: 'services',
});
const MANIFEST = /\n|^(---|[{[#])|^["']?[\w.-]+["']?\s*:(\s|$)/;
const QUOTED = /"((?:[^"\\]|\\.)*)"|'([^']*)'/g;
const TOKEN = new RegExp(`(?:[^\\s"']|${QUOTED.source}|["'])+`, 'g');

/** Whether Enter sends it: one line that is no YAML. @param {string} text */
export const isLine = (text) => !!text.trim() && !MANIFEST.test(text.trim());

/** @param {string} text @param {Known} known */
export function commandOf(text, known) {
  const line = text.trim();
  if (!line) return none('commands.nothing');
  if (!isLine(text)) return /** @type {Command} */ ({ sort: 'manifest', manifest: text });
  if (/^etcdctl(\s|$)/.test(line)) return /** @type {Command} */ ({ sort: 'etcdctl' });
  return /^kubectl(\s|$)/.test(line) ? kubectl(line, known) : none('commands.unknown');
}

/** @param {string} line @param {Known} known @returns {Command} */
function kubectl(line, known) {
  const { words, flags } = parsed(line);
  const verb = KUBECTL.find((command) => `${words.join(' ')} `.startsWith(`${command} `));
  if (['f', 'filename'].some((name) => name in flags)) return none('commands.file');
  if (!verb) return none(READS.includes(words[0]) ? 'commands.read' : 'commands.kubectl');
  const rest = { words: words.slice(verb.split(' ').length), flags };
  const refused = (/** @type {string[]} */ own) => refusedFlags(verb, flags, own);
  const made = /** @type {Command} */ ({ sort: 'made', line: { verb, ...rest, refused } });
  if (verb === 'run') return made;
  const wrong = refused(KNOWN[/** @type {keyof typeof KNOWN} */ (verb)]);
  if (wrong) return wrong;
  if (verb === 'get') return read(rest.words, flags);
  return verb === 'create deployment' ? made : acted(verb, rest, known);
}

/**
 * Why flags are not taken, of which a verb has these besides the namespace.
 * @param {string} verb @param {Record<string, string>} flags @param {string[]} own
 * @returns {Command|null}
 */
function refusedFlags(verb, flags, own) {
  const allowed = [...own, 'namespace'];
  if (Object.keys(flags).some((name) => !allowed.includes(name)))
    return none('commands.flags', {
      line: `kubectl ${verb}`,
      flags: allowed.map((name) => `--${name}`).join(', '),
    });
  const { replicas = '' } = flags;
  return replicas && !/^\d+$/.test(replicas)
    ? failed(`error: invalid argument "${replicas}" for "--replicas" flag: invalid syntax`)
    : null;
}

/**
 * What is there; the server prints it.
 * @param {string[]} words @param {Record<string, string>} flags @returns {Command}
 */
function read(words, flags) {
  const [first = '', ...more] = words;
  const { namespace = '', selector = '', output = '' } = flags;
  const [type, ...named] = first.split('/');
  if (!type) return failed('error: Required resource not specified.');
  if (!OUTPUTS.includes(output) || (named.length && more.length)) return none('commands.read');
  return {
    sort: 'get',
    get: {
      types: type.split(','),
      names: [...named, ...more],
      namespace,
      all_namespaces: 'all-namespaces' in flags,
      selector,
      output,
    },
  };
}

/**
 * Words and flags, `--name value` as well as `--name=value`.
 * @param {string} line @returns {Parsed}
 */
function parsed(line) {
  const tokens = (line.match(TOKEN) || []).slice(1).map(unquoted);
  /** @type {Parsed} */ const found = { words: [], flags: {} };
  for (let i = 0; i < tokens.length; i += 1) {
    const [, glued] = /^-o(\w+)$/.exec(tokens[i]) || [];
    const flag = glued ? ['', 'o', glued] : /^--?([\w-]+)(?:=(.*))?$/.exec(tokens[i]);
    if (!flag) {
      found.words.push(tokens[i]);
      continue;
    }
    const name = FLAGS[flag[1]] || flag[1];
    const value = name === 'all-namespaces' ? '' : (flag[2] ?? tokens[(i += 1)] ?? '');
    found.flags[name] = value;
  }
  return found;
}

/** As a shell takes it. @param {string} token */
const unquoted = (token) =>
  token.replace(QUOTED, (_, double, single) => double ?? single);

/** A request about one object. */
function acted(
  /** @type {string} */ verb,
  /** @type {Parsed} */ { words, flags },
  /** @type {Known} */ { state, now, namespace },
) {
  const isNode = verb.endsWith('cordon');
  const parts = words.flatMap((word) => word.split('/'));
  const [type, name, ...more] = isNode ? ['nodes', ...parts] : parts;
  if (!name) return failed('error: resource(s) were provided, but no name was specified');
  if (more.length) return none('commands.one');
  if (verb === 'scale' && !flags.replicas)
    return failed('error: required flag(s) "replicas" not set');
  const write = targetOf(state, type, flags.namespace || namespace, name);
  if (!write) return failed(`error: the server doesn't have a resource type "${type}"`);
  const acts = actsOf(write, { replicas: Number(flags.replicas), now });
  const act = acts.find((candidate) => candidate.name === verb.replace('rollout ', ''));
  if (act) return /** @type {Command} */ ({ sort: 'act', act });
  const text = isNode ? `node/${name} already ${verb}ed` : '';
  return text ? /** @type {Command} */ ({ sort: 'said', text }) : none('commands.not');
}

/**
 * The newest of an object; of one that is not there what names it, so that the server can say so.
 * Null for a type of which there is no object.
 */
function targetOf(
  /** @type {State} */ state,
  /** @type {string} */ type,
  /** @type {string} */ namespace,
  /** @type {string} */ name,
) {
  const plural = SHORT[type] || type.toLowerCase();
  const names = (/** @type {string} */ resource) => {
    const [many, single] = [pluralOf(resource), kindOf(resource).toLowerCase()];
    return [resource, many, single, resource.replace(many, single)];
  };
  const like = everyObject(state).find(({ resource }) => names(resource).includes(plural));
  if (!like) return null;
  const where = like.namespace ? namespace : '';
  const key = objectKey(like.resource, where, name);
  const { apiVersion, kind } = like.object;
  const object = { apiVersion, kind, metadata: {} };
  const absent = { ...like, key, namespace: where, name, object };
  return objectsOf(state, like.resource).get(key) || /** @type {WriteRecord} */ (absent);
}

/** @param {string} text @returns {Command} */
const failed = (text) => ({ sort: 'said', text, failed: true });

/** @param {string} key @param {Record<string, string>} [params] @returns {Command} */
const none = (key, params) => ({ sort: 'none', key, params });
