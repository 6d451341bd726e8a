"""The paths of OpenAPI documents: which operations a group version has, with their parameters.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/installer.go and openapi/openapi.go
(operation names, x-kubernetes-action, x-kubernetes-group-version-kind).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson

from apiserver_app.handlers.verbs import deletes
from apiserver_app.http.openapi import components, connect
from apiserver_app.http.openapi.components import META
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import ResourceInfo

Json = dict[str, Any]

METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_BODIES = ("*/*",)
ANSWERS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_STREAMS = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
_PATCHES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)


def _param(name: str, description: str, kind: str = "string") -> Json:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": kind, "uniqueItems": True},
    }


_PRETTY = _param("pretty", "If 'true', then the output is pretty printed.")
_DRY_RUN = _param(
    "dryRun",
    "When present, indicates that modifications should not be persisted. The valid value is All: "
    "all dry run stages will be processed.",
)
_FIELD_MANAGER = _param(
    "fieldManager",
    "The name of the actor or entity that is making these changes, at most 128 printable "
    "characters.",
)
_FIELD_VALIDATION = _param(
    "fieldValidation",
    "What to do with unknown or duplicate fields: Ignore drops them, Warn drops them with a "
    "warning for each (the default), Strict refuses the request.",
)
_FORCE = _param(
    "force", "Take over fields that other managers own. Only for apply requests.", "boolean"
)
# parameters that not every release has, and the behaviour they come with
_LATER = {"fieldValidation": "FieldValidationParameter"}
_WRITE = [_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION]
_SELECT = [
    _param("fieldSelector", "Restrict the list of returned objects by their fields."),
    _param("labelSelector", "Restrict the list of returned objects by their labels."),
    _param("limit", "The most items to return; the rest is had with continue.", "integer"),
    _param("continue", "The token a list with more items carried, to go on from there."),
    _param("resourceVersion", "The version to serve from."),
    _param("resourceVersionMatch", "How resourceVersion is applied: Exact or NotOlderThan."),
    _param("sendInitialEvents", "Begin a watch with an ADDED event for each object.", "boolean"),
    _param("timeoutSeconds", "How long the call may last at most.", "integer"),
]
_LIST = [
    _param("allowWatchBookmarks", "Ask for BOOKMARK events in a watch.", "boolean"),
    *_SELECT,
    _param(
        "watch",
        "Watch for changes to the described resources and return them as a stream of events.",
        "boolean",
    ),
]
_DELETE = [
    _DRY_RUN,
    _param("gracePeriodSeconds", "Seconds before the object is deleted; 0 at once.", "integer"),
    _param(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "Delete the object even if its stored form cannot be read.",
        "boolean",
    ),
    _param("orphanDependents", "Deprecated: use propagationPolicy.", "boolean"),
    _param("propagationPolicy", "What happens to dependents: Orphan, Background or Foreground."),
]


class Paths:
    """The paths of one group version, and the definitions they refer to."""

    def __init__(self, resources: kinds.Resources, group: str, version: str) -> None:
        self._resources = resources
        has = resources.version.has
        self._later = {name for name, behaviour in _LATER.items() if not has(behaviour)}
        self._root = meta.api_root(meta.group_version(group, version))
        self._prefix = operation_prefix(group, version)
        self._tag = self._prefix[0].lower() + self._prefix[1 : -len(version)] + f"_{version}"
        self.roots: dict[str, None] = dict.fromkeys(
            META + name for name in ("APIResourceList", "DeleteOptions", "Status", "Patch")
        )
        self.paths: Json = {f"{self._root}/": self._discovery()}
        for info in resources.listed:
            if (info.group, info.version) == (group, version):
                self._add(info)
        self.paths = {path: _common(item) for path, item in self.paths.items()}
        text = orjson.dumps(self.paths).decode()
        self.roots = {name: None for name in self.roots if f'/{name}"' in text}

    def _discovery(self) -> Json:
        return {
            "get": {
                "tags": [self._tag],
                "description": "get available resources",
                "operationId": f"get{self._prefix}APIResources",
                "responses": _responses(META + "APIResourceList"),
            }
        }

    def _add(self, info: ResourceInfo) -> None:
        scope = "/namespaces/{namespace}" if info.namespaced else ""
        collection = f"{self._root}{scope}/{info.plural}"
        self.roots[info.definition] = None
        listed = info.definition + "List" if "list" in info.verbs else ""
        if listed:
            self.roots[listed] = None
        self._put(
            collection,
            info,
            "",
            [
                ("list", "get", _LIST, "", listed),
                ("create", "post", _WRITE, info.definition, info.definition),
                (
                    "deletecollection",
                    "delete",
                    [*_DELETE, *_SELECT],
                    META + "DeleteOptions",
                    META + "Status",
                ),
            ],
        )
        returned = info.definition if info.key in deletes.RETURNS_OBJECT else META + "Status"
        self._put(f"{collection}/{{name}}", info, "", _item(info.definition, returned))
        if info.namespaced and listed:
            everywhere = self._operation(info, "list", _LIST, "", listed, "", True)
            self.paths[f"{self._root}/{info.plural}"] = {"get": everywhere, "parameters": [_PRETTY]}
        if "watch" in info.verbs and info.custom is None:
            self._watches(info)
        for sub in self._resources.subresources(info):
            if sub.name in connect.METHODS:
                self._connect(f"{collection}/{{name}}/{sub.name}", info, sub)
                continue
            definition = self._body(info, sub)
            if definition:
                self.roots[definition] = None
            operations = [
                operation
                for operation in [
                    *_item(definition),
                    ("create", "post", _WRITE, definition, definition),
                ]
                if operation[0] != "delete"
            ]
            self._put(f"{collection}/{{name}}/{sub.name}", info, sub.name, operations, sub)

    def _watches(self, info: ResourceInfo) -> None:
        """The old way to watch, one path for a list and one for an object."""
        self.roots[_EVENT] = None
        scope = "/namespaces/{namespace}" if info.namespaced else ""
        collection = f"{self._root}/watch{scope}/{info.plural}"
        owner = f"{'Namespaced' if info.namespaced else ''}{info.kind}"
        places = [(collection, "watchlist", f"{owner}List", _place(info, named=False))]
        if "get" in info.verbs:
            places.append((f"{collection}/{{name}}", "watch", owner, _place(info, named=True)))
        if info.namespaced:
            everywhere = f"{info.kind}ListForAllNamespaces"
            places.append((f"{self._root}/watch/{info.plural}", "watchlist", everywhere, []))
        for path, action, name, place in places:
            operation = {
                "tags": [self._tag],
                "description": _WATCHED[action].format(info.kind),
                "operationId": f"watch{self._prefix}{name}",
                "responses": _responses(_EVENT, streams=True),
                "x-kubernetes-action": action,
                "x-kubernetes-group-version-kind": _gvk(info),
            }
            self.paths[path] = {"get": operation, "parameters": [*_LIST, *place, _PRETTY]}

    def _connect(self, path: str, info: ResourceInfo, sub: kinds.SubresourceInfo) -> None:
        owner = f"{'Namespaced' if info.namespaced else ''}{info.kind}"
        about = connect.About(info.kind, _gvk(sub))
        place = _place(info, named=True)
        self.paths |= connect.items(path, self._tag, self._prefix, owner, sub.name, about, place)

    def _body(self, info: ResourceInfo, sub: kinds.SubresourceInfo) -> str:
        """The definition of a subresource's body; none where it is a stream."""
        if sub.name == "log":
            return ""
        if sub.kind == info.kind:
            return info.definition
        known = self._resources.by_gvk(sub.group, sub.version, sub.kind)
        return known.definition if known else ""

    def _put(
        self,
        path: str,
        info: ResourceInfo,
        subresource: str,
        operations: Iterable[tuple[str, str, list[Json], str, str]],
        sub: kinds.SubresourceInfo | None = None,
    ) -> None:
        verbs = sub.verbs if sub else info.verbs
        item: Json = {
            method: self._operation(info, verb, params, body, answer, subresource, False, sub)
            for verb, method, params, body, answer in operations
            if verb in verbs
        }
        if not item:
            return
        item["parameters"] = [
            *_place(info, named="{name}" in path),
            *connect.parameters(subresource),
            _PRETTY,
        ]
        self.paths[path] = item

    def _operation(
        self,
        info: ResourceInfo,
        verb: str,
        params: list[Json],
        body: str,
        answer: str,
        subresource: str,
        everywhere: bool,
        sub: kinds.SubresourceInfo | None = None,
    ) -> Json:
        word, action = _WORDS[verb]
        scope = "Namespaced" if info.namespaced and not everywhere else ""
        if verb == "deletecollection":
            scope = f"Collection{scope}"
        name = "".join(part.capitalize() for part in subresource.split("/"))
        suffix = "ForAllNamespaces" if everywhere else ""
        shown = sub or info
        out: Json = {
            "tags": [self._tag],
            "description": _sentence(verb, info, subresource),
            "operationId": f"{word}{self._prefix}{scope}{info.kind}{name}{suffix}",
        }
        if params:
            out["parameters"] = [each for each in params if each["name"] not in self._later]
        if verb == "patch":
            content = {"schema": components.reference(META + "Patch")}
            taken = [
                name for name in _PATCHES if info.custom is None or not name.startswith(_STRATEGIC)
            ]
            out["requestBody"] = {"content": dict.fromkeys(taken, content), "required": True}
        elif body:
            content = {"schema": components.reference(body)}
            out["requestBody"] = {"content": dict.fromkeys(_BODIES, content)}
            if verb in ("create", "update"):
                out["requestBody"]["required"] = True
        out["responses"] = _responses(answer, _CODES.get(verb, {}), verb == "list")
        out["x-kubernetes-action"] = action
        out["x-kubernetes-group-version-kind"] = _gvk(shown)
        return out


