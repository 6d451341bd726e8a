// @ts-check
/**
 * The editor: a manifest with numbered lines, what the server's schema lets stand at the caret, and
 * what is wrong, at its line: by the schema while one writes, and by a dry run on the server.
 */
import { kindOf } from '../../core/trace/records.js';
import { candidatesAt, problemsOf } from '../../core/commands/schema.js';
import { documentsOf, placeAt, textOf } from '../../core/commands/yamlsource.js';
import { dialog } from '../kit/dialog.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../../core/commands/schema.js').OpenApi} OpenApi */
/** @typedef {import('../../core/commands/schema.js').Candidate} Candidate */
/** @typedef {{line: number, text: string}} Refusal */
/**
 * @typedef {Object} Editor
 * @property {string} text
 * @property {string} first   what it began with
 * @property {import('../../core/trace/records.js').WriteRecord|null} write  null: created
 * @property {number} caret
 * @property {number} chosen  the candidate that Enter takes; -1 for none
 * @property {boolean} isTyping  a word, so that what begins with it is offered
 * @property {Refusal[]} said  by the server
 * @property {''|'checking'|'ok'|'refused'} state
 * @property {Record<string, OpenApi|null>} schemas  by version and kind; null while they are read
 */

const LISTED_MAX = 60;

/**
 * Which kind a document is of.
 * @param {import('../../core/commands/yamlsource.js').Document} document
 */
