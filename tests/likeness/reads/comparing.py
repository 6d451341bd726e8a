"""What of an answer to a read counts. What is random, of the moment, of the build or of the
connection is left out, and, by name, what may not be copied from upstream: LEFT_OUT."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tests.likeness.requests import comparing

LEFT_OUT = (
    "OpenAPI: the sentences that describe parameters",
    "OpenAPI: what each value of an enum means",
    "OpenAPI: the texts that describe quantities and numbers that may be percentages",
    "OpenAPI: that parameters are shared under names made of those sentences",
)
# of the connection: the host sends them (tests/lifecycle/hosting/edge), or nobody knows them before
_UNTOLD_HEADERS = ("date", "content-length", "transfer-encoding", "connection", "audit-id")
_MASKED_HEADERS = (
    "etag",
    "last-modified",
    "process-start-time-unix",
    "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
)
_OF_THE_BUILD = ("gitVersion", "gitCommit", "goVersion", "buildDate")
_RANDOM = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "continue", "time",
           "clusterIP", "clusterIPs", "serverAddress", "caBundle", "extra")  # fmt: skip
_UNDESCRIBED = (".resource.Quantity", ".intstr.IntOrString")
_ENUM, _VALUE = "\n\nPossible enum values:", re.compile(r'\n - `"(.*?)"`')
_MASKS = (
    (re.compile(r"hash=[0-9A-F]{128}"), "hash=HASH"),
    (re.compile(r'in scheme (\\*")[^"\\]+'), r"in scheme \1SCHEME"),
    (re.compile(r"current: \d+"), "current: N"),
    (re.compile(r'(resourceVersion: ")\d+'), r"\1RV"),
    (re.compile(r"in record \([^)]*\)"), "in record (IT)"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d{4,5}\b"), "ADDRESS"),
)


def answer(code: int, headers: Iterable[tuple[str, str]], raw: bytes) -> list[Any]:
    """The answer as it is recorded: code, headers and body."""
    shown: dict[str, list[str]] = {}
    for name, value in headers:
        name = name.lower()
        if name not in _UNTOLD_HEADERS:
            shown.setdefault(name, []).append("~" if name in _MASKED_HEADERS else _masked(value))
    try:
        body = _plain(json.loads(raw))
    except ValueError:
        body = _masked(raw.decode("utf-8", "replace"))
    text = json.dumps(body, sort_keys=True, ensure_ascii=False)
    if len(text) > 2000:  # what is long is known by its digest
        body = digest(text)
    return [code, {name: shown[name] for name in sorted(shown)}, body]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _masked(text: str) -> str:
    text = comparing.masked(text)
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def _plain(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        if "username" in value:  # of whoever asks
            value = {**value, "username": "~", "groups": "~", "extra": ""}
        return {
            key: "~" if key in (*_OF_THE_BUILD, *_RANDOM) and item else _plain(item, key)
            for key, item in value.items()
            if key not in ("status", "managedFields") or isinstance(item, str)
        }
    if isinstance(value, list):
        return [_plain(item, name) for item in value]
    if isinstance(value, str):
        if name == "cells" and re.fullmatch(r"(\d+[smhd])+|<unknown>", value):
            return "AGE"
        return digest(value) if name == "description" else _masked(value)
    return value


def metrics(raw: bytes) -> dict[str, str]:
    """The families by name, with their types."""
    return dict(re.findall(r"^# TYPE (\S+) (\S+)", raw.decode(), re.M))


def document(raw: bytes) -> Iterator[tuple[str, str]]:
    """An OpenAPI document, part by part: where it is, and a digest of all that counts."""
    found = json.loads(raw)
    shared = found.pop("parameters", {})
    schemas = found.pop("definitions", None)
    components = found.pop("components", {})
    for path, item in found.pop("paths").items():
        yield f"path {path}", _part(_described(_resolved(item, shared)))
    for name, schema in (components.pop("schemas", {}) if schemas is None else schemas).items():
        if name.endswith(_UNDESCRIBED):
            schema.pop("description", None)
        yield f"schema {name}", _part(_described(schema))
    yield "rest", _part([found, components])


def _part(value: Any) -> str:
    return digest(json.dumps(value, sort_keys=True))


def _resolved(value: Any, shared: dict[str, Any]) -> Any:
    """With the parameters themselves where version 2 shares them."""
    if isinstance(value, dict):
        if set(value) == {"$ref"} and value["$ref"].startswith("#/parameters/"):
            return shared[value["$ref"].rpartition("/")[2]]
        return {key: _resolved(item, shared) for key, item in value.items()}
    return [_resolved(item, shared) for item in value] if isinstance(value, list) else value


def _described(value: Any) -> Any:
    """Without what LEFT_OUT names."""
    if isinstance(value, list):
        return [_described(item) for item in value]
    if not isinstance(value, dict):
        return value
    out = {key: _described(item) for key, item in value.items()}
    if isinstance(value.get("description"), str):
        text, _, values = value["description"].partition(_ENUM)
        out["description"] = [text, _VALUE.findall(values)]
        if "in" in value and "name" in value:
            del out["description"]
    return out
