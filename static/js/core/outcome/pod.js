// @ts-check
/** Why a pod is not as wanted, and will not be by waiting: from its status and the nodes' room. */
import { objectsOf } from '../cluster/objects.js';
import { outcome, short } from './sentence.js';

/** @typedef {import('./sentence.js').Outcome} Outcome */
/** @typedef {import('../trace/reducer.js').State} State */
/** @typedef {import('../trace/records.js').WriteRecord} WriteRecord */

const NO_IMAGE = ['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull'];
const STARTING = ['ContainerCreating', 'PodInitializing'];

/** @type {WeakMap<WriteRecord, Outcome|null>} what needs no look at the nodes */
const known = new WeakMap();

/** Null for a pod that runs, has finished, or is on its way. */
export function brokenPod(/** @type {WriteRecord} */ write, /** @type {State} */ state) {
  const kept = known.get(write);
  if (kept !== undefined) return kept;
  const { spec = {}, status = {} } = write.object;
  const placed = (status.conditions || []).find(
    (/** @type {any} */ condition) => condition.type === 'PodScheduled',
  );
  // for one that was nominated room is being made
  if (!spec.nodeName && status.nominatedNodeName) return null;
  if (!spec.nodeName && placed?.status === 'False') return pendingPod(write, placed, state);
  const made = status.phase === 'Failed' ? failedPod(write) : containersOf(write);
  known.set(write, made);
  return made;
}

/** With the runtime's reason where it says more than the code. @param {any} ended */
const codeOf = ({ exitCode, reason }) =>
  ['Error', 'Completed', undefined].includes(reason) ? `${exitCode}` : `${exitCode} (${reason})`;

/** @param {WriteRecord} write */
function failedPod(write) {
  const { status = {} } = write.object;
  const ended = (status.containerStatuses || []).find(
    (/** @type {any} */ container) => container.state?.terminated?.exitCode,
  );
  if (ended)
    return outcome(write, 'unmet', 'podExited', {
      container: ended.name,
      code: codeOf(ended.state.terminated),
    });
  return outcome(write, 'unmet', 'podFailed', {
    message: short(status.message) || status.reason || 'Failed',
  });
}

/** @param {WriteRecord} write */
function containersOf(write) {
  const { spec = {}, status = {} } = write.object;
  const own = status.containerStatuses || [];
  const n = own.filter((/** @type {any} */ container) => container.ready).length;
  const counts = { n, of: (spec.containers || []).length };
  for (const container of [...(status.initContainerStatuses || []), ...own]) {
    const { waiting, terminated } = container.state || {};
    const ended = terminated || (waiting && container.lastState?.terminated);
    const reason = waiting?.reason || '';
    const params = { ...counts, container: container.name, image: container.image || '' };
    if (NO_IMAGE.includes(reason))
      return outcome(write, 'unmet', 'podImage', { ...params, why: lastPart(waiting.message) });
    if (ended && (ended.exitCode || reason === 'CrashLoopBackOff')) {
      // restartCount is of those that were started again
      const times = container.restartCount + 1;
      const made = outcome(write, 'unmet', 'podCrash', {
        ...params,
        times,
        code: codeOf(ended),
      });
      return { ...made, next: nextTry(ended, waiting) };
    }
    if (reason && !STARTING.includes(reason))
      return outcome(write, 'unmet', 'podWaits', {
        ...params,
        reason,
        message: short(waiting.message),
      });
  }
  return null;
}

/** What a chain of errors ends with. @param {string} message */
const lastPart = (message) => {
  const match = /(not found|access denied|no such host|unauthorized|does not exist)/i.exec(
    message || '',
  );
  return match ? match[1] : short(message).split(': ').at(-1) || '';
};

/** "back-off 1m20s restarting …" counts from the end. @param {any} ended @param {any} waiting */
function nextTry(ended, waiting) {
  const match = /back-off (?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?/.exec(waiting?.message || '');
  const end = Date.parse(ended.finishedAt || '');
  if (!match || !end) return 0;
  const [, hours, minutes, seconds] = match.map((digits) => Number(digits || 0));
  return end + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

// -- no node ------------------------------------------------------------------------------------

/** @param {WriteRecord} write @param {any} placed  the condition @param {State} state */
function pendingPod(write, placed, state) {
  const message = placed.message || placed.reason || '';
  if (placed.reason === 'SchedulingGated') return outcome(write, 'unmet', 'podGated');
  const of = /^\d+\/(\d+) nodes are available: (?:(\d+) Insufficient (cpu|memory))?/.exec(message);
  // where some nodes are ruled out by another reason, those without it may have room
  if (of && of[1] === of[2]) return tooLarge(write, state, of[3] === 'cpu' ? 'cpu' : 'memory');
  const claim = /unbound immediate PersistentVolumeClaims/.test(message);
  if (claim) return outcome(write, 'unmet', 'podClaim');
  const reasons = message.replace(/^\d+\/\d+ nodes are available: /, '');
  return outcome(write, 'unmet', 'podPending', { message: short(reasons) });
}

/** @param {WriteRecord} write @param {State} state @param {'cpu'|'memory'} what */
function tooLarge(write, state, what) {
  /** @type {Map<string, number>} */ const free = new Map();
  for (const node of objectsOf(state, 'nodes').values())
    free.set(node.name, amount(node.object.status?.allocatable?.[what]));
  for (const pod of objectsOf(state, 'pods').values()) {
    const { spec = {}, status = {} } = pod.object;
    const left = free.get(spec.nodeName);
    if (left !== undefined && !['Succeeded', 'Failed'].includes(status.phase))
      free.set(spec.nodeName, left - asked(spec, what));
  }
  const most = Math.max(0, ...free.values());
  return outcome(write, 'unmet', what === 'cpu' ? 'podCpu' : 'podMemory', {
    asked: shown(asked(write.object.spec, what), what),
    most: shown(most, what),
  });
}

/** @param {any} spec @param {'cpu'|'memory'} what */
function asked(spec, what) {
  const of = (/** @type {any} */ container) => amount(container.resources?.requests?.[what]);
  const lasting = (/** @type {any} */ container) => container.restartPolicy === 'Always';
  const first = spec.initContainers || [];
  const sum = [...(spec.containers || []), ...first.filter(lasting)].reduce(
    (total, container) => total + of(container),
    0,
  );
  const most = Math.max(
    0,
    ...first.filter((/** @type {any} */ container) => !lasting(container)).map(of),
  );
  return Math.max(sum, most) + amount(spec.overhead?.[what]);
}

/** @type {Record<string, number>} */
const UNITS = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** @param {string|number|undefined} quantity */
function amount(quantity) {
  const match = /^([\d.]+)([a-zA-Z]*)$/.exec(String(quantity ?? ''));
  return match ? Number(match[1]) * (UNITS[match[2]] ?? 1) : 0;
}

/** @param {number} value @param {'cpu'|'memory'} what */
const shown = (value, what) =>
  what === 'cpu' ? Number(value.toFixed(2)) : `${Number((value / 2 ** 30).toFixed(1))} GiB`;
