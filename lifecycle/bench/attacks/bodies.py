"""Floods of bodies that cost."""

from __future__ import annotations

import itertools
from typing import Any

from lifecycle.bench.attacks.making import (
    APPLY,
    BIG,
    CORE,
    JSON_PATCH,
    LISTED,
    MERGE,
    STRATEGIC,
    YAML,
    Attack,
    Send,
    create,
    obj,
    pod,
)


def patched(body: Any, kind: str) -> Attack:
    first = Send("POST", f"{CORE}/configmaps", obj("ConfigMap", "aim", data={"a": "b"}))
    return Attack((first,), lambda n: Send("PATCH", f"{CORE}/configmaps/aim", body, kind))


def nested(depth: int) -> bytes:
    return b'{"apiVersion":"v1","kind":"ConfigMap","x":' + b"[" * depth + b"]" * depth + b"}"


def _laughs() -> bytes:
    lines = ['a: &a ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]']
    lines += [f"{b}: &{b} [{','.join(9 * [f'*{a}'])}]" for a, b in itertools.pairwise("abcdefghi")]
    return "\n".join(["apiVersion: v1", "kind: ConfigMap", *lines, ""]).encode()


def _applied(number: int) -> Send:
    body = obj("ConfigMap", "managed", data={f"k{number % 3000}": "v"})
    path = f"{CORE}/configmaps/managed?fieldManager=m{number}&force=true"
    return Send("PATCH", path, body, APPLY)


def _copies() -> list[dict[str, str]]:
    ops = [{"op": "add", "path": "/data/x", "value": "x" * 100}]
    return [*ops, *({"op": "copy", "from": "/data", "path": f"/data/d{n}"} for n in range(60))]


def _claimed(number: int) -> Send:
    """A Service whose ports have an owner each."""
    ports = [{"port": 1 + (number * 100 + n) % 5000, "name": f"p{n}"} for n in range(100)]
    body = obj("Service", "claimed", spec={"ports": ports})
    path = f"{CORE}/services/claimed?fieldManager=m{number}&force=true"
    return Send("PATCH", path, body, APPLY)


def _debugger(number: int) -> Send:
    added = [{"name": f"d{number}", "image": "busybox", "command": ["yes"]}]
    body = {"spec": {"ephemeralContainers": added}}
    return Send("PATCH", f"{CORE}/pods/aim/ephemeralcontainers", body, STRATEGIC)


WIDER = {**BIG, "data": {"x": "x" * 900_000 + "\N{GRINNING FACE}"}}
NAMES = {**obj("ConfigMap", "names"), "data": {f"k{n}": "" for n in range(50_000)}}
MAP = {**obj("ConfigMap", "dry"), "data": {f"k{n}": "" for n in range(20_000)}}
WIDE = {**obj("ConfigMap", "wide"), "data": {f"k{n}": "" for n in range(200_000)}}


ATTACKS: dict[str, Attack] = {
    "200,000 keys": create(LISTED, WIDE),
    "deep JSON": create(LISTED, nested(100_000)),
    "deep YAML": create(LISTED, b"kind: ConfigMap\nx: " + b"[" * 50_000, YAML),
    "aliases of YAML that multiply": create(LISTED, _laughs(), YAML),
    "2 MB of empty items": create(LISTED, b"- {}\n" * 400_000, YAML),
    "big objects": Attack(
        flood=lambda n: Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}})
    ),
    "big objects with one wide character": Attack(
        flood=lambda n: Send("POST", LISTED, {**WIDER, "metadata": {"name": f"b{n}"}})
    ),
    "objects of 50,000 names": Attack(
        flood=lambda n: Send("POST", LISTED, {**NAMES, "metadata": {"name": f"b{n}"}})
    ),
    "one big object, again and again": Attack(
        (Send("POST", LISTED, BIG),),
        lambda n: Send("PUT", f"{LISTED}/big", {**BIG, "data": {"x": f"{n:09}" * 100_000}}),
    ),
    "big objects, made and deleted": Attack(
        flood=lambda n: (
            Send("DELETE", f"{LISTED}/b{n // 2}")
            if n % 2
            else Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n // 2}"}})
        )
    ),
    "applied lists of many managers": Attack(flood=_claimed),
    "dry runs of applies": Attack(
        flood=lambda n: Send(
            "PATCH", f"{LISTED}/dry?fieldManager=m{n}&force=true&dryRun=All", MAP, APPLY
        )
    ),
    "debuggers": Attack((Send("POST", f"{CORE}/pods", pod("aim")),), _debugger),
    "dry runs": create(f"{CORE}/pods?dryRun=All", pod("dry")),
    "patches of 10,000 operations": patched(
        [{"op": "test", "path": "/data/a", "value": "b"}] * 10_000, JSON_PATCH
    ),
    "patches whose copies double": patched(_copies(), JSON_PATCH),
    "deep merge patches": patched(b'{"a":' * 20_000 + b"1" + b"}" * 20_000, MERGE),
    "wide merge patches": patched({"data": {f"k{n}": "" for n in range(115_000)}}, MERGE),
    "directives of strategic patches": patched(
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"f{n}" for n in range(50_000)]}},
        STRATEGIC,
    ),
    "managers of fields": Attack(flood=_applied),
}
