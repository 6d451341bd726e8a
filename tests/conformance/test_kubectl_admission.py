"""Servers with other admission plugins and authenticators than usual, and the real kubectl."""

from __future__ import annotations

import base64
import itertools
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec

from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.conformance.prints import has
from tests.conformance.test_kubectl_authentication import asked
from tests.httpsserver import Server
from tests.lifecycle.hosting.running import REAL, Demo

WEBHOOKS = Path(__file__).resolve().parents[2] / "lifecycle" / "catalog" / "webhooks"
HOOKS = ("name-length", "sidecar-injector")
READY_ADDRESSES = "jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses}"
PLUGINS = (
    "NodeRestriction",
    "NamespaceAutoProvision",
    "AlwaysPullImages",
    "ImagePolicyWebhook",
    "PodNodeSelector",
    "DenyServiceExternalIPs",
    "EventRateLimit",
)

EVENTS_MAX = 10
EVENT_LIMITS = {
    "apiVersion": "eventratelimit.admission.k8s.io/v1alpha1",
    "kind": "Configuration",
    "limits": [{"type": "User", "qps": 1, "burst": EVENTS_MAX}],
}


def respond(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    """Knows one token, and one image that may not run."""
    review = json.loads(body)
    if review["kind"] == "TokenReview":
        good = review["spec"]["token"] == "from-the-company"
        user = {"username": "ann", "groups": ["viewers"]}
        status = {"authenticated": True, "user": user} if good else {"authenticated": False}
    else:
        images = [container["image"] for container in review["spec"].get("containers") or ()]
        status = {"allowed": "bad:1" not in images, "reason": "bad:1 was recalled"}
    return 200, json.dumps({**review, "status": status}).encode()


def configured(where: Path, server: Server) -> list[str]:
    """The flags, with the files that they name."""
    hook = {
        "apiVersion": "v1", "kind": "Config", "current-context": "it",
        "clusters": [{"name": "it", "cluster": {
            "server": server.url + "/ask",
            "certificate-authority-data": base64.b64encode(
                server.certificate.ca_pem.encode()
            ).decode(),
        }}],
        "users": [{"name": "it", "user": {}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }  # fmt: skip
    (where / "hook.yaml").write_text(yaml.safe_dump(hook))
    policy = {
        "imagePolicy": {
            "kubeConfigFile": str(where / "hook.yaml"),
            "allowTTL": 50,
            "denyTTL": 50,
            "retryBackoff": 500,
            "defaultAllow": True,
        }
    }
    admission = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [
            {"name": "ImagePolicyWebhook", "configuration": policy},
            {"name": "EventRateLimit", "configuration": EVENT_LIMITS},
        ],
    }
    (where / "admission.yaml").write_text(yaml.safe_dump(admission))
    return [
        f"authentication-token-webhook-config-file={where / 'hook.yaml'}",
        "authentication-token-webhook-version=v1",
        "enable-bootstrap-token-auth=true",
        f"enable-admission-plugins={','.join(PLUGINS)}",
        f"admission-control-config-file={where / 'admission.yaml'}",
    ]


def started(demo: Demo, home: Path) -> Kubectl:
    home.mkdir()
    return Kubectl(kubectls.newest(), demo.data_dir, home)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    where = tmp_path_factory.mktemp("guarded")
    with Server(where, respond) as server:
        flags = [f"--apiserver-arg={one}" for one in configured(where, server)]
        with Demo(where / "data", "--speed", "max", *flags, driver=REAL) as demo:
            kubectl = started(demo, where / "home")
            kubectl.until_furnished()
            yield kubectl


@since(1, 28, "it has no `auth whoami`")
def test_a_user_of_the_companys_webhook_works_and_a_stranger_does_not(guarded: Kubectl) -> None:
    bare = guarded.bare()

    has(bare("--token", "from-the-company", "auth", "whoami"), "Username {*} ann")
    assert bare("--token", "from-the-company", "get", "ns", "default", "-o", "name")
    refused = bare.fails("--token", "from-elsewhere", "get", "ns")
    assert refused == "error: You must be logged in to the server (Unauthorized)"


def test_everybody_reads_cluster_info_and_nothing_else_there(guarded: Kubectl) -> None:
    """kubectl would ask who one is, so that the request is made without it."""
    server = yaml.safe_load(guarded.config.read_text())["clusters"][0]["cluster"]["server"]
    maps = f"{server}/api/v1/namespaces/kube-public/configmaps"
    context = ssl._create_unverified_context()
    with urllib.request.urlopen(f"{maps}/cluster-info", context=context) as answer:
        shown = yaml.safe_load(json.load(answer)["data"]["kubeconfig"])
    assert shown["clusters"][0]["cluster"]["server"] == "https://10.0.0.11:6443"
    authority = base64.b64decode(shown["clusters"][0]["cluster"]["certificate-authority-data"])
    assert authority.startswith(b"-----BEGIN CERTIFICATE-----")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(maps, context=context)
    assert 'User \\"system:anonymous\\" cannot list' in refused.value.read().decode()


@since(1, 28, "it has no `auth whoami`")
def test_a_node_joins_by_a_bootstrap_token(guarded: Kubectl, tmp_path: Path) -> None:
    guarded("apply", "-f", "-", given=TOKEN)
    key = ec.generate_private_key(ec.SECP256R1())
    request, key_pem = asked(key, "system:node:newcomer", "system:nodes")
    joining = guarded.bare()
    token = "--token=abcdef.0123456789abcdef"

    has(joining(token, "auth", "whoami"), "Username {*} system:bootstrap:abcdef")
    signed = guarded.until(
        lambda said: "jws-kubeconfig-abcdef" in said,
        "get",
        "cm",
        "cluster-info",
        "-n",
        "kube-public",
        "-o",
        "yaml",
    )
    assert "jws-kubeconfig-abcdef" in signed
    joining(token, "create", "-f", "-", given=CSR.format(base64.b64encode(request).decode()))
    path = "-o", "jsonpath={.status.certificate}"
    certificate = guarded.until(bool, "get", "csr", "node-csr-newcomer", *path)

    has(
        guarded("get", "csr", "node-csr-newcomer"),
        "{*} system:bootstrap:abcdef {*} Approved,Issued",
    )
    files = tmp_path / "node.crt", tmp_path / "node.key"
    files[0].write_bytes(base64.b64decode(certificate))
    files[1].write_bytes(key_pem)
    node = f"--client-certificate={files[0]}", f"--client-key={files[1]}"
    has(joining(*node, "auth", "whoami"), "Username {*} system:node:newcomer")


def test_an_image_that_the_policy_server_knows_as_bad_is_refused(guarded: Kubectl) -> None:
    said = guarded.fails("run", "bad", "--image=bad:1")
    assert said == (
        'Error from server (Forbidden): pods "bad" is forbidden: image policy webhook backend '
        "denied one or more images: bad:1 was recalled"
    )


def test_a_pod_always_pulls_its_images(guarded: Kubectl) -> None:
    guarded("run", "pulling", "--image=nginx:1.25", "--image-pull-policy=Never")
    pod = guarded.object("pod", "pulling")
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    guarded("delete", "pod", "pulling", "--now")


def test_a_namespace_appears_with_what_is_put_into_it(guarded: Kubectl) -> None:
    assert guarded("create", "cm", "first", "-n", "out-of-nothing") == "configmap/first created\n"
    assert guarded("get", "ns", "out-of-nothing", "-o", "name") == "namespace/out-of-nothing\n"


def test_pods_get_the_node_selector_of_their_namespace_or_conflict_with_it(
    guarded: Kubectl,
) -> None:
    guarded("create", "ns", "selected")
    guarded("annotate", "ns", "selected", "scheduler.alpha.kubernetes.io/node-selector=disk=ssd")
    guarded.until(bool, "get", "sa", "default", "-n", "selected", "-o", "name")
    guarded("run", "one", "--image=nginx", "-n", "selected")
    assert guarded.object("pod", "one", "-n", "selected")["spec"]["nodeSelector"] == {"disk": "ssd"}

    overrides = json.dumps({"spec": {"nodeSelector": {"disk": "hdd"}}})
    said = guarded.fails(
        "run", "two", "--image=nginx", "-n", "selected", f"--overrides={overrides}"
    )
    assert "pod node label selector conflicts with its namespace node label selector" in said


def test_a_service_gets_no_external_addresses(guarded: Kubectl) -> None:
    said = guarded.fails("apply", "-f", "-", given=EXTERNAL)
    assert said.startswith("Error from server (Forbidden): error when creating")
    assert said.endswith("Use of external IPs is denied by admission control")


def test_limits_and_quotas_refuse_in_upstreams_words(guarded: Kubectl) -> None:
    guarded("apply", "-f", "-", given=LIMITS)
    guarded.until(bool, "get", "sa", "default", "-n", "limited", "-o", "name")
    greedy = json.dumps({"spec": {"containers": [{
        "name": "main", "image": "nginx", "resources": {"limits": {"cpu": "2"}},
    }]}})  # fmt: skip
    said = guarded.fails("run", "a", "--image=nginx", "-n", "limited", f"--overrides={greedy}")
    assert said == (
        'Error from server (Forbidden): pods "a" is forbidden: maximum cpu usage per Container is '
        "1, but limit is 2"
    )
    guarded("run", "b", "--image=nginx", "-n", "limited")
    said = guarded.fails("run", "c", "--image=nginx", "-n", "limited")
    assert said == (
        'Error from server (Forbidden): pods "c" is forbidden: exceeded quota: one, requested: '
        "pods=1, used: pods=1, limited: pods=1"
    )


def test_whoever_sends_too_many_events_has_to_wait(guarded: Kubectl) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "reason": "Tested",
        "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"},
    }
    count = EVENTS_MAX + 2
    for start in itertools.count(step=count):  # again, if they took so long that none was too many
        sent = [
            {**event, "metadata": {"name": f"e{start + number}", "namespace": "default"}}
            for number in range(count)
        ]
        listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": sent})
        said = guarded("create", "-f", "-", given=listed)
        assert said.count("created") == count  # kubectl comes again after a second
        if is_refused(guarded("get", "--raw", "/metrics")):
            break


