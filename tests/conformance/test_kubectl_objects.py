"""Objects as a class handles them: apply, patch, label, the short creates, and what is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.conformance import manifests
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.conformance.prints import fits, has


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("objects") as within:
        yield within


def test_apply_says_what_it_did(kubectl: Kubectl) -> None:
    def apply(manifest: str) -> str:
        return kubectl("apply", "-f", "-", given=manifest)

    assert apply(manifests.SETTINGS) == "configmap/settings created\n"
    assert apply(manifests.SETTINGS) == "configmap/settings unchanged\n"
    assert apply(manifests.SETTINGS_RED) == "configmap/settings configured\n"
    assert kubectl.object("cm", "settings")["data"] == {"colour": "red"}
    kubectl("delete", "cm", "settings")


def test_apply_of_what_was_created_warns(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", given=manifests.SETTINGS) == (
        "configmap/settings created\n"
    )
    said = kubectl.run("apply", "-f", "-", given=manifests.SETTINGS)
    assert said.out == "configmap/settings configured\n"
    assert said.err.startswith(
        "Warning: resource configmaps/settings is missing the "
        "kubectl.kubernetes.io/last-applied-configuration annotation"
    )
    assert kubectl.fails("create", "-f", "-", given=manifests.SETTINGS) == (
        'Error from server (AlreadyExists): error when creating "STDIN": '
        'configmaps "settings" already exists'
    )
    kubectl("delete", "cm", "settings")


@since(1, 21, "`get` has no `--show-managed-fields`")
def test_server_side_apply_conflicts_until_forced(kubectl: Kubectl) -> None:
    said = kubectl("apply", "--server-side", "-f", "-", given=manifests.WEB)
    assert said == "deployment.apps/web serverside-applied\n"
    other = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    said = kubectl.fails(*other, given=manifests.WEB_THREE)
    assert said.startswith(
        'error: Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas\n'
        "Please review the fields above"
    )
    assert kubectl(*other, "--force-conflicts", given=manifests.WEB_THREE) == (
        "deployment.apps/web serverside-applied\n"
    )
    entries = kubectl.object("deploy", "web", "--show-managed-fields")["metadata"]["managedFields"]
    owners = {
        entry["manager"]: "f:replicas" in entry["fieldsV1"].get("f:spec", {})
        for entry in entries
        if entry["operation"] == "Apply"
    }
    assert owners == {"kubectl": False, "other": True}
    assert all(entry.get("time") for entry in entries)
    kubectl("delete", "deploy", "web")


def test_diff_and_replace(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", given=manifests.SETTINGS)
    assert kubectl("diff", "-f", "-", given=manifests.SETTINGS) == ""
    said = kubectl.run("diff", "-f", "-", given=manifests.SETTINGS_RED)
    assert said.code == 1
    assert "-  colour: blue\n+  colour: red\n" in said.out
    assert kubectl("replace", "-f", "-", given=manifests.SETTINGS_RED) == (
        "configmap/settings replaced\n"
    )
    stale = kubectl.object("cm", "settings")
    kubectl("annotate", "cm", "settings", "by=somebody")
    assert kubectl.fails("replace", "-f", "-", given=json.dumps(stale)) == (
        'Error from server (Conflict): error when replacing "STDIN": Operation cannot be '
        'fulfilled on configmaps "settings": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    kubectl("delete", "cm", "settings")


@since(1, 27, "it says less of an invalid request")
def test_patches_of_three_types(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=manifests.WEB)

    def patch(kind: str, body: str) -> str:
        return kubectl("patch", "deploy", "web", "--type", kind, "-p", body)

    done = "deployment.apps/web patched\n"
    beside = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"redis"}]}}}}'
    assert patch("strategic", beside) == done
    kubectl.until(  # the controller may write between reading and patching
        lambda out: out == "deployment.apps/web patched (no change)\n",
        "patch",
        "deploy",
        "web",
        "-p",
        beside,
    )
    assert patch("merge", '{"metadata":{"labels":{"tier":"front"}}}') == done
    assert patch("json", '[{"op":"replace","path":"/spec/replicas","value":0}]') == done
    deployment = kubectl.object("deploy", "web")
    assert [
        container["name"] for container in deployment["spec"]["template"]["spec"]["containers"]
    ] == ["side", "web"]
    assert deployment["spec"]["replicas"] == 0
    assert deployment["metadata"]["labels"] == {"app": "web", "tier": "front"}
    assert (
        kubectl.fails(
            "patch", "deploy", "web", "--type=json", '-p=[{"op":"remove","path":"/spec/nope"}]'
        )
        == "The request is invalid: the server rejected our request due to an error in our request"
    )
    kubectl("delete", "deploy", "web")


@since(1, 28, "it says `annotate` for `annotated`")
def test_labels_and_annotations(kubectl: Kubectl) -> None:
    kubectl("create", "cm", "noted")
    assert kubectl("label", "cm", "noted", "tier=front") == "configmap/noted labeled\n"
    assert kubectl("label", "cm", "noted", "tier=front") == "configmap/noted not labeled\n"
    assert kubectl.fails("label", "cm", "noted", "tier=back") == (
        "error: 'tier' already has a value (front), and --overwrite is false"
    )
    assert kubectl("get", "cm", "-l", "tier in (front,back),!nope", "-o", "name") == (
        "configmap/noted\n"
    )
    assert kubectl("label", "cm", "noted", "tier-") == "configmap/noted unlabeled\n"
    assert kubectl("annotate", "cm", "noted", "note=hello") == "configmap/noted annotated\n"
    assert kubectl("annotate", "cm", "noted", "note-") == "configmap/noted annotated\n"
    kubectl("delete", "cm", "noted")


CREATES = {
    "namespace/made": ("namespace", "made"),
    "configmap/c": ("configmap", "c", "--from-literal=a=b"),
    "secret/s": ("secret", "generic", "s", "--from-literal=a=b"),
    "serviceaccount/robot": ("serviceaccount", "robot"),
    "cronjob.batch/nightly": ("cronjob", "nightly", "--image=busybox", "--schedule=0 3 * * *"),
    "role.rbac.authorization.k8s.io/reader": (
        "role", "reader", "--verb=get,list", "--resource=pods",
    ),
    "rolebinding.rbac.authorization.k8s.io/readers": (
        "rolebinding", "readers", "--role=reader", "--serviceaccount=objects:robot",
    ),
    "clusterrole.rbac.authorization.k8s.io/nodereader": (
        "clusterrole", "nodereader", "--verb=get,list", "--resource=nodes",
    ),
    "clusterrolebinding.rbac.authorization.k8s.io/nodereaders": (
        "clusterrolebinding", "nodereaders", "--clusterrole=nodereader", "--user=jane",
    ),
    "resourcequota/small": ("quota", "small", "--hard=configmaps=20"),
    "service/inside": ("service", "clusterip", "inside", "--tcp=80:8080"),
    "poddisruptionbudget.policy/one": ("pdb", "one", "--selector=app=x", "--min-available=1"),
    "ingress.networking.k8s.io/door": ("ingress", "door", "--rule=foo.com/=inside:80"),
    "priorityclass.scheduling.k8s.io/urgent": ("priorityclass", "urgent", "--value=1000"),
}  # fmt: skip


# an older kubectl creates these in versions that are gone
YOUNG = ("cronjob.batch/nightly", "poddisruptionbudget.policy/one")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=since(1, 21, "it speaks v1beta1") if name in YOUNG else ())
        for name in CREATES
    ],
)
def test_short_creates(kubectl: Kubectl, name: str) -> None:
    kind, _, _ = name.partition(".")
    what = kind.partition("/")[0]
    assert kubectl("create", *CREATES[name]) == f"{name} created\n"
    assert f'"{name.rpartition("/")[2]}" already exists' in kubectl.fails("create", *CREATES[name])
    assert kubectl("get", what, name.rpartition("/")[2], "-o", "name") == f"{name}\n"


@since(1, 28, "it has no `auth whoami`")
def test_a_token_is_who_it_says(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "bearer")
    token = kubectl("create", "token", "bearer").strip()
    said = kubectl.bare()("auth", "whoami", f"--token={token}")
    has(
        said,
        """
