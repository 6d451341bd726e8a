// @ts-check
// What @kubernetes/client-node does against the server: one function a step of the table.
// usage: node steps.mjs KUBECONFIG NAMESPACE; prints one JSON object a step: {"step", "why"}

import * as k8s from "@kubernetes/client-node";
import net from "node:net";
import { PassThrough } from "node:stream";

const [kubeconfig, ns] = process.argv.slice(2);
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);

const metadata = (/** @type {string} */ name) => ({ name, labels: { made: "here" } });
const configMap = (/** @type {string} */ name) => ({ metadata: metadata(name), data: { a: "b" } });

/** @param {string} name @param {string[]} command @param {string} image */
const pod = (name, command, image = "busybox") => ({
  metadata: { name, labels: { app: name } },
  spec: {
    restartPolicy: "Never",
    containers: [{ name: "main", image, ...(command.length ? { command } : {}) }],
  },
});

/** @param {boolean} is @param {unknown} said */
function check(is, said) {
  if (!is) throw new Error(`not as wanted: ${JSON.stringify(said)}`);
}

/** @param {number} code @param {Promise<unknown>} call */
async function refused(code, call) {
  try {
    await call;
  } catch (error) {
    const found = /** @type {{code?: number}} */ (error).code;
    if (found !== code) throw error;
    return;
  }
  throw new Error(`it was not refused, ${code} was expected`);
}

/** @param {() => Promise<boolean>} is */
async function until(is) {
  const end = Date.now() + 180_000;
  while (!(await is())) {
    if (Date.now() > end) throw new Error("it did not come to be");
    await new Promise((go) => setTimeout(go, 50));
  }
}

const phase = async (/** @type {string} */ name) =>
  (await core.readNamespacedPod({ name, namespace: ns })).status?.phase;

/** @param {string[]} command @param {string | null} given */
async function execute(command, given = null) {
  let out = "";
  const stdout = new PassThrough();
  stdout.on("data", (part) => (out += part));
  const stdin = given === null ? null : new PassThrough();
  if (stdin) stdin.end(given);
  /** @type {k8s.V1Status} */
  const status = await new Promise((done, fail) => {
    new k8s.Exec(config)
      .exec(ns, "waits", "main", command, stdout, null, stdin, false, done)
      .catch(fail);
  });
  return { out, status };
}

