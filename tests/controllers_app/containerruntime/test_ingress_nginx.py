"""What the ingress-nginx add-on does: requests go where its Ingresses say, and these say where."""

from __future__ import annotations

from typing import Any

import pytest

from controllers_app.containerruntime.servers import ingressroutes
from controllers_app.containerruntime.servers.ingressnginx import STATUS_SECONDS
from lifecycle import catalog
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import create, pod, whole_cluster

BASE = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
SYSTEM = "/api/v1/namespaces/ingress-nginx"
CONTROLLER = "http://ingress-nginx-controller.ingress-nginx"


@pytest.fixture(scope="module")
def session() -> Session:
    """The add-on, two servers with Services, and a pod that asks."""
    session = whole_cluster(nodes=2)
    for answer in session.apply(catalog.manifest("ingress-nginx")):
        assert answer.status in (0, 201), answer.text
    for name in ("tea", "coffee"):
        image = {"image": "registry.k8s.io/e2e-test-images/agnhost:2.53", "args": ["netexec"]}
        labels = {"app": name}
        create(session, pod(name, container=image, labels=labels))
        service(session, name, 8080)
    service(session, "nobody", 80)
    create(session, pod("web", container={"name": "c"}))
    until_ready(session)
    return session


def service(session: Session, name: str, target: int) -> None:
    port = {"name": "http", "port": 80, "targetPort": target}
    spec = {"selector": {"app": name}, "ports": [port]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
    assert session.request("POST", "/api/v1/namespaces/default/services", body).status == 201


def until_ready(session: Session) -> None:
    for _ in range(60):
        path = "/apis/apps/v1/namespaces/ingress-nginx/deployments/ingress-nginx-controller"
        if session.request("GET", path).json()["status"].get("readyReplicas") == 1:
            return
        session.wait(1)
    raise AssertionError("the controller is not ready")


def path(where: str, name: str, kind: str = "Prefix", port: Any = None) -> dict[str, Any]:
    backend = {"service": {"name": name, "port": port or {"number": 80}}}
    return {"path": where, "pathType": kind, "backend": backend}


def rule(host: str, *paths: dict[str, Any]) -> dict[str, Any]:
    return {**({"host": host} if host else {}), "http": {"paths": [*paths]}}


def ingress(name: str, *rules: dict[str, Any], **spec: Any) -> dict[str, Any]:
    spec = {"ingressClassName": "nginx", **({"rules": [*rules]} if rules else {}), **spec}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


@pytest.fixture
def made(session: Session) -> Any:
    """Makes Ingresses, which are gone afterwards."""
    names = []

    def make(name: str, *rules: dict[str, Any], **spec: Any) -> None:
        answer = session.request("POST", BASE, ingress(name, *rules, **spec))
        assert answer.status == 201, answer.text
        names.append(name)

    yield make
    for name in names:
        session.request("DELETE", f"{BASE}/{name}")


def curl(session: Session, host: str, where: str = "/hostname", *more: str) -> str:
    """The answer to a pod that asks the controller's Service, and its status."""
    line = ("curl", "-s", "-w", " %{http_code}", "-H", f"Host: {host}", *more)
    text, _ = execute(session, *line, f"{CONTROLLER}{where}")
    return text


def test_a_request_goes_by_host_and_path_to_a_pod_of_the_service(
    session: Session, made: Any
) -> None:
    made(
        "cafe",
        rule("cafe.example.com", path("/hostname", "tea"), path("/clientip", "coffee")),
        rule("tea.example.com", path("/", "tea", port={"name": "http"})),
        rule("*.coffee.example.com", path("/", "coffee")),
    )
    assert curl(session, "cafe.example.com") == "tea 200"
    assert curl(session, "tea.example.com") == "tea 200"
    assert curl(session, "a.coffee.example.com") == "coffee 200"
    assert "404 Not Found" in curl(session, "a.b.coffee.example.com")
    # the pod's client is the controller's pod
    asked = curl(session, "cafe.example.com", "/clientip")
    pods = session.request("GET", f"{SYSTEM}/pods").json()["items"]
    assert asked == f"{pods[0]['status']['podIP']}:40000 200"


def test_without_a_rule_for_it_the_default_backend_answers_404(session: Session, made: Any) -> None:
    made("one", rule("one.example.com", path("/hostname", "tea", "Exact")))
    assert curl(session, "other.example.com").endswith(
        "nginx</center>\r\n</body>\r\n</html>\r\n 404"
    )
    assert curl(session, "one.example.com", "/hostname/").endswith(" 404")
    assert curl(session, "one.example.com") == "tea 200"


def test_a_service_without_ready_endpoints_is_503(session: Session, made: Any) -> None:
    made("none", rule("", path("/nobody", "nobody"), path("/gone", "gone")))
    for where in ("/nobody", "/gone"):
        answer = curl(session, "any.example.com", where)
        assert "503 Service Temporarily Unavailable" in answer
        assert answer.endswith(" 503")


def test_an_ingress_of_another_class_or_of_none_is_not_served(session: Session, made: Any) -> None:
    made("other", rule("other.example.com", path("/", "tea")), ingressClassName="other")
    assert curl(session, "other.example.com").endswith(" 404")


def test_an_ingress_says_the_address_of_the_node_within_a_minute(
    session: Session, made: Any
) -> None:
    made("told", rule("told.example.com", path("/", "tea")))
    session.wait(STATUS_SECONDS + 1)
    told = session.request("GET", f"{BASE}/told").json()
    (controller,) = session.request("GET", f"{SYSTEM}/pods").json()["items"]
    node = session.request("GET", f"/api/v1/nodes/{controller['spec']['nodeName']}").json()
    internal = {one["type"]: one["address"] for one in node["status"]["addresses"]}["InternalIP"]
    assert told["status"] == {"loadBalancer": {"ingress": [{"ip": internal}]}}
    written = told["metadata"]["resourceVersion"]
    session.wait(STATUS_SECONDS * 3)
    assert session.request("GET", f"{BASE}/told").json()["metadata"]["resourceVersion"] == written


def test_an_ingress_says_its_address_though_nobody_has_asked_for_anything() -> None:
    session = whole_cluster(nodes=1)
    for answer in session.apply(catalog.manifest("ingress-nginx")):
        assert answer.status in (0, 201), answer.text
    body = ingress("quiet", rule("quiet.example.com", path("/", "tea")))
    assert session.request("POST", BASE, body).status == 201
    until_ready(session)
    session.wait(2 * STATUS_SECONDS)
    status = session.request("GET", f"{BASE}/quiet").json()["status"]
    assert len(status["loadBalancer"]["ingress"]) == 1


def test_it_sees_what_its_service_account_may_and_keeps_what_it_saw(
    session: Session, made: Any
) -> None:
    made("old", rule("old.example.com", path("/", "tea")))
    assert curl(session, "old.example.com") == "tea 200"
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/ingress-nginx"
    body = session.request("GET", role).json()
    assert session.request("DELETE", role).status == 200

    made("new", rule("new.example.com", path("/", "tea")))
    assert curl(session, "new.example.com").endswith(" 404")
    assert curl(session, "old.example.com") == "tea 200"

    why = 'User "system:serviceaccount:ingress-nginx:ingress-nginx" cannot list'
    assert why in controller_log(session)
    del body["metadata"]["resourceVersion"]
    assert session.request("POST", role.rpartition("/")[0], body).status == 201
    assert curl(session, "new.example.com") == "tea 200"


def test_with_a_certificate_for_the_host_it_is_asked_to_come_by_tls(
    session: Session, made: Any
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "safe"},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": "", "tls.key": ""},
    }
    tls = [{"hosts": ["safe.example.com"], "secretName": "safe"}]
    made("safe", rule("safe.example.com", path("/", "tea")), tls=tls)
    assert curl(session, "safe.example.com") == "tea 200"
    assert session.request("POST", "/api/v1/namespaces/default/secrets", secret).status == 201
    answer = curl(session, "safe.example.com", "/hostname", "-i")
    assert answer.lower().startswith("http/1.1 308")
    assert "https://safe.example.com/hostname" in answer
    text, _ = execute(
        session, "curl", "-sk", "-H", "Host: safe.example.com",
        f"{CONTROLLER.replace('http:', 'https:')}/hostname",
    )  # fmt: skip
    assert text == "tea"


