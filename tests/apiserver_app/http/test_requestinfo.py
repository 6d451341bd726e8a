"""Request lines as upstream's RequestInfoFactory reads them."""

import json
from pathlib import Path

import pytest

from apiserver_app.http import requestinfo
from apiserver_app.machinery import errors

HERE = Path(__file__).parent

# method, path?query: verb, group, version, plural, subresource, namespace, name; - is empty
RESOURCES = """
GET /api/v1/namespaces list - v1 namespaces - - -
GET /api/v1/namespaces/ list - v1 namespaces - - -
GET /api/v1/namespaces/a get - v1 namespaces - a a
PUT /api/v1/namespaces/a/finalize update - v1 namespaces finalize a a
PATCH /api/v1/namespaces/a/status patch - v1 namespaces status a a
GET /api/v1/namespaces/a/pods list - v1 pods - a -
GET /api/v1/namespaces/a/pods/ list - v1 pods - a -
GET /api/v1/namespaces/a/pods/p get - v1 pods - a p
HEAD /api/v1/namespaces/a/pods/p get - v1 pods - a p
POST /api/v1/namespaces/a/pods create - v1 pods - a -
POST /api/v1/namespaces/a/pods/p/exec?command=ls create - v1 pods exec a p
DELETE /api/v1/namespaces/a/pods deletecollection - v1 pods - a -
DELETE /api/v1/namespaces/a/pods/p delete - v1 pods - a p
GET /api/v1/pods?watch=true watch - v1 pods - - -
GET /api/v1/pods?watch=1 watch - v1 pods - - -
GET /api/v1/pods?watch= watch - v1 pods - - -
GET /api/v1/pods?watch=false list - v1 pods - - -
GET /api/v1/pods?watch=0 list - v1 pods - - -
GET /api/v1/watch/namespaces/a/pods watch - v1 pods - a -
GET /api/v1/watch/namespaces/a/pods/p watch - v1 pods - a p
GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp list - v1 pods - a p
GET /api/v1/namespaces/a/pods?fieldSelector=spec.x%3Dy,metadata.name%3D%3Dp&watch=true \
    watch - v1 pods - a p
GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name!%3Dp list - v1 pods - a -
GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3D.. list - v1 pods - a -
GET /apis/apps/v1/deployments list apps v1 deployments - - -
GET /apis/apps/v1/namespaces/a/deployments/d/scale get apps v1 deployments scale a d
GET /apis/rbac.authorization.k8s.io/v1/clusterroles/admin \
    get rbac.authorization.k8s.io v1 clusterroles - - admin
""".strip().splitlines()


@pytest.mark.parametrize("case", RESOURCES)
def test_resource_path_is_read_as_upstream_reads_it(case: str) -> None:
    method, address, *expected = case.split()
    path, _, query = address.partition("?")
    info = requestinfo.parse(method, path, query)
    assert info.is_resource
    assert [field or "-" for field in info[:1] + info[2:8]] == expected


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/apis",
        "/apis/apps",
        "/apis/apps/v1",
        "/apis/apps/v1/",
        "/healthz",
        "/openapi/v3/apis/apps/v1",
        "/version/",
        "/logs/x/y/z",
    ],
)
def test_path_without_a_resource_keeps_its_method_as_verb(path: str) -> None:
    info = requestinfo.parse("GET", path, "timeout=32s")
    assert not info.is_resource
    assert (info.verb, info.path, info.plural) == ("get", path, "")
    assert info.params == {"timeout": ["32s"]}


def test_what_follows_a_subresource_is_kept_for_proxies() -> None:
    info = requestinfo.parse("GET", "/api/v1/namespaces/a/services/s:80/proxy/x/y", "")
    assert (info.name, info.subresource, info.rest) == ("s:80", "proxy", ("x", "y"))


def test_repeated_and_blank_parameters_are_kept_in_order() -> None:
    query = "command=ls&command=%2Fa%20b&stdin=&labelSelector=a%3Db%2Cc+in+%28d%29&&x"
    assert requestinfo.parse_query(query) == {
        "command": ["ls", "/a b"],
        "stdin": [""],
        "labelSelector": ["a=b,c in (d)"],
        "x": [""],
    }


def test_special_verb_without_a_resource_is_refused() -> None:
    with pytest.raises(errors.ApiError) as caught:
        requestinfo.parse("GET", "/api/v1/watch", "")
    assert caught.value.code == 500


def test_every_request_kubectl_was_recorded_to_send_names_a_known_verb() -> None:
    lines = json.loads((HERE / "kubectl_requests.json").read_text())
    assert len(lines) > 100
    for method, path, query, expected in lines:
        info = requestinfo.parse(method, path, query)
        found = [info.verb, info.group, info.plural, info.subresource, info.namespace, info.name]
        assert found == expected, f"{method} {path}?{query}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("abc", 'invalid duration "abc"'),
        ("-", 'invalid duration "-"'),
        (".s", 'invalid duration ".s"'),
        ("1", 'missing unit in duration "1"'),
        ("1s2", 'missing unit in duration "1s2"'),
        ("1x", 'unknown unit "x" in duration "1x"'),
    ],
)
def test_a_timeout_that_is_no_duration_is_refused(text: str, why: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        requestinfo.check_timeout(requestinfo.parse("GET", "/version", f"timeout={text}"))
    assert caught.value.message == f"invalid timeout specified in the request URL - time: {why}"


def test_a_timeout_that_is_one_passes_and_a_stream_has_none() -> None:
    for text in ("", "0", "-1s", "1h2.5m3ms", "1\u00b5s", ".5s"):
        requestinfo.check_timeout(requestinfo.parse("GET", "/version", f"timeout={text}"))
    pods = "/api/v1/namespaces/default/pods"
    requestinfo.check_timeout(requestinfo.parse("GET", pods, "watch=1&timeout=abc"))
    requestinfo.check_timeout(requestinfo.parse("GET", f"{pods}/a/log", "timeout=abc"))
