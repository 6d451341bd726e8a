"""Input nobody should send: one clear Status each, nothing written, nothing on stderr."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.api import Answer, Api
from tests.lifecycle.hosting.running import Demo

MAPS = "/api/v1/namespaces/default/configmaps"
HERE = f"{MAPS}/here"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"
STRICT = f"{MAPS}?fieldValidation=Strict"
UNREAD = "the object provided is unrecognized (must be of type ConfigMap): "
PARSE = f"{UNREAD}couldn't get version/kind; json parse error: "
STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
UNSURE = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '


@pytest.fixture(scope="module")
def api(cluster: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    api = Api(cluster, tmp_path_factory.mktemp("certificate"))
    assert api.post(MAPS, settings(metadata={"name": "here"})).code == 201
    yield api
    assert api.ask("DELETE", HERE).code == 200


@pytest.fixture
def untouched(api: Api) -> Iterator[None]:
    """Nothing of the test's objects is written meanwhile."""
    before = names(api)
    yield
    assert names(api) == before


def settings(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}, **more}


def names(api: Api) -> list[tuple[str, str]]:
    """Every config map, pod and deployment with its revision, but what a controller brings."""
    return [
        (item["metadata"]["name"], item["metadata"]["resourceVersion"])
        for path in (MAPS, PODS, DEPLOYMENTS)
        for item in api.get(path).json["items"]
        if item["metadata"]["name"] != "kube-root-ca.crt"
    ]


def refused(answer: Answer, code: int, reason: str | None, message: str) -> None:
    """The answer is a whole Status that says so."""
    status = answer.json
    assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure")
    assert answer.header("Content-Type") == "application/json"
    assert status["message"].startswith(message), status["message"]
    assert (answer.code, status["code"], status.get("reason")) == (code, code, reason)


def deep(opening: bytes, closing: bytes) -> bytes:
    head = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"},"data":'
    return head + opening * 5000 + b"1" + closing * 5000 + b"}"


