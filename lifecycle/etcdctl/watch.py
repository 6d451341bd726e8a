"""etcdctl watch, with its keys as words or, with -i, read from standard input line by line.

Models etcd etcdctl/ctlv3/command/watch_command.go.
"""

from __future__ import annotations

from apiserver_app.etcd import watch as watches
from apiserver_app.etcd.errors import EtcdError
from lifecycle.etcdctl import flags, kv, txn
from lifecycle.etcdctl.commands import FLAGS
from lifecycle.etcdctl.flags import FlagError, Parsed
from lifecycle.etcdctl.session import (
    BAD_ARGS,
    BAD_FEATURE,
    INTERRUPTED,
    INVALID_INPUT,
    Exit,
    Session,
)

WATCHES_MAX = 64  # of one command
_KEY = "ETCDCTL_WATCH_KEY"
_BAD_NUMBER = "bad number of arguments"


async def watch(session: Session) -> None:
    """Prints changes until it is interrupted."""
    if session.flag("interactive"):
        await _interactive(session)
        return
    if len(session.words) > 2:
        raise Exit(BAD_FEATURE, "an exec-command after the key is not simulated")
    asked = session.parsed
    _check(session, asked)
    await session.connect()
    try:
        watcher = _begun(session, asked)
    except EtcdError as error:
        session.warn(f"watch was canceled ({error})")
        raise Exit(INTERRUPTED, "watch is canceled by the server") from error
    try:
        while True:
            await session.process.until(lambda: bool(watcher.waiting))
            _print(session, watcher, asked)
    finally:
        watcher.stop()


async def _interactive(session: Session) -> None:
    """Each line begins another watch; all of them print."""
    await session.connect()
    process = session.process
    open_: list[tuple[watches.Watcher, Parsed]] = []
    try:
        while True:
            await process.until(
                lambda: process.has_line() or any(watcher.waiting for watcher, _ in open_)
            )
            for watcher, asked in open_:
                _print(session, watcher, asked)
            if process.has_line():
                line = (await process.line()).decode("utf-8", "surrogateescape")
                if not line.endswith("\n"):
                    raise Exit(INVALID_INPUT, "error reading watch request line: EOF")
                _take(session, line.removesuffix("\n"), open_)
    finally:
        for watcher, _ in open_:
            watcher.stop()


def _take(session: Session, line: str, open_: list[tuple[watches.Watcher, Parsed]]) -> None:
    """One line: a watch, or a question how far the watches are."""
    words = txn.argify(line)
    if not words:
        session.warn(f"Invalid command: {line} (watch and progress supported)")
    elif words[0] == "progress":
        session.say(f"progress notify: {session.server.store.revision}")
    elif words[0] != "watch":
        session.warn(f"Invalid command {line} (only support watch)")
    elif len(words) < 2 and not session.process.env.get(_KEY):
        session.warn(f"Invalid command {line} (command type or key is not provided)")
    else:
        try:
            asked = flags.parse(words[1:], FLAGS["watch"])
        except FlagError as error:
            raise Exit(BAD_ARGS, str(error)) from error
        _check(session, asked)
        if len(open_) >= WATCHES_MAX:
            raise Exit(BAD_FEATURE, f"more than {WATCHES_MAX} watches are not simulated")
        try:
            open_.append((_begun(session, asked), asked))
        except EtcdError as error:
            session.warn(f"watch was canceled ({error})")
            return
        _print(session, *open_[-1])


def _check(session: Session, asked: Parsed) -> None:
    if not asked.words and not session.process.env.get(_KEY):
        raise Exit(BAD_ARGS, _BAD_NUMBER)
    if len(asked.words) > 2:
        raise Exit(BAD_ARGS, _BAD_NUMBER)
    if len(asked.words) == 2 and asked.values["prefix"]:
        raise Exit(BAD_ARGS, "`range_end` and `--prefix` are mutually exclusive")


def _begun(session: Session, asked: Parsed) -> watches.Watcher:
    words = asked.words or [session.process.env.get(_KEY, "")]
    keys = kv.keys_of(words, prefix=asked.values["prefix"], from_key=False)
    return watches.watch(session.server, keys, asked.values["rev"], session.process.poke)


def _print(session: Session, watcher: watches.Watcher, asked: Parsed) -> None:
    while watcher.waiting:
        change = watcher.waiting.popleft()
        prev = change.prev_kv if asked.values["prev-kv"] else None
        event = {"type": change.type, "kv": change.kv, "prev_kv": prev}
        head = {**session.header(), "revision": change.kv.mod_revision}
        session.show(
            "watch",
            {
                "Header": head,
                "Events": [event],
                "CompactRevision": 0,
                "Canceled": False,
                "Created": False,
            },
        )
