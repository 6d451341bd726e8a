// @ts-check
/** Prints what the page's model makes of a recorded cluster: for test_facts.py. */
import { readFileSync } from 'node:fs';
import { cacheOf, lanesOf } from '../../static/js/core/cluster/objects.js';
import { gateRows, stillToAsk } from '../../static/js/core/request/corridor.js';
import { explain } from '../../static/js/core/explain/index.js';
import { startSteps } from '../../static/js/core/trace/facts.js';
import { currentAt } from '../../static/js/core/story/follow.js';
import { History } from '../../static/js/core/trace/history.js';
import { kindOf } from '../../static/js/core/trace/records.js';
import { admissionOrder } from '../../static/js/core/trace/startup.js';
import { wordsFor } from './languages.mjs';

const [file, controller, plugin, gate] = process.argv.slice(2);
const history = new History();
history.append(JSON.parse(readFileSync(file, 'utf8')));
const { index } = history;
const state = history.stateAt(history.last);
const words = wordsFor('en');

/** What is said of something that was chosen. @param {any} selected */
function said(selected) {
  const current = currentAt(index, {}, state.seq);
  return explain(
    { index, state, current, selected, crowd: false, version: '1.33', clock: 0 },
    words,
  );
}

const creates = index.requests.filter(
  (one) => /** @type {any} */ (one.open).outside && one.cls === 'change',
);
const last = /** @type {any} */ (creates.at(-1));
const rows = gateRows(index, last, state.seq, null);
const mutating = /** @type {any} */ (rows.find((row) => row.gate === 'mutating'));
const own = mutating.plugins.find((/** @type {any} */ one) => one.plugin === plugin);
const work = index.works.findLast(
  (one) => /** @type {any} */ (one.open).component === controller,
);
const cycle = index.works.findLast(
  (one) => /** @type {any} */ (one.open).component === 'scheduler',
);

process.stdout.write(
  JSON.stringify({
    gates: rows.map((row) => row.gate),
    gate: said({ type: 'gate', span: last.seq, gate }),
    plugins: admissionOrder(index, 'mutating', mutating.plugins).map((one) => one.name),
    plugin: own && said({ type: 'gate', span: last.seq, gate: 'mutating', seq: own.seq }),
    still: stillToAsk(index, { ...mutating, plugins: own ? [own] : [] }),
    lanes: lanesOf(index, state, '', 10).lanes,
    caches: cacheOf(index, state, controller),
    controller: work && said({ type: 'span', seq: work.seq }),
    cycle: cycle && said({ type: 'span', seq: cycle.seq }),
    steps: startSteps(index),
    kind: kindOf('horizontalpodautoscalers.autoscaling'),
  }),
);
