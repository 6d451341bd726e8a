// @ts-check
/**
 * The objects that kubectl itself makes. `kubectl run` as the kubectl of each release does it,
 * function by function: what it checks, which generator it chooses and what that makes. Until 1.17
 * a generator may be named, or follows from the restart policy; since 1.18 there is only the one
 * for pods. Loaded when such a line is sent first. Pure.
 *
 * Upstream: cmd/run/run.go and generate/versioned/{generator,run}.go of kubectl, which moved twice.
 */

/** @typedef {import('./commands.js').Command} Command */
/**
 * @typedef {Object} Step  one function of kubectl
 * @property {string} name
 * @property {string} source  its file in the source of that release
 * @property {string} [key]   of the words that say what it found
 * @property {Record<string, string>} [params]
 * @property {string} [failed]  why it went no further
 */
/** @typedef {{name: string, isGiven: boolean}} Generator */
/** @typedef {{image: string, restart: string, replicas: number, args: string[]}} Params */

const POLICIES = ['Always', 'OnFailure', 'Never'];
const RUN_POD = 'run-pod/v1';
/** The last minor release whose kubectl run has generators to choose from. */
const CHOOSES_UNTIL = 17;
/** Until this one their flags may be given, and do nothing. */
const TAKES_UNTIL = 20;
const IDLE = ['replicas', 'generator'];
/** Flags by which kubectl run made Deployments and more: gone since 1.21. */
const FORMER = [...IDLE, 'schedule', 'service-generator', 'service-overrides'];

/** @typedef {{since: number, apiVersion: string, kind: string}} Kind */
/** What each generator makes, and the first minor release that has it. */
const GENERATORS = /** @type {Record<string, Kind>} */ ({
  'run/v1': { since: 0, apiVersion: 'v1', kind: 'ReplicationController' },
  [RUN_POD]: { since: 0, apiVersion: 'v1', kind: 'Pod' },
  'deployment/v1beta1': { since: 0, apiVersion: 'extensions/v1beta1', kind: 'Deployment' },
  'deployment/apps.v1beta1': { since: 0, apiVersion: 'apps/v1beta1', kind: 'Deployment' },
  'deployment/apps.v1': { since: 13, apiVersion: 'apps/v1', kind: 'Deployment' },
  'job/v1': { since: 0, apiVersion: 'batch/v1', kind: 'Job' },
});

// registry, path, tag and digest, as github.com/docker/distribution/reference has them
const PART = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const HOST = '(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)';
const IMAGE = new RegExp(
  `^(?:${HOST}(?:\\.${HOST})*(?::[0-9]+)?/)?${PART}(?:/${PART})*` +
    '(?::[\\w][\\w.-]{0,127})?' +
    '(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?$',
);

/**
 * @param {import('./commands.js').Line} line
 * @param {{version: string, namespace: string}} known
 * @returns {Command}
 */
export function madeOf({ verb, words, flags, refused }, { version, namespace }) {
  const minor = Number(version.split('.')[1]);
  if (verb !== 'run') return deployment({ words, flags }, minor);
  const former = minor > TAKES_UNTIL && FORMER.find((name) => name in flags);
  if (former) return formerly(former, words, flags);
  const taken = ['image', 'restart', ...(minor <= TAKES_UNTIL ? IDLE : [])];
  return refused(taken) || run({ words, flags }, minor, namespace);
}

/**
 * @param {import('./commands.js').Parsed} line @param {number} minor @param {string} namespace
 * @returns {Command}
 */