def is_refused(metrics: str) -> bool:
    """Whether an event was one too many."""
    counter = 'apiserver_request_total{code="429"'
    return any(
        line.startswith(counter) and 'resource="events"' in line for line in metrics.splitlines()
    )


def test_sample_webhooks_refuse_and_inject(guarded: Kubectl) -> None:
    for name in HOOKS:
        guarded("apply", "-f", str(WEBHOOKS / f"{name}.yaml"))
    guarded("wait", "deploy", "--all", "-A", "--for=condition=Available", PATIENTLY)
    for hook in HOOKS:  # that a pod can be reached is found by another controller, later
        label = f"kubernetes.io/service-name={hook}"
        slices = ("get", "endpointslices", "-n", "sample-webhooks", "-l", label)
        guarded.until(bool, *slices, "-o", READY_ADDRESSES)

    said = guarded.fails("create", "deploy", "nginx-deployment", "--image=nginx", "-n", "default")
    assert said.endswith(
        'admission webhook "name-length.sample-webhooks.svc" denied the request: the name '
        '"nginx-deployment" has 16 characters, at most 10 are allowed'
    )
    guarded("run", "short", "--image=nginx", "--labels=inject=true", "-n", "default")
    containers = guarded.object("pod", "short", "-n", "default")["spec"]["containers"]
    assert len(containers) == 2
    # another plugin saw what the webhook added
    assert {container["imagePullPolicy"] for container in containers} == {"Always"}
    for name in HOOKS:
        guarded(
            "delete", "-f", str(WEBHOOKS / f"{name}.yaml"), "--wait=false", "--ignore-not-found"
        )


