// @ts-check
/** Chinese: the place for commands. */

/** @type {Record<string, string>} */
export default {
  'commands.field': 'YAML，或者一行 kubectl 或 etcdctl 命令',
  'commands.placeholder': 'YAML、kubectl、etcdctl',
  'commands.answers': '应答',
  'commands.empty':
    '这里可以写 YAML 或 JSON 清单、一行 kubectl（{lines}）或一行 etcdctl。' +
    'etcdctl 直接访问这个集群自己的 etcd，绕过 API 服务器及其所有关卡。向上方向键回到发送过的内容。',
  'commands.large': '放大显示表格',
  'commands.deployment': '一个 Deployment 的 YAML',
  'commands.pod': '一个 Pod 的 YAML',
  'commands.nothing': '没有可发送的内容。请写 YAML，或者以 kubectl 或 etcdctl 开头的一行命令。',
  'commands.unknown':
    '这既不是 YAML，也不是一行 etcdctl 或 kubectl 命令。这里可以运行的 kubectl 命令有：{lines}。',
  'commands.kubectl': '这里可以运行的 kubectl 命令有：{lines}。其他命令请在终端里使用服务器给出的 kubeconfig。',
  'commands.formerly':
    '在 1.17 及更早的版本中，这会创建一个 Deployment。从 1.18 起 kubectl run 只创建一个 Pod，创建 Deployment 要用：',
  'commands.flags':
    '在这里 {line} 只接受 {flags}。其他标志请在终端里使用服务器给出的 kubeconfig。',
  'commands.file': '这里没有文件：请把文件的内容写进这个输入框。',
  'commands.read':
    '请在终端里使用服务器给出的 kubeconfig 来执行。现有对象的 YAML 也可以在“对象”标签页里查看。',
  'commands.one': '这里一行命令只针对一个对象。',
  'commands.not': '不能对这种类型的对象这样做。',
  'commands.lost': '无法连接到服务器',
  'commands.members': 'etcd 有 {n} 个成员',
  'commands.peers': '对等成员：{names}',
  'commands.alone': '没有对等成员',
  'commands.unstarted': '尚未启动',
  'commands.learner': '学习者，不参与投票',
  'commands.exit': '退出码 {code}',
  'commands.running': '已运行 {n} 秒……',
  'commands.waits': '等前一条命令结束后发送。',
  'commands.takeBack': '不发送',
  'run.steps': 'kubectl {version} 做了什么',
  'run.checked': '参数正确：名称 {name}，镜像 {image}',
  'run.generator.given': '生成器 {generator}，由 --generator 指定',
  'run.generator.inferred': '生成器 {generator}，由 --restart={restart} 推断',
  'run.generator.only': '生成器 {generator}，自 1.18 起只有这一个',
  'run.made': '一个 {apiVersion} 的 {kind}',
  'run.mapped': '{kind} 发送到 POST {path}',
};
