// @ts-check
// Facts about kubectl run: what the kubectl of each release makes of a line, and by which steps.
// They are those of upstream's source at the tags of these releases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandOf } from '../../static/js/core/commands/commands.js';
import { madeOf } from '../../static/js/core/commands/generators.js';
import { wordsFor } from './languages.mjs';

const STATE = /** @type {any} */ ({ objects: new Map() });
const RELEASES = Array.from({ length: 29 }, (_, at) => `1.${at + 8}`);
const NGINX = '--image=nginx';

function run(/** @type {string} */ rest, version = '1.33', namespace = 'default') {
  const { line } = commandOf(`kubectl run ${rest}`, { state: STATE, now: 0, namespace });
  assert.ok(line);
  return madeOf(line, { version, namespace });
}
const objectOf = (/** @type {ReturnType<typeof run>} */ line) => JSON.parse(line.manifest || '');
const stepOf = (/** @type {ReturnType<typeof run>} */ line, /** @type {string} */ name) =>
  line.steps?.find((step) => step.name === name);

test('the Deployment generator is the one of the release', () => {
  const of = (/** @type {string} */ version) => {
    const line = run(`nginx ${NGINX} --replicas=3`, version);
    const { apiVersion, kind, spec } = objectOf(line);
    const step = stepOf(line, 'GeneratorFn') || stepOf(line, 'Factory.Generators');
    return [step?.params?.generator, apiVersion, kind, spec.replicas];
  };
  for (const version of ['1.8', '1.10'])
    assert.deepEqual(of(version), ['deployment/v1beta1', 'extensions/v1beta1', 'Deployment', 3]);
  for (const version of ['1.11', '1.12'])
    assert.deepEqual(of(version), ['deployment/apps.v1beta1', 'apps/v1beta1', 'Deployment', 3]);
  for (const version of ['1.13', '1.17'])
    assert.deepEqual(of(version), ['deployment/apps.v1', 'apps/v1', 'Deployment', 3]);
});

test('a generator is given or inferred from the restart policy, and the step says which', () => {
  const of = (/** @type {string} */ flags, version = '1.13') => {
    const line = run(`web ${NGINX} ${flags}`, version);
    const { key, params } = stepOf(line, 'GeneratorFn') || {};
    return [key, params?.generator, objectOf(line).kind];
  };
  const [given, inferred] = ['run.generator.given', 'run.generator.inferred'];
  assert.deepEqual(of(''), [inferred, 'deployment/apps.v1', 'Deployment']);
  assert.deepEqual(of('--restart=OnFailure'), [inferred, 'job/v1', 'Job']);
  assert.deepEqual(of('--restart=Never'), [inferred, 'run-pod/v1', 'Pod']);
  assert.deepEqual(of('--generator=run-pod/v1'), [given, 'run-pod/v1', 'Pod']);
  assert.deepEqual(of('--generator=run/v1'), [given, 'run/v1', 'ReplicationController']);
  assert.deepEqual(of('', '1.18'), ['run.generator.only', 'run-pod/v1', 'Pod']);
  const words = wordsFor('en');
  const step = stepOf(run(`web ${NGINX}`, '1.13'), 'GeneratorFn');
  assert.equal(
    words.t(step?.key || '', step?.params),
    'the generator deployment/apps.v1, inferred from --restart=Always',
  );
});

test('a generator that the release has not is not found', () => {
  for (const [generator, version] of [['deployment/apps.v1', '1.12'], ['cat/v1', '1.17']]) {
    const line = run(`web ${NGINX} --generator=${generator}`, version);
    const see = `See 'kubectl run -h' for help and examples${version === '1.12' ? '.' : ''}`;
    const text = `error: generator "${generator}" not found\n${see}`;
    assert.equal(line.text, text);
    assert.equal(line.steps?.at(-1)?.failed, text);
  }
});

test('what it says of generators is said by the releases that say it', () => {
  const notes = (/** @type {string} */ flags, /** @type {string} */ version) =>
    run(`web ${NGINX} ${flags}`, version).notes?.map(({ text }) => text);
  const warned =
    'kubectl run --generator=deployment/apps.v1 is DEPRECATED and will be removed in a future ' +
    'version. Use kubectl run --generator=run-pod/v1 or kubectl create instead.';
  assert.deepEqual(notes('', '1.11'), []);
  const [older = ''] = notes('', '1.12') || [];
  assert.match(older, /apps.v1beta1 is DEPRECATED.* Use kubectl create instead/);
  assert.deepEqual(notes('', '1.16'), [warned]);
  assert.deepEqual(notes('--restart=Never', '1.16'), []);
  assert.deepEqual(notes('--replicas=3', '1.19'), [
    'Flag --replicas has been deprecated, has no effect and will be removed in the future.',
  ]);
  assert.equal(objectOf(run(`web ${NGINX} --replicas=3`, '1.19')).kind, 'Pod');
  const { text = '' } = run(`web ${NGINX} --replicas=3`, '1.21');
  assert.match(text, /^error: unknown flag: --replicas\nSee 'kubectl run --help' for usage.$/);
});

