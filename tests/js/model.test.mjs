// @ts-check
// Facts about what is drawn and said: gates, scores, lanes, stories and headlines of recorded runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentAt } from '../../static/js/core/story/follow.js';
import {
  gateRows, stillToAsk, ticketOf, ticketStop,
} from '../../static/js/core/request/corridor.js';
import { explain } from '../../static/js/core/explain/index.js';
import { History } from '../../static/js/core/trace/history.js';
import { knownAt } from '../../static/js/core/trace/known.js';
import { cycleAt, outcome } from '../../static/js/core/cluster/schedule.js';
import { storyOf } from '../../static/js/core/story/story.js';
import { rangeAt, ticksOf } from '../../static/js/core/timeline/axis.js';
import { timelineAt } from '../../static/js/core/timeline/timeline.js';
import { difference, patchLines, shortPath, yaml } from '../../static/js/core/text/yaml.js';
import { wordsFor } from './languages.mjs';
import { must, recorded } from './traces.mjs';

/** @typedef {import('../../static/js/core/explain/index.js').Model} Model */

/** @param {string} name */
function at(name, seq = 0) {
  const history = new History();
  history.append(recorded(name));
  const state = history.stateAt(seq || history.last);
  const { index } = history;
  return {
    history,
    index,
    state,
    current: currentAt(index, {}, state.seq),
    selected: null,
    crowd: false,
    version: '1.33',
    clock: 0,
  };
}

/** @param {Model} model */
const said = (model, lang = 'en') => explain(model, wordsFor(lang));
/** @param {ReturnType<typeof explain>} said */
const allText = (said) => JSON.stringify(said.tabs.map((tab) => tab.blocks));

test('while a trace is loaded, the page says how many records it has up to its moment', () => {
  const model = at('full', 100);
  const known = { ...model, index: knownAt(model.index, 100), loading: true };
  assert.equal(said(known).title, 'Loading the trace: 100 records so far.');
  const whole = said({ ...model, loading: true }).title.replace(',', '');
  assert.equal(whole, `Loading the trace: ${model.index.last} records so far.`);
});

test('a request held inside admission shows its plugin, its ticket and who is still to ask', () => {
  const model = at('breakpoint');
  const request = must(model.current.request);
  const rows = gateRows(model.index, request, model.state.seq, model.state.held);
  assert.deepEqual(rows.map((row) => row.verdict).slice(4, 9), [
    'allow',
    'change',
    'hold',
    'wait',
    'wait',
  ]);
  assert.equal(ticketStop(rows, request, model.state.seq), 6);
  const ticket = ticketOf(model.index, request, rows, model.state.seq);
  assert.equal(ticket.verb, 'POST Pod');
  assert.equal(ticket.name, 'nginx-5869d7778c-?');
  assert.ok(ticket.changed.includes('…[0].volumeMounts'));
  assert.ok(stillToAsk(model.index, rows[6]).includes('Priority'));
});

test('a gate that a request does not meet is left out once a later one was passed', () => {
  const gate = (/** @type {number} */ seq, /** @type {string} */ name) => ({
    seq,
    kind: 'gate',
    gate: name,
    verdict: 'allow',
    detail: {},
  });
  const span = {
    cls: 'change',
    records: [gate(2, 'authentication'), gate(3, 'validation')],
    close: null,
    seq: 1,
  };
  const rows = gateRows(at('breakpoint').index, /** @type {any} */ (span), 9, null);
  assert.equal(rows[7].verdict, 'skip');
  assert.equal(rows[10].verdict, 'wait');
});

test('a filtered node keeps its column and the plugin that refused it', () => {
  const { index } = at('scheduling');
  const cycle = cycleAt(
    must(index.works.findLast((w) => w.open.component === 'scheduler')),
    Infinity,
  );
  const taint = must(cycle.filters.find((row) => row.name === 'TaintToleration'));
  assert.deepEqual(taint.cells, ['allow', 'allow', 'deny']);
  const fit = must(cycle.filters.find((row) => row.name === 'NodeResourcesFit'));
  assert.equal(fit.cells[2], 'unasked');
  assert.equal(cycle.scores[0].cells[2], null);
});