function run({ words, flags }, minor, namespace) {
  const files = filesOf(minor);
  const old = minor < 11; // its functions have other names
  /** @type {Step[]} */ const steps = [
    { name: 'NewKubectlCommand', source: files.cmd },
    ...(old ? [] : [{ name: 'NewMatchVersionFlags', source: files.match }]),
    { name: 'NewFactory', source: files.factory },
    { name: 'NewCmdRun', source: files.run },
    ...(old ? [] : [{ name: 'Complete', source: files.run }]),
  ];
  const chooses = minor <= CHOOSES_UNTIL;
  const restart = flags.restart || POLICIES[0];
  const replicas = Number((chooses && flags.replicas) || 1);
  const wrong = wrongIn(words, flags, { restart, replicas }, minor);
  /** @type {Step} */ const checked = { name: old ? 'RunRun' : 'Run', source: files.run };
  if (wrong) return stopped(wrong, [...steps, checked]);
  const [name, ...args] = words;
  const { image } = flags;
  Object.assign(checked, { key: 'run.checked', params: { name, image } });
  steps.push(checked);

  const generator = generatorOf(chooses ? flags.generator : '', restart, minor);
  const kinds = GENERATORS[generator.name];
  const chosenBy = old ? 'Factory.Generators' : 'GeneratorFn';
  /** @type {Step} */ const choice = { name: chosenBy, source: files.run };
  steps.push(choice);
  if (!kinds || kinds.since > minor)
    return stopped(usage(`generator "${generator.name}" not found`, minor), steps);
  const how = generator.isGiven ? 'given' : chooses ? 'inferred' : 'only';
  Object.assign(choice, {
    key: `run.generator.${how}`,
    params: { generator: generator.name, restart },
  });

  const { apiVersion, kind } = kinds;
  const where = flags.namespace ? { namespace: flags.namespace } : {};
  const object = objectOf(kinds, name, where, { image, restart, replicas, args });
  const path = pathOf(apiVersion, kind, flags.namespace || namespace);
  steps.push(
    { name: 'createGeneratedObject', source: files.run },
    { name: 'Generate', source: files.generate, key: 'run.made', params: { kind, apiVersion } },
    {
      name: old ? 'Factory.Object' : 'ToRESTMapper',
      source: files.mapper,
      key: 'run.mapped',
      params: { kind, path },
    },
    { name: 'Helper.Create', source: files.helper },
    { name: old ? 'PrintSuccess' : 'PrintObj', source: files.run },
  );
  return {
    sort: 'manifest',
    manifest: JSON.stringify(object),
    notes: notesOf(generator.name, flags, minor).map((text) => ({ failed: false, text })),
    steps,
  };
}

/**
 * Of `kubectl create deployment`.
 * @param {import('./commands.js').Parsed} line @param {number} minor @returns {Command}
 */
function deployment({ words, flags }, minor) {
  const [name, ...more] = words;
  if (!name || more.length)
    return failed(`error: exactly one NAME is required, got ${words.length}`);
  const { image, replicas = '1', namespace } = flags;
  if (!image) return failed('error: required flag(s) "image" not set');
  const labels = { app: name };
  const containers = [{ name: baseOf(image) || name, image, resources: {} }];
  const object = {
    apiVersion: minor < 9 ? 'extensions/v1beta1' : 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels, ...(namespace ? { namespace } : {}) },
    spec: {
      replicas: Number(replicas),
      selector: { matchLabels: labels },
      strategy: {},
      template: { metadata: { labels }, spec: { containers } },
    },
  };
  return { sort: 'manifest', manifest: JSON.stringify(object) };
}

/** What kubectl calls the container of an image. @param {string} image */
const baseOf = (image) => image.split('/').at(-1)?.split(/[:@]/, 1)[0] || '';

/**
 * A line of the time before 1.18, as many walk-throughs begin with.
 * @param {string} flag @param {string[]} words @param {Record<string, string>} flags
 * @returns {Command}
 */
function formerly(flag, words, flags) {
  const { image = 'nginx', replicas = '1', namespace } = flags;
  const [name = baseOf(image) || 'web'] = words;
  const where = namespace ? ` --namespace=${namespace}` : '';
  const instead = `kubectl create deployment ${name} --image=${image} --replicas=${replicas}`;
  return {
    ...failed(`error: unknown flag: --${flag}\nSee 'kubectl run --help' for usage.`),
    key: 'commands.formerly',
    instead: `${instead}${where}`,
  };
}

/** What is wrong with a line, in kubectl's words; in the order in which it looks. */
function wrongIn(
  /** @type {string[]} */ words,
  /** @type {Record<string, string>} */ flags,
  /** @type {{restart: string, replicas: number}} */ { restart, replicas },
  /** @type {number} */ minor,
) {
  const { image } = flags;
  if (image === undefined) return 'error: required flag(s) "image" not set';
  if (!words.length) return usage('NAME is required for run', minor);
  if (!image) return 'error: --image is required';
  if (!IMAGE.test(image))
    return `error: Invalid image name "${image}": invalid reference format`;
  if (!POLICIES.includes(restart)) return usage(`invalid restart policy: ${restart}`, minor);
  if (restart !== POLICIES[0] && replicas !== 1)
    return usage(`--restart=${restart} requires that --replicas=1, found ${replicas}`, minor);
  return '';
}

/** @param {string} text @param {number} minor */
const usage = (text, minor) =>
  `error: ${text}\nSee 'kubectl run -h' for help and examples${minor < 15 ? '.' : ''}`;

