"""etcdctl get, put, del, compaction.

Models etcd etcdctl/ctlv3/command/{get,put,del,compaction}_command.go and util.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.etcd import delete_range
from apiserver_app.etcd import put as puts
from apiserver_app.etcd import range as ranges
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.keys import Keys, prefix_end
from lifecycle.etcdctl.flags import Parsed
from lifecycle.etcdctl.session import BAD_ARGS, BAD_FEATURE, ERROR, Exit, Session
from lifecycle.etcdctl.tables import Answer

_TOO_MANY = "too many arguments, only accept one argument when `--prefix` or `--from-key` is set"


async def get(session: Session) -> None:
    parsed = session.parsed
    request = get_request(parsed)
    await session.connect()
    response = ranges.select(session.server, request)
    form = session.flag("write-out")
    if session.flag("count-only") and form != "fields":
        raise Exit(BAD_ARGS, "--count-only is only for `--write-out=fields`")
    if session.flag("print-value-only") and form != "simple":
        raise Exit(BAD_ARGS, "print-value-only is only for `--write-out=simple`")
    session.show("range", range_answer(session, response, form))


def get_request(parsed: Parsed) -> ranges.Request:
    """What a get asks for; its flags checked."""
    flag, words = parsed.values, parsed.words
    if not words:
        raise Exit(
            BAD_ARGS, "get command needs one argument as key and an optional argument as range_end"
        )
    _not_both(flag["prefix"], flag["from-key"], "prefix", "from-key")
    _not_both(flag["keys-only"], flag["count-only"], "keys-only", "count-only")
    if flag["consistency"] not in ("l", "s"):
        raise Exit(BAD_FEATURE, f'unknown consistency flag "{flag["consistency"]}"')
    if len(words) > 1 and (flag["prefix"] or flag["from-key"]):
        raise Exit(BAD_ARGS, _TOO_MANY)
    if flag["order"].upper() not in ("", "ASCEND", "DESCEND"):
        raise Exit(BAD_FEATURE, f"bad sort order {flag['order']}")
    if flag["sort-by"].upper() not in ("", *ranges.TARGETS):
        raise Exit(BAD_FEATURE, f"bad sort target {flag['sort-by']}")
    return ranges.Request(
        keys_of(words, prefix=flag["prefix"], from_key=flag["from-key"]),
        max(flag["rev"], 0),
        flag["limit"],
        flag["sort-by"].upper() or "KEY",
        flag["order"].upper() == "DESCEND",
        flag["keys-only"],
        flag["count-only"],
        flag["min-create-rev"],
        flag["max-create-rev"],
        flag["min-mod-rev"],
        flag["max-mod-rev"],
    )


def range_answer(session: Session, response: ranges.Response, form: str) -> Answer:
    count = response.count
    return {
        "header": session.header(),
        "kvs": response.entries or None,
        "more": response.more or None,
        "count": count or None if form == "json" else count,
    }


# -- put ------------------------------------------------------------------------------------------


async def put(session: Session) -> None:
    stdin = b""
    words = session.words
    if len(words) == 1 and not session.flag("ignore-value"):
        stdin = await session.process.all()
    request = put_request(session.parsed, stdin)
    await session.connect()
    puts.check(session.server, request)
    with session.server.work(session.line) as work:
        previous = puts.put(session.server, request, work.span)
        work.outcome = "put"
    session.show("put", put_answer(session, previous))


def put_request(parsed: Parsed, stdin: bytes | None) -> puts.Request:
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
    return puts.Request(
        words[0], value, lease, flag["ignore-value"], flag["ignore-lease"], flag["prev-kv"]
    )


def put_answer(session: Session, previous: Entry | None) -> Answer:
    return {"header": session.header(), "prev_kv": previous}


# -- del ------------------------------------------------------------------------------------------


async def delete(session: Session) -> None:
    request = delete_request(session.parsed)
    keys = request.keys
    if keys.end and len(session.words) > 1 and not session.flag("range"):
        session.warn(
            f'Warning: Keys between "{keys.first}" and "{keys.end}" will be deleted. Please '
            "interrupt the command within next 2 seconds to cancel. You can provide `--range` "
            "flag to avoid the delay."
        )
        await session.process.sleep(2.0)
    await session.connect()
    with session.server.work(session.line) as work:
        response = delete_range.delete_range(session.server, request, work.span)
        work.outcome = f"deleted {response.deleted}"
    session.show("delete", delete_answer(session, response))


def delete_request(parsed: Parsed) -> delete_range.Request:
    flag, words = parsed.values, parsed.words
    if not 1 <= len(words) <= 2:
        raise Exit(
            BAD_ARGS, "del command needs one argument as key and an optional argument as range_end"
        )
    _not_both(flag["prefix"], flag["from-key"], "prefix", "from-key")
    if len(words) > 1 and (flag["prefix"] or flag["from-key"]):
        raise Exit(BAD_ARGS, _TOO_MANY)
    keys = keys_of(words, prefix=flag["prefix"], from_key=flag["from-key"])
    return delete_range.Request(keys, flag["prev-kv"])


def delete_answer(session: Session, response: delete_range.Response) -> Answer:
    return {
        "header": session.header(),
        "deleted": response.deleted,
        "prev_kvs": response.previous or None,
    }


# -- compaction ------------------------------------------------------------------------------------


async def compaction(session: Session) -> None:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "compaction command needs 1 argument")
    try:
        revision = session.number(session.words[0])
    except ValueError as error:
        raise Exit(ERROR, str(error)) from error
    await session.connect()
    with session.server.work(session.line) as work:
        session.server.store.compact(revision)
        work.outcome = f"compacted revision {revision}"
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


def _not_both(first: bool, other: bool, name: str, second: str) -> None:
    if first and other:
        raise Exit(
            BAD_ARGS, f"`--{name}` and `--{second}` cannot be set at the same time, choose one"
        )
