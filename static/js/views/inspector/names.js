// @ts-check
/**
 * The names by which pods reach a Service, and what becomes of one that a pod looks up, step by
 * step, as the cluster's own resolver tells it. Asked for, and of when it was asked.
 */
import { namesOf, namespacesOf, stepsOf, verdictOf } from '../../core/cluster/names.js';
import { h } from '../kit/dom.js';
import { glyph } from '../kit/glyphs.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../page/app.js').App} App */
/** @typedef {import('../../core/cluster/names.js').Named} Named */
/** @typedef {import('../../core/cluster/names.js').Resolved} Resolved */
/** @typedef {import('../../core/cluster/names.js').Step} Step */
/** @typedef {{service: string, name: string, namespace: string, asks: boolean,
 *   data: Resolved|null, error: string}} Question */

const NAME_MAX = 253;

/** @param {App} app */
export function namesOn(app) {
  /** @type {Question} */ let question;
  let isNew = false; // what was answered was not drawn yet
  /** @param {Partial<Question>} more */
  const put = (more) => {
    Object.assign(question, more);
    app.draw();
  };
  const ask = () => {
    const asked = question;
    const { name, namespace } = asked;
    if (asked.asks || !name.trim()) return undefined;
    put({ asks: true, error: '' });
    return app.api.resolve(name.trim(), namespace).then(
      (data) => {
        isNew = asked === question;
        if (isNew) put({ asks: false, data });
      },
      (error) => asked === question && put({ asks: false, data: null, error: error.message }),
    );
  };
  /** @param {Context} ctx @param {Named} service @param {string} key */
  return (ctx, service, key) => {
    const { namespace, name } = service;
    const { words, player, state } = ctx;
    const about = `${app.home.cluster}/${namespace}/${name}`;
    if (question?.service !== about)
      question = { service: about, name, namespace, asks: false, data: null, error: '' };
    if (isNew) ctx.after(seen);
    isNew = false;
    const list = namesOf(state, service).map((one) =>
      h(
        'li',
        { key: one.name },
        player.live
          ? h(
              'button.link',
              {
                onClick: () => {
                  if (one.key === 'names.own') question.namespace = namespace;
                  question.name = one.name;
                  ask();
                },
              },
              one.name,
            )
          : h('code', null, one.name),
        ' ',
        h('small', null, words.t(one.key, one.params)),
      ),
    );
    return h(
      'div.forms',
      { key },
      h(
        'section',
        null,
        h('h2', null, words.t('names.title')),
        h('p.second', null, words.t(player.live ? 'names.text' : 'names.replay')),
        h('ul.links', null, list),
      ),
      player.live ? form(ctx, namespacesOf(state, namespace), question, ask, put) : null,
      question.error ? h('p.is-deny', { key: 'error', role: 'alert' }, question.error) : null,
      player.live
        ? h(
            'section.answer',
            { key: 'told', role: 'status', 'aria-label': words.t('names.answer') },
            question.data ? told(ctx, question.data) : null,
          )
        : null,
    );
  };
}

/** What was answered comes into sight, and no more than that is moved. */
const seen = () =>
  document.querySelector('.inspector .answer h2')?.scrollIntoView({ block: 'nearest' });

/**
 * @param {Context} ctx @param {string[]} namespaces @param {Question} question
 * @param {() => unknown} ask @param {(more: Partial<Question>) => void} put
 */
function form({ words }, namespaces, question, ask, put) {
  return h(
    'form',
    {
      key: 'form',
      onSubmit: (/** @type {Event} */ e) => {
        e.preventDefault();
        ask();
      },
    },
    h(
      'section',
      null,
      h(
        'div.form',
        null,
        h('input', {
          'aria-label': words.t('names.field'),
          value: question.name,
          maxlength: String(NAME_MAX),
          autocapitalize: 'off',
          autocomplete: 'off',
          spellcheck: 'false',
          onInput: (/** @type {{target: HTMLInputElement}} */ e) => put({ name: e.target.value }),
        }),
        h(
          'button.act.first',
          { type: 'submit', 'aria-disabled': String(question.asks) },
          words.t(question.asks ? 'forms.loading' : 'names.ask'),
        ),
      ),
      h(
        'label.as',
        null,
        words.t('names.from'),
        ' ',
        h(
          'select',
          {
            value: question.namespace,
            onChange: (/** @type {{target: HTMLInputElement}} */ e) =>
              put({ namespace: e.target.value }),
          },
          namespaces.map((one) =>
            h('option', { key: one, value: one, selected: one === question.namespace }, one),
          ),
        ),
      ),
    ),
  );
}

/** @param {Context} ctx @param {Resolved} data */
function told({ words, player, state }, data) {
  const verdict = verdictOf(data);
  const { revision, resolv_conf: conf } = data;
  return [
    h(
      `h2.is-${verdict.verdict}`,
      { style: { 'scroll-margin-bottom': '9rem' } },
      glyph(verdict.verdict),
      words.t(verdict.key, verdict.params),
    ),
    player.behind && state.rev < revision
      ? h(
          'p',
          { key: 'later', role: 'note' },
          words.t('names.later', { rev: String(revision), at: String(state.rev) }),
        )
      : null,
    h(
      'ol.rules',
      { key: 'steps' },
      stepsOf(data).map((step, at) => line(step, at)),
    ),
    data.source === 'dns'
      ? h(
          'details.fold',
          { key: 'conf' },
          h('summary', null, words.t('names.conf', { namespace: data.namespace })),
          h('div.code', { tabindex: '0' }, conf),
        )
      : null,
  ];

  /** A long name breaks behind a dot. @param {string} name */
  function parts(name) {
    return name.split(/(?<=\.)/).map((part, at) => (at ? [h('wbr', null), part] : part));
  }

  /** @param {Step} step @param {number} at */
  function line({ verdict: sign, code, key, params, how, records }, at) {
    const text = words.t(key, params);
    const ways = { ...params, how: how ? words.t(how, params) : '', why: text };
    const said = how ? words.t(params.rcode ? 'names.said' : 'names.unsaid', ways) : text;
    return h(
      `li.is-${sign}`,
      { key: at },
      glyph(sign),
      h(
        'span',
        null,
        code ? [h('code', null, parts(code)), h('small', null, said)] : said,
        (records || []).map((record) =>
          h(
            'small',
            null,
            h('code', null, parts(record.name), ` ${record.type} ${record.data}`),
          ),
        ),
      ),
    );
  }
}
