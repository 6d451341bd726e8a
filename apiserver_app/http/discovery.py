"""Discovery: plain and aggregated documents, `/version` and `/`.

Documents are built at the first request, as JSON, YAML or protobuf, and cached as bytes until the
served resources change. A client that asks for an aggregated version that is not served gets the
plain document, never another version.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/discovery (root.go, group.go,
version.go, aggregated/) and pkg/server/routes/version.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple

from apiserver_app.http import encode, health, negotiation
from apiserver_app.http.negotiation import Accepted
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.apiregistration.apiservices import Services

_GO_VERSIONS = {22: "go1.16.8", 25: "go1.19.4", 26: "go1.19.5", 27: "go1.20.5", 28: "go1.20.7",
                29: "go1.21.7", 30: "go1.22.2", 31: "go1.22.5", 32: "go1.23.3",
                33: "go1.24.2"}  # fmt: skip
_RELEASES = {
    "v1.22.2": ("8b5a19147530eaac9476b0ab82980b4088bbc1b2", "2021-09-15T21:32:41Z"),
    "v1.33.1": ("8adc0f041b8e7ad1d30e29cc59c6ae7a15e19828", "2025-05-15T08:19:08Z"),
}
_ROOT_PATHS = tuple(
    """
    /.well-known/openid-configuration /metrics /metrics/slis /openapi/v2 /openapi/v3 /openapi/v3/
    /openid/v1/jwks /version
    """.split()
)


class Document(NamedTuple):
    """A serialized document. `etag` may be empty."""

    content_type: str
    body: bytes
    etag: str = ""

    def answer(self, if_none_match: str = "") -> tuple[int, list[tuple[str, str]], bytes]:
        """Returns code, headers and body; 304 without a body when the client's copy is current."""
        if not self.etag:
            return 200, [("Content-Type", self.content_type)], self.body
        headers = [("Etag", self.etag), ("Vary", "Accept"), ("Cache-Control", "public")]
        if if_none_match == self.etag:
            return 304, headers, b""
        return 200, [*headers, ("Content-Type", self.content_type)], self.body


