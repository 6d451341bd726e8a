// @ts-check
/** Chinese: add-ons. Loaded with their dialog. */

/** @type {Record<string, string>} */
export default {
  'addons.text':
    'API 服务器、etcd、控制器和调度器构成集群。附加组件以普通 Pod 的形式运行：安装它就是发送它的清单。',
  'addons.then': '修订版本 {rev} 时的样子。',
  'addons.none': '未安装',
  'addons.part': '不完整：{n} 个对象中有 {there} 个',
  'addons.leaving': '正在移除',
  'addons.idle': '已缩容到没有 Pod',
  'addons.starting': '正在启动：{wanted} 个 Pod 中 {ready} 个就绪',
  'addons.running': '运行中：{wanted} 个 Pod 中 {ready} 个就绪',
  'addons.install': '安装',
  'addons.rest': '安装其余部分',
  'addons.remove': '移除',
  'addons.kubeadm': '由 kubeadm 随集群一起安装。',
  'addons.real': '这里没有模拟它，因此不能安装。',
  'addons.pods': '它的 Pod',
  'addons.nopods': '没有它的 Pod。',
  'addons.objects': '由 {n} 个对象组成，其中 {there} 个存在',
  'addons.missing': '不存在',
  'addons.manifest': '它的清单',
  'addons.ingress-nginx':
    'ingress-nginx：读取 nginx 类的 Ingress，按主机和路径把请求转发到所指 Service 的一个就绪的 Pod。',
  'addons.coredns':
    '解析名字：Pod 询问 Service 的名字，得到它的地址。通向其 Pod 的 Service 叫 kube-dns。',
  'addons.kube-proxy':
    '在每个节点上把 Service 及其 EndpointSlice 变成规则，Service 的地址由此通向一个就绪的 Pod。',
  'addons.metrics-server':
    '在聚合层之后添加 metrics.k8s.io API：Pod 和节点的用量，由各自的 kubelet 报告。' +
    'kubectl top 和 HorizontalPodAutoscaler 会查询它。',
  'addons.dashboard':
    '用于查看集群对象的网页：列出对象，显示日志，扩缩和删除，全部以登录者的令牌向 API 服务器发送请求。',
  'addons.fluentd-elasticsearch':
    '收集日志：DaemonSet 在每个节点上运行一个 fluentd，读取容器写入的日志文件，' +
    '把每一行发送到 Elasticsearch；在 Kibana 中搜索。',
};