/**
 * The one that is named, else the one that the restart policy leads to.
 * @param {string|undefined} named @param {string} restart @param {number} minor
 * @returns {Generator}
 */
function generatorOf(named, restart, minor) {
  if (named) return { name: named, isGiven: true };
  if (minor > CHOOSES_UNTIL || restart === 'Never') return { name: RUN_POD, isGiven: false };
  if (restart === 'OnFailure') return { name: 'job/v1', isGiven: false };
  const deployments = minor < 11 ? 'v1beta1' : minor < 13 ? 'apps.v1beta1' : 'apps.v1';
  return { name: `deployment/${deployments}`, isGiven: false };
}

/** What kubectl says besides. @param {string} generator @param {any} flags @param {number} minor */
function notesOf(generator, flags, minor) {
  if (minor > CHOOSES_UNTIL)
    return IDLE.filter((flag) => flag in flags).map(
      (flag) =>
        `Flag --${flag} has been deprecated, has no effect and will be removed in the future.`,
    );
  if (minor < 12 || generator === RUN_POD) return [];
  const instead = minor < 13 ? '' : `kubectl run --generator=${RUN_POD} or `;
  return [
    `kubectl run --generator=${generator} is DEPRECATED and will be removed in a future version. ` +
      `Use ${instead}kubectl create instead.`,
  ];
}

/**
 * @param {{apiVersion: string, kind: string}} made @param {string} name
 * @param {{namespace?: string}} where @param {Params} params
 */
function objectOf({ apiVersion, kind }, name, where, { image, restart, replicas, args }) {
  const labels = { run: name };
  const container = { name, image, resources: {}, ...(args.length ? { args } : {}) };
  const spec = { containers: [container] };
  const metadata = { name, labels, ...where };
  if (kind === 'Pod') {
    const policy = { dnsPolicy: 'ClusterFirst', restartPolicy: restart };
    return { apiVersion, kind, metadata, spec: { ...spec, ...policy } };
  }
  const template = { metadata: { labels }, spec };
  if (kind === 'Job') {
    const pods = { ...template, spec: { ...spec, restartPolicy: restart } };
    return { apiVersion, kind, metadata, spec: { template: pods } };
  }
  const selector = kind === 'Deployment' ? { matchLabels: labels } : labels;
  const strategy = kind === 'Deployment' ? { strategy: {} } : {};
  return { apiVersion, kind, metadata, spec: { replicas, selector, ...strategy, template } };
}

/** Where an object is posted to. */
const pathOf = (
  /** @type {string} */ apiVersion,
  /** @type {string} */ kind,
  /** @type {string} */ namespace,
) =>
  `/${apiVersion.includes('/') ? 'apis' : 'api'}/${apiVersion}/namespaces/${namespace}/` +
  `${kind.toLowerCase()}s`;

/** Where kubectl's functions stand in the source of a release. @param {number} minor */
function filesOf(minor) {
  const kubectl = minor < 16 ? 'pkg/kubectl' : 'staging/src/k8s.io/kubectl/pkg';
  const runtime = minor < 12 ? 'pkg/kubectl' : 'staging/src/k8s.io/cli-runtime/pkg';
  const resource = minor < 11 || minor > 13 ? runtime : `${runtime}/genericclioptions`;
  const old = minor < 13;
  return {
    cmd: minor < 20 ? 'pkg/kubectl/cmd/cmd.go' : `${kubectl}/cmd/cmd.go`,
    match: `${kubectl}/cmd/util/kubectl_match_version.go`,
    factory: `${kubectl}/cmd/util/factory${minor < 11 ? '' : '_client_access'}.go`,
    run: old ? 'pkg/kubectl/cmd/run.go' : `${kubectl}/cmd/run/run.go`,
    generate: old ? 'pkg/kubectl/run.go' : `${kubectl}/generate/versioned/run.go`,
    mapper:
      minor < 11
        ? 'pkg/kubectl/cmd/util/factory_object_mapping.go'
        : `${runtime}/genericclioptions/config_flags.go`,
    helper: `${resource}/resource/helper.go`,
  };
}

/** @param {string} text @returns {Command} */
const failed = (text) => ({ sort: 'said', text, failed: true });

/** @param {string} text @param {Step[]} steps @returns {Command} */
function stopped(text, steps) {
  const last = /** @type {Step} */ (steps.at(-1));
  return { ...failed(text), steps: [...steps.slice(0, -1), { ...last, failed: text }] };
}
