// @ts-check
/**
 * What kube-proxy has written of a service, and on which nodes it is the same. Asked for, and of
 * when it was asked: that is said where an earlier moment is shown.
 */
import { h } from '../kit/dom.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../../core/cluster/names.js').Named} Named */
/** @typedef {{mode: string, of: number, revision: number,
 *   texts: {text: string, on: string[]}[]}} Written */
/** @typedef {{service: string, data: Written|null, error: string}} Rules */

/** @param {App} app */
export function rulesOn(app) {
  /** @type {Rules|null} */ let rules = null;
  /** @param {Rules} next */
  const put = (next) => {
    rules = next;
    app.draw();
  };
  const read = (/** @type {Named} */ named, /** @type {string} */ service) => {
    const asked = { service, data: null, error: '' };
    const isStill = () => rules === asked;
    put(asked);
    return app.api.rules(named).then(
      (data) => isStill() && put({ ...asked, data }),
      (error) => isStill() && put({ ...asked, error: error.message }),
    );
  };
  /** @param {Context} ctx @param {Named} named @param {string} key */
  return ({ words, player, state }, named, key) => {
    if (!player.live) return h('p.second', { key }, words.t('rules.replay'));
    const service = `${app.home.cluster}/${named.namespace}/${named.name}`;
    const known = rules?.service === service ? rules : null;
    const ask = h(
      'button.link',
      { onClick: () => read(named, service) },
      words.t(known?.data ? 'rules.again' : 'rules.show'),
    );
    if (known?.error) return h('p.is-deny', { key, role: 'alert' }, known.error);
    if (!known?.data) return h('p', { key }, known ? words.t('forms.loading') : ask);
    const { of, revision, texts } = known.data;
    const mode = known.data.mode || '?';
    const none = words.t(known.data.mode ? 'rules.none' : 'rules.away', { mode });
    return h(
      'div.forms',
      { key },
      player.behind && state.rev < revision
        ? h(
            'p',
            { key: 'later', role: 'note' },
            words.t('rules.later', { rev: String(revision), at: String(state.rev) }),
          )
        : null,
      texts.map(({ text, on }) =>
        h(
          'details.fold',
          { key: on[0], open: true },
          h('summary', null, words.t('rules.title')),
          h(
            'small',
            null,
            texts.length === 1
              ? words.t('rules.same', { mode, n: on.length, of, rev: String(revision) })
              : words.t('rules.differ', { mode, nodes: on.join(', '), rev: String(revision) }),
          ),
          h('div.code', { tabindex: '0' }, text || none),
        ),
      ),
      h('p', null, ask),
    );
  };
}