/** @type {Record<string, () => Promise<void>>} */
const steps = {
  async version() {
    const found = await config.makeApiClient(k8s.VersionApi).getCode();
    check(found.major === "1", found);
  },
  async discovery() {
    const found = await config.makeApiClient(k8s.ApisApi).getAPIVersions();
    check(found.groups.some((one) => one.name === "apps"), found);
  },
  async create() {
    const made = await core.createNamespacedConfigMap({ namespace: ns, body: configMap("one") });
    check(Boolean(made.metadata?.uid), made);
  },
  async get() {
    const found = await core.readNamespacedConfigMap({ name: "one", namespace: ns });
    check(found.data?.a === "b", found);
  },
  async list() {
    const found = await core.listNamespacedConfigMap({ namespace: ns });
    check(found.items.some((one) => one.metadata?.name === "one"), found);
  },
  async selectors() {
    const found = await core.listNamespacedConfigMap({
      namespace: ns, labelSelector: "made=here", fieldSelector: "metadata.name=one",
    });
    check(found.items.length === 1, found);
  },
  async pages() {
    const first = await core.listNamespacedConfigMap({ namespace: ns, limit: 1 });
    const rest = await core.listNamespacedConfigMap({
      namespace: ns, limit: 5, _continue: first.metadata?._continue,
    });
    check(first.items.length === 1 && rest.items.length > 0, rest);
  },
  async "patch strategic"() {
    const done = await core.patchNamespacedConfigMap(
      { name: "one", namespace: ns, body: { data: { c: "d" } } },
      k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.StrategicMergePatch),
    );
    check(done.data?.c === "d", done);
  },
  async "patch json"() {
    const done = await core.patchNamespacedConfigMap({
      name: "one", namespace: ns, body: [{ op: "add", path: "/data/e", value: "f" }],
    });
    check(done.data?.e === "f", done);
  },
  async apply() {
    const objects = k8s.KubernetesObjectApi.makeApiClient(config);
    const body = { apiVersion: "v1", kind: "ConfigMap", ...configMap("applied") };
    const within = { ...body, metadata: { ...body.metadata, namespace: ns } };
    const done = await objects.patch(
      within, undefined, undefined, "tests", true, k8s.PatchStrategy.ServerSideApply,
    );
    check(done.metadata?.name === "applied", done);
  },
  async replace() {
    const found = await core.readNamespacedConfigMap({ name: "one", namespace: ns });
    const body = { ...found, data: { only: "this" } };
    const done = await core.replaceNamespacedConfigMap({ name: "one", namespace: ns, body });
    check(done.data?.only === "this", done);
  },
  async watch() {
    const path = `/api/v1/namespaces/${ns}/configmaps`;
    await core.createNamespacedConfigMap({ namespace: ns, body: configMap("seen") });
    const following = new k8s.Watch(config);
    const names = await new Promise((seen, fail) => {
      /** @type {string[]} */
      const names = [];
      const note = (/** @type {string} */ _kind, /** @type {any} */ found) => {
        names.push(found.metadata.name);
        if (found.metadata.name === "seen") seen(names);
      };
      following.watch(path, { timeoutSeconds: 180 }, note, () => seen(names)).catch(fail);
    });
    check(names.includes("seen"), names);
  },
  async "not found"() {
    await refused(404, core.readNamespacedPod({ name: "nobody", namespace: ns }));
  },
  async deployment() {
    const app = { app: "web" };
    await apps.createNamespacedDeployment({
      namespace: ns,
      body: {
        metadata: { name: "web" },
        spec: {
          replicas: 2,
          selector: { matchLabels: app },
          template: {
            metadata: { labels: app },
            spec: { containers: [{ name: "web", image: "nginx" }] },
          },
        },
      },
    });
    await until(async () => {
      const found = await apps.readNamespacedDeployment({ name: "web", namespace: ns });
      return found.status?.readyReplicas === 2;
    });
  },
  async scale() {
    const at = { name: "web", namespace: ns };
    const found = await apps.readNamespacedDeploymentScale(at);
    const body = { ...found, spec: { replicas: 1 } };
    const done = await apps.replaceNamespacedDeploymentScale({ ...at, body });
    check(done.spec?.replicas === 1, done);
  },
  async logs() {
    const body = pod("says", ["echo", "hello there"]);
    await core.createNamespacedPod({ namespace: ns, body });
    await until(async () => (await phase("says")) === "Succeeded");
    const said = await core.readNamespacedPodLog({ name: "says", namespace: ns });
    check(said === "hello there\n", said);
  },
  async "logs follow"() {
    const body = pod("talks", ["sh", "-c", "echo one; sleep 3; echo two"]);
    await core.createNamespacedPod({ namespace: ns, body });
    await until(async () => (await phase("talks")) !== "Pending");
    const out = new PassThrough();
    let said = "";
    out.on("data", (part) => (said += part));
    const ended = new Promise((done) => out.on("end", done));
    await new k8s.Log(config).log(ns, "talks", "main", out, { follow: true });
    await ended;
    check(said === "one\ntwo\n", said);
  },
  async exec() {
    const body = pod("waits", ["sleep", "3600"]);
    await core.createNamespacedPod({ namespace: ns, body });
    await until(async () => (await phase("waits")) === "Running");
    const said = await execute(["echo", "hi"]);
    check(said.out === "hi\n" && said.status.status === "Success", said);
  },
  async "exec exit code"() {
    const said = await execute(["sh", "-c", "exit 7"]);
    check(said.status.details?.causes?.[0]?.message === "7", said);
  },
  async "exec stdin"() {
    const said = await execute(["cat"], "from outside\n");
    check(said.out === "from outside\n", said);
  },
  async "port-forward"() {
    await core.createNamespacedPod({ namespace: ns, body: pod("serves", [], "nginx") });
    await until(async () => (await phase("serves")) === "Running");
    const forward = new k8s.PortForward(config);
    const server = net.createServer((socket) => {
      forward.portForward(ns, "serves", [80], socket, null, socket).catch(() => socket.destroy());
    });
    await new Promise((go) => server.listen(0, "127.0.0.1", () => go(0)));
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    const answer = await new Promise((done, fail) => {
      let text = "";
      const client = net.connect(port, "127.0.0.1", () => {
        client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      });
      client.on("data", (part) => {
        text += part;
        if (text.includes("</html>")) client.destroy(), done(text);
      });
      client.on("error", fail);
      client.on("end", () => done(text));
    });
    server.close();
    check(answer.includes("nginx"), answer);
  },
  async "can-i"() {
    const reviews = config.makeApiClient(k8s.AuthorizationV1Api);
    const body = { spec: { resourceAttributes: { verb: "list", resource: "pods" } } };
    const made = await reviews.createSelfSubjectAccessReview({ body });
    check(made.status?.allowed === true, made);
  },
  async delete() {
    await core.deleteNamespacedConfigMap({ name: "one", namespace: ns });
    await refused(404, core.readNamespacedConfigMap({ name: "one", namespace: ns }));
  },
  async "delete collection"() {
    await core.deleteCollectionNamespacedConfigMap({ namespace: ns, labelSelector: "made=here" });
    const left = await core.listNamespacedConfigMap({ namespace: ns, labelSelector: "made=here" });
    check(left.items.length === 0, left);
  },
};

for (const [step, act] of Object.entries(steps)) {
  let why = "";
  const late = new Promise((_, fail) => setTimeout(() => fail(new Error("too late")), 40_000).unref());
  try {
    await Promise.race([act(), late]);
  } catch (error) {
    why = String(error instanceof Error ? error.message : JSON.stringify(error)) || "failed";
  }
  console.log(JSON.stringify({ step, why }));
}
process.exit(0);