BODIES: dict[str, tuple[bytes | object, str]] = {
    "nothing": (b" ", f"{PARSE}unexpected end of JSON input (20)"),
    "malformed": (b"{nope", f"{PARSE}invalid character 'n' looking for beginning of object key"),
    "cut off": (b'{"apiVersion":"v1","kind":"Conf', f"{PARSE}unexpected end of JSON input"),
    "a list": (b"[]", f"{PARSE}json: cannot unmarshal array into Go value of type {STRUCT} (5b5d)"),
    "a text": (b'"x"', f"{PARSE}json: cannot unmarshal string into Go value of type {STRUCT}"),
    "no number": (
        b'{"apiVersion":"v1","kind":"ConfigMap","data":{"a":NaN}}',
        f"{PARSE}invalid character 'N' looking for beginning of value",
    ),
    "deep objects": (deep(b'{"a":', b"}"), f"{PARSE}exceeded max depth"),
    "deep lists": (b"[" * 100_000, f"{PARSE}invalid character '[' exceeded max"),
    "version is a number": (
        settings(apiVersion=1),
        f"{PARSE}json: cannot unmarshal number into Go struct field .apiVersion of type string",
    ),
    "no such version": (
        settings(apiVersion="a/b/c"),
        f"{UNREAD}unexpected GroupVersion string: a/b/c (",
    ),
    "another kind": (
        settings(kind="Pod"),
        'Pod in version "v1" cannot be handled as a ConfigMap: '
        "converting (v1.Pod) to (core.ConfigMap): unknown conversion",
    ),
    "unknown kind": (
        settings(kind="Foo"),
        'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for '
        'version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ),
    "unknown version": (
        settings(apiVersion="nope/v1"),
        f'{UNSURE}no kind "ConfigMap" is registered for version "nope/v1" in scheme ',
    ),
    "another namespace": (
        settings(metadata={"name": "new", "namespace": "other"}),
        "the namespace of the provided object does not match the namespace sent on the request",
    ),
    "metadata is a text": (
        settings(metadata="x"),
        f"{UNSURE}json: cannot unmarshal string into Go struct field ConfigMap.metadata of type "
        "v1.ObjectMeta",
    ),
    "a value is a number": (
        settings(data={"a": 1}),
        f"{UNSURE}json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
    ),
    "a time is none": (
        settings(metadata={"name": "new", "creationTimestamp": "yesterday"}),
        f'{UNSURE}parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse',
    ),
}


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("what", BODIES)
def test_a_body_that_is_no_config_map(api: Api, what: str) -> None:
    body, message = BODIES[what]
    refused(api.post(MAPS, body), 400, "BadRequest", message)


@pytest.mark.usefixtures("untouched")
def test_fields_that_are_unknown_or_doubled(api: Api) -> None:
    unknown = settings(bogus=1)
    doubled = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","name":"other"}}'
    strict = f"{UNSURE}strict decoding error: "
    refused(api.post(STRICT, unknown), 400, "BadRequest", f'{strict}unknown field "bogus"')
    refused(
        api.post(STRICT, doubled), 400, "BadRequest", f'{strict}duplicate field "metadata.name"'
    )
    for body, said in ((unknown, "unknown field"), (doubled, "duplicate field")):
        for mode, count in (("Warn", 1), ("Ignore", 0)):
            answer = api.post(f"{MAPS}?dryRun=All&fieldValidation={mode}", body)
            assert (answer.code, len(answer.warnings())) == (201, count)
            assert all(warning.startswith(f'299 - "{said} ') for warning in answer.warnings())


def test_a_warning_in_any_script_reaches_the_client(api: Api) -> None:
    answer = api.post(MAPS + "?dryRun=All&fieldValidation=Warn", {**settings(), "\ua069": 1})
    (said,) = answer.warnings()
    assert answer.code == 201
    assert said.encode("latin-1").decode() == '299 - "unknown field \\"\ua069\\""'


INVALID: dict[str, tuple[str, object, str]] = {
    "name too long": (MAPS, settings(metadata={"name": "a" * 300}), 'ConfigMap "aaaa'),
    "no name": (MAPS, settings(metadata={}), 'ConfigMap "" is invalid: metadata.name: Required'),
    "name leaves the namespace": (
        MAPS, settings(metadata={"name": "../new"}),
        'ConfigMap "../new" is invalid: metadata.name: Invalid value: "../new": ',
    ),
    "label of two words": (
        MAPS, settings(metadata={"name": "new", "labels": {"a b": "c"}}),
        'ConfigMap "new" is invalid: metadata.labels: Invalid value: "a b": name part must consist',
    ),
    "annotation too large": (
        MAPS, settings(metadata={"name": "new", "annotations": {"a": "v" * 300_000}}),
        'ConfigMap "new" is invalid: metadata.annotations: Too long: may not be more than 262144',
    ),
    "data too large": (
        MAPS, settings(data={"a": "v" * 1_100_000}),
        'ConfigMap "new" is invalid: []: Too long: may not be more than 1048576 bytes',
    ),
    "negative replicas": (
        DEPLOYMENTS,
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new"},
            "spec": {
                "replicas": -1, "selector": {"matchLabels": {"a": "b"}},
                "template": {
                    "metadata": {"labels": {"a": "b"}},
                    "spec": {"containers": [{"name": "a", "image": "x"}]},
                },
            },
        },
        'Deployment.apps "new" is invalid: spec.replicas: Invalid value: -1: must be greater than',
    ),
    "an empty deployment": (
        DEPLOYMENTS,
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "new"}, "spec": {}},
        'Deployment.apps "new" is invalid: [spec.selector: Required value, '
        "spec.template.metadata.labels: Invalid value: map[string]string(nil): `selector` does "
        "not match template `labels`, spec.template.spec.containers: Required value]",
    ),
    "a pod of nothing": (
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": {}},
        'Pod "new" is invalid: spec.containers: Required value',
    ),
    "dry run of what": (f"{MAPS}?dryRun=foo", settings(), "CreateOptions.meta.k8s.io "),
    "unknown validation": (f"{MAPS}?fieldValidation=x", settings(), "CreateOptions.meta.k8s.io "),
    "manager too long": (
        f"{MAPS}?fieldManager={'a' * 129}", settings(),
        'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128',
    ),
    "a token for ever": (TOKEN, {"spec": {"expirationSeconds": 1 << 40}}, "TokenRequest."),
}  # fmt: skip


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("what", INVALID)
def test_objects_that_are_invalid(api: Api, what: str) -> None:
    path, body, message = INVALID[what]
    answer = api.post(path, body)
    refused(answer, 422, "Invalid", message)
    assert answer.json["details"]["causes"]


def test_ten_thousand_labels_are_none_too_many(api: Api) -> None:
    labels = {f"label-{n}": "v" for n in range(10_000)}
    answer = api.post(f"{MAPS}?dryRun=All", settings(metadata={"name": "new", "labels": labels}))
    assert answer.code == 201
    assert answer.json["metadata"]["labels"] == labels