test('the margin of the winner is explained by the plugins that made it', () => {
  const { index } = at('scheduling');
  const result = outcome(
    cycleAt(
      must(index.works.findLast((w) => w.open.component === 'scheduler')),
      Infinity,
    ),
  );
  assert.ok(['node-1', 'node-2'].includes(result.winner)); // the first pod's node was drawn
  assert.equal(result.margin, 70);
  assert.equal(
    result.parts.reduce((sum, part) => sum + part.points, 0),
    70,
  );
});

test('the headline of a scheduling cycle names winner, margin and reason in both languages', () => {
  const model = at('scheduling');
  const span = must(model.index.works.findLast((w) => w.open.component === 'scheduler'));
  const { winner, second } = outcome(cycleAt(span, Infinity));
  assert.equal(
    said(model).title,
    `${winner} wins by 70 points, because ${second} already runs one of these pods.`,
  );
  assert.equal(said(model, 'zh').title, `${winner} 以 70 分胜出，因为 ${second} 上已有同类 Pod。`);
  assert.match(allText(said(model)), /untolerated taint \{dedicated: gpu\}/);
});

test('a preemption tells candidates, victims and why this node, then the room is taken', () => {
  const { index, ...rest } = at('preemption');
  const cycles = must(index.cycles.get('pods/default/web'));
  const explained = (/** @type {any} */ span, /** @type {'en'|'zh'} */ lang = 'en') =>
    said({ index, ...rest, selected: { type: 'span', seq: span.seq } }, lang);
  const [first, last] = [cycles[0], must(cycles.at(-1))];
  const told = must(cycleAt(first, Infinity).preemption);
  assert.deepEqual([told.node, told.victims, told.by], ['node-2', ['default/v2'], 'highest']);
  assert.equal(explained(first).title, 'No node has room, so 1 pod must leave node-2 for web.');
  assert.match(allText(explained(first)), /Of 2 nodes, the most important victim on node-2/);
  assert.equal(
    explained(first, 'zh').title,
    '没有节点有空间，因此 1 个 Pod 必须离开 node-2，让位给 web。',
  );
  assert.equal(cycleAt(last, Infinity).nominated, 'node-2');
  assert.equal(explained(last).title, 'node-2 was kept for this pod, and takes it.');
});

test('a refusal nobody spoke out says so, ranks the rules and gives the smallest role', () => {
  const words = said(at('refused'));
  assert.equal(words.title, 'Nobody refused this. Nobody allowed it either.');
  const rules = must(words.tabs[0].blocks.find((block) => block.type === 'rules'));
  assert.match(must(rules.items.at(-1)).small, /verbs are get, list, watch/);
  assert.match(allText(words), /resources:\\n {2}- deployments\\n {2}verbs:\\n {2}- create/);
});

test('every moment of a run can be explained in both languages without a missing word', () => {
  const history = new History();
  history.append(recorded('full'));
  for (let seq = 1; seq <= history.last; seq += 7) {
    const state = history.stateAt(seq);
    const model = {
      index: history.index,
      state,
      current: currentAt(history.index, {}, seq),
      selected: null,
      crowd: false,
      version: '1.33',
      clock: 0,
    };
    for (const lang of ['en', 'zh']) {
      const text = `${said(model, lang).title} ${allText(said(model, lang))}`;
      assert.doesNotMatch(
        text,
        /undefined|NaN|\u0001|\b(gate|story|step|cycle|work|plugin)\.[a-z]+\.(title|why|what)/,
        `record ${seq}`,
      );
    }
  }
});