def test_what_an_annotation_asks_for_is_named_in_the_log_once(session: Session, made: Any) -> None:
    body = ingress("noted", rule("noted.example.com", path("/", "tea")))
    name = "nginx.ingress.kubernetes.io/rewrite-target"
    body["metadata"]["annotations"] = {name: "/$1"}
    assert session.request("POST", BASE, body).status == 201
    for _ in range(2):
        curl(session, "noted.example.com")
    assert controller_log(session).count(f"{name} is not simulated") == 1
    session.request("DELETE", f"{BASE}/noted")


def controller_log(session: Session) -> str:
    (controller,) = session.request("GET", f"{SYSTEM}/pods").json()["items"]
    name = controller["metadata"]["name"]
    return session.request("GET", f"{SYSTEM}/pods/{name}/log").text.decode()


# -- which location serves a path ------------------------------------------------------------------


def located(where: str, *paths: dict[str, Any]) -> str:
    known = ingressroutes.sites([ingress("one", rule("", *paths))])
    found = ingressroutes.location_of(ingressroutes.site_of(known, "a"), where)
    return found.backend.service if found is not None else ""


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("/foo", "exact"),
        ("/foo/", "prefix"),
        ("/foo/bar", "prefix"),
        ("/foo/bar/baz", "longer"),
        ("/foobar", "all"),
        ("/specific-and-more", "specific"),
        ("/", "all"),
    ],
)
def test_an_exact_path_is_first_then_the_longest_by_whole_elements(
    where: str, expected: str
) -> None:
    paths = [
        path("/", "all"),
        path("/foo", "prefix"),
        path("/foo", "exact", "Exact"),
        path("/foo/bar/", "longer"),
        path("/specific", "specific", "ImplementationSpecific"),
    ]
    if where == "/foo/bar":
        expected = "longer"
    assert located(where, *paths) == expected


