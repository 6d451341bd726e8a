// @ts-check
/** The page's beginning: finds its parts, and opens the live cluster or the recording asked for. */
import { learn, pageLanguage } from './i18n/index.js';
import { App } from './views/page/app.js';
import { listenToTerms } from './views/kit/glossary.js';

const names = ['bar', 'bench', 'map', 'inspector', 'timeline', 'dialogs', 'narrator'];
const hosts = Object.fromEntries(
  names.map((name) => [name, /** @type {HTMLElement} */ (document.getElementById(name))]),
);
const query = new URLSearchParams(location.search);
const { cluster = '', version = '', role } = document.body.dataset;
await learn(pageLanguage());
const app = new App(hosts, {
  cluster: query.get('cluster') || cluster || 'demo',
  version,
  watches: role === 'viewer',
});
app.start();
listenToTerms(() => app.words());
const { trace } = app.address.goal;
if (trace) app.openSaved(trace).catch(() => app.openLive());
else app.openLive();