test('the story of a pod goes from the command to Ready and names the longest part', () => {
  const { index } = at('full');
  const key = [...index.steps.keys()][2];
  const story = storyOf(index, key);
  assert.deepEqual(
    story.rows.map((row) => row.key),
    [
      'story.asked',
      'story.stored',
      'story.made',
      'story.pod',
      'story.waited',
      'story.bound',
      'story.network',
      'story.imageMost',
      'story.container',
      'story.ready',
    ],
  );
  assert.ok(story.rows.every((row, i) => !i || row.t >= story.rows[i - 1].t));
  const path = must(story.path);
  assert.equal(path.image + path.node + path.control, path.total);
});

test('the story of a crash loop tells each exit, and each start after it as another one', () => {
  const { index } = at('crash');
  const { rows } = storyOf(index, 'pods/default/crash');
  const keys = rows.map((row) => row.key).filter((key) => !key.startsWith('story.b'));
  const of = (/** @type {string} */ key) => keys.filter((one) => one === key).length;
  assert.equal(of('story.container'), 1);
  assert.equal(of('story.again'), of('story.exited') - 1);
  assert.equal(of('story.failed'), 0);
  assert.equal(of('story.stored'), 1, 'by who asked, who is no controller');
  const last = must(rows.findLast((row) => row.key === 'story.again'));
  assert.equal(last.params.n, of('story.exited'));
});

test('a refused read has not reached the gates behind the refusal', () => {
  const model = at('hidden');
  const request = must(model.current.request);
  assert.equal(request.cls, 'read');
  const rows = gateRows(model.index, request, model.state.seq, null);
  assert.deepEqual(
    rows.map((row) => row.verdict),
    ['allow', 'allow', 'allow', 'deny', ...new Array(7).fill('wait')],
  );
});

test('a conflict of a controller is everyday work and no refusal', () => {
  const { index, history } = at('full');
  const conflict = must(
    index.requests.find((one) => one.close?.code === 409 && one.open.client === 'deployment'),
  );
  const etcd = must(conflict.records.find((one) => one.kind === 'gate' && one.gate === 'etcd'));
  const { seq } = etcd;
  const state = history.stateAt(seq);
  assert.equal(must(gateRows(index, conflict, seq, null).at(-1)).verdict, 'again');
  const model = { ...at('full', seq), state, current: currentAt(index, {}, seq) };
  assert.equal(
    said(model).title,
    'The deployment controller will read again and try once more: somebody wrote in between.',
  );
  assert.match(said(model, 'zh').title, /期间有别人写入/);
  const { lanes } = timelineAt(index, {}, history.last, { from: 0, to: 1e12 });
  const api = must(lanes.find((lane) => lane.id === 'apiserver'));
  assert.deepEqual(api.marks, []);
  assert.ok(api.bars.every((bar) => bar.tone !== 'deny'));
});

test('a lane says what became of it: done, failed, to be tried again, and not before', () => {
  /** @param {string} name @param {number} seq @param {string} id */
  const came = (name, seq, id) => {
    const { index } = at(name);
    const { lanes } = timelineAt(index, {}, seq, { from: 0, to: 1e12 });
    return must(lanes.find((lane) => lane.id === id)).came;
  };
  const { index, history } = at('image');
  const pull = must(
    index.steps.get('pods/default/typo')?.find((one) => /** @type {any} */ (one).state === 'fail'),
  );
  assert.deepEqual(
    [pull.seq - 1, pull.seq].map((seq) => came('image', seq, /** @type {any} */ (pull).node)),
    ['work', 'deny'],
  );
  assert.equal(came('image', history.last, 'scheduler'), 'allow');
  assert.equal(came('pending', at('pending').history.last, 'scheduler'), 'deny');
  const refused = at('refused');
  const { close } = must(refused.index.requests.at(-1));
  const seq = must(close).seq;
  assert.deepEqual(
    [seq - 1, seq].map((one) => came('refused', one, 'kubectl')),
    ['work', 'deny'],
  );
  const { requests } = at('full').index;
  const conflict = must(requests.find((one) => one.close?.code === 409 && one.roots.length));
  assert.equal(came('full', must(conflict.close).seq, 'apiserver'), 'wait');
});

