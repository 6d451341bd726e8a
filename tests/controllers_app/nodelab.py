"""What tests of the nodes' own server share: `Nodes` asked on a whole cluster in virtual time."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest, LogOptions, NodeError
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import get


def run(session: Session, work: Coroutine[Any, Any, Any]) -> Any:
    """Do it inside of the cluster until it has settled; gives what it gave, raises NodeError."""
    out: list[Any] = []

    async def do() -> None:
        try:
            out.append(await work)
        except NodeError as error:
            out.append(error)

    session.cluster.kernel.spawn("test", do())
    session.settle()
    if out and isinstance(out[0], NodeError):
        raise out[0]
    return out[0] if out else None


def log(session: Session, name: str = "web", container: str = "c", **options: Any) -> str:
    """All that a pod's log has."""

    async def read() -> bytes:
        lines = await session.cluster.nodes.logs(body, LogOptions(container, **options))
        data = b""
        while (part := await lines.next()) is not None:
            data += part
        return data

    body = get(session, name)
    found: bytes = run(session, read())
    return found.decode()


def ask(session: Session, path: str = "/", name: str = "web", port: int = 80) -> HttpAnswer:
    request = HttpRequest("GET", path, {"user-agent": "test", "host": "web"})
    found = run(session, session.cluster.nodes.http(get(session, name), port, request))
    assert isinstance(found, HttpAnswer)
    return found


def execute(
    session: Session,
    *command: str,
    name: str = "web",
    stdin: bytes | None = None,
    tty: bool = False,
) -> tuple[str, int | None]:
    """What a command writes in the pod's container `c`, and its exit code."""

    async def go() -> tuple[str, int | None]:
        process = await session.cluster.nodes.exec(
            body, "c", list(command), stdin=stdin is not None, tty=tty
        )
        if stdin is not None:
            process.write(stdin)
            process.close_stdin()
        out = b""
        while (part := await process.read()) is not None:
            out += part[1]
        return out.decode("utf-8", "surrogateescape"), process.exit_code

    body = get(session, name)
    found: tuple[str, int | None] = run(session, go())
    return found