export function gvkOf({ fields }) {
  const [apiVersion, kind] = ['apiVersion', 'kind'].map((name) => {
    const field = fields.find(({ path }) => path.length === 1 && path[0] === name);
    return (field?.value || '').replace(/^(["'])(.*)\1$/, '$2');
  });
  return { id: `${apiVersion} ${kind}`, apiVersion, kind };
}

/**
 * @typedef {Object} Analysis
 * @property {import('../../core/commands/yamlsource.js').Place} place
 * @property {OpenApi|null|undefined} schema   of the document at the caret
 * @property {Candidate[]} candidates
 * @property {import('../../core/commands/schema.js').Problem[]} problems
 */
/** @type {{of: any[], is: Analysis|null}} it is asked for with every frame */
let kept = { of: [], is: null };

/** What the schemas say of the text as it is. @param {Editor} editor @returns {Analysis} */
export function analysed({ text, caret, schemas }) {
  const of = [text, caret, schemas];
  if (kept.is && of.every((value, i) => value === kept.of[i])) return kept.is;
  const documents = documentsOf(text);
  const place = placeAt(text, caret);
  const at = documents[place.document] || documents.at(-1);
  const schema = at && schemas[gvkOf(at).id];
  const is = {
    place,
    schema,
    candidates: at && schema?.root ? candidatesAt(schema, place, at) : [],
    problems: documents.flatMap((manifest) => {
      const known = schemas[gvkOf(manifest).id];
      return known?.root ? problemsOf(known, manifest) : known ? [noKind(manifest, known)] : [];
    }),
  };
  kept = { of, is };
  return is;
}

/** @param {import('../../core/commands/yamlsource.js').Document} document @param {OpenApi} known */
const noKind = ({ fields }, { message }) => ({
  line: fields.find(({ path }) => path.join() === 'kind')?.line || 0,
  key: 'editor.says',
  params: { message },
});

/** @param {Context} ctx */
export function editor(ctx) {
  const { words, ui } = ctx;
  const edited = /** @type {Editor} */ (ui.editor);
  const analysis = analysed(edited);
  const name = edited.write ? `${kindOf(edited.write.resource)} ${edited.write.name}` : '';
  return dialog(
    ctx,
    words.t(name ? 'editor.edit' : 'editor.title', { name }),
    h(
      'div.editor',
      null,
      sheet(ctx, edited, analysis),
      fieldList(ctx, edited, analysis),
      problemList(ctx, edited, analysis),
      foot(ctx, edited),
    ),
  );
}

/** The text, and the numbers of its lines. @param {Context} ctx @param {Editor} edited */
function sheet(ctx, edited, /** @type {Analysis} */ { problems }) {
  const { words, act } = ctx;
  const wrong = new Set([...problems, ...edited.said].map(({ line }) => line));
  const isOpen = edited.chosen >= 0;
  const caretOf = (/** @type {any} */ e) => act.caret(e.target.selectionStart);
  return h(
    'div.sheet',
    { key: 'sheet' },
    h(
      'div.numbers',
      { 'aria-hidden': 'true' },
      edited.text
        .split('\n')
        .map((_, i) => h(wrong.has(i) ? 'i.is-deny' : 'i', null, String(i + 1))),
    ),
    h('textarea', {
      'aria-label': words.t('editor.text'),
      'aria-autocomplete': 'list',
      'aria-controls': 'editor-fields',
      'aria-activedescendant': isOpen ? `field-${edited.chosen}` : false,
      'aria-describedby': 'editor-keys',
      spellcheck: 'false',
      wrap: 'off',
      value: edited.text,
      onInput: (/** @type {any} */ e) => act.typed(e.target.value, e.target.selectionStart),
      onKeydown: (/** @type {KeyboardEvent} */ e) => key(ctx, edited, e),
      onKeyup: caretOf,
      onClick: caretOf,
      onScroll: (/** @type {any} */ e) => {
        e.target.previousElementSibling.scrollTop = e.target.scrollTop;
      },
    }),
  );
}

/**
 * What was typed since the last frame counts.
 * @param {Context} ctx @param {Editor} edited @param {KeyboardEvent} e
 */
function key({ act }, edited, e) {
  const list = analysed(edited).candidates;
  const isOpen = edited.chosen >= 0 && list.length > 0;
  const of = Math.min(list.length, LISTED_MAX);
  const isSent = e.ctrlKey || e.metaKey;
  /** @type {(() => void)|undefined} */ let go;
  if (e.key === 'Enter' && isSent) go = () => act.submit();
  else if (e.key === ' ' && e.ctrlKey) go = () => act.choose(list.length ? 0 : -1);
  else if (isOpen && e.key === 'ArrowDown') go = () => act.choose((edited.chosen + 1) % of);
  else if (isOpen && e.key === 'ArrowUp') go = () => act.choose((edited.chosen + of - 1) % of);
  else if (isOpen && (e.key === 'Enter' || e.key === 'Tab'))
    go = () => act.take(list[edited.chosen]);
  else if (isOpen && e.key === 'Escape') go = () => act.choose(-1);
  else if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) go = () => act.newLine();
  if (!go) return;
  e.preventDefault();
  e.stopPropagation();
  go();
}

/** What can stand at the caret. @param {Context} ctx @param {Editor} edited */
function fieldList(ctx, edited, /** @type {Analysis} */ { place, schema, candidates }) {
  const { words, act } = ctx;
  const where = textOf(place.path);
  const shown = candidates.slice(0, LISTED_MAX);
  const about = shown[Math.max(0, edited.chosen)];
  const none = !schema
    ? words.t(schema === null ? 'editor.reading' : 'editor.noSchema')
    : words.t('editor.noFields');
  return h(
    'div.fields',
    { key: 'fields', role: 'region', tabindex: '0', 'aria-label': words.t('editor.fields') },
    h('h3', null, words.t('editor.here', { where: where || words.t('editor.top') })),
    h('p.second', { id: 'editor-keys' }, words.t('editor.keys')),
    shown.length ? h('p.about', { key: 'about' }, about.text) : h('p', { key: 'none' }, none),
    h(
      'ul',
      {
        id: 'editor-fields',
        role: shown.length ? 'listbox' : false,
        'aria-label': words.t('editor.fields'),
      },
      shown.map((field, i) =>
        h(
          'li',
          {
            key: field.name,
            id: `field-${i}`,
            role: 'option',
            'aria-selected': String(i === edited.chosen),
            onMousedown: (/** @type {Event} */ e) => {
              e.preventDefault();
              act.take(field);
            },
          },
          h('b', null, field.name),
          ' ',
          h('small', null, field.type, field.isNeeded ? `, ${words.t('editor.needed')}` : ''),
        ),
      ),
    ),
  );
}

/** What is wrong; each leads to its line. @param {Context} ctx @param {Editor} edited */
function problemList({ words, act }, edited, /** @type {Analysis} */ { problems, schema }) {
  const byServer = edited.state === 'refused';
  const list = byServer
    ? edited.said
    : problems.map(({ line, key: name, params }) => ({
        line,
        text: name === 'editor.says' ? params.message : words.t(name, params),
      }));
  const states = { checking: 'editor.checking', ok: 'editor.dryOk', refused: 'editor.refused' };
  const n = problems.length;
  const status = edited.state
    ? words.t(states[edited.state])
    : schema
      ? words.t(n ? 'editor.wrong' : 'editor.fine', { n })
      : '';
  const sign = { checking: 'work', ok: 'allow', refused: 'deny', '': n ? 'deny' : 'allow' };
  const name = sign[edited.state];
  return h(
    'div.problems',
    { key: 'problems', role: 'region', tabindex: '0', 'aria-label': words.t('editor.problems') },
    h('p', { role: 'status', class: `is-${name}` }, status ? [glyph(name), ' ', status] : ''),
    h(
      'ul',
      null,
      list.map(({ line, text }, i) =>
        h(
          'li',
          { key: i },
          line < 0
            ? text
            : h(
                'button.link',
                { onClick: () => act.goToLine(line) },
                h('b', null, words.t('editor.line', { n: line + 1 })),
                ' ',
                text,
              ),
        ),
      ),
    ),
  );
}

/** @param {Context} ctx @param {Editor} edited */
function foot({ words, act, ui, state }, { write, state: is }) {
  const newest = write && state.objects.get(write.resource)?.get(write.key);
  const isOld = newest && newest.rev > write.rev;
  const command = write ? 'kubectl replace -f -' : 'kubectl create -f -';
  return h(
    'div.foot',
    { key: 'foot' },
    h('code', null, `${command}  # ${ui.user}`),
    isOld && is === 'refused'
      ? h(
          'button.act',
          { key: 'again', onClick: () => act.editAgain(newest) },
          words.t('editor.reload'),
        )
      : null,
    h(
      'button.act',
      { key: 'dry', disabled: is === 'checking', onClick: () => act.dryRun() },
      words.t('editor.dry'),
    ),
    h(
      'button.act.first',
      { key: 'send', disabled: is === 'checking', onClick: () => act.submit() },
      glyph('play'),
      words.t(write ? 'editor.replace' : 'editor.send'),
    ),
  );
}
