"""What is read: discovery, OpenAPI, health, metrics, media types, selectors, Tables, deletions that
are dry, options. Nothing changes but what `record` makes to read from."""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

from apiserver_app.http import health
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from tests.likeness.requests import madeup
from tests.likeness.requests.madeup import Subject

MAPS = f"/api/v1/namespaces/{madeup.NAMESPACE}/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wire"}, "data": {"a": "1"}}
WIRE, DOOMED = f"{MAPS}/wire", f"{MAPS}/doomed"  # some deletes are not dry, by their bodies
RELEASE = Release(33)
_PROTOBUF = "application/vnd.kubernetes.protobuf"
_MERGE = "application/merge-patch+json"
_NONE = "labelSelector=l%3Dnever"


class Read(NamedTuple):
    """A request; its id is what it asks."""

    verb: str
    path: str
    headers: dict[str, str]
    body: str = ""  # in Latin-1, a byte a character

    @property
    def id(self) -> str:
        headers = [f"{name}: {value}" for name, value in self.headers.items()]
        return " ".join([self.verb, self.path, *headers, self.body[:80]]).strip()


def _get(path: str, accept: str = "application/json") -> Read:
    return Read("GET", path, {"Accept": accept} if accept else {})


def _send(verb: str, path: str, body: object, kind: str = "application/json") -> Read:
    said = body if isinstance(body, str) else json.dumps(body)
    return Read(verb, path, {"Content-Type": kind} if kind else {}, said)


def reads() -> Iterator[Read]:
    """All but those of one object."""
    for area in (_discovery, _health, _places, _selectors, _protocol, _options, _deletions):
        yield from area()


def _versions() -> list[str]:
    served = kinds.Resources(RELEASE, ()).group_versions
    return [meta.api_root(meta.group_version(*group_version)) for group_version in served]


def _discovery() -> Iterator[Read]:
    for version in ("v2", "v2beta1"):
        accept = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        for root in ("/api", "/apis"):
            yield _get(root, f"{accept},application/json")
            yield _get(root, accept)
    groups = dict.fromkeys(path.rpartition("/")[0] for path in _versions())
    for path in ("/apis", *groups, *_versions(), "/version", "/openapi/v4", "/openapi/v3/"):
        for accept in ("application/json", "application/yaml", "application/*", "text/html"):
            yield _get(path, accept)
        for verb in ("HEAD", "OPTIONS", "POST", "FOO", "get"):
            yield Read(verb, path, {"Accept": "application/json"})
    for accept in ("application/yaml", "text/html"):
        yield _get("/openapi/v2", accept)
        yield _get("/openapi/v3/apis/apps/v1", accept)
    yield _get("/openapi/v3/apis/none/v1")


def _health() -> Iterator[Read]:
    queries = ("", "?verbose", "?verbose=false", "?exclude=etcd", "?exclude=none",
               "?verbose&exclude=etcd&exclude=ping", "?verbose=1&exclude=")  # fmt: skip
    for root in health.ROOTS:
        yield from (_get(root + query) for query in queries)
        for name in (*health.checks(RELEASE, root[1:]), "none", ""):
            yield from (_get(f"{root}/{name}{query}") for query in queries[:2])
        yield from (Read(verb, root, {}) for verb in ("HEAD", "POST", "OPTIONS"))


def _places() -> Iterator[Read]:
    below = "/api/v1/namespaces/default"
    for path in (
        "/.well-known/", "/.well-known/none", "/logs", "/logs/", "/debug", "/debug/",
        "/debug/flags",
        "/debug/flags/v", "/debug/flags/none", "/debug/pprof", "/debug/api_priority_and_fairness/",
        "/statusz", "/flagz", "/api/v2", "/apis/none", "/apis/none/v1", "/apis/apps/v9",
        "/apis/apps/v9/deployments", "/api/v1/none", f"{below}/none/x",
        "/apis/apps/v1/deployments/x",
        f"{below}/nodes", f"{below}/nodes/node-1", "/api/v1/nodes/node-1/pods", "/api/v1/pods/x",
        f"{below}/pods/x/y", f"{below}/pods/x/y/z", f"{below}/configmaps/x/status", "//api/v1",
        "/api//v1", "/api/v1/../v1/namespaces", f"{below}%2Fx", "/api/v1/namespaces/none", "/none",
        "/none/", "/ui", "/swagger.json", "/swaggerapi", "/metrics/", "/metrics/cadvisor",
        "/openapi",
        "/openapi/v2/", "/peerserver", "/validate", "/version/x", "/openid", "/openid/v1",
        "/livezz",
    ):  # fmt: skip
        for verb in ("GET", "HEAD", "POST", "OPTIONS"):
            yield Read(verb, path, {})


