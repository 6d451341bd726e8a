"""Makes requests up: valid objects of all kinds, changed at random places, created, updated,
patched and applied. The same seed makes the same requests."""

from __future__ import annotations

import base64
import copy
import functools
import pathlib
import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import yaml

from apiserver_app.machinery import client
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release

NAMESPACE = "likeness"
MANAGERS = ("likeness", "somebody")
UID = "{uid}"  # stands for the stored object's in what is sent back
CREATES, UPDATES, PATCHES, APPLIES = 30, 14, 12, 5
_BASES = pathlib.Path(__file__).parent / "bases.yaml"
_NAMES = {"IPAddress": "10.200.0.9"}
_DRY = f"?dryRun=All&fieldValidation=Strict&fieldManager={MANAGERS[0]}"
_LONG = "z" * 64
# what is put in the place of something else
_VALUES: tuple[Any, ...] = (
    None, "", " ", "Mixed-Case_", "-dash", _LONG, _LONG * 5, "a/b/c", "a.b", "line\nbreak", "ähm",
    "1.2.3.4", "fe80::1", "10.0.0.0/33", "300m", "2Ti", "-5Mi", "1e400", "7%", "170%",
    "2026-02-30T00:00:00Z", "2026-01-02T03:04:05Z", "Always", "*", "true", 0, 1, -3, 65536,
    2**31 - 1, 2**32, 2**63, 0.25, 1e3,
    True, False, [], {}, [""], [None], [{}], {"x/y/z": "w"}, {"": None},
)  # fmt: skip


class Call(NamedTuple):
    """A request; `type` is that of its body, `accept` that of the answer."""

    verb: str
    path: str
    body: Any
    type: str = "application/json"
    accept: str = "application/json"


class Subject(NamedTuple):
    """A kind, where its objects are, and a valid one."""

    key: str
    place: str
    name: str
    base: dict[str, Any]
    is_stored: bool

    @property
    def path(self) -> str:
        return f"{self.place}/{self.name}"


@functools.cache
def subjects() -> tuple[Subject, ...]:
    infos = {(info.api_version, info.kind): info for info in kinds.resources(Release(33), ())}
    return tuple(
        _subject(infos[base["apiVersion"], base["kind"]], base)
        for base in yaml.safe_load(_BASES.read_text())
    )


def _subject(info: Any, base: dict[str, Any]) -> Subject:
    inside = f"/namespaces/{NAMESPACE}" if info.namespaced else ""
    is_stored = not info.kind.endswith("Review")
    metadata: dict[str, Any] = {"name": _NAMES.get(info.kind, f"likeness-{info.kind.lower()}")}
    metadata |= base.get("metadata") or {}
    if is_stored:
        metadata |= {"labels": {"team": "a"}, "annotations": {"example.com/note": "hi"}}
        base = {**base, "metadata": metadata}
    if info.kind == "CertificateSigningRequest":
        base["spec"]["request"] = base64.b64encode(_signing_request()).decode()
    return Subject(
        info.key, f"{info.root}{inside}/{info.plural}", metadata["name"], base, is_stored
    )


def _signing_request() -> bytes:
    """Nobody looks at what is in it: only the words around it are checked."""
    return (pathlib.Path(__file__).parent / "signing-request.pem").read_bytes()


def creates(subject: Subject, rng: random.Random) -> Iterator[Call]:
    yield Call("POST", subject.place + _DRY, subject.base)
    for _ in range(CREATES):
        yield Call("POST", subject.place + _DRY, changed(subject.base, rng))


def base(subject: Subject) -> Call:
    return Call("POST", f"{subject.place}?fieldManager={MANAGERS[0]}", subject.base)


def changes(subject: Subject, stored: dict[str, Any], rng: random.Random) -> Iterator[Call]:
    """Updates of the stored object, and patches with parts of the valid one."""
    sent = {name: value for name, value in stored.items() if name != "status"}
    for _ in range(UPDATES):
        yield Call("PUT", subject.path + _DRY, changed(sent, rng))
    parts = {
        name: value for name, value in subject.base.items() if name not in ("apiVersion", "kind")
    }
    for index in range(PATCHES):
        kind = client.STRATEGIC_PATCH if index % 2 else client.MERGE_PATCH
        yield Call("PATCH", subject.path + _DRY, changed(parts, rng), kind)
    for index in range(APPLIES):
        query = _DRY.replace(MANAGERS[0], MANAGERS[1]) + ("&force=true" if index % 2 else "")
        yield Call("PATCH", subject.path + query, changed(subject.base, rng), client.APPLY_PATCH)


def changed(value: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A copy with one to three random changes."""
    out = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = [place for place in _places(out) if place[0] not in ("apiVersion", "kind")]
        if places:
            _change(out, rng.choice(places), rng)
    return out


def _change(root: Any, place: tuple[Any, ...], rng: random.Random) -> None:
    holder = functools.reduce(lambda at, step: at[step], place[:-1], root)
    last, what = place[-1], rng.randrange(8)
    old = holder[last]
    if what == 0:
        del holder[last]
    elif what == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(old))
    elif what == 1:
        holder[f"strange{rng.randrange(3)}"] = rng.choice(_VALUES)
    elif what == 2 and isinstance(old, str):
        holder[last] = rng.choice((old + "-", old.upper(), f"x{old}", old * 30, old[:-1]))
    elif what == 2 and isinstance(old, (int, float)):
        holder[last] = rng.choice((-old, old + 1, str(old), old * 1000))
    elif what == 2:
        holder[last] = type(old)()
    else:
        holder[last] = copy.deepcopy(rng.choice(_VALUES))


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inside: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inside = enumerate(value)
    for step, item in inside:
        yield from _places(item, (*at, step))
