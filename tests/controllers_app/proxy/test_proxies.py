"""kube-proxy on a cluster of three nodes after kubeadm: what its pods show, and where connections
go."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

from apiserver_app.etcd.backend import Backend
from apiserver_app.machinery.kernel import Kernel
from controllers_app.proxy.proxies import Proxies
from lifecycle.cluster.inputs import Inputs
from lifecycle.hosting.scripted import Session, default_inputs
from tests import builders
from tests.apiserver_app.cluster import copied
from tests.controllers_app import podlab

SERVICES = "/api/v1/namespaces/default/services"
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kube-proxy"
NODES = ("node-1", "node-2", "node-3")


@functools.cache
def installed() -> tuple[Inputs, Backend]:
    inputs = default_inputs()
    inputs.options["kubeadm"] = True
    session = Session(inputs)
    session.wait(60)
    return inputs, session.backend


@pytest.fixture
def session() -> Session:
    inputs, backend = installed()
    session = Session(inputs, copied(backend))
    session.wait(20)  # until the leases of what ran there have run out
    return session


def service(session: Session, name: str = "web", **spec: Any) -> str:
    """Create it; its cluster IP."""
    body = {
        "metadata": {"name": name},
        "spec": {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}], **spec},
    }
    answer = session.request("POST", SERVICES, body)
    assert answer.status == 201, answer.json()
    session.wait(5)
    return str(answer.json()["spec"]["clusterIP"])


def server(session: Session, name: str, node: str = "node-2", **spec: Any) -> str:
    """A pod behind the service; its address."""
    body = builders.pod(name, labels={"app": "web"}, nodeName=node, **spec)
    podlab.create(session, body)
    session.wait(30)
    return str(podlab.get(session, name)["status"]["podIP"])


def running(session: Session, name: str, *command: str, node: str, **spec: Any) -> None:
    """A pod of busybox that runs a command; one called web-… is behind the service."""
    app = name.partition("-")[0]
    body = builders.pod(name, "busybox", labels={"app": app}, nodeName=node, **spec)
    body["spec"]["containers"][0]["command"] = list(command)
    podlab.create(session, body)
    session.wait(30)


def client(session: Session, node: str = "node-1", **spec: Any) -> None:
    running(session, "client", "sleep", "10000", node=node, **spec)


def run(session: Session, pod: dict[str, Any], *command: str) -> tuple[str, int | None]:
    """What a command writes in the pod's first container, and its exit code."""
    out = bytearray()
    code: list[int | None] = []
    container = pod["spec"]["containers"][0]["name"]

    async def go() -> None:
        process = await session.cluster.nodes.exec(
            pod, container, list(command), stdin=False, tty=False
        )
        while (part := await process.read()) is not None:
            out.extend(part[1])
        code.append(process.exit_code)

    session.cluster.kernel.spawn("test", go())
    session.wait(15)
    return out.decode(), code[0]


def rules(session: Session, *command: str) -> dict[str, str]:
    """What a command says in the kube-proxy pod of each node, by default all rules."""
    path = "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy"
    pods = session.request("GET", path).json()["items"]
    texts = {}
    for pod in sorted(pods, key=lambda pod: str(pod["spec"]["nodeName"])):
        text, code = run(session, pod, *(command or ("iptables-save",)))
        assert code == 0, text
        texts[pod["spec"]["nodeName"]] = re.sub(r"(?m)^# .*\n", "", text)
    assert tuple(texts) == NODES
    return texts


def fetched(session: Session, url: str) -> tuple[str, int | None]:
    return run(session, podlab.get(session, "client"), "wget", "-q", "-T", "2", "-O", "-", url)


def set_mode(session: Session, mode: str) -> None:
    config = session.request("GET", CONFIG).json()
    text = config["data"]["config.conf"]
    config["data"]["config.conf"] = re.sub(r"(?m)^mode: .*$", f'mode: "{mode}"', text)
    assert session.request("PUT", CONFIG, config).status == 200


def test_a_created_service_has_rules_on_every_node(session: Session) -> None:
    before = rules(session)
    assert not any('"default/web:http' in text for text in before.values())
    address = service(session)
    pod = server(session, "one")
    for text in rules(session).values():
        assert re.search(
            rf"-A KUBE-SERVICES -d {address}/32 -p tcp .*--dport 80 -j KUBE-SVC-\w{{16}}\n", text
        )
        assert f"-j DNAT --to-destination {pod}:80\n" in text


def test_the_rules_of_all_nodes_are_equal(session: Session) -> None:
    service(session, type="NodePort")
    server(session, "one", "node-1")
    server(session, "two", "node-3")
    first, *others = rules(session).values()
    assert first.count("-j DNAT") > 2
    assert others == [first, first]


def test_the_mode_of_the_configuration_changes_the_text(session: Session) -> None:
    address = service(session)
    pod = server(session, "one")
    assert "KUBE-SVC-" in rules(session)["node-1"]
    virtual = f"TCP  {address}:80 rr\n  -> {pod}:80"
    assert virtual not in rules(session, "ipvsadm", "-Ln")["node-1"]
    set_mode(session, "ipvs")
    assert "KUBE-SVC-" not in rules(session)["node-1"]
    assert virtual in rules(session, "ipvsadm", "-Ln")["node-1"]


