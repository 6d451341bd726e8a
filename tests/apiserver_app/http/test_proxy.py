"""The proxy subresources: where a request goes, what is passed on, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver_app.cluster import PODS, header
from tests.apiserver_app.http.streaming.test_sessions import Lab

SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"


@pytest.fixture(scope="module")
def lab() -> Lab:
    lab = Lab()
    service: dict[str, Any] = {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "shop"},
        "spec": {"ports": [{"port": 8080, "name": "http", "targetPort": 80}]},
    }
    assert lab.session.request("POST", SERVICES, service).status == 201
    target = {"kind": "Pod", "namespace": "default", "name": "two"}
    subset = {
        "addresses": [{"ip": "10.0.0.1", "targetRef": target}],
        "ports": [{"port": 80, "name": "http"}],
    }
    endpoints = {
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {"name": "shop"},
        "subsets": [subset],
    }
    assert lab.session.request("POST", ENDPOINTS, endpoints).status == 201
    node = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "n1"},
        "status": {"addresses": [{"type": "InternalIP", "address": "172.18.0.2"}]},
    }
    assert lab.session.request("POST", "/api/v1/nodes", node).status == 201
    return lab


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_every_method_reaches_the_pod_with_path_query_and_body(lab: Lab, method: str) -> None:
    path = f"{PODS}/web:80/proxy/a%20b/c/?x=%2F&y"
    answer = lab.session.request(method, path, b"body", headers={"x-own": "1"})
    assert answer.status == 201
    assert header(answer, "x-mine") == ["yes"] and header(answer, "connection") == []
    asked = lab.nodes.asked[-1]
    assert (asked.method, asked.path, asked.body) == (method, "/a%20b/c/?x=%2F&y", b"body")
    assert asked.headers["x-own"] == "1" and "authorization" not in asked.headers
    assert asked.headers["x-forwarded-uri"] == f"{PODS}/web:80/proxy/a b/c/"


def test_head_has_no_body(lab: Lab) -> None:
    answer = lab.session.request("HEAD", f"{PODS}/web:80/proxy/")
    assert (answer.status, answer.text) == (201, b"")
    assert lab.nodes.asked[-1].method == "HEAD"


def test_without_a_slash_the_client_is_sent_to_the_one_with_it(lab: Lab) -> None:
    answer = lab.session.request("GET", f"{PODS}/web:80/proxy?a=b")
    assert answer.status == 301
    assert header(answer, "location") == [f"{PODS}/web:80/proxy/?a=b"]


def test_links_and_redirections_stay_below_the_proxy(lab: Lab) -> None:
    answer = lab.session.request("GET", f"{PODS}/web:80/proxy/x/")
    assert answer.text.startswith(b'<a href="%s/web:80/proxy/next">' % PODS.encode())
    moved = lab.session.request("GET", f"{PODS}/web:80/proxy/moved")
    assert header(moved, "location") == [f"{PODS}/web:80/proxy/there"]


def test_first_port_of_the_pod_is_meant_when_none_is_named(lab: Lab) -> None:
    assert lab.session.request("GET", f"{PODS}/two/proxy/").status == 201
    assert lab.session.request("GET", f"{PODS}/http:two:/proxy/").status == 201


@pytest.mark.parametrize(
    ("path", "code", "message"),
    [
        (
            f"{PODS}/web:81/proxy/",
            503,
            "error trying to reach service: dial tcp 10.0.0.1:81: connect: connection refused",
        ),
        (f"{PODS}/ftp:web:80/proxy/", 400, 'invalid pod request "ftp:web:80"'),
        (f"{PODS}/none/proxy/", 404, 'pods "none" not found'),
        (f"{SERVICES}/shop:81/proxy/", 503, 'no service port 81 found for service "shop"'),
        (f"{SERVICES}/shop:ftp/proxy/", 503, 'no endpoints available for service "shop:ftp"'),
        (f"{SERVICES}/none/proxy/", 404, 'services "none" not found'),
        ("/api/v1/nodes/none/proxy/healthz", 404, 'nodes "none" not found'),
        (
            "/api/v1/nodes/n1:9/proxy/",
            503,
            "error trying to reach service: dial tcp 172.18.0.2:9: connect: connection refused",
        ),
    ],
)
def test_what_cannot_be_reached_is_said(lab: Lab, path: str, code: int, message: str) -> None:
    answer = lab.session.request("GET", path)
    assert (answer.status, answer.json()["message"]) == (code, message)


@pytest.mark.parametrize("name", ["shop:8080", "shop:http", "http:shop:8080"])
def test_service_is_one_of_its_pods(lab: Lab, name: str) -> None:
    assert lab.session.request("GET", f"{SERVICES}/{name}/proxy/index.html").status == 201
    assert lab.nodes.asked[-1].path == "/index.html"


def test_node_is_its_kubelet(lab: Lab) -> None:
    answer = lab.session.request("GET", "/api/v1/nodes/n1/proxy/configz")
    assert (answer.status, answer.text) == (200, b"ok")
    assert lab.nodes.asked[-1].path == "/configz"


UPGRADE = {"connection": "keep-alive, Upgrade", "upgrade": "echo", "x-own": "1"}


def test_another_protocol_goes_through_byte_for_byte(lab: Lab) -> None:
    answer = lab.session.request("GET", f"{PODS}/web:9000/proxy/a/?b=c", headers=UPGRADE)
    assert (answer.status, answer.headers) == (101, [("x-mine", "yes")])
    asked = lab.nodes.connections[-1].asked.decode()
    assert asked.startswith("GET /a/?b=c HTTP/1.1\r\n")
    assert "\r\nConnection: Upgrade\r\nUpgrade: echo\r\n" in asked and "X-Own: 1" in asked
    assert lab.stream("open")["carrier"] == "echo"
    lab.say(answer, b"abc")
    assert answer.text == b"hiABC" and not answer.done
    lab.say(answer, b"bye\n")
    assert answer.text == b"hiABCBYE\n" and answer.done
    ended = lab.stream("end")
    assert (ended["why"], ended["in"], ended["out"]) == ("the connection was closed", 7, 9)


def test_who_leaves_a_tunnel_closes_it(lab: Lab) -> None:
    answer = lab.session.request("GET", f"{PODS}/web:9000/proxy/", headers=UPGRADE)
    answer.cancel()
    lab.session.settle()
    assert lab.nodes.connections[-1].closed


def test_a_pod_that_grants_no_upgrade_answers_as_it_likes(lab: Lab) -> None:
    answer = lab.session.request("GET", f"{PODS}/web:8080/proxy/", headers=UPGRADE)
    assert (answer.status, answer.text) == (200, b"hello\n")
    refused = lab.session.request("GET", f"{PODS}/web:81/proxy/", headers=UPGRADE)
    assert (refused.status, refused.json()["message"]) == (
        500,
        "error dialing backend: dial tcp 10.0.0.1:81: connect: connection refused",
    )
    none = lab.session.request("GET", f"{PODS}/web:80/proxy/", headers=UPGRADE)
    assert none.status == 500 and "malformed HTTP response" in none.json()["message"]
