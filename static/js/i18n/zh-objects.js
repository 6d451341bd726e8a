// @ts-check
/** Chinese: what one does with an object. */

/** @type {Record<string, string>} */
export default {
  'menu.theme': '主题',
  'menu.speed': '节奏与速度',
  'menu.breaks': '断点',
  'menu.clusters': '集群',
  'menu.change': '改动一处',
  'menu.object': '修改',
  'acts.menu': '修改',
  'acts.scale': '扩缩到',
  'acts.replicas': '副本数',
  'acts.restart': '重启',
  'acts.cordon': '封锁：不再接收新的 Pod',
  'acts.uncordon': '解除封锁：重新接收新的 Pod',
  'acts.delete': '删除',
  'acts.sure': '{name} 将被删除，所有观看者都会看到。',
  'acts.sureAlso': '{name} 将被删除，所有观看者都会看到；随之删除：{also}。',
  'acts.yes': '删除 {name}',
  'acts.no': '保留',
  'acts.copy': '复制',
  'acts.copied': '已复制',
  'acts.past': '你正在看过去。回到现在才能修改。',
  'acts.fork': '要操作这个分叉，kubectl 的 --server 地址须以 /clusters/{name} 结尾。',
};