test('binding says what it does, a store names its call, a kubelet is no controller', () => {
  const { index } = at('full');
  const bind = must(index.requests.find((one) => one.open.subresource === 'binding'));
  const title = (/** @type {number} */ seq) => {
    const model = at('full', seq);
    const known = knownAt(model.index, seq);
    return said({ ...model, index: known, current: currentAt(known, {}, seq) }).title;
  };
  const etcd = must(bind.records.find((one) => one.kind === 'gate' && one.gate === 'etcd'));
  assert.match(title(bind.seq), /^The scheduler asks for nginx-\S+ to be bound to the node it ch/);
  assert.match(
    title(etcd.seq),
    /^Stored by GuaranteedUpdate: the pod’s nodeName is node-\d now\. This is revision \d+\.$/,
  );
  const made = must(index.requests.find((one) => one.open.resource === 'replicasets.apps'));
  const stored = must(made.records.find((one) => one.kind === 'gate' && one.gate === 'etcd'));
  assert.match(title(stored.seq), /^Stored by Create\. This is revision \d+\.$/);
  const work = must(index.works.find((one) => one.open.component === 'kubelet/node-1'));
  const model = /** @type {Model} */ ({
    ...at('full'),
    selected: { type: 'span', seq: work.seq },
  });
  const { crumb, title: headline } = said(model);
  assert.equal(crumb, 'kubelet on node-1');
  assert.match(headline, /^The kubelet on node-1 /);
});

test('how long it took does not grow by what comes later', () => {
  const model = at('full');
  const [root] = model.index.roots;
  const took = /, (.+) after/.exec(said(model).title)?.[1];
  assert.ok(took, said(model).title);
  const { index, history } = at('full');
  const key = [...index.steps.keys()][0];
  const pod = must(index.objectAt(key, history.last));
  // a kubelet that was started anew reports again
  history.append([
    {
      .../** @type {any} */ (pod),
      seq: history.last + 1,
      t: pod.t + 600e6,
      rev: history.head.rev + 1,
      object: pod.object,
    },
  ]);
  const later = /** @type {Model} */ ({
    ...model,
    index: history.index,
    state: history.head,
    current: currentAt(history.index, {}, history.last),
  });
  assert.equal(later.current.root, root);
  assert.equal(/, (.+) after/.exec(said(later).title)?.[1], took);
});

test('lanes hold the followed way only, and what comes after the cursor is a ghost', () => {
  const { index } = at('full');
  const half = must(index.requests.find((s) => s.open.subresource === 'binding')).seq;
  const range = { from: 0, to: 1e12 };
  const { lanes, arrows } = timelineAt(index, {}, half, range);
  assert.deepEqual(
    lanes.map((lane) => lane.id),
    [
      'kubectl',
      'apiserver',
      'etcd',
      'deployment',
      'replicaset',
      'scheduler',
      'node-1',
      'node-2',
      'node-3',
    ],
  );
  for (const lane of lanes) {
    for (const bar of lane.bars)
      assert.equal(bar.tone === 'ghost', bar.seq > half, `${lane.id} ${bar.label}`);
  }
  assert.ok(arrows.some((arrow) => arrow.tone === 'now'));
});

test('the cursor lies inside the range that is shown, and ticks are round numbers', () => {
  const { index } = at('full');
  const [root] = index.roots;
  for (const seq of [root + 30, root + 400, must(index.trails.get(root)?.at(-1)) - 10]) {
    const range = rangeAt(index, {}, seq);
    const { t } = must(index.record(seq));
    assert.ok(t >= range.from && t <= range.to, `record ${seq}`);
    assert.ok(ticksOf(range, 8).ticks.length <= 9);
  }
  assert.ok(rangeAt(index, {}, index.last).rests);
});

test('YAML quotes what would be read as something else', () => {
  assert.deepEqual(yaml({ a: 'true', b: '10', c: 'x', d: [{ e: 1, f: [] }], g: '', h: 'a: b' }), [
    'a: "true"',
    'b: "10"',
    'c: x',
    'd:',
    '- e: 1',
    '  f: []',
    'g: ""',
    'h: "a: b"',
  ]);
});