@pytest.mark.usefixtures("untouched")
def test_a_body_that_is_too_large(api: Api) -> None:
    refused(
        api.post(MAPS, settings(data={"a": "v" * (3 << 20)})), 413, "RequestEntityTooLarge",
        "Request entity too large: limit is 3145728",
    )  # fmt: skip


@pytest.mark.usefixtures("untouched")
def test_what_is_no_unicode_is_replaced_as_go_replaces_it(api: Api) -> None:
    for sent, stored in (
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\\ud800", "\ufffd"),
        (b"\\ud83d\\ude00\\\\ud800\\udc00x", "\U0001f600\\ud800\ufffdx"),
    ):
        body = b'{"metadata":{"name":"new"},"data":{"a":"%s","b":1e999}}' % sent
        refused(api.post(MAPS, body), 400, "BadRequest", f"{PARSE}number out of range")
        answer = api.post(f"{MAPS}?dryRun=All", body.replace(b',"b":1e999', b""))
        assert (answer.code, answer.json["data"]) == (201, {"a": stored})
        patch = b'{"data":{"a":"%s"}}' % sent
        answer = api.patch(f"{HERE}?dryRun=All", patch, "merge-patch+json")
        assert (answer.code, answer.json["data"]["a"]) == (200, stored)


@pytest.mark.usefixtures("untouched")
def test_forms_of_bodies_and_answers(api: Api) -> None:
    form = "the body of the request was in an unknown format - accepted media types include: "
    refused(api.post(MAPS, settings(), "text/plain"), 415, "UnsupportedMediaType", form)
    for kind in ("application/json;bad", "application/json;a=b;c"):
        refused(api.post(MAPS, settings(), kind), 415, "UnsupportedMediaType", form)
    for kind in ("json", "nope+json"):
        routed = "415: Unsupported Media Type"
        refused(api.patch(HERE, {}, kind), 415, "UnsupportedMediaType", routed)
    protobuf = "application/vnd.kubernetes.protobuf"
    refused(
        api.post(MAPS, b"abc", protobuf), 400, "BadRequest",
        f"{UNREAD}provided data does not appear to be a protobuf message, expected prefix "
        "[107 56 115 0] (616263)",
    )  # fmt: skip
    refused(
        api.post(MAPS, b"k8s\0\xff\xff", protobuf), 400, "BadRequest", f"{UNREAD}unexpected EOF"
    )
    bad = "yaml: "
    refused(api.post(MAPS, b"a: b: c", "application/yaml"), 400, "BadRequest", f"{UNREAD}{bad}")
    aliases = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(9)
    )
    refused(
        api.post(MAPS, aliases, "application/yaml"), 400, "BadRequest",
        f"{UNREAD}{bad}document contains excessive aliasing",
    )  # fmt: skip
    for accept in ("text/html", "image/png,application/xml", ";;;,/", "application/*"):
        refused(
            api.get(HERE, Accept=accept), 406, "NotAcceptable",
            "406: Not Acceptable\n\nAvailable representations: application/json, ",
        )  # fmt: skip


SELECTORS = {
    "labelSelector=a+b": "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=",
    "labelSelector=a+in+(": "unable to parse requirement: found '', expected: ',', ')' or ident",
    "fieldSelector=foo=bar": "field label not supported: foo",
    "fieldSelector=metadata.name": "invalid selector: 'metadata.name'; can't understand",
    "continue=!!!": "invalid continue token: continue key is not valid: illegal base64 data at",
    "continue=abcd": "invalid continue token: continue key is not valid: invalid character",
    "limit=x": 'strconv.ParseInt: parsing "x": invalid syntax',
    "watch=1&timeoutSeconds=x": 'strconv.ParseInt: parsing "x": invalid syntax',
}


@pytest.mark.parametrize("query", SELECTORS)
def test_lists_of_what_cannot_be_selected(api: Api, query: str) -> None:
    refused(api.get(f"{PODS}?{query}"), 400, "BadRequest", SELECTORS[query])


@pytest.mark.parametrize("text", ["abc", "-1"])
def test_revisions_that_are_no_numbers(api: Api, text: str) -> None:
    why = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": inv'
    answer = api.get(f"{PODS}?resourceVersion={text}")
    refused(answer, 400, "BadRequest", f"invalid resource version: {why}")
    answer = api.get(f"{PODS}?watch=1&resourceVersion={text}")
    assert (answer.code, answer.json["kind"]) == (500, "Status")  # as upstream
    assert answer.json["message"].startswith(why)