def test_a_server_that_denies_everything_can_be_read(tmp_path: Path) -> None:
    flag = "--apiserver-arg=enable-admission-plugins=AlwaysDeny"
    with Demo(tmp_path / "data", "--speed", "max", flag, driver=REAL) as demo:
        denying = started(demo, tmp_path / "home")
        assert denying.run("get", "ns").err.strip() == "No resources found"
        assert denying.fails("create", "ns", "never") == (
            'Error from server (Forbidden): namespaces "never" is forbidden: admission control is '
            "denying all modifications"
        )


def test_an_old_server_denies_security_contexts(tmp_path: Path) -> None:
    flag = "--apiserver-arg=enable-admission-plugins=NodeRestriction,SecurityContextDeny"
    version = "--kubernetes-version=1.25"
    with Demo(tmp_path / "data", "--speed", "max", version, flag, driver=REAL) as demo:
        old = started(demo, tmp_path / "home")
        old.until_furnished()
        context = json.dumps({"spec": {"securityContext": {"runAsUser": 1}}})
        said = old.fails("run", "as-one", "--image=nginx", f"--overrides={context}")
        assert said == (
            'Error from server (Forbidden): pods "as-one" is forbidden: '
            "pod.Spec.SecurityContext.RunAsUser is forbidden"
        )


TOKEN = """
apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
stringData:
  token-id: abcdef
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  usage-bootstrap-signing: "true"
  auth-extra-groups: system:bootstrappers:kubeadm:default-node-token
"""

CSR = """
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {{name: node-csr-newcomer}}
spec:
  request: {}
  signerName: kubernetes.io/kube-apiserver-client-kubelet
  usages: [digital signature, client auth]
"""

EXTERNAL = """
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {externalIPs: [192.0.2.1], ports: [{port: 80}]}
"""

LIMITS = """
apiVersion: v1
kind: Namespace
metadata: {name: limited}
---
apiVersion: v1
kind: LimitRange
metadata: {name: one, namespace: limited}
spec: {limits: [{type: Container, max: {cpu: "1"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: one, namespace: limited}
spec: {hard: {pods: "1"}}
"""
