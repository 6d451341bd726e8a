"""How the API server says that it was built, and that it is true."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app import flags
from apiserver_app.etcd import lease as leases
from apiserver_app.http import startup
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.registry import strategynames
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import pod, server_session

CHAIN = ["apiextensions-apiserver", "kube-apiserver", "kube-aggregator"]
SUMMARY_BYTES_MAX = 20_000
# of the version that courses on the source have (1.19), as far as they are still there
PROVIDERS_OF_1_19 = [
    "authentication", "authorization", "autoscaling", "batch", "certificates", "coordination",
    "discovery", "networking", "node", "policy", "rbac", "scheduling", "storage", "flowcontrol",
    "apps", "admissionregistration", "events",
]  # fmt: skip


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(default_inputs(nodes=0))


@pytest.fixture(scope="module")
def told(session: Session) -> dict[str, Any]:
    """What the trace tells of the start."""
    found = [
        record["detail"]
        for record in session.records()
        if record["kind"] == "component"
        and record["name"] == "apiserver"
        and record["state"] == "starting"
    ]
    assert len(found) == 1
    detail: dict[str, Any] = found[0]
    return detail


@pytest.fixture(scope="module")
def whole(session: Session) -> dict[str, Any]:
    return startup.whole(session.cluster.context, session.inputs.flags)


def test_the_three_servers_are_made_from_the_inside_out(told: dict[str, Any]) -> None:
    assert [server["name"] for server in told["servers"]] == CHAIN
    assert [server["delegate"] for server in told["servers"]] == ["404", *CHAIN[:2]]
    assert told["servers"][0]["groups"] == ["apiextensions.k8s.io/v1"]
    assert told["servers"][2]["groups"] == ["apiregistration.k8s.io/v1"]
    assert len(orjson.dumps(told)) < SUMMARY_BYTES_MAX


def test_the_configuration_is_made_in_seven_steps(told: dict[str, Any]) -> None:
    config = dict(told["config"])
    assert list(config) == [
        "insecure HTTP",
        "secure HTTPS",
        "OpenAPI",
        "storageFactory",
        "authentication",
        "authorization",
        "admission",
    ]
    assert config["insecure HTTP"] == "none: this version has no insecure port"
    assert config["storageFactory"] == "etcd3"
    assert "X509" in config["authentication"] and "Anonymous" in config["authentication"]
    plugins = {name for phase in told["admission"].values() for name, _ in phase}
    assert config["admission"] == f"{len(plugins)} plugins"


def test_a_release_that_has_an_insecure_port_says_that_it_is_off() -> None:
    old = server_session(version="1.19").cluster
    config = startup.summary(old.context, old.inputs.flags)["config"]
    assert config[0] == ["insecure HTTP", "off: --insecure-port=0"]


def test_providers_install_in_upstreams_order_with_apps_behind(told: dict[str, Any]) -> None:
    names = [name for name, _ in told["providers"]]
    assert [name for name in names if name in PROVIDERS_OF_1_19] == PROVIDERS_OF_1_19
    assert names[0] == "core"
    assert dict(told["providers"])["apps"] == 5
    assert dict(told["providers"])["internal.apiserver"] == 0


def test_1_19_installs_the_nineteen_providers_of_its_time() -> None:
    cluster = server_session(version="1.19").cluster
    providers = startup.whole(cluster.context, cluster.inputs.flags)["providers"]
    assert [provider["name"] for provider in providers if provider["by"] == "InstallAPIs"] == [
        *PROVIDERS_OF_1_19[:7],
        "extensions",
        *PROVIDERS_OF_1_19[7:12],
        "settings",
        *PROVIDERS_OF_1_19[12:],
    ]


def test_each_stored_kind_has_its_strategy_by_upstreams_name(told: dict[str, Any]) -> None:
    strategies = {resource: (name, own) for resource, name, own in told["strategies"]}
    assert strategies["pods"][0] == "podStrategy"
    assert set(strategies["pods"][1]) == {
        "PrepareForCreate",
        "Validate",
        "PrepareForUpdate",
        "ValidateUpdate",
    }
    assert strategies["configmaps"] == ("strategy", ["Validate", "ValidateUpdate"])
    assert strategies["replicasets.apps"][0] == "rsStrategy"
    assert strategies[""][0] == "customResourceStrategy"
    assert "bindings" not in strategies  # which is never stored
    served = {
        one.key
        for version in ("1.33", "1.36")
        for one in kinds.Resources(Release.parse(version)).all
    }
    assert set(strategynames.NAMES) <= served


def test_kube_apiserver_is_put_together_in_upstreams_order(told: dict[str, Any]) -> None:
    hook = ["AddPostStartHook", "start-cluster-authentication-info-controller"]
    steps = [name for name, _ in told["install"]]
    assert steps == ["GenericConfig.New", "InstallAPIs", "AddPostStartHook"]
    assert told["install"][-1] == hook
    old = server_session(version="1.22")
    install = startup.summary(old.cluster.context, old.inputs.flags)["install"]
    assert [name for name, _ in install][1:3] == ["InstallLegacyAPI", "InstallAPIs"]


def test_a_group_without_a_version_cannot_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*kinds.resources(Release(33)), ResourceInfo("apps", "", "Odd", "odds", "", True, ()))
    monkeypatch.setattr(kinds, "resources", lambda *_: broken)
    with pytest.raises(kinds.InstallError) as refused:
        kinds.Resources(Release(33))
    assert str(refused.value) == (
        "error in registering group versions: "
        "cannot register handler with an empty version for apps"
    )


def test_the_base_routes_stand_in_order_and_say_what_is_switched_off() -> None:
    session = server_session(flags=flags.Flags(profiling=False))
    routes = startup.summary(session.cluster.context, session.inputs.flags)["routes"]
    assert [path for path, _ in routes] == [
        "/index.html",
        "/debug/pprof",
        "/debug/flags/v",
        "/metrics",
        "DELETE /metrics",
        "/version",
        "/apis",
        "/debug/api_priority_and_fairness",
    ]
    for path, served in routes:
        method, _, where = path.rpartition(" ")
        if not method:  # a path without routes takes any
            code = session.request("GET", where).status
            assert (code == 200) is served or where.startswith("/debug/api"), path


def test_flags_that_are_not_as_upstream_has_them_are_told(whole: dict[str, Any]) -> None:
    assert whole["flags"] == {}
    given = flags.parse(["profiling=false", "token-auth-file=t.csv"], lambda name: "secret,u,1")
    session = server_session(flags=given)
    summary = startup.summary(session.cluster.context, given)
    assert summary["flags"] == {"token-auth-file": "t.csv", "profiling": False}
    assert b"secret,u,1" not in orjson.dumps(summary)


def test_each_hook_belongs_to_one_server(whole: dict[str, Any]) -> None:
    hooks = [name for server in CHAIN for name in whole["hooks"][server]]
    assert len(hooks) == len(set(hooks))
    assert "start-cluster-authentication-info-controller" in whole["hooks"]["kube-apiserver"]
    assert "kube-apiserver-autoregistration" in whole["hooks"]["kube-aggregator"]
    checked = [name.removeprefix("poststarthook/") for name in whole["checks"]["/healthz"]]
    assert set(hooks) <= set(checked)
    assert len(checked) == len(set(checked))


def test_pods_have_eleven_storages_and_what_came_since(whole: dict[str, Any]) -> None:
    names = {name for name, _ in whole["pod_storages"]}
    assert names == {
        "Pod", "Binding", "LegacyBinding", "Eviction", "Status", "EphemeralContainers", "Log",
        "Proxy", "Exec", "Attach", "PortForward", "Resize",
    }  # fmt: skip


def test_the_core_storages_come_in_the_providers_order_with_their_prefixes(
    whole: dict[str, Any],
) -> None:
    core = [storage for storage in whole["storages"] if "." not in storage["resource"]]
    assert [one["resource"] for one in core[:5]] == [
        "podtemplates",
        "events",
        "limitranges",
        "resourcequotas",
        "secrets",
    ]
    assert next(one for one in core if one["resource"] == "events")["ttl_seconds"] == 3600
    pods = next(one for one in core if one["resource"] == "pods")
    assert pods["prefix"] == "/registry/pods/" and "log" in pods["subresources"]


def test_the_route_table_leads_where_it_says(session: Session, whole: dict[str, Any]) -> None:
    session.request("POST", "/api/v1/namespaces/default/pods", pod("there"))
    plain = [row for row in whole["table"] if row[0] == "GET" and "{name}" not in row[1]]
    assert len(plain) > 50
    for method, path, resource, server in plain:
        answer = session.request(method, path.replace("{namespace}", "default"))
        assert answer.status == 200, path
        assert server in CHAIN and resource


def test_the_steps_count_what_was_made(whole: dict[str, Any]) -> None:
    steps = dict(whole["steps"])
    assert next(iter(steps)) == "aggregation chain"
    assert steps["routes"] == len(whole["table"])
    assert steps["generic storages"] == len(whole["storages"])


@pytest.mark.parametrize(
    ("backend", "refused"),
    [
        ("", ""),
        ("etcd3", ""),
        ("etcd2", "etcd2 is no longer a supported storage backend"),
        ("consul", "unknown storage type: consul"),
    ],
)
def test_etcd3_is_the_only_storage_backend(backend: str, refused: str) -> None:
    arguments = [f"storage-backend={backend}"]
    if refused:
        with pytest.raises(flags.FlagError) as caught:
            flags.parse(arguments, str)
        assert str(caught.value) == refused
    else:
        assert flags.parse(arguments, str).storage_backend == backend


def _jump(session: Session, seconds: int) -> None:
    """Let time pass without each heartbeat in it."""
    kernel = session.cluster.kernel
    kernel.advance(kernel.now + seconds * SECOND)
    session.host.clock.rebase()
    session.settle()


def test_an_event_disappears_after_its_hour() -> None:
    session = server_session()
    events = "/api/v1/namespaces/default/events"
    involved = {"kind": "Pod", "namespace": "default", "name": "there"}
    event = {"metadata": {"name": "seen"}, "involvedObject": involved, "reason": "Seen"}
    assert session.request("POST", events, event).status == 201
    _jump(session, leases.EVENT_TTL_SECONDS - 120)
    assert session.request("GET", f"{events}/seen").status == 200
    session.wait(300)
    assert session.request("GET", f"{events}/seen").status == 404
