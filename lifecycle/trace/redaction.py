"""Hides the values of Secrets and tokens in what leaves for people who only look on: the trace, its
files and feed, the objects and bytes that the page shows.

Names and keys stay: what changed can be followed, what it is worth cannot be read. Who may read
Secrets reads them through the API server.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import orjson

MASKED = "<masked>"
SECRETS, PREFIX = "secrets", "/registry/secrets/"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_VALUES = ("data", "stringData")  # of a Secret: maps of values
_TOKENS = ("token", LAST_APPLIED)  # values themselves
# in a text that is an object, whole or cut: the name of a member that holds values
_OBJECT = re.compile(r"""(?:[dD]ata|token)\\*"\s*:""")
_POINTERS = ("/data", "/stringData", "/status/token", "/spec/token")


def is_sensitive(resource: str, subresource: str) -> bool:
    """Whether requests for it carry values that not everybody may see."""
    return resource in (SECRETS, "tokenreviews.authentication.k8s.io") or (
        resource == "serviceaccounts" and subresource == "token"
    )


def masked(value: Any) -> Any:
    """A copy of what a request for a Secret or a token carries, without the values."""
    if value.__class__ is str:  # most are
        return MASKED if '"' in value and _OBJECT.search(value) else value
    if isinstance(value, dict):
        if "op" in value and str(value.get("path", "")).startswith(_POINTERS):
            return {**value, "value": _hidden(value["value"])} if "value" in value else value
        return {name: _member(name, member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(member) for member in value]
    if isinstance(value, msgspec.Raw):
        return masked(msgspec.json.decode(value))
    return value


def object_bytes(value: bytes) -> bytes:
    """The JSON of a Secret without its values; nothing of it when it is no JSON."""
    try:
        return orjson.dumps(masked(orjson.loads(value)))
    except orjson.JSONDecodeError:
        return orjson.dumps(MASKED)


def command(line: str) -> str:
    """A command line of etcdctl without what it writes to a Secret and without passwords."""
    words = line.split(" ")
    for number, word in enumerate(words):
        if PREFIX in word:
            return " ".join((*words[: number + 1], MASKED)) if number + 1 < len(words) else line
        if word.startswith(("--user", "--password")):
            return " ".join((*words[:number], word.partition("=")[0], MASKED))
    return line


def _member(name: str, value: Any) -> Any:
    if name in _VALUES and isinstance(value, dict):
        return dict.fromkeys(value, MASKED)
    return MASKED if name in _TOKENS and value else masked(value)


def _hidden(value: Any) -> Any:
    return dict.fromkeys(value, MASKED) if isinstance(value, dict) else MASKED