Username                                              system:serviceaccount:objects:bearer
Groups  [system:serviceaccounts system:serviceaccounts:objects system:authenticated]
""",
    )


@since(1, 30, "`drain` words its refusal otherwise")
def test_taint_cordon_and_drain(kubectl: Kubectl) -> None:
    assert kubectl("taint", "node", "node-3", "k=v:NoSchedule") == "node/node-3 tainted\n"
    assert kubectl.fails("taint", "node", "node-3", "k=v:NoSchedule") == (
        "error: node node-3 already has k taint(s) with same effect(s) and --overwrite is false"
    )
    assert kubectl("taint", "node", "node-3", "k-") == "node/node-3 untainted\n"
    kubectl("run", "bare", "--image=nginx", '--overrides={"spec":{"nodeName":"node-3"}}')
    kubectl("wait", "--for=condition=Ready", "pod/bare", PATIENTLY)
    assert kubectl("cordon", "node-3") == "node/node-3 cordoned\n"
    assert kubectl("cordon", "node-3") == "node/node-3 already cordoned\n"
    has(kubectl("get", "nodes"), "node-3   Ready,SchedulingDisabled   <none>   {age}   v1.33.{n}")
    said = kubectl.fails("drain", "node-3")
    assert "cannot delete cannot delete Pods that declare no controller" in said
    assert "cannot delete DaemonSet-managed Pods" in kubectl.fails("drain", "node-3", "--force")
    drained = kubectl("drain", "node-3", "--force", "--ignore-daemonsets")
    has(drained, "node/node-3 already cordoned\npod/bare evicted\nnode/node-3 drained")
    assert kubectl("uncordon", "node-3") == "node/node-3 uncordoned\n"


@since(1, 21, "it prints managed fields")
def test_output_forms(kubectl: Kubectl) -> None:
    kubectl("create", "cm", "b", "--from-literal=k=2")
    kubectl("create", "cm", "a", "--from-literal=k=1")
    kubectl("label", "cm", "a", "b", "form=yes")
    mine = ("get", "cm", "-l", "form=yes")
    assert kubectl(*mine, "-o", "name") == "configmap/a\nconfigmap/b\n"
    assert kubectl(*mine, "-o", "jsonpath={.items[*].data.k}") == "1 2"
    assert kubectl(*mine, "--sort-by=.data.k", "-o", "name") == "configmap/a\nconfigmap/b\n"
    assert json.loads(kubectl(*mine, "-o", "json"))["kind"] == "List"
    fits(
        kubectl("get", "cm", "a", "-o", "yaml"),
        """
