"""What a cluster answers to reads, recorded and asked again."""

from __future__ import annotations

import json
import lzma
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.likeness.reads import asking, comparing
from tests.likeness.reads.asking import Read
from tests.likeness.requests import madeup
from tests.likeness.requests.madeup import Subject

FILE = pathlib.Path(__file__).parent / "v1.33.4.json.xz"
Answer = tuple[int, list[tuple[str, str]], bytes]
Ask = Callable[[Read], Answer]
Facts = dict[str, Any]  # what was asked -> what was answered
_V2 = "/openapi/v2"
_V3 = "/openapi/v3"


def read() -> Facts:
    found: Facts = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


def facts(ask: Ask, settle: Callable[[Subject], None]) -> Iterator[tuple[str, Any]]:
    """All that is asked, with the answers of now."""
    ask(Read("POST", f"{asking.MAPS}?fieldManager=likeness", _JSON, json.dumps(asking.MAP)))
    yield from _documents(ask)
    for name, kind in comparing.metrics(ask(Read("GET", "/metrics", {}))[2]).items():
        yield f"metric {name}", kind
    doomed = json.dumps({**asking.MAP, "metadata": {"name": "doomed"}})
    for one in asking.reads():
        if one.path.startswith(asking.DOOMED):
            ask(Read("POST", asking.MAPS, _JSON, doomed))
        yield one.id, comparing.answer(*ask(one))
    for subject in madeup.subjects():
        if subject.is_stored and subject.key not in _CHANGING:
            call = madeup.base(subject)
            ask(Read("POST", call.path, _JSON, json.dumps(call.body)))
            settle(subject)
            for one in asking.of_object(subject):
                yield one.id, comparing.answer(*ask(one))
            ask(Read("DELETE", subject.path, _JSON, '{"gracePeriodSeconds":0}'))
    for path in (asking.WIRE, asking.DOOMED):
        ask(Read("DELETE", path, {}))


_JSON = {"Content-Type": "application/json"}
# what controllers make of them differs from moment to moment
_CHANGING = ("nodes", "namespaces", "persistentvolumes", "persistentvolumeclaims")


def _documents(ask: Ask) -> Iterator[tuple[str, Any]]:
    index = json.loads(ask(Read("GET", _V3, {}))[2])["paths"]
    yield "openapi index", sorted(index)
    paths = {name: one["serverRelativeURL"].partition("?")[0] for name, one in index.items()}
    for path in (_V2, *paths.values()):
        status, headers, body = ask(Read("GET", path, {"Accept": "application/json"}))
        yield f"openapi {path}", comparing.answer(status, headers, b"")
        for part, said in comparing.document(body):
            yield f"openapi {path} {part}", said


def write(ask: Ask, settle: Callable[[Subject], None]) -> int:
    """Records the answers anew; returns how many there are."""
    found = dict(facts(ask, settle))
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return len(found)
