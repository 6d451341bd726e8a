// @ts-check
/** One object at this revision: its story, what the last write changed, and all of it as YAML. */
import { kindOf } from '../trace/records.js';
import { shortPod, podOf } from '../cluster/objects.js';
import { outcomeOf, sayOutcome } from '../outcome/index.js';
import { difference } from '../text/yaml.js';
import { duration } from '../text/words.js';
import { storyOf } from '../story/story.js';
import { asYaml, explanation, facts, h, json, p, tab } from './blocks.js';

/** @typedef {import('./index.js').Model} Model */
/** @typedef {import('./index.js').Block} Block */
/** @typedef {import('../text/words.js').Words} Words */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

/** @param {Model} model @param {string} key @param {Words} words */
export function explainPod(model, key, words) {
  const write = model.index.objectAt(key, model.state.seq);
  if (!write) return null;
  const blocks = storyBlocks(model, key, words);
  const pod = podOf(write);
  const became = outcomeOf(model.state, write);
  const isTold = pod.stage === 'ready' || storyOf(model.index, key).done;
  return explanation({
    crumb: `Pod · ${write.name}`,
    title:
      became.state === 'unmet'
        ? sayOutcome(became, words, model.clock)
        : words.t(isTold ? 'story.title' : 'story.titleSoFar'),
    tabs: [
      tab(words, 'story', blocks),
      tab(words, 'why', [
        p(words, `stage.${pod.stage}.why`, {
          pod: pod.short,
          node: pod.node,
          reason: pod.stuck || pod.reason,
        }),
        facts([
          [words.t('fact.node'), pod.node],
          [words.t('fact.address'), pod.ip],
          [words.t('fact.image'), pod.image],
          [words.t('fact.stage'), words.t(`stage.${pod.stage}`)],
          [words.t('fact.reason'), pod.reason],
        ]),
      ]),
      tab(words, 'object', objectTab(model, write, words)),
      tab(words, 'raw', [json(write.object)]),
    ],
    badge: words.t('badge.recorded'),
    source: words.t('source.recorded'),
  });
}

/** @param {Model} model @param {string} key @param {Words} words @returns {Block[]} */
export function storyBlocks(model, key, words) {
  const { rows, path } = storyOf(model.index, key);
  if (!model.index.hasAllOf(key)) return [p(words, 'loading.earlier')];
  if (!rows.length) return [p(words, 'story.none')];
  /** @type {Block[]} */ const blocks = [{ type: 'story', key, rows }];
  if (path) {
    blocks.push(
      h(words.t('story.path')),
      p(words, 'story.parts', {
        image: duration(path.image),
        node: duration(path.node),
        control: duration(path.control),
      }),
    );
  }
  return blocks;
}

/**
 * Where there is more than one revision, any two of them.
 * @param {WriteRecord|null} before @param {string} key @param {number} rev @returns {Block[]}
 */
const compare = (before, key, rev) => (before ? [{ type: 'compare', key, rev }] : []);

/** @param {Model} model @param {WriteRecord} write @param {Words} words @returns {Block[]} */
function objectTab(model, write, words) {
  const before = model.index.before(write);
  const lines = before ? difference(before.object, write.object) : [];
  /** @type {Block[]} */ const blocks = [];
  if (before && lines.length) {
    blocks.push(h(words.t('object.diff', { rev: String(write.rev), before: String(before.rev) })), {
      type: 'diff',
      lines,
    });
  }
  blocks.push(...compare(before, write.key, write.rev));
  blocks.push(h(words.t('object.at', { rev: String(write.rev) })), asYaml(write.object));
  return blocks;
}

/**
 * @param {Model} model @param {string} key @param {Words} words
 * @param {WriteRecord} [chosen]  one revision of it, else the newest at the cursor
 */
export function explainObject(model, key, words, chosen) {
  const write = chosen || model.index.objectAt(key, model.state.seq);
  if (!write) return null;
  const span = model.index.spans.get(write.span) || null;
  const open = /** @type {any} */ (span ? span.open : {});
  const before = model.index.before(write);
  const lines = before ? difference(before.object, write.object) : [];
  const history = model.index.histories.get(key) || [];
  const who = span?.user?.name || open.client || write.client || words.t('object.bootstrap');
  return explanation({
    crumb: `${kindOf(write.resource)} · ${write.name}`,
    title: words.t(`object.${write.op}.title`, {
      kind: kindOf(write.resource),
      name: shortName(write),
      rev: String(write.rev),
      who,
    }),
    tabs: [
      tab(words, 'why', [
        p(words, 'object.who', { who, rev: String(write.rev) }),
        ...(lines.length ? [{ type: /** @type {'diff'} */ ('diff'), lines }] : []),
        ...compare(before, key, write.rev),
        ...asService(write),
        h(
          model.index.hasAllOf(key)
            ? words.t('object.history', { n: history.length })
            : words.t('object.lately'),
        ),
        {
          type: 'links',
          items: history
            .slice(-12)
            .reverse()
            .map((w) => ({
              text: `r${w.rev} ${w.subresource || w.op}`,
              seq: w.seq,
            })),
        },
      ]),
      tab(words, 'object', [asYaml(write.object)]),
      tab(words, 'raw', [json({ ...write, object: undefined })]),
    ],
    badge: words.t('badge.recorded'),
    source: words.t('source.recorded'),
  });
}

/** What the cluster makes of a service. @param {WriteRecord} write @returns {Block[]} */
function asService({ resource, op, namespace, name }) {
  if (resource !== 'services' || op === 'delete') return [];
  return [{ type: 'service', service: { namespace, name } }];
}

/** @param {WriteRecord} write */
const shortName = (write) => (write.resource === 'pods' ? shortPod(write.name) : write.name);