def test_of_two_ingresses_that_say_the_same_the_older_one_counts() -> None:
    old, new = (ingress(name, rule("a", path("/", name))) for name in ("old", "new"))
    old["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    new["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    own = {"metadata": {"name": "nginx"}, "spec": {"controller": ingressroutes.CONTROLLER}}
    chosen = ingressroutes.chosen([own], [new, old], ingressroutes.CONTROLLER, "nginx")
    site = ingressroutes.site_of(ingressroutes.sites(chosen), "A:80")
    assert [each.backend.service for each in site.locations] == ["old"]


def test_a_default_backend_takes_what_no_rule_does() -> None:
    default = {"service": {"name": "rest", "port": {"number": 80}}}
    ruled = ingress("ruled", rule("a", path("/x", "x")), defaultBackend=default)
    for objects, host in (([ruled], "a"), ([ingress("all", defaultBackend=default)], "any")):
        known = ingressroutes.sites(objects)
        found = ingressroutes.location_of(ingressroutes.site_of(known, host), "/other")
        assert found is not None and found.backend.service == "rest"
    assert ingressroutes.site_of(ingressroutes.sites([ruled]), "other").locations == []


def test_only_ready_endpoints_of_the_named_port_are_asked() -> None:
    service = {"spec": {"ports": [{"name": "web", "port": 80}, {"name": "admin", "port": 81}]}}
    endpoints = [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True}},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
        {"addresses": ["10.0.0.3"]},
    ]
    ports = [{"name": "web", "port": 8080}, {"name": "admin", "port": 8081}]
    part = {"metadata": {"name": "a"}, "ports": ports, "endpoints": endpoints}
    found = ingressroutes.endpoints(service, [part], 80)
    assert found == [("10.0.0.1", 8080), ("10.0.0.3", 8080)]
    assert ingressroutes.endpoints(service, [part], "admin")[0] == ("10.0.0.1", 8081)
    assert ingressroutes.endpoints(service, [part], 82) == []