class Discovery:
    """The documents of one server. `address` is the host:port it advertises; without `services` it
    serves only its own resources."""

    def __init__(
        self,
        resources: kinds.Resources,
        address: str = "10.96.0.1:443",
        services: Services | None = None,
    ) -> None:
        self._resources = resources
        self._services = services
        self._address = address
        self._groups: dict[str, list[str]] = {}
        self._built: dict[tuple[str, Accepted | None], Document] = {}
        self._generation = (-1, -1)

    def document(self, path: str, accept: str = "", *, pretty: bool = False) -> Document | None:
        """Returns the document at a path, None when there is none; 406 when no accepted form can be
        sent. `pretty` indents it."""
        if self._generation != self._now():
            self._forget()
        path = "/" + path.strip("/")
        accepted: Accepted | None = Accepted(pretty=True)
        if path.startswith("/api"):
            whole = None
            if not is_aggregators(path):
                negotiation.check_routed(accept, negotiation.SERVED)
            if path in ("/api", "/apis"):
                is_beta = not self._resources.version.has("AggregatedDiscoveryRemoveBetaType")
                whole = negotiation.discovery(accept, ("v2", "v2beta1") if is_beta else ("v2",))
            accepted = whole or negotiation.negotiate_unconverted(accept)
            if accepted is not None and pretty:
                accepted = accepted._replace(pretty=True)
        elif path == "/version":
            negotiation.check_routed(accept, negotiation.SERVED[:1])
        elif path != "/":
            return None
        document = self._built.get((path, accepted))
        if document is None:
            document = self._build(path, accepted)
            if document is not None:
                self._built[path, accepted] = document
        return document

    def _forget(self) -> None:
        """Drops the cached documents after the served resources changed."""
        self._generation = self._now()
        self._built.clear()
        self._groups = {}
        known = self._services or self._resources
        for group, version in known.group_versions:
            self._groups.setdefault(group, []).append(version)

    def _now(self) -> tuple[int, int]:
        return self._resources.generation, self._services.generation if self._services else 0

    def _build(self, path: str, accepted: Accepted | None) -> Document | None:
        if accepted is not None and accepted.convert:
            groups = [""] if path == "/api" else [name for name in self._groups if name]
            obj = self._aggregated(groups, accepted.convert_version)
            etag = f'"{hashlib.sha512(encode.document(obj)).hexdigest().upper()}"'
            body = encode.negotiated(obj, accepted)
            return Document(negotiation.discovery_type(accepted), body, etag)
        plain = self._plain(path)
        if plain is None:
            return None
        if accepted is None:
            raise errors.not_acceptable(negotiation.SERVED)
        return Document(accepted.media_type, encode.negotiated(plain, accepted))

    def _plain(self, path: str) -> Object | None:
        parts = path.split("/")[1:]
        match parts:
            case [""]:
                return {"paths": self._paths()}
            case ["version"]:
                return version_info(self._resources.version)
            case ["api"]:
                return {
                    "kind": "APIVersions",
                    "versions": self._groups[""],
                    "serverAddressByClientCIDRs": [
                        {"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}
                    ],
                }
            case ["apis"]:
                groups = [_group(name, versions) for name, versions in self._groups.items() if name]
                return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
            case ["api", version] if version in self._groups[""]:
                return self._resource_list("", version)
            case ["apis", group] if group in self._groups:
                listed = _group(group, self._groups[group])
                return {"kind": "APIGroup", "apiVersion": "v1", **listed}
            case ["apis", group, version] if version in self._groups.get(group, ()):
                return self._resource_list(group, version)
        return None

    def _of(self, group: str, version: str) -> Iterable[ResourceInfo]:
        for info in self._resources.listed:
            if info.group == group and info.version == version:
                yield info

    def _resource_list(self, group: str, version: str) -> Object:
        resources: list[Object] = []
        for info in self._of(group, version):
            resources.append(self._resource(info))
            for sub in self._resources.subresources(info):
                resources.append(_subresource(info, sub))
        resources.sort(key=lambda resource: str(resource["name"]))
        head: Object = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return {**head, "groupVersion": meta.group_version(group, version), "resources": resources}

    def _resource(self, info: ResourceInfo) -> Object:
        out: Object = {
            "name": info.plural,
            "singularName": info.singular,
            "namespaced": info.namespaced,
            "kind": info.kind,
            "verbs": _verbs(info),
            **_other_names(info),
        }
        storage = self._resources.storage_version_hash(info)
        if storage:
            out["storageVersionHash"] = storage
        return out

    def _aggregated(self, groups: list[str], form: str) -> Object:
        items = [
            {
                "metadata": {**({"name": group} if group else {}), "creationTimestamp": None},
                "versions": [
                    self._aggregated_version(group, version) for version in self._groups[group]
                ],
            }
            for group in groups
        ]
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{form}",
            "metadata": {},
            "items": items,
        }

    def _aggregated_version(self, group: str, version: str) -> Object:
        remote = self._services.remote.get((group, version)) if self._services else None
        if remote is None or self._services is None:
            resources = [self._aggregated_resource(info) for info in self._of(group, version)]
            return {"version": version, "resources": resources, "freshness": "Current"}
        discovered = self._services.discovered.get(remote.name)
        return {
            "version": version,
            "resources": _aggregated_remote(group, version, discovered.resources)
            if discovered
            else [],
            "freshness": "Current" if discovered and remote.available else "Stale",
        }

    def _aggregated_resource(self, info: ResourceInfo) -> Object:
        out: Object = {
            "resource": info.plural,
            "responseKind": _response_kind(info, info),
            "scope": "Namespaced" if info.namespaced else "Cluster",
            "singularResource": info.singular,
            "verbs": _verbs(info),
            **_other_names(info),
        }
        subresources = [
            {"subresource": sub.name, "responseKind": _response_kind(info, sub), "verbs": sub.verbs}
            for sub in self._resources.subresources(info)
        ]
        if subresources:
            out["subresources"] = subresources
        return out

    def _paths(self) -> list[str]:
        paths = ["/api", "/apis", "/apis/", *_ROOT_PATHS]
        for root in health.ROOTS:
            names = health.checks(self._resources.version, root.strip("/"))
            paths += [root, *(f"{root}/{name}" for name in names)]
        for group, versions in self._groups.items():
            root = f"/apis/{group}" if group else "/api"
            paths += [root, *(f"{root}/{version}" for version in versions)]
        return sorted(set(paths))