apiVersion: v1
data:
  k: "1"
kind: ConfigMap
metadata:
  creationTimestamp: "{time}"
  labels:
    form: "yes"
  name: a
  namespace: objects
  resourceVersion: "{n}"
  uid: {uid}
""",
    )
    fits(
        kubectl(*mine, "--sort-by=.data.k", "--show-labels"),
        """
NAME   DATA   AGE   LABELS
a      1      {age}   form=yes
b      1      {age}   form=yes
""",
    )
    has(kubectl("get", "cm", "-A"), "objects             a          1      {age}")
    kubectl("delete", "cm", "a", "b")


def test_field_selectors(kubectl: Kubectl) -> None:
    said = kubectl("get", "ns", "--field-selector=metadata.name=objects", "-o", "name")
    assert said == "namespace/objects\n"
    assert kubectl.fails("get", "pods", "--field-selector=foo=bar") == (
        'Error from server (BadRequest): Unable to find "/v1, Resource=pods" that match label '
        'selector "", field selector "foo=bar": field label not supported: foo'
    )


def test_dry_runs_store_nothing(kubectl: Kubectl) -> None:
    said = kubectl("create", "deployment", "d", "--image=nginx", "--dry-run=server")
    assert said == "deployment.apps/d created (server dry run)\n"
    assert kubectl.fails("get", "deploy", "d") == (
        'Error from server (NotFound): deployments.apps "d" not found'
    )
    kubectl("create", "cm", "stays")
    assert kubectl("delete", "cm", "stays", "--dry-run=server") == (
        'configmap "stays" deleted (server dry run)\n'
    )
    assert kubectl("delete", "cm", "stays") == 'configmap "stays" deleted\n'


@since(1, 21, "`create` words a refusal otherwise")
def test_quota_is_counted_and_kept(kubectl: Kubectl) -> None:
    with kubectl.space("counted") as counted:
        counted("create", "quota", "few", "--hard=configmaps=2")
        counted("create", "cm", "first")
        counted.until(lambda out: "configmaps: 2/2" in out, "get", "quota", "few")
        said = counted.fails("create", "cm", "second")
        assert said == (
            'error: failed to create configmap: configmaps "second" is forbidden: exceeded quota: '
            "few, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"
        )
