// @ts-check
/** Writing a manifest: what is typed, taken from the schema, checked by the server, and sent. */
import { replaceAct } from '../../core/commands/acts.js';
import { isLine } from '../../core/commands/commands.js';
import { deployment } from '../../core/commands/scenarios.js';
import { refusalsOf } from '../../core/commands/schema.js';
import { documentsOf } from '../../core/commands/yamlsource.js';
import { yaml } from '../../core/text/yaml.js';
import { lookAt } from './commandactions.js';
import { analysed, gvkOf } from './editor.js';

/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('./editor.js').Editor} Editor */
/** @typedef {import('../../core/commands/schema.js').Said} Said */
/** @typedef {import('../../core/trace/records.js').WriteRecord} WriteRecord */
/** @typedef {import('../../core/commands/schema.js').Candidate} Candidate */

const area = () =>
  /** @type {HTMLTextAreaElement|null} */ (document.querySelector('.editor textarea'));

/** @param {App} app @param {import('./commandactions.js').Apply} apply */
export function editorActions(app, apply) {
  const { ui } = app;
  const set = (/** @type {Partial<Editor>} */ change) => {
    if (ui.editor) Object.assign(ui.editor, change);
    app.draw();
  };
  /** Read the schema of every kind that is named. */
  const readSchemas = () => {
    const { editor } = ui;
    if (!editor) return;
    for (const document of documentsOf(editor.text)) {
      const { id, apiVersion, kind } = gvkOf(document);
      if (!apiVersion || !kind || id in editor.schemas) continue;
      const keep = (/** @type {Editor['schemas'][string]} */ schema) => {
        editor.schemas = { ...editor.schemas, [id]: schema };
        offer(editor);
        app.draw();
      };
      keep(null);
      app.api.openapi(apiVersion, kind, ui.user).then(keep, (/** @type {Error} */ error) =>
        keep({ root: '', schemas: {}, message: error.message }),
      );
    }
  };
  const open = (/** @type {string} */ text, /** @type {WriteRecord|null} */ write) => {
    const schemas = ui.editor?.schemas || {};
    const caret = { caret: 0, chosen: -1, isTyping: false };
    ui.editor = { text, first: text, write, schemas, ...caret, said: [], state: '' };
    readSchemas();
  };
  const show = async () => {
    Object.assign(ui, { dialog: 'editor', menu: '' });
    app.drawNow();
    if (!area()) await app.drawing.loading;
    area()?.focus();
  };
  /** Whether the server would take it; its refusals stand at their lines. */
  const check = async () => {
    const editor = /** @type {Editor} */ (ui.editor);
    const { text, write } = editor;
    set({ state: 'checking', said: [] });
    /** @type {Editor['said']} */ let refusals;
    try {
      const results = write ? [await replaced(write, text)] : await created(text);
      const documents = documentsOf(text);
      refusals = results.flatMap((/** @type {Said} */ result, i = 0) =>
        result.code < 400 ? [] : refusalsOf(documents[i], result),
      );
    } catch (error) {
      const { message, body } = /** @type {import('../../net/api.js').ApiFailure} */ (error);
      const detail = Array.isArray(body?.detail) ? body.detail[0] : body?.detail;
      refusals = refusalsOf(undefined, { code: 400, reason: '', message: detail || message });
    }
    if (ui.editor === editor) set({ said: refusals, state: refusals.length ? 'refused' : 'ok' });
    return !refusals.length;
  };
  const replaced = (/** @type {WriteRecord} */ write, /** @type {string} */ text) =>
    app.api.act({ ...replaceAct(write, text).request, dry_run: true }, ui.user);
  const created = async (/** @type {string} */ text) =>
    (await app.api.apply(text, ui.user, false, true)).results;

  return {
    /** The manifest of the field for commands, or one to begin with, with room to write in. */
    openEditor() {
      const isManifest = ui.text.trim() && !isLine(ui.text);
      const text = isManifest ? ui.text : deployment('nginx', 3);
      if (ui.editor?.write !== null || ui.editor.text !== text) open(text, null);
      show();
    },
    /** An object as it is; what was typed before is kept. @param {WriteRecord} write */
    edit(write) {
      const { editor } = ui;
      const isKept = editor?.write?.key === write.key && editor.text !== editor.first;
      if (!isKept) open(`${yaml(write.object).join('\n')}\n`, write);
      show();
    },
    /** Another try, from what is there now. @param {WriteRecord} write */
    editAgain(write) {
      open(`${yaml(write.object).join('\n')}\n`, write);
      area()?.focus();
    },
    /** @param {string} text @param {number} caret */
    typed(text, caret) {
      if (!ui.editor?.write) ui.text = text;
      set({ text, caret, said: [], state: '' });
      set({ isTyping: true });
      offer(/** @type {Editor} */ (ui.editor));
      readSchemas();
    },
    /** @param {number} caret */
    caret(caret) {
      if (ui.editor && ui.editor.caret !== caret) set({ caret, chosen: -1, isTyping: false });
    },
    /** @param {number} chosen */
    choose(chosen) {
      set({ chosen, isTyping: false });
      app.drawNow();
      document.getElementById(`field-${chosen}`)?.scrollIntoView({ block: 'nearest' });
    },
    /** @param {Candidate} candidate */
    take(candidate) {
      const field = area();
      if (!field || !ui.editor) return;
      const { text, caret } = ui.editor;
      const { place } = analysed(ui.editor);
      const [, after = '', colon] = /^([\w-]*)(\s*:)?/.exec(text.slice(caret)) || [];
      field.focus();
      field.setSelectionRange(caret - place.typed.length, caret + after.length);
      const gap = place.isValue && text[caret - place.typed.length - 1] === ':' ? ' ' : '';
      const rest = place.isValue || colon ? '' : following(candidate, place.indent);
      insert(`${gap}${candidate.name}${rest}`);
      set({ chosen: -1, isTyping: false });
    },
    /** The next line begins where this one does; below a key that is open, further in. */
    newLine() {
      const { text, caret } = /** @type {Editor} */ (ui.editor);
      const line = text.slice(text.lastIndexOf('\n', caret - 1) + 1, caret);
      const [lead] = /^\s*(- +)*/.exec(line) || [''];
      const opens = /:\s*$/.test(line) ? 2 : 0;
      insert(`\n${' '.repeat(lead.length + opens)}`);
    },
    /** Put the caret on a line. @param {number} line */
    goToLine(line) {
      const field = area();
      if (!field || line < 0) return;
      const lines = field.value.split('\n');
      const start = lines.slice(0, line).join('\n').length + (line ? 1 : 0);
      field.focus();
      field.setSelectionRange(start, start + (lines[line] || '').length);
      field.scrollTop = (field.scrollHeight * line) / lines.length - field.clientHeight / 2;
      app.act.caret(start);
    },
    dryRun: () => check(),
    /** Checked by the server first; only then it is sent. */
    async submit() {
      const { text, write } = /** @type {Editor} */ (ui.editor);
      if (!(await check()) || ui.dialog !== 'editor') return;
      ui.dialog = '';
      ui.editor = null;
      if (!write) return apply(text, ui.user);
      lookAt(app);
      return app.act.perform(replaceAct(write, text));
    },
  };
}

/** While a word is typed, the first that begins with it. @param {Editor} editor */
function offer(editor) {
  if (!editor.isTyping) return;
  const { place, candidates } = analysed(editor);
  editor.chosen = place.typed && candidates.length ? 0 : -1;
}

/** What follows a key. @param {Candidate} one @param {number} indent */
function following({ below }, indent) {
  if (below === 'list') return `:\n${' '.repeat(indent)}- `;
  return below ? `:\n${' '.repeat(indent + 2)}` : ': ';
}

/** In place of the selection, so that it can be undone. @param {string} text */
function insert(text) {
  document.execCommand('insertText', false, text);
}