def _gvk(shown: ResourceInfo | kinds.SubresourceInfo) -> Json:
    return {"group": shown.group, "version": shown.version, "kind": shown.kind}


def _place(info: ResourceInfo, *, named: bool) -> list[Json]:
    """The parameters that stand in the path."""
    parameters = [_in_path("name", f"name of the {info.kind}")] if named else []
    if info.namespaced:
        parameters.append(_in_path("namespace", _NAMESPACE))
    return parameters


def operation_prefix(group: str, version: str) -> str:
    """How operation names begin: `AppsV1`, `RbacAuthorizationV1`, `CoreV1`."""
    words = group.removesuffix(".k8s.io").split(".") if group else ["core"]
    return "".join(map(str.capitalize, words)) + version.capitalize()


def _item(definition: str, returned: str = "") -> list[tuple[str, str, list[Json], str, str]]:
    return [
        ("get", "get", [], "", definition),
        ("update", "put", _WRITE, definition, definition),
        ("patch", "patch", [*_WRITE, _FORCE], definition, definition),
        ("delete", "delete", _DELETE, META + "DeleteOptions", returned),
    ]


def _sentence(verb: str, info: ResourceInfo, subresource: str) -> str:
    words = _SENTENCES[verb]
    if verb == "list" and "watch" not in info.verbs:
        words = words.replace(" or watch", "")
    kind = info.kind
    article = "" if re.search("[^s]s$", kind) else "an " if kind[0] in "AEIOU" else "a "
    return words.format(part=subresource and f"{subresource} of ", a=article) + kind


