// @ts-check
/**
 * What the inspector shows of a Service beside its object: its names, and the rules of kube-proxy.
 * Loaded when a Service is looked at first, with its words.
 */
import en from '../../i18n/service/en.js';
import zh from '../../i18n/service/zh.js';
import { namesOn } from './names.js';
import { rulesOn } from './proxy.js';

/** @typedef {import('../kit/parts.js').Context} Context */
/** @typedef {import('../kit/dom.js').Child} Child */
/** @typedef {(ctx: Context, service: import('../../core/cluster/names.js').Named, key: string) =>
 *   Child} View */

/** @param {import('../page/app.js').App} app @returns {View} */
export function serviceOn(app) {
  const names = namesOn(app);
  const rules = rulesOn(app);
  return (ctx, service, key) => {
    const { words } = ctx;
    if (!words.has('names.title')) words.add(words.lang.startsWith('zh') ? zh : en);
    return [names(ctx, service, `${key}names`), rules(ctx, service, key)];
  };
}