test('a difference keeps what surrounds it and folds the rest', () => {
  const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: { g: 'x' } };
  const lines = difference(before, { ...before, f: { g: 'y' } }, 1);
  assert.deepEqual(
    lines.map((line) => line.sign + line.text),
    [' f:', '-  g: x', '+  g: y'],
  );
});

test('a patch is drawn below the fields it hangs on', () => {
  const lines = patchLines([
    { op: 'add', path: '/spec/containers/0/volumeMounts', value: [{ name: 'x' }] },
  ]);
  assert.deepEqual(
    lines.map((line) => line.sign + line.text),
    [' spec:', '   containers:', '+  - volumeMounts:', '+    - name: x'],
  );
  assert.equal(shortPath('/metadata/annotations/a~1b'), 'metadata.annotations.a/b');
});

test('each step of a kubelet names the code of the real one, in the order of the real one', () => {
  const steps = recorded('full').filter((one) => one.kind === 'kubelet' && one.state === 'end');
  const pod = /** @type {any} */ (steps[0]).pod;
  const told = steps.filter((one) => /** @type {any} */ (one).pod === pod).map((one) => {
    const model = at('full', one.seq);
    const { source, tabs } = said({ ...model, current: { ...model.current, hop: one } });
    return { step: /** @type {any} */ (one).step, source, why: JSON.stringify(tabs[0].blocks) };
  });
  assert.deepEqual(
    told.map(({ step }) => step),
    ['volumes', 'sandbox', 'network', 'image', 'container', 'ready'],
  );
  for (const { source } of told) assert.match(source, /1\.33.* pkg\/kubelet\/[a-z_/]+\.go \w+/);
  const interfaces = ['CSI', 'CRI', 'CNI', 'CRI', 'CRI'];
  interfaces.forEach((name, i) => assert.match(told[i].why, new RegExp(`the ${name}|a ${name}`)));
});

test('the panel of an object is labelled with its group, version and kind', () => {
  const model = at('full');
  for (const [resource, api, kind] of [
    ['deployments.apps', 'apps/v1', 'Deployment'],
    ['replicasets.apps', 'apps/v1', 'ReplicaSet'],
    ['pods', 'v1', 'Pod'],
    ['nodes', 'v1', 'Node'],
    ['namespaces', 'v1', 'Namespace'],
    ['services', 'v1', 'Service'],
  ]) {
    const [key] = [...must(model.state.objects.get(resource)).keys()];
    const { crumb, tabs } = said({ ...model, selected: { type: 'object', key } });
    assert.ok(crumb.startsWith(`${kind} · `), crumb);
    const object = must(tabs.find((tab) => tab.id === 'object'));
    const [{ text }] = /** @type {any[]} */ (object.blocks);
    assert.match(text, new RegExp(`^apiVersion: ${api}$`, 'm'));
    assert.match(text, new RegExp(`^kind: ${kind}$`, 'm'));
  }
});

test('nodes, namespaces, pods and services each have a view', () => {
  const model = at('full');
  const first = (/** @type {string} */ resource) =>
    [...must(model.state.objects.get(resource)).keys()][0];
  const views = /** @type {import('../../static/js/core/explain/index.js').Selected[]} */ ([
    { type: 'node', name: 'node-1' },
    { type: 'object', key: first('namespaces') },
    { type: 'pod', key: first('pods') },
    { type: 'object', key: first('services') },
  ]).map((selected) => said({ ...model, selected }));
  assert.deepEqual(
    views.map(({ crumb }) => crumb.split(' · ')[0]),
    ['Node', 'Namespace', 'Pod', 'Service'],
  );
  assert.ok(views.every(({ tabs }) => tabs.some((tab) => tab.id === 'object')));
  const made = 'with its names and what kube-proxy makes';
  assert.ok(JSON.stringify(views[3].tabs).includes('"type":"service"'), made);
});