def _common(item: Json) -> Json:
    """The path with its parameters in order, those that all operations share beside them."""
    operations = [item[method] for method in METHODS if method in item]
    everyone = [operation.get("parameters", []) for operation in operations]
    shared = [param for param in everyone[0] if all(param in have for have in everyone)]
    out = dict(item)
    if shared or "parameters" in item:
        out["parameters"] = _sorted([*item.get("parameters", ()), *shared])
    for method in METHODS:
        if "parameters" in item.get(method, {}):
            rest = _sorted(param for param in item[method]["parameters"] if param not in shared)
            out[method] = {key: value for key, value in item[method].items() if key != "parameters"}
            if rest:
                out[method]["parameters"] = rest
    return out


def _sorted(parameters: Iterable[Json]) -> list[Json]:
    return sorted(parameters, key=lambda param: (param["name"], param["in"]))


def _responses(definition: str, codes: dict[str, str] | None = None, streams: bool = False) -> Json:
    schema = components.reference(definition) if definition else {"type": "string"}
    types = ANSWERS + _STREAMS if streams else ANSWERS
    shown = types if definition else ("text/plain", *types)
    content = {media_type: {"schema": schema} for media_type in shown}
    out: Json = {
        code: {"description": description, "content": content}
        for code, description in {"200": "OK", **(codes or {})}.items()
    }
    out["401"] = {"description": "Unauthorized"}
    return out


def _in_path(name: str, description: str) -> Json:
    return {
        "name": name,
        "in": "path",
        "description": description,
        "required": True,
        "schema": {"type": "string", "uniqueItems": True},
    }


_EVENT = META + "WatchEvent"
_WATCHED = {
    "watchlist": "watch individual changes to a list of {}. deprecated: use the 'watch' parameter "
    "with a list operation instead.",
    "watch": "watch changes to an object of kind {}. deprecated: use the 'watch' parameter with a "
    "list operation instead, filtered to a single item with the 'fieldSelector' parameter.",
}
_NAMESPACE = "object name and auth scope, such as for teams and projects"
_WORDS = {
    "list": ("list", "list"),
    "get": ("read", "get"),
    "create": ("create", "post"),
    "update": ("replace", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
    "deletecollection": ("delete", "deletecollection"),
}
_SENTENCES = {
    "list": "list or watch objects of kind ",
    "get": "read {part}the specified ",
    "create": "create {part}{a}",
    "update": "replace {part}the specified ",
    "patch": "partially update {part}the specified ",
    "delete": "delete {part}{a}",
    "deletecollection": "delete collection of ",
}
_STRATEGIC = "application/strategic"
_CODES = {
    "create": {"201": "Created", "202": "Accepted"},
    "update": {"201": "Created"},
    "patch": {"201": "Created"},
    "delete": {"202": "Accepted"},
}
