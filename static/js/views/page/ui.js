// @ts-check
/** What the page remembers of its own looks and of what is under way in it. */
import { pageLanguage } from '../../i18n/index.js';

/** @param {{users: string[]}} meta @param {{watches: boolean}} given  watches: and no more */
export function uiOf(meta, given) {
  return {
    lang: pageLanguage(),
    theme: document.documentElement.dataset.theme || 'light',
    selected: /** @type {import('../../core/explain/index.js').Selected|null} */ (null),
    tab: 'why',
    focus: '',
    menu: '',
    dialog: '',
    window: /** @type {import('../../core/timeline/axis.js').Window|null} */ (null), // on the axis
    namespace: 'default',
    benchTab: 'commands',
    text: '', // of the field for commands
    isWriting: false, // there: it has the room, not the answers
    user: meta.users[0],
    answers: /** @type {import('../bench/commands.js').Answer[]} */ ([]), // the newest first
    waiting: /** @type {import('../bench/turns.js').Waiting[]} */ ([]), // lines, the oldest first
    answer: 0, // the one whose table is shown large
    startup: /** @type {import('../../types.js').Detail|null} */ (null),
    addons: /** @type {import('../bench/addons.js').View|null} */ (null), // once they are loaded
    forms: /** @type {import('../inspector/forms.js').Forms|null} */ (null),
    service: /** @type {import('../inspector/service.js').View|null} */ (null), // once loaded
    fault: /** @type {import('../inspector/faults.js').Fault|null} */ (null),
    lastApplied: '',
    vote: /** @type {import('../begin/ballot.js').Answer|null} */ (null), // of this page
    lesson: /** @type {import('../begin/questions.js').Lesson|null} */ (null),
    traces: /** @type {import('./dialogs.js').SavedTrace[]|null} */ (null),
    traceName: '',
    saving: false, // a recording
    story: /** @type {import('../../core/story/pace.js').Story} */ ('watch'),
    traceError: '',
    failure: '', // why what was asked for was not done
    reaching: /** @type {Promise<boolean>|null} */ (null), // what lies before is being fetched
    find: /** @type {string|null} */ (null), // what is looked for; null: nothing is
    shows: /** @type {import('../../core/request/search.js').Sort[]} */ ([]),
    trace: '', // the recording that is open
    gone: /** @type {import('./address.js').Gone|null} */ (null),
    copied: false,
    forks: /** @type {import('../../core/cluster/forks.js').Fork[]} */ ([]),
    making: '', // the fork that is being made
    stage: '', // where who drives shows something to who only watches
    left: '', // which of these one has left
    copying: '', // of which cluster it is a copy, begun from nothing
    forkError: '',
    compares: '', // the fork that is compared with its origin, in the inspector,
    split: false, // and each of them has a half of the map
    comparison: /** @type {import('../../core/cluster/forks.js').Comparison|null} */ (null),
    hover: /** @type {number|null} */ (null), // the time under the pointer
    bookmarks: /** @type {import('../../types.js').Bookmark[]} */ ([]),
    bookmark: 0, // the one that is given a title, by its record
    keeps: !given.watches, // whether bookmarks and recordings are kept for this user
    found: 0, // the hit that was visited last
    picked: '', // the part of the manifest to be selected once it is drawn
    sure: '', // what was asked about before it is done
    compared: /** @type {import('../inspector/revisions.js').Compared|null} */ (null),
    editor: /** @type {import('../bench/editor.js').Editor|null} */ (null),
    deed: /** @type {import('../inspector/objectmenu.js').Deed|null} */ (null),
    moved: false,
    dragging: false,
  };
}
