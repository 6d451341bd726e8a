"""Files of authorization that change on the disk become inputs of the cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from apiserver_app import flags
from apiserver_app.handlers.server.reloading import AUTHORIZATION
from lifecycle.hosting import apiserver
from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker import authfiles
from tests.apiserver_app.auth.test_reloading import LAX, MODES
from tests.apiserver_app.auth.test_webhook import KUBECONFIG
from tests.apiserver_app.cluster import PODS


class Loop:
    """An event loop whose timers the test fires."""

    def __init__(self) -> None:
        self.call: Callable[[], Any] = lambda: None

    def call_later(self, seconds: float, call: Callable[[], Any]) -> None:
        self.call = call


def write(path: Path, text: str, at: int) -> None:
    path.write_text(text)
    os.utime(path, (at, at))


def test_a_file_that_changes_is_an_input_without_the_kubeconfigs_it_names(tmp_path: Path) -> None:
    path, kubeconfig = tmp_path / "modes.yaml", tmp_path / "hook.yaml"
    write(path, MODES, 1)
    kubeconfig.write_text(KUBECONFIG)
    given = flags.parse([f"{AUTHORIZATION}={path}"], apiserver.read)
    run, loop, woken = Session(default_inputs(nodes=0, flags=given)), Loop(), list[int]()
    authfiles.Files(cast(Any, loop), run.host, lambda: woken.append(1), apiserver.read).start()
    loop.call()
    assert not woken
    hook = f"""- type: Webhook
  name: hook
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {kubeconfig}}}
"""
    write(path, LAX + hook, 2)
    loop.call()
    run.settle()
    assert woken and run.request("GET", PODS, user="nobody").status == 200
    rows = list(run.backend.inputs_before(run.cluster.recorder.seq + 1, 256))
    logged = [msgspec.msgpack.decode(row.data) for row in rows]
    found = next(data for what, data in logged if what == "file")
    assert found == [AUTHORIZATION, LAX + hook, [str(kubeconfig)]]


def test_a_file_that_is_gone_is_reported_once_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "modes.yaml"
    write(path, MODES, 1)
    given = flags.parse([f"{AUTHORIZATION}={path}"], apiserver.read)
    loop, said = Loop(), list[str]()

    def report(kind: str, what: Any) -> None:
        if kind == "log":
            said.append(what)

    run = Session(default_inputs(nodes=0, flags=given), report=report)
    authfiles.Files(cast(Any, loop), run.host, lambda: None, apiserver.read).start()
    path.unlink()
    for _ in range(3):
        loop.call()
        run.settle()
    assert said == [
        'kube-apiserver: "reloading authorization config" '
        f'err="open {path}: No such file or directory"'
    ]
    assert run.request("GET", PODS, user="viewer").status == 200


def test_nothing_is_looked_at_when_no_such_file_was_named() -> None:
    run, loop = Session(default_inputs(nodes=0)), Loop()
    before = loop.call
    authfiles.Files(cast(Any, loop), run.host, lambda: None, apiserver.read).start()
    assert loop.call is before
