"""Operations of subresources that are no objects: what connects to a pod, a service or a node, and
the log.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/installer.go (the verbs CONNECT) and
the options in staging/src/k8s.io/api/core/v1/types.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Json = dict[str, Any]

_TEXT = {"schema": {"type": "string"}}
_ANY = {"*/*": _TEXT}
_ALL = ("get", "put", "post", "delete", "options", "head", "patch")
METHODS = {
    "attach": ("get", "post"),
    "exec": ("get", "post"),
    "portforward": ("get", "post"),
    "proxy": _ALL,
}
# name, type, what it does
_CONTAINER = ("container", "string", "The container; may be left out when there is only one.")
_STREAMS = [
    ("stderr", "boolean", "Carry standard error."),
    ("stdin", "boolean", "Carry standard input."),
    ("stdout", "boolean", "Carry standard output."),
    ("tty", "boolean", "Give the process a terminal."),
]
_PARAMETERS = {
    "attach": [_CONTAINER, *_STREAMS],
    "exec": [("command", "string", "The command, argument by argument."), _CONTAINER, *_STREAMS],
    "portforward": [("ports", "integer", "The ports; needed over WebSockets only.")],
    "proxy": [("path", "string", "The path to ask for there.")],
    "log": [
        _CONTAINER,
        ("follow", "boolean", "Go on with what is logged later."),
        ("insecureSkipTLSVerifyBackend", "boolean", "Believe whoever answers for the kubelet."),
        ("limitBytes", "integer", "The most bytes to return."),
        ("previous", "boolean", "The log of the container's life before this one."),
        ("sinceSeconds", "integer", "How old a line may be."),
        ("stream", "string", "All, Stdout or Stderr."),
        ("tailLines", "integer", "How many lines to begin before the end."),
        ("timestamps", "boolean", "Begin each line with its time."),
    ],
}


def parameters(subresource: str) -> list[Json]:
    """The parameters of the query that the options are read from."""
    return [
        {
            "name": name,
            "in": "query",
            "description": text,
            "schema": {"type": kind, "uniqueItems": True},
        }
        for name, kind, text in _PARAMETERS.get(subresource, ())
    ]


class About(NamedTuple):
    of: str  # the kind it belongs to
    gvk: Json  # of its options


def items(
    path: str, tag: str, prefix: str, owner: str, subresource: str, about: About, place: list[Json]
) -> Json:
    """The paths of one such subresource. `owner` is NamespacedPod, Node and so on; `place` the
    parameters in the path."""
    paths: Json = {}
    word = subresource.capitalize()
    for end, more in (("", []), ("/{path}", [_REST])):
        if end and subresource != "proxy":
            break
        name = f"{owner}{word}{'WithPath' if end else ''}"
        item: Json = {
            method: {
                "tags": [tag],
                "description": f"connect {method.upper()} requests to {subresource} of {about.of}",
                "operationId": f"connect{prefix}{method.capitalize()}{name}",
                "responses": {
                    "200": {"description": "OK", "content": _ANY},
                    "401": {"description": "Unauthorized"},
                },
                "x-kubernetes-action": "connect",
                "x-kubernetes-group-version-kind": about.gvk,
            }
            for method in METHODS[subresource]
        }
        item["parameters"] = [*place, *more, *parameters(subresource)]
        paths[path + end] = item
    return paths


_REST = {
    "name": "path",
    "in": "path",
    "description": "path to the resource",
    "required": True,
    "schema": {"type": "string", "uniqueItems": True},
}
