// @ts-check
import { objectsOf } from '../../core/cluster/objects.js';
import { objectKey } from '../../core/trace/records.js';

/** @typedef {import('./parts.js').Context} Context */

/** The newest of what is chosen, up to the cursor; null for what is no object, or gone. */
export function chosenObject(/** @type {Pick<Context, 'ui'|'index'|'state'>} */ ctx) {
  const { ui, index, state } = ctx;
  const { selected } = ui;
  if (!selected) return null;
  const key =
    selected.type === 'node'
      ? objectKey('nodes', '', selected.name)
      : selected.type === 'rev'
        ? index.byRev.get(selected.rev)?.key
        : 'key' in selected && selected.key;
  const write = key ? objectsOf(state, key.split('/', 1)[0]).get(key) : null;
  return write?.object ? write : null;
}
