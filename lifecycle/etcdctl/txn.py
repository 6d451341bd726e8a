"""etcdctl txn: compares and requests read from standard input, done as one.

Models etcd etcdctl/ctlv3/command/{txn_command,util}.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from lifecycle.etcdctl import kv
from lifecycle.etcdctl.commands import FLAGS
from lifecycle.etcdctl.flags import FlagError, Parsed, number, parse
from lifecycle.etcdctl.server import OPERATIONS_MAX, Keys, RpcError
from lifecycle.etcdctl.session import BAD_ARGS, INVALID_INPUT, Exit, Session

_TARGETS = {
    "ver": "version", "version": "version", "c": "create_revision", "create": "create_revision",
    "m": "mod_revision", "mod": "mod_revision", "val": "value", "value": "value",
    "lease": "lease",
}  # fmt: skip
_COMPARE = re.compile(r'("(?:[^"\\]|\\.)*")\)\s*(\S+)\s*("(?:[^"\\]|\\.)*")')
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\'"\s]\S*[^\'"\s]?')
_NAMES = {"put": "put", "get": "range", "del": "delete"}
_SHORT = {"put": "put", "get": "range", "del": "delete_range"}
T = TypeVar("T")


class Compare(NamedTuple):
    key: str
    target: str
    result: str
    wanted: int | bytes


class Operation(NamedTuple):
    """One request: put, get or del with what its command line says."""

    kind: str
    parsed: Parsed
    asked: kv.Put | Keys


async def txn(session: Session) -> None:
    if session.words:
        raise Exit(BAD_ARGS, "txn command does not accept argument")
    await session.connect()
    compares = await _read(session, "compares:", compare)
    success = await _read(session, "success requests (get, put, del):", operation)
    failure = await _read(session, "failure requests (get, put, del):", operation)
    for branch in (success, failure):
        _check(session, branch)
    holds = all(_holds(session, one) for one in compares)
    chosen = success if holds else failure
    span = session.server.begin("txn") if any(one.kind != "get" for one in chosen) else 0
    responses = [
        {"name": _NAMES[one.kind], "short": _SHORT[one.kind], "answer": _done(session, one, span)}
        for one in chosen
    ]
    if span:
        session.server.end(span, "success" if holds else "failure")
    session.show("txn", {"header": session.header(), "succeeded": holds, "responses": responses})


async def _read(session: Session, title: str, read: Callable[[str], T]) -> list[T]:
    """One part of the input, up to an empty line."""
    if session.flag("interactive"):
        session.say(title)
    out: list[T] = []
    while True:
        line = await session.world.line()
        if not line.endswith(b"\n"):
            raise Exit(INVALID_INPUT, "EOF")
        text = line.decode("utf-8", "surrogateescape").strip()
        if not text:
            return out
        out.append(read(text))


def compare(line: str) -> Compare:
    """One line like mod("key1") > "0"."""
    target, paren, rest = line.partition("(")
    if not paren:
        raise Exit(INVALID_INPUT, f"malformed comparison: {line}")
    found = _COMPARE.fullmatch(rest.strip())
    if found is None:
        raise Exit(INVALID_INPUT, f'malformed comparison: {line}; got {target}("")  ""')
    key, result, value = _unquoted(found[1]), found[2], _unquoted(found[3])
    kind = _TARGETS.get(target)
    if kind is None:
        raise Exit(INVALID_INPUT, f"malformed comparison: {line} (unknown target {target})")
    if result not in ("=", "!=", ">", "<"):
        raise Exit(INVALID_INPUT, f"Unknown result op {result}")
    if kind == "value":
        return Compare(key, kind, result, value.encode("utf-8", "surrogateescape"))
    try:
        return Compare(key, kind, result, number(value, 16 if kind == "lease" else 10))
    except ValueError:
        raise Exit(INVALID_INPUT, f"invalid txn compare request: {line}") from None


def operation(line: str) -> Operation:
    """One line like put key1 "text"."""
    words = argify(line)
    if len(words) < 2:
        raise Exit(INVALID_INPUT, f"invalid txn compare request: {line}")
    kind, rest = words[0], words[1:]
    if kind not in _NAMES:
        raise Exit(INVALID_INPUT, f"invalid txn request: {line}")
    try:
        parsed = parse(rest, FLAGS[kind])
    except FlagError as error:
        raise Exit(INVALID_INPUT, f"invalid txn request: {line}") from error
    parsed.values.setdefault("write-out", "simple")
    if kind == "put":
        return Operation(kind, parsed, kv.put_of(parsed, None))
    keys = kv.get_keys(parsed) if kind == "get" else kv.delete_keys(parsed)
    return Operation(kind, parsed, keys)


def argify(line: str) -> list[str]:
    """The words of a line; quotes hold one together."""
    out = []
    for word in _WORDS.findall(line):
        if word[0] == "'":
            out.append(word[1:-1])
        else:
            out.append(_unquoted(word) if word[0] == '"' else word)
    return out


def _unquoted(text: str) -> str:
    """What Go's %q reads."""
    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", _escape, text[1:-1])


def _escape(found: re.Match[str]) -> str:
    letter = found[1]
    if letter.startswith("x") and len(letter) == 3:
        return bytes([int(letter[1:], 16)]).decode("utf-8", "surrogateescape")
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(letter, letter)


def _check(session: Session, operations: Sequence[Operation]) -> None:
    """Raises what the server refuses before it does anything."""
    if len(operations) > OPERATIONS_MAX:
        raise RpcError("etcdserver: too many operations in txn request")
    written: set[str] = set()
    for one in operations:
        if not isinstance(one.asked, kv.Put):
            if not one.asked.first:
                raise RpcError("etcdserver: key is not provided")
            continue
        kv.check_put(session, one.asked)
        if one.asked.key in written:
            raise RpcError("etcdserver: duplicate key given in txn request")
        written.add(one.asked.key)
    for one in operations:
        if one.kind == "del" and isinstance(one.asked, Keys):
            if any(one.asked.has(key) for key in sorted(written)):
                raise RpcError("etcdserver: duplicate key given in txn request")


def _holds(session: Session, asked: Compare) -> bool:
    entry = session.server.store.get(asked.key)
    have: Any = 0
    if entry is None and asked.target == "value":
        return False  # a value that is not there compares with nothing
    if entry is not None:
        have = getattr(session.server.shown(entry), asked.target)
    wanted: Any = asked.wanted
    if asked.result == "=":
        return bool(have == wanted)
    if asked.result == "!=":
        return bool(have != wanted)
    return bool(have > wanted if asked.result == ">" else have < wanted)


def _done(session: Session, one: Operation, span: int) -> Any:
    if isinstance(one.asked, kv.Put):
        return kv.put_answer(session, one.asked, span)
    if one.kind == "get":
        return kv.ranged(session, one.asked, one.parsed)
    return kv.delete_answer(session, one.asked, one.parsed, span)
