"""Plugins switched by flags in a whole API server: its first record, its chain, its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver_app import flags
from apiserver_app.admission import plugins
from apiserver_app.admission.plugins.always import AlwaysDeny
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import CONFIGMAPS, PODS, configmap, last_gates, pod, server_session


def read(name: str) -> str:
    return Path(name).read_text()


def session(*arguments: str) -> Session:
    given = flags.parse(arguments, read)
    return server_session(flags=given)


def denying_session() -> Session:
    """A cluster that got AlwaysDeny once it was up: a new one could not even begin."""
    running = session()
    chain = running.cluster.context.admission.chain
    chain.plugins = (*chain.plugins, AlwaysDeny())
    chain.plans.clear()
    return running


def last_plugins(session: Session) -> list[str]:
    """Those that had a record of their own in the last outside request."""
    records = session.records()
    span = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ][-1]
    return [
        record["plugin"]
        for record in records
        if record["kind"] == "plugin" and record["span"] == span
    ]


def test_the_first_record_names_the_plugins_of_each_phase_and_what_they_are_about() -> None:
    records = session().records()
    first = next(record for record in records if record["kind"] == "component")
    assert (first["name"], first["state"]) == ("apiserver", "starting")
    asked = first["detail"]["admission"]
    assert asked["mutating"][:3] == [
        ["NamespaceLifecycle", "referential consistency"],
        ["LimitRanger", "resource management"],
        ["ServiceAccount", "security"],
    ]
    assert [name for name, _ in asked["validating"]][-1] == "ResourceQuota"


def test_always_deny_refuses_every_write_and_nothing_is_stored() -> None:
    denying = denying_session()
    revision, keys = denying.cluster.store.revision, len(denying.cluster.store.range("/").entries)
    answer = denying.request("POST", CONFIGMAPS, configmap("a"))
    assert (answer.status, answer.json()["message"]) == (
        403,
        'configmaps "a" is forbidden: admission control is denying all modifications',
    )
    assert last_plugins(denying) == ["AlwaysDeny"]
    assert last_gates(denying)[-1] == ("mutating", "deny")
    assert denying.cluster.store.revision == revision
    assert len(denying.cluster.store.range("/").entries) == keys


def test_reads_never_meet_admission() -> None:
    denying = denying_session()
    assert denying.request("GET", CONFIGMAPS).status == 200
    assert [gate for gate, _ in last_gates(denying)] == [
        "authentication",
        "audit",
        "flowcontrol",
        "authorization",
        "routing",
    ]


def test_auto_provision_asks_for_the_namespace_by_a_request_of_its_own() -> None:
    providing = session("enable-admission-plugins=NamespaceAutoProvision")
    answer = providing.request("POST", "/api/v1/namespaces/new/configmaps", configmap("a"))
    assert answer.status == 201
    assert providing.request("GET", "/api/v1/namespaces/new").status == 200
    made = [
        record
        for record in providing.records()
        if record["kind"] == "request" and record["name"] == "new" and record["verb"] == "create"
    ]
    assert [one["client"] for one in made] == ["kube-apiserver"]


def test_a_plugin_that_is_switched_off_is_not_asked() -> None:
    free = session("disable-admission-plugins=ServiceAccount,DefaultTolerationSeconds")
    spec = free.request("POST", PODS, pod("p")).json()["spec"]
    assert "tolerations" not in spec and "volumes" not in spec


def test_an_unknown_plugin_ends_the_start() -> None:
    with pytest.raises(plugins.PluginFlagError) as caught:
        session("enable-admission-plugins=Foo")
    assert str(caught.value) == 'enable-admission-plugins plugin "Foo" is unknown'


CONFIGURATION = """
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: EventRateLimit
  path: limits.yaml
- name: PodNodeSelector
  configuration:
    podNodeSelectorPluginConfig:
      clusterDefaultNodeSelector: disk=ssd
- name: ImagePolicyWebhook
  configuration:
    imagePolicy:
      kubeConfigFile: hook.kubeconfig
"""
LIMITS = """
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits:
- {type: User, qps: 1, burst: 1}
"""
LEGACY = "podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: disk=hdd}"


def test_plugins_are_configured_by_a_file_and_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "admission.yaml").write_text(CONFIGURATION)
    (tmp_path / "limits.yaml").write_text(LIMITS)
    (tmp_path / "hook.kubeconfig").write_text("kind: Config")
    configured = session(
        f"admission-control-config-file={tmp_path}/admission.yaml",
        "enable-admission-plugins=PodNodeSelector,EventRateLimit",
    )
    made = configured.request("POST", PODS, pod("p")).json()
    assert made["spec"]["nodeSelector"] == {"disk": "ssd"}
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
    }
    path = "/api/v1/namespaces/default/events"
    assert configured.request("POST", path, body).status == 201
    body["metadata"] = {"name": "f"}
    answer = configured.request("POST", path, body)
    assert (answer.status, answer.json()["message"]) == (
        429,
        "limit reached on type User for key kubernetes-admin",
    )


def test_a_file_of_the_old_form_is_the_node_selectors(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(LEGACY)
    configured = session(
        f"admission-control-config-file={tmp_path}/old.yaml",
        "enable-admission-plugins=PodNodeSelector",
    )
    made = configured.request("POST", PODS, pod("p")).json()
    assert made["spec"]["nodeSelector"] == {"disk": "hdd"}


def test_a_file_that_is_not_there_ends_the_start() -> None:
    with pytest.raises(flags.FlagError) as caught:
        flags.parse(["admission-control-config-file=/none/a.yaml"], read)
    assert str(caught.value) == (
        "failed to read plugin config: unable to read admission control configuration from "
        '"/none/a.yaml" [open /none/a.yaml: No such file or directory]'
    )


def test_what_is_no_configuration_ends_the_start(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: Pod\napiVersion: v1\n")
    with pytest.raises(ValueError, match="failed to read plugin config: no kind"):
        session(f"admission-control-config-file={tmp_path}/a.yaml")