@pytest.mark.parametrize("query", [
    "resourceVersionMatch=Exact", "resourceVersion=1&resourceVersionMatch=Foo",
    "resourceVersion=0&resourceVersionMatch=Exact",
])  # fmt: skip
def test_revisions_that_do_not_match(api: Api, query: str) -> None:
    refused(api.get(f"{PODS}?{query}"), 422, "Invalid", "ListOptions.meta.k8s.io ")


def test_a_revision_of_the_future_is_waited_for_in_vain(api: Api) -> None:
    answer = api.get(f"{PODS}?resourceVersion=999999999")
    refused(answer, 504, "Timeout", "Timeout: Too large resource version: 999999999, current: ")
    assert answer.header("Retry-After") == "1"


DECODING = "error decoding patch: "
UNFIT = ' "" is invalid: patch: Invalid value: "'
PATCHES = (
    ("json-patch+json", b"{nope", 400, f"{DECODING}invalid character 'n' looking for"),
    ("json-patch+json", b"{}", 400, f"{DECODING}json: cannot unmarshal object into Go value of"),
    ("json-patch+json", b"[1]", 400, f"{DECODING}json: cannot unmarshal number into Go value of"),
    ("json-patch+json", b'[{"op":"zap","path":"/data"}]', 422, "the server rejected our request"),
    ("json-patch+json", b'[{"op":"remove","path":"/no"}]', 422, "the server rejected our request"),
    ("merge-patch+json", b"{nope", 400, f"{DECODING}invalid character 'n' looking for"),
    ("merge-patch+json", b"[]", 400, f"{DECODING}json: cannot unmarshal array into Go value of"),
    ("merge-patch+json", b'{"data":{"a":1}}', 422, UNFIT + r"{\"apiVersion\":\"v1\",\"data\""),
    ("merge-patch+json", b'{"metadata":{"name":"b"}}', 400, "the name of the object (b) does not"),
    (
        "merge-patch+json",
        b'{"metadata":{"uid":"b"}}',
        422,
        'ConfigMap "here" is invalid: metadata.uid: ',
    ),
    ("strategic-merge-patch+json", b"{nope", 400, "invalid character 'n' looking for"),
    ("strategic-merge-patch+json", b"[]", 400, "json: cannot unmarshal array into Go value of"),
    ("strategic-merge-patch+json", b'{"data":"x"}', 422, f'{UNFIT}map[data:x]": cannot'),
    ("apply-patch+yaml", b"{nope", 400, "error decoding YAML: error converting YAML to JSON: yaml"),
    ("apply-patch+yaml", b"[]", 400, "error decoding YAML: error unmarshaling JSON: while"),
    ("apply-patch+yaml", b"{}", 400, "invalid object type: /, Kind="),
)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("kind", "body", "code", "message"), PATCHES)
def test_patches_that_are_none(api: Api, kind: str, body: bytes, code: int, message: str) -> None:
    reason = {400: "BadRequest", 409: "Conflict", 422: "Invalid"}[code]
    manager = "?fieldManager=me" if kind.startswith("apply") else ""
    refused(api.patch(HERE + manager, body, kind), code, reason, message)


@pytest.mark.usefixtures("untouched")
def test_options_of_patches(api: Api) -> None:
    invalid = 'PatchOptions.meta.k8s.io "" is invalid: '
    refused(
        api.patch(HERE, b"{}", "apply-patch+yaml"), 422, "Invalid",
        f"{invalid}fieldManager: Required value: is required for apply patch",
    )  # fmt: skip
    refused(
        api.patch(f"{HERE}?force=true", b"{}", "merge-patch+json"), 422, "Invalid",
        f"{invalid}force: Forbidden: may not be specified for non-apply patch",
    )  # fmt: skip


