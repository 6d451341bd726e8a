"""The logs of a node share its room: beyond that each keeps only its end."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.kernel import Kernel
from controllers_app.containerruntime import logs


def test_beyond_the_room_of_the_node_a_log_keeps_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "NODE_BYTES_MAX", 300_000)
    room = logs.Logs()
    kernel = Kernel()
    many = [logs.Log(kernel, room) for _ in range(40)]
    for log in many:
        log.write(0, "stdout", b"x" * 99 + b"\n" + b"y" * 99_900 + b"\n")
        log.write(0, "stdout", (b"z" * 99 + b"\n") * 2000)
    assert room.bytes < 300_000 + 40 * 2 * logs.SHARE_BYTES * (100 + logs.ENTRY_BYTES) / 100
    assert many[-1].entries[-1].data == b"z" * 99 + b"\n"
    for log in many:
        log.drop()
    assert room.bytes == 0
