"""etcdctl txn: compares and requests read from standard input, done as one.

Models etcd etcdctl/ctlv3/command/{txn_command,util}.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from apiserver_app.etcd import delete_range
from apiserver_app.etcd import range as ranges
from apiserver_app.etcd import txn as txns
from apiserver_app.etcd.txn import Compare
from lifecycle.etcdctl import kv
from lifecycle.etcdctl.commands import FLAGS
from lifecycle.etcdctl.flags import FlagError, number, parse
from lifecycle.etcdctl.session import BAD_ARGS, INVALID_INPUT, Exit, Session
from lifecycle.etcdctl.tables import Answer

_TARGETS = {
    "ver": "version", "version": "version", "c": "create_revision", "create": "create_revision",
    "m": "mod_revision", "mod": "mod_revision", "val": "value", "value": "value",
    "lease": "lease",
}  # fmt: skip
_COMPARE = re.compile(r'("(?:[^"\\]|\\.)*")\)\s*(\S+)\s*("(?:[^"\\]|\\.)*")')
_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^\'"\s]\S*[^\'"\s]?')
_KINDS = ("put", "get", "del")
T = TypeVar("T")


async def txn(session: Session) -> None:
    if session.words:
        raise Exit(BAD_ARGS, "txn command does not accept argument")
    await session.connect()
    compares = await _read(session, "compares:", compare)
    success = await _read(session, "success requests (get, put, del):", operation)
    failure = await _read(session, "failure requests (get, put, del):", operation)
    done = txns.txn(session.server, compares, success, failure)
    responses = [_response(session, response) for response in done.responses]
    session.show(
        "txn", {"header": session.header(), "succeeded": done.succeeded, "responses": responses}
    )


async def _read(session: Session, title: str, read: Callable[[str], T]) -> list[T]:
    """One part of the input, up to an empty line."""
    if session.flag("interactive"):
        session.say(title)
    out: list[T] = []
    while True:
        line = await session.process.line()
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
    match = _COMPARE.fullmatch(rest.strip())
    if match is None:
        raise Exit(INVALID_INPUT, f'malformed comparison: {line}; got {target}("")  ""')
    key, result, value = _unquoted(match[1]), match[2], _unquoted(match[3])
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


def operation(line: str) -> txns.Request:
    """One line like put key1 "text"."""
    words = argify(line)
    if len(words) < 2:
        raise Exit(INVALID_INPUT, f"invalid txn compare request: {line}")
    kind, rest = words[0], words[1:]
    if kind not in _KINDS:
        raise Exit(INVALID_INPUT, f"invalid txn request: {line}")
    try:
        parsed = parse(rest, FLAGS[kind])
    except FlagError as error:
        raise Exit(INVALID_INPUT, f"invalid txn request: {line}") from error
    if kind == "put":
        return kv.put_request(parsed, None)
    return kv.get_request(parsed) if kind == "get" else kv.delete_request(parsed)


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


def _escape(match: re.Match[str]) -> str:
    letter = match[1]
    if letter.startswith("x") and len(letter) == 3:
        return bytes([int(letter[1:], 16)]).decode("utf-8", "surrogateescape")
    return {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}.get(letter, letter)


def _response(session: Session, response: txns.Response) -> Answer:
    """One answer as the printers take it, with its name in JSON and in the other formats."""
    if isinstance(response, ranges.Response):
        answer = kv.range_answer(session, response, "simple")
        return {"name": "range", "short": "range", "answer": answer}
    if isinstance(response, delete_range.Response):
        answer = kv.delete_answer(session, response)
        return {"name": "delete", "short": "delete_range", "answer": answer}
    return {"name": "put", "short": "put", "answer": kv.put_answer(session, response)}