test('what is wrong is refused before anything is sent, at the step that finds it', () => {
  const wrong = {
    'web': 'error: required flag(s) "image" not set',
    [NGINX]: "error: NAME is required for run\nSee 'kubectl run -h' for help and examples",
    'web --image=': 'error: --image is required',
    "web --image='ng inx'": 'error: Invalid image name "ng inx": invalid reference format',
    [`web ${NGINX} --restart=Maybe`]:
      "error: invalid restart policy: Maybe\nSee 'kubectl run -h' for help and examples",
  };
  for (const [rest, text] of Object.entries(wrong)) {
    const line = run(rest);
    assert.deepEqual([line.sort, line.text, line.failed], ['said', text, true], rest);
    assert.deepEqual([line.steps?.at(-1)?.name, line.steps?.at(-1)?.failed], ['Run', text], rest);
  }
  const many = run(`web ${NGINX} --restart=Never --replicas=3`, '1.17');
  assert.match(many.text || '', /--restart=Never requires that --replicas=1, found 3/);
});

test('images are those that upstream takes', () => {
  const digest = `n@sha256:${'0'.repeat(64)}`;
  const right = ['nginx', 'nginx:1.27', 'a/b', 'r.example:5000/a/b:x_Y.z', digest];
  const bad = ['Nginx', 'nginx:', ':1', 'a//b', 'nginx@sha256:12', '-nginx'];
  for (const image of right) assert.ok(run(`web --image=${image}`).manifest, image);
  for (const image of bad)
    assert.match(run(`web --image=${image}`).text || '', /Invalid image/, image);
});

test('one container has the name of the pod, and what follows are its arguments', () => {
  const { metadata, spec } = objectOf(run(`web ${NGINX} --restart=OnFailure a b -n shop`));
  assert.deepEqual(metadata, { name: 'web', labels: { run: 'web' }, namespace: 'shop' });
  assert.deepEqual(spec, {
    containers: [{ name: 'web', image: 'nginx', resources: {}, args: ['a', 'b'] }],
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'OnFailure',
  });
});

test('the functions of 1.21 stand in their order, each with its file', () => {
  const { steps = [] } = run(`nginx ${NGINX}`, '1.21', 'student');
  const kubectl = 'staging/src/k8s.io/kubectl/pkg';
  const runtime = 'staging/src/k8s.io/cli-runtime/pkg';
  assert.deepEqual(
    steps.map(({ name, source }) => [name, source]),
    [
      ['NewKubectlCommand', `${kubectl}/cmd/cmd.go`],
      ['NewMatchVersionFlags', `${kubectl}/cmd/util/kubectl_match_version.go`],
      ['NewFactory', `${kubectl}/cmd/util/factory_client_access.go`],
      ['NewCmdRun', `${kubectl}/cmd/run/run.go`],
      ['Complete', `${kubectl}/cmd/run/run.go`],
      ['Run', `${kubectl}/cmd/run/run.go`],
      ['GeneratorFn', `${kubectl}/cmd/run/run.go`],
      ['createGeneratedObject', `${kubectl}/cmd/run/run.go`],
      ['Generate', `${kubectl}/generate/versioned/run.go`],
      ['ToRESTMapper', `${runtime}/genericclioptions/config_flags.go`],
      ['Helper.Create', `${runtime}/resource/helper.go`],
      ['PrintObj', `${kubectl}/cmd/run/run.go`],
    ],
  );
  assert.equal(steps[9].params?.path, '/api/v1/namespaces/student/pods');
});

test('the functions of 1.10 have the names that they had then', () => {
  const { steps = [] } = run(`nginx ${NGINX}`, '1.10');
  assert.deepEqual(
    steps.map(({ name, source }) => `${name} ${source.replace('pkg/kubectl/', '')}`),
    [
      'NewKubectlCommand cmd/cmd.go', 'NewFactory cmd/util/factory.go', 'NewCmdRun cmd/run.go',
      'RunRun cmd/run.go', 'Factory.Generators cmd/run.go', 'createGeneratedObject cmd/run.go',
      'Generate run.go', 'Factory.Object cmd/util/factory_object_mapping.go',
      'Helper.Create resource/helper.go', 'PrintSuccess cmd/run.go',
    ],
  );
});

test('what a step found is told in both languages, for every release', () => {
  for (const lang of ['en', 'zh'])
    for (const version of RELEASES)
      for (const { key, params } of run(`web ${NGINX}`, version).steps || [])
        if (key) assert.doesNotMatch(wordsFor(lang).t(key, params), /^run\.|[{}]/, version + key);
});
