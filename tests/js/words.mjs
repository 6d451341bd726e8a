// @ts-check
/** Prints the keys of all sentences of a language: for test_facts.py. */
import * as languages from './languages.mjs';

const table = /** @type {any} */ (languages)[process.argv[2]];
process.stdout.write(JSON.stringify(Object.keys(table)));
