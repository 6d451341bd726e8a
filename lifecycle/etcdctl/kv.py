"""etcdctl get, put, del, compaction.

Models etcd etcdctl/ctlv3/command/{get,put,del,compaction}_command.go and util.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lifecycle.etcdctl.flags import Parsed
from lifecycle.etcdctl.printers import Answer
from lifecycle.etcdctl.server import Keys, RpcError, prefix_end, sorted_by
from lifecycle.etcdctl.session import BAD_ARGS, BAD_FEATURE, ERROR, Exit, Session

_TARGETS = ("CREATE", "KEY", "MODIFY", "VALUE", "VERSION")
_TOO_MANY = "too many arguments, only accept one argument when `--prefix` or `--from-key` is set"


async def get(session: Session) -> None:
    parsed = session.parsed
    keys = get_keys(parsed)
    await session.connect()
    answer = ranged(session, keys, parsed)
    form = session.flag("write-out")
    if session.flag("count-only") and form != "fields":
        raise Exit(BAD_ARGS, "--count-only is only for `--write-out=fields`")
    if session.flag("print-value-only") and form != "simple":
        raise Exit(BAD_ARGS, "print-value-only is only for `--write-out=simple`")
    session.show("range", answer)


def get_keys(parsed: Parsed) -> Keys:
    """The keys that a get asks for; its flags checked."""
    flag, words = parsed.values, parsed.words
    if not words:
        raise Exit(
            BAD_ARGS,
            "get command needs one argument as key and an optional argument as range_end",
        )
    _not_both(flag["prefix"], flag["from-key"], "prefix", "from-key")
    _not_both(flag["keys-only"], flag["count-only"], "keys-only", "count-only")
    if flag["consistency"] not in ("l", "s"):
        raise Exit(BAD_FEATURE, f'unknown consistency flag "{flag["consistency"]}"')
    if len(words) > 1 and (flag["prefix"] or flag["from-key"]):
        raise Exit(BAD_ARGS, _TOO_MANY)
    if flag["order"].upper() not in ("", "ASCEND", "DESCEND"):
        raise Exit(BAD_FEATURE, f"bad sort order {flag['order']}")
    if flag["sort-by"].upper() not in ("", *_TARGETS):
        raise Exit(BAD_FEATURE, f"bad sort target {flag['sort-by']}")
    return keys_of(words, prefix=flag["prefix"], from_key=flag["from-key"])


def ranged(session: Session, keys: Keys, parsed: Parsed) -> Answer:
    """The answer to a range request."""
    flag, server = parsed.values, session.server
    found = server.range(keys, max(flag["rev"], 0))
    found = [
        one for one in found
        if flag["min-create-rev"] <= one.create_revision and flag["min-mod-rev"] <= one.mod_revision
        and not 0 < flag["max-create-rev"] < one.create_revision
        and not 0 < flag["max-mod-rev"] < one.mod_revision
    ]  # fmt: skip
    count = len(found)
    target, order = flag["sort-by"].upper() or "KEY", flag["order"].upper()
    if target != "KEY" or order == "DESCEND":
        found = sorted_by(found, target, descending=order == "DESCEND")
    more = 0 < flag["limit"] < count
    if more:
        found = found[: flag["limit"]]
    kvs = []
    if not flag["count-only"]:
        kvs = [
            server.shown(one) if not flag["keys-only"] else server.shown(one)._replace(value=b"")
            for one in found
        ]
    return {
        "header": session.header(), "kvs": kvs or None, "more": more or None,
        "count": count or None if flag["write-out"] == "json" else count,
    }  # fmt: skip


# -- put ------------------------------------------------------------------------------------------


class Put(NamedTuple):
    """What a put asks for."""

    key: str
    value: bytes
    lease: int
    keeps_value: bool
    keeps_lease: bool
    wants_previous: bool


async def put(session: Session) -> None:
    stdin = b""
    words = session.words
    if len(words) == 1 and not session.flag("ignore-value"):
        stdin = await session.world.all()
    asked = put_of(session.parsed, stdin)
    await session.connect()
    check_put(session, asked)
    span = session.server.begin(session.line)
    try:
        answer = put_answer(session, asked, span)
    except RpcError as error:
        session.server.end(span, str(error), ok=False)
        raise
    session.server.end(span, "put")
    session.show("put", answer)


def put_of(parsed: Parsed, stdin: bytes | None) -> Put:
    """What a put asks for; its flags checked. The value may come from standard input."""
    flag, words = parsed.values, parsed.words
    needs = "put command needs 1 argument and input from stdin or 2 arguments"
    if not words:
        raise Exit(BAD_ARGS, needs)
    if flag["ignore-value"] and len(words) > 1:
        raise Exit(BAD_ARGS, "put command needs only 1 argument when 'ignore-value' is set")
    value = b""
    if not flag["ignore-value"]:
        if len(words) > 2 or (len(words) == 1 and stdin is None):
            raise Exit(BAD_ARGS, needs)
        value = words[1].encode("utf-8", "surrogateescape") if len(words) == 2 else stdin or b""
    try:
        lease = int(flag["lease"], 16)
    except ValueError:
        why = f'strconv.ParseInt: parsing "{flag["lease"]}": invalid syntax'
        raise Exit(BAD_ARGS, f"bad lease ID ({why}), expecting ID in Hex") from None
    return Put(words[0], value, lease, flag["ignore-value"], flag["ignore-lease"], flag["prev-kv"])


def check_put(session: Session, asked: Put) -> None:
    """Raises what the server refuses."""
    if asked.keeps_lease and asked.lease:
        raise RpcError("etcdserver: lease is provided")
    if (asked.keeps_value or asked.keeps_lease) and session.server.store.get(asked.key) is None:
        raise RpcError("etcdserver: key not found")
    session.server.check_put(asked.key, asked.value, asked.lease)


def put_answer(session: Session, asked: Put, span: int) -> Answer:
    server = session.server
    old = server.store.get(asked.key)
    lease = old.lease if asked.keeps_lease and old is not None else asked.lease
    previous = None if old is None or not asked.wants_previous else server.shown(old)
    if asked.keeps_value:
        server.keep(asked.key, lease, span)
    else:
        server.put(asked.key, asked.value, lease, span)
    return {"header": session.header(), "prev_kv": previous}


# -- del ------------------------------------------------------------------------------------------


async def delete(session: Session) -> None:
    keys = delete_keys(session.parsed)
    if keys.end and len(session.words) > 1 and not session.flag("range"):
        session.warn(
            f'Warning: Keys between "{keys.first}" and "{keys.end}" will be deleted. Please '
            "interrupt the command within next 2 seconds to cancel. You can provide `--range` "
            "flag to avoid the delay."
        )
        await session.world.sleep(2.0)
    await session.connect()
    span = session.server.begin(session.line)
    try:
        answer = delete_answer(session, keys, session.parsed, span)
    except RpcError as error:
        session.server.end(span, str(error), ok=False)
        raise
    session.server.end(span, f"deleted {answer['deleted'] or 0}")
    session.show("delete", {**answer, "deleted": answer["deleted"]})


def delete_keys(parsed: Parsed) -> Keys:
    flag, words = parsed.values, parsed.words
    if not 1 <= len(words) <= 2:
        raise Exit(
            BAD_ARGS,
            "del command needs one argument as key and an optional argument as range_end",
        )
    _not_both(flag["prefix"], flag["from-key"], "prefix", "from-key")
    if len(words) > 1 and (flag["prefix"] or flag["from-key"]):
        raise Exit(BAD_ARGS, _TOO_MANY)
    return keys_of(words, prefix=flag["prefix"], from_key=flag["from-key"])


def delete_answer(session: Session, keys: Keys, parsed: Parsed, span: int) -> Answer:
    server = session.server
    previous = [server.shown(one) for one in server.range(keys)] if parsed.values["prev-kv"] else []
    gone = server.delete(keys, span)
    return {"header": session.header(), "deleted": len(gone), "prev_kvs": previous or None}


# -- compaction ------------------------------------------------------------------------------------


async def compaction(session: Session) -> None:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "compaction command needs 1 argument")
    try:
        revision = session.number(session.words[0])
    except ValueError as error:
        raise Exit(ERROR, str(error)) from error
    await session.connect()
    span = session.server.begin(session.line)
    try:
        session.server.compact(revision)
    except RpcError as error:
        session.server.end(span, str(error), ok=False)
        raise
    session.server.end(span, f"compacted revision {revision}")
    session.say(f"compacted revision {revision}")


# -- inside ---------------------------------------------------------------------------------------


def keys_of(words: Sequence[str], *, prefix: bool, from_key: bool) -> Keys:
    """The keys that words and flags of a command name."""
    key = words[0]
    if len(words) > 1:
        return Keys(key, words[1])
    if prefix and key:
        return Keys(key, prefix_end(key))
    if prefix or from_key:
        return Keys(key or "\0", "\0")
    return Keys(key)


def _not_both(one: bool, other: bool, name: str, second: str) -> None:
    if one and other:
        raise Exit(
            BAD_ARGS,
            f"`--{name}` and `--{second}` cannot be set at the same time, choose one",
        )