DELETES: tuple[tuple[object, int, str], ...] = (
    (b"{nope", 500, "couldn't get version/kind; json parse error: invalid character 'n' "),
    (b"[]", 500, "couldn't get version/kind; json parse error: json: cannot unmarshal array into "),
    ({"kind": "ConfigMap"}, 500, 'no kind "ConfigMap" is registered for version "meta.k8s.io/v1"'),
    ({"kind": "Pod", "apiVersion": "v1"}, 500, 'no kind "Pod" is registered for version "v1" in '),
    ({"apiVersion": "a/b/c"}, 500, "unexpected GroupVersion string: a/b/c"),
    ({"gracePeriodSeconds": "x"}, 500, "json: cannot unmarshal string into Go struct field Del"),
    ({"preconditions": "x"}, 500, "json: cannot unmarshal string into Go struct field DeleteOpt"),
    ({"preconditions": {"uid": "x"}}, 409, 'Operation cannot be fulfilled on ConfigMap "here": '),
    ({"propagationPolicy": "Foo"}, 422, 'DeleteOptions.meta.k8s.io "" is invalid: propagationPo'),
    ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, "DeleteOptions.meta.k8s.io "),
    ({"dryRun": ["some"]}, 422, 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported'),
)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("body", "code", "message"), DELETES)
def test_deletes_of_what_kind(api: Api, body: object, code: int, message: str) -> None:
    reason = {500: None, 409: "Conflict", 422: "Invalid"}[code]  # upstream's 500 has none
    refused(api.ask("DELETE", HERE, body), code, reason, message)


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("path", "body"), [
    (f"{PODS}/none/binding", {"target": "x"}),
    (f"{PODS}/none/eviction", {"deleteOptions": "x"}),
    (TOKEN, {"spec": "x"}),
    (TOKEN, {"spec": {"expirationSeconds": "x"}}),
    ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": "x"}),
])  # fmt: skip
def test_subresources_of_another_shape(api: Api, path: str, body: object) -> None:
    answer = api.post(path, body)
    assert "json: cannot unmarshal string into Go struct field" in answer.json["message"]
    refused(answer, 400, "BadRequest", "")


MISSING = (
    "/api/v2/foos", "/apis/apps/v9", "/api/v1/namespaces/default/nopes", f"{PODS}/none/nope",
    f"{MAPS}/../../../../../etc/passwd", f"{MAPS}/..%2f..%2fsecrets",
    "/api/v1/namespaces/..%2f..%2f/configmaps/here",
)  # fmt: skip


@pytest.mark.parametrize("path", MISSING)
def test_paths_that_lead_nowhere(api: Api, path: str) -> None:
    refused(api.get(path), 404, "NotFound", "the server could not find the requested resource")


@pytest.mark.parametrize(
    "path", ["/nope", "/apis/nope", "/apis/nope/v1/foos", "/healthz/nope", "//api/v1", "/openapi"]
)
def test_paths_that_no_part_of_the_server_knows(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.code, answer.body) == (404, b"404 page not found\n")
    assert answer.header("Content-Type") == "text/plain; charset=utf-8"
    assert answer.header("X-Content-Type-Options") == "nosniff"


def test_names_no_object_has(api: Api) -> None:
    for name in ("a%00b", "%ff", "none"):
        refused(api.get(f"{MAPS}/{name}"), 404, "NotFound", "configmaps ")
    refused(
        api.post("/api/v1/namespaces/nope/configmaps", settings()), 404, "NotFound",
        'namespaces "nope" not found',
    )  # fmt: skip


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize(("method", "path"), [
    ("PUT", MAPS), ("PATCH", MAPS), ("POST", HERE), ("FOO", MAPS), ("OPTIONS", MAPS),
    ("GET", "/api/v1/namespaces/default/bindings"),
    ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"),
])  # fmt: skip
def test_methods_that_do_not_fit(api: Api, method: str, path: str) -> None:
    refused(
        api.ask(method, path), 405, "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
    )  # fmt: skip


@pytest.mark.usefixtures("untouched")
def test_writes_that_contradict_their_url(api: Api) -> None:
    refused(
        api.ask("PUT", HERE, settings(metadata={"name": "other"})), 400, "BadRequest",
        "the name of the object (other) does not match the name on the URL (here)",
    )  # fmt: skip
    for wrong in ({"resourceVersion": "1"}, {"uid": "1"}):
        body = settings(metadata={"name": "here", **wrong})
        refused(
            api.ask("PUT", HERE, body), 409, "Conflict",
            'Operation cannot be fulfilled on configmaps "here": ',
        )  # fmt: skip


def test_credentials_that_are_none(cluster: Demo, tmp_path: Path) -> None:
    stranger = Api(cluster, tmp_path, user="")
    for credential in ("Bearer bad", "Bearer a.b.c"):
        answer = stranger.get(PODS, Authorization=credential)
        refused(answer, 401, "Unauthorized", "Unauthorized")
    refused(
        stranger.get(PODS), 403, "Forbidden",
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group ""',
    )  # fmt: skip


def test_yaml_nested_without_end_is_refused(api: Api) -> None:
    answer = api.ask("POST", MAPS, b"[" * 1_000_000, "application/yaml")
    refused(answer, 400, "BadRequest", f"{UNREAD}yaml: exceeded")


def test_all_this_is_no_news_on_stderr(cluster: Demo) -> None:
    assert cluster.process.stderr is not None
    pipe = cluster.process.stderr.fileno()
    assert not select.select([pipe], [], [], 0)[0], os.read(pipe, 1 << 16).decode()