_FIELDS = (
    "metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "spec.restartPolicy",
    "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.podIP",
    "status.podIPs", "status.nominatedNodeName", "spec.unschedulable", "status.replicas",
    "status.successful", "type", "spec.clusterIP", "spec.type", "reason", "involvedObject.kind",
    "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion", "source",
    "reportingComponent", "regarding.kind", "reportingController", "reason.x", "spec.signerName",
    "spec.driver", "spec.nodeName.x", "metadata.labels", "metadata.uid", "spec.replicas",
    "spec.group", "spec.names.kind", "name", "",
)  # fmt: skip
_SELECTORS = (
    "a==b", "a!=b", "!a", "a in (b,c)", "a in ()", "a in b", "a in (b", "a b", "a=", "=b", "a=b,",
    ",a=b", "a=b,,c=d", "a>1", "a>x", "a>=1", "a=b=c", "a=b c", "(a)", "a in (b) c", "a/b/c=d",
    "/a=b", "a/=b", "-a=b", "a=-b", "a=" + "x" * 64, "x" * 64 + "=a", "!a=b", "!", "!!a",
    "a in (,b)",
    "notin", "in in (in)", "ünï=a", "a in (b)(c)", "a=b;c=d", "metadata.name=none", "metadata.name",
    "metadata.name in (wire)", "metadata.name>a", "a=b\\=c", "%", "metadata.name=a\\",
)  # fmt: skip


def places() -> list[str]:
    """Where each kind of objects is listed."""
    found = []
    for info in kinds.Resources(RELEASE, ()).built_in:
        if "list" in info.verbs:
            found.append(f"{info.root}/{info.plural}")
    return found


def _selectors() -> Iterator[Read]:
    for path in places():
        for label in _FIELDS:
            yield _get(f"{path}?fieldSelector={urllib.parse.quote(label + '=none')}&{_NONE}")
        for form in ("Table", "PartialObjectMetadataList"):
            for version in ("v1", "v1beta1"):
                accept = f"application/json;as={form};g=meta.k8s.io;v={version}"
                yield _get(f"{path}?{_NONE}", accept)
    for kind in ("labelSelector", "fieldSelector"):
        for text in _SELECTORS:
            query = f"?{kind}={urllib.parse.quote(text)}"
            yield _get(f"{MAPS}{query}&limit=1&continue=x")
            yield Read("DELETE", f"{MAPS}{query}&dryRun=All&limit=x", {})


