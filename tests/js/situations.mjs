// @ts-check
/** Prints what the page says of objects at records of a trace: for test_situations.py. */
import { readFileSync } from 'node:fs';
import { History } from '../../static/js/core/trace/history.js';
import { outcomeOf, sayOutcome } from '../../static/js/core/outcome/index.js';
import { wordsFor } from './languages.mjs';
import { must } from './traces.mjs';

/** @type {{epoch: string, records: import('../../static/js/core/trace/records.js').TraceRecord[],
 *   seen: {seq: number, key: string}[]}} */
const { epoch, records, seen } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const history = new History();
history.append(records);
const said = seen.map(({ seq, key }) => {
  const state = history.stateAt(seq);
  const write = must(history.index.objectAt(key, seq));
  const one = outcomeOf(state, write);
  const clock = Date.parse(epoch) + state.t / 1000;
  return { text: sayOutcome(one, wordsFor('en'), clock), rev: String(write.rev) };
});
process.stdout.write(JSON.stringify(said));