def _other_names(info: ResourceInfo) -> Object:
    names = {"shortNames": info.short_names, "categories": info.categories}
    return {key: value for key, value in names.items() if value}


def _aggregated_remote(group: str, version: str, resources: Iterable[Object]) -> list[Object]:
    """Converts another server's resource list to aggregated discovery."""
    by_name: dict[str, Object] = {}
    for resource in resources:
        name, _, sub = str(resource["name"]).partition("/")
        kind = _kind(
            resource.get("group") or group,
            resource.get("version") or version,
            resource.get("kind", ""),
        )
        verbs = resource.get("verbs") or []
        if sub:
            parent = by_name.setdefault(name, {"resource": name})
            entry = {"subresource": sub, "responseKind": kind, "verbs": verbs}
            parent.setdefault("subresources", []).append(entry)
            continue
        described = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if resource.get("namespaced") else "Cluster",
            "singularResource": resource.get("singularName", ""),
            "verbs": verbs,
        }
        described |= {
            key: resource[key] for key in ("shortNames", "categories") if resource.get(key)
        }
        by_name[name] = described | by_name.get(name, {})
    return list(by_name.values())


def is_aggregators(path: str) -> bool:
    """Reports whether the aggregator answers at a path itself, to any method; go-restful routes the
    other documents."""
    group = path.removeprefix("/apis").strip("/")
    return path.startswith("/apis") and "/" not in group and group != "apiregistration.k8s.io"


def version_info(version: Release) -> Object:
    """The `/version` document."""
    major, minor = "1", str(version.minor)
    release = f"v{version.patched}"
    commit, date = _RELEASES.get(release) or (_commit_of(release), "2025-05-15T08:19:08Z")
    out: Object = {"major": major, "minor": minor}
    if version.has("EmulationVersion"):
        out |= {
            "emulationMajor": major,
            "emulationMinor": minor,
            "minCompatibilityMajor": major,
            "minCompatibilityMinor": str(version.minor - 1),
        }
    return out | {
        "gitVersion": release,
        "gitCommit": commit,
        "gitTreeState": "clean",
        "buildDate": date,
        "goVersion": _GO_VERSIONS.get(version.minor, _GO_VERSIONS[33]),
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def api_version(version: Release) -> str:
    """The version that OpenAPI documents say."""
    shown: str = version_info(version)["gitVersion"]
    return str(version) if version.has("EmulationVersion") else shown


def _commit_of(release: str) -> str:
    """Derives a commit hash from the release."""
    return hashlib.sha1(release.encode(), usedforsecurity=False).hexdigest()


def _group(name: str, versions: list[str]) -> Object:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _subresource(info: ResourceInfo, sub: kinds.SubresourceInfo) -> Object:
    out: dict[str, Any] = {
        "name": f"{info.plural}/{sub.name}",
        "singularName": "",
        "namespaced": info.namespaced,
    }
    if (sub.group, sub.version) != (info.group, info.version):
        out["group"], out["version"] = sub.group, sub.version
    out["kind"], out["verbs"] = sub.kind, sub.verbs
    return out


def _verbs(info: ResourceInfo) -> tuple[str, ...]:
    return info.custom.verbs if info.custom is not None else info.verbs


def _response_kind(
    info: ResourceInfo, shown: ResourceInfo | kinds.SubresourceInfo
) -> dict[str, str]:
    """Those of a built-in resource leave out its own group and version."""
    if info.custom is None and (shown.group, shown.version) == (info.group, info.version):
        return _kind("", "", shown.kind)
    return _kind(shown.group, shown.version, shown.kind)


def _kind(group: str, version: str, kind: str) -> dict[str, str]:
    return {"group": group, "version": version, "kind": kind}