_ACCEPTS = (
    "*/*", "application/*", "text/html", "text/plain", "application/xml", "application/yaml",
    "application/json;charset=utf-8", "application/json;stream=watch", "application/json;pretty=1",
    "", ",", "json", "application/cbor", "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v2", "application/json;as=Table",
    "application/json;as=Nothing;g=meta.k8s.io;v=v1", "application/json;as=Table;g=apps;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "text/html,application/json",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "text/html;q=1,*/*;q=0.1",
    "application/json;v=v1", "image/png, text/xml", "application/apply-patch+yaml",
    "application/json; as=Table; g=meta.k8s.io; v=v1",
)  # fmt: skip
_TYPES = (
    "text/plain", "application/json; charset=utf-8", "application/yaml", _MERGE, "", "json",
    "application/json;bad", "application/xml", "application/cbor", "multipart/form-data",
)  # fmt: skip
_BODIES = (
    "", "{", "[]", "null", "1", '"x"', "{}", "{}{}", '{"a":1}', "\0", '{"kind":1}',
    '{"kind":"ConfigMap"}', '{"apiVersion":"v1"}', '{"apiVersion":"v2","kind":"ConfigMap"}',
    '{"apiVersion":"apps/v1","kind":"ConfigMap"}', '{"apiVersion":"a/b/c","kind":"ConfigMap"}',
    '{"apiVersion":"v1","kind":"Pod"}', '{"metadata":[]}', '{"metadata":{"name":"x"},}',
    "{'kind':'ConfigMap'}", '{"metadata":{"name":"wire-3"}} trailing', '{"data":{"a":1}}',
    '{"metadata":{"creationTimestamp":"yesterday"}}', '{"data":{"a":"\xff"}}',
    "[" * 20000, '{"a":' * 12000,
)  # fmt: skip
_YAML = ("a: [", "\tx", "- 1", "a: *b", "x: y: z", "%YAML 9", "? [a]: b", "a: !!binary x",
         "kind: ConfigMap\nkind: Pod", "metadata: {name: wire-4}\ndata: {a: yes}")  # fmt: skip
_WIRE_FORMAT = ("", "k8s\0", "k8s\0\xff\xff", "k8s", "nothing",
                "k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x03\xff\xff\xff")  # fmt: skip
_PATCHES = (_MERGE, "application/json-patch+json", "application/strategic-merge-patch+json")


def _protocol() -> Iterator[Read]:
    dry = f"{MAPS}?dryRun=All"
    for verb in ("HEAD", "OPTIONS", "TRACE", "FOO", "get", "POST", "PUT", "PATCH"):
        for path in (MAPS, WIRE, f"{MAPS}/none", "/api/v1/namespaces"):
            yield Read(verb, path, {})
    for accept in _ACCEPTS:
        for path in (WIRE, f"{MAPS}?{_NONE}", f"{MAPS}/none"):
            yield Read("GET", path, {"Accept": accept})
    for kind in _TYPES:
        yield _send("POST", dry, {**MAP, "metadata": {"name": "wire-2"}}, kind)
        yield _send("PUT", f"{WIRE}?dryRun=All", MAP, kind)
        yield _send("PATCH", f"{WIRE}?dryRun=All", {"data": {"b": "1"}}, kind)
        yield _send("DELETE", DOOMED, {"kind": "DeleteOptions", "dryRun": ["All"]}, kind)
    for body in _BODIES:
        yield _send("POST", dry, body)
        yield _send("POST", f"{dry}&fieldValidation=Strict", body)
        yield _send("PUT", f"{WIRE}?dryRun=All", body)
        yield _send("DELETE", f"{DOOMED}?dryRun=All", body)
        yield from (_send("PATCH", f"{WIRE}?dryRun=All", body, kind) for kind in _PATCHES)
    for body in _YAML:
        yield _send("POST", dry, body, "application/yaml")
        yield _send("POST", f"{dry}&fieldValidation=Strict", body, "application/yaml")
        apply = f"{WIRE}?dryRun=All&fieldManager=x"
        yield _send("PATCH", apply, body, "application/apply-patch+yaml")
    yield from (_send("POST", dry, body, _PROTOBUF) for body in _WIRE_FORMAT)
    for name in ("pretty", "pretty=1", "pretty=0", "pretty=perhaps", "export=true", "x=y"):
        for path in (WIRE, f"{MAPS}/none", "/api/v1"):
            yield _get(f"{path}?{name}")
    for name, value in (
        ("Impersonate-User", "ann"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Uid", "1"),
        ("Impersonate-Extra-x", "y"),
        ("Authorization", "Basic eDp5"),
        ("Range", "bytes=0-5"),
        ("Impersonate-User", "system:serviceaccount:default:default"),
        ("If-None-Match", "*"),
    ):
        yield Read("GET", WIRE, {"Accept": "application/json", name: value})
    for query in ("dryRun=All", "dryRun=Some", "dryRun=", "dryRun=All&dryRun=All",
                  "fieldManager=" + "x" * 129, "fieldManager=a%01b", "fieldValidation=Perhaps",
                  "fieldValidation=", "fieldValidation=Strict&dryRun=None"):  # fmt: skip
        red = {**MAP, "colour": "red", "metadata": {"name": "Wire"}}
        yield _send("POST", f"{MAPS}?{query}", red)
        yield _send("PUT", f"{MAPS}/none?{query}", red)
        yield _send("PATCH", f"{MAPS}/none?{query}", {"colour": "red"}, _MERGE)


_LIST_OPTIONS = (
    "limit=-1", "limit=abc", "limit=0", "limit=1.5", "limit=99999999999999999999", "limit=",
    "continue=abc", "continue=%00", "limit=1&continue=eyJ2IjoieCJ9", "limit=1&continue=e30",
    "limit=1&continue=abc&resourceVersion=0", "limit=1&continue=abc&resourceVersionMatch=Exact",
    "limit=1&resourceVersionMatch=Exact", "timeoutSeconds=abc", "timeoutSeconds=1.5", "timeout=abc",
    "timeout=-1s", "timeout=10", "allowWatchBookmarks=perhaps", "sendInitialEvents=true",
    "sendInitialEvents=perhaps", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
    "watch=perhaps", "watch=0", "watch=", "includeObject=Metadata", "resourceVersion=abc",
    "resourceVersion=-1", "resourceVersion=1.5", "resourceVersion=18446744073709551616",
    "resourceVersionMatch=Exact", "resourceVersionMatch=Perhaps&resourceVersion=0",
    "resourceVersionMatch=NotOlderThan", "resourceVersion=0&resourceVersionMatch=Exact",
)  # fmt: skip


def _options() -> Iterator[Read]:
    for query in _LIST_OPTIONS:
        yield _get(f"{MAPS}?{query}&{_NONE}")
        yield _get(f"{WIRE}?{query}")
        if "watch" not in query:
            yield _get(f"{MAPS}?watch=1&{query}&{_NONE}")
    for path in (
        "/api/v1/none?watch=1",
        f"{WIRE}/log?watch=1",
        "/api/v1/watch/none",
        "/apis/authorization.k8s.io/v1/subjectaccessreviews?watch=1",
    ):
        yield _get(path)


_UID = "00000000-0000-0000-0000-000000000000"
_DELETE_OPTIONS: tuple[dict[str, object], ...] = (
    {}, {"propagationPolicy": "Perhaps"}, {"propagationPolicy": ""}, {"gracePeriodSeconds": -1},
    {"propagationPolicy": "Orphan", "orphanDependents": True}, {"gracePeriodSeconds": "x"},
    {"gracePeriodSeconds": 1.5}, {"preconditions": {"uid": _UID}}, {"preconditions": []},
    {"preconditions": {"resourceVersion": "1"}}, {"preconditions": {"uid": ""}}, {"none": 1},
    {"dryRun": ["Some"]}, {"dryRun": "All"}, {"apiVersion": "v9"}, {"kind": "ConfigMap"},
    {"apiVersion": "meta.k8s.io/v1"}, {"apiVersion": "apps/v1"},
)  # fmt: skip


def _deletions() -> Iterator[Read]:
    for said in _DELETE_OPTIONS:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"], **said}
        for path in (DOOMED, f"{MAPS}/none", f"{MAPS}?{_NONE}"):
            yield _send("DELETE", path, body)
    for query in (
        "propagationPolicy=Perhaps", "gracePeriodSeconds=abc", "gracePeriodSeconds=1.5", "x=y",
        "orphanDependents=true&propagationPolicy=Orphan", "dryRun=Some", f"uid={_UID}", "limit=abc",
        "resourceVersion=1", "orphanDependents=perhaps",
    ):  # fmt: skip
        for path in (f"{WIRE}?dryRun=All", f"{MAPS}?dryRun=All&{_NONE}"):
            yield Read("DELETE", f"{path}&{query}", {})


_SUBRESOURCES = (
    "status", "scale", "exec", "binding", "eviction", "approval", "finalize",
    "ephemeralcontainers", "resize", "none",
)  # fmt: skip


def of_object(subject: Subject) -> Iterator[Read]:
    """Of the object of a kind, once it is there."""
    path = subject.path
    for version in ("v1", "v1beta1"):
        form = "application/json;as={};g=meta.k8s.io;v=" + version
        for include in ("", "?includeObject=None", "?includeObject=Perhaps"):
            yield _get(path + include, form.format("Table"))
        yield _get(path, form.format("PartialObjectMetadata"))
    yield Read("DELETE", f"{subject.place}?dryRun=All&{_NONE}", {})
    yield Read("DELETE", f"{path}?dryRun=All", {})
    for name in _SUBRESOURCES:
        if (subject.key, name) in (("pods", "exec"), ("pods", "binding"), ("pods", "eviction")):
            continue
        for verb in ("GET", "DELETE", "POST", "PUT", "PATCH"):
            headers = {"Content-Type": _MERGE if verb == "PATCH" else "application/json"}
            body = "" if verb in ("GET", "DELETE") else "{}"
            yield Read(verb, f"{path}/{name}?dryRun=All", headers if body else {}, body)
