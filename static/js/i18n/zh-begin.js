// @ts-check
/** Chinese: what one can begin with. */

/** @type {Record<string, string>} */
export default {
  'begin.title': '开始',
  'begin.text': '每一项都可以随时运行，与已有的对象并存。',
  'begin.looks': '只能观看，不能开始。',
  'begin.asked': '已看过',
  'begin.about': '约 {n} 秒',
  'begin.over': '用一个空集群重新开始',
  'begin.overText': '所有对象和到目前为止的历史都会消失，对每个观看者都是如此。已保存的录制会保留。',
  'begin.overSure': '重新开始',
  'theme.of.request': '一个请求的旅程',
  'theme.of.place': '为 Pod 找位置',
  'theme.of.wrong': '出错的时候',
  'theme.of.many': '成百上千',
  'cards.run': '让一个 Pod 诞生',
  'cards.token': '谁往我的 Pod 里放了令牌？',
  'cards.tokenText': '停在准入阶段，看它的改动',
  'cards.refused': '学生为什么得到 403？',
  'cards.refusedText': '逐条看被检查的规则',
  'cards.node': '为什么是这个节点？',
  'cards.nodeText': '过滤、打分，以及如何改变结果',
  'cards.full': '我的 Pod 为什么一直 Pending？',
  'cards.fullText': '它要的比任何一个节点都多',
  'cards.image': '镜像名写错了会怎样？',
  'cards.imageText': '拉取失败，重试的间隔越来越长',
  'cards.crash': '什么是崩溃循环？',
  'cards.crashText': '容器一启动就退出，谁在一次次重启它',
  'cards.crowd': '{n} 个 Pod 是什么样？',
  'cards.crowdText': '一次上线，跟随其中一个',
};