def test_a_pod_joins_when_it_is_ready_and_leaves_when_it_is_deleted(session: Session) -> None:
    service(session)
    never = {"name": "c", "image": "nginx", "readinessProbe": {"exec": {"command": ["false"]}}}
    body = builders.pod("shy", labels={"app": "web"}, nodeName="node-1")
    body["spec"]["containers"] = [never]
    podlab.create(session, body)
    session.wait(30)
    shy = podlab.get(session, "shy")["status"]["podIP"]
    assert not any(f"{shy}:80" in text for text in rules(session).values())
    assert all("default/web:http has no endpoints" in text for text in rules(session).values())

    address = server(session, "one")
    for text in rules(session).values():
        assert re.search(rf"-A KUBE-SVC-\w+ .*-> {address}:80\" -j KUBE-SEP-", text)
        assert f"--to-destination {address}:80" in text
        assert "default/web:http has no endpoints" not in text

    session.request("DELETE", f"{podlab.PODS}/one")
    session.wait(60)
    assert not any(f"{address}:80" in text for text in rules(session).values())


def test_a_listing_shows_the_chains_of_a_service(session: Session) -> None:
    address = service(session)
    server(session, "one")
    listed = rules(session, "iptables", "-t", "nat", "-L", "KUBE-SERVICES", "-n")["node-2"]
    assert listed.startswith("Chain KUBE-SERVICES (2 references)\n")
    row = (
        rf"KUBE-SVC-\w{{16}}  6    --  0\.0\.0\.0/0 +{address} +/\* default/web:http cluster IP \*/"
    )
    assert re.search(row, listed)
    chain = re.search(rf"(KUBE-SVC-\w{{16}})  6 .* {address} ", listed)
    assert chain is not None
    specified = rules(session, "iptables", "-t", "nat", "-S", chain[1])["node-2"]
    assert specified.splitlines()[0] == f"-N {chain[1]}"


def test_rules_are_only_read(session: Session) -> None:
    path = "/api/v1/namespaces/kube-system/pods?labelSelector=k8s-app%3Dkube-proxy"
    pod = session.request("GET", path).json()["items"][0]
    for command, said in (
        (("iptables", "-F"), "invalid option -- 'F'"),
        (("iptables", "-t", "nat"), "rules are read here, by -S or -L"),
        (("iptables", "-t", "raw", "-S"), "table 'raw' does not exist"),
        (("iptables", "-S", "NOPE"), "No chain/target/match by that name."),
        (("ipvsadm", "-C"), "invalid option -- 'C'"),
    ):
        text, code = run(session, pod, *command)
        assert said in text
        assert code != 0


def test_connections_go_where_the_rules_say(session: Session) -> None:
    address = service(session, type="NodePort")
    client(session)
    assert fetched(session, address) == (
        f"wget: can't connect to remote host ({address}): Connection refused\n",
        1,
    )
    server(session, "one")
    assert "Welcome to nginx!" in fetched(session, address)[0]
    assert fetched(session, f"{address}:81") == ("wget: download timed out\n", 1)
    set_mode(session, "ipvs")
    assert "Welcome to nginx!" in fetched(session, address)[0]
    assert "Connection refused" in fetched(session, f"{address}:81")[0]
    set_mode(session, "mine")  # with which kube-proxy does not start
    assert fetched(session, address) == ("wget: download timed out\n", 1)


@pytest.mark.parametrize(
    "text", ["mode: userspace", "mode: [", "- mode", "mode: 5", "clusterCIDR: 10.244.0.0/99"]
)
def test_with_a_configuration_that_it_refuses_kube_proxy_has_no_rules(text: str) -> None:
    config = {"data": {"config.conf": text}}
    service = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}]},
    }
    objects: dict[str, dict[str, Any]] = {"configmaps": config, "services": service}
    proxies = Proxies(
        Kernel(0), lambda resource, *_: objects.get(resource), lambda resource, _: [service]
    )
    proxies.addresses["node-1"] = "10.0.0.1"
    compared = proxies.rules_of("default", "web")
    assert (compared.mode, compared.texts) == ("", {"": ["node-1"]})


def test_a_local_policy_is_kept_on_the_node_that_is_asked(session: Session) -> None:
    address = service(session, internalTrafficPolicy="Local")
    server(session, "one", "node-2")
    client(session, "node-1")
    assert fetched(session, address) == ("wget: download timed out\n", 1)
    texts = rules(session)
    assert "default/web:http has no local endpoints" in texts["node-1"]
    assert "-j KUBE-SVL-" in texts["node-2"]
    set_mode(session, "ipvs")
    assert "Connection refused" in fetched(session, address)[0]


def test_a_node_port_keeps_to_local_endpoints_for_who_is_no_pod(session: Session) -> None:
    service(session, type="NodePort", externalTrafficPolicy="Local")
    server(session, "one", "node-2")
    made = session.request("GET", f"{SERVICES}/web").json()
    port = made["spec"]["ports"][0]["nodePort"]
    client(session, "node-1", hostNetwork=True)
    nodes = {name: node.host.address for name, node in session.cluster.hosts.nodes.items()}
    assert "Welcome to nginx!" in fetched(session, f"{nodes['node-2']}:{port}")[0]
    assert fetched(session, f"{nodes['node-3']}:{port}") == ("wget: download timed out\n", 1)
    own = fetched(session, f"{nodes['node-1']}:{port}")[0]
    assert "Welcome to nginx!" in own, "the node itself is led on"


def test_with_affinity_a_client_stays_with_its_endpoint(session: Session) -> None:
    address = service(session, sessionAffinity="ClientIP")
    plain = service(session, "plain")
    for name in ("web-1", "web-2", "web-3"):
        answer = f"HTTP/1.0 200 OK\\r\\n\\r\\n{name}"
        script = f"while true; do printf '{answer}' | nc -l -p 80 || true; done"
        running(session, name, "sh", "-c", script, node="node-2")
    client(session)
    assert len({fetched(session, plain)[0] for _ in range(4)}) == 3
    assert len({fetched(session, address)[0] for _ in range(4)}) == 1
