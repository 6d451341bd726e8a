// node webernetes.mjs PODS NODES: how long one Deployment takes to be ready in webernetes.
// Stands beside node_modules when it runs. Prints one JSON object.

import { BaseImage, Cluster } from "@ngrok/webernetes";

const [pods, nodes] = process.argv.slice(2).map(Number);

class Server extends BaseImage {
  static imageName = "server";
  static imageVersion = "1.0";
  defaultCommand = ["serve"];

  async exec(context, argv) {
    return argv[0] === "serve" ? context.waitUntilKilled() : super.exec(context, argv);
  }
}

function deployment(name, replicas) {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "server", image: "server:1.0" }] },
      },
    },
  };
}

const cluster = new Cluster({ nodes });
cluster.registerImage(Server);
await cluster.init();

function ready(name, replicas) {
  return new Promise((resolve) => {
    const informer = cluster.informer("deployments", (_, object) => {
      if (object.metadata.name !== name || (object.status?.readyReplicas ?? 0) < replicas) return;
      resolve(informer);
    });
  });
}

async function start(name, replicas) {
  const done = ready(name, replicas);
  await cluster.apply([deployment(name, replicas)]);
  await (await done).stop();
}

await start("warm", 1);
const began = performance.now();
const used = process.cpuUsage();
await start("many", pods);
const seconds = (performance.now() - began) / 1000;
const { user, system } = process.cpuUsage(used);
console.log(JSON.stringify({ seconds, cpu_seconds: (user + system) / 1e6 }));
process.exit(0);
