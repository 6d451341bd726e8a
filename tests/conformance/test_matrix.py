"""The kubectl programs of this machine against one server: a table of who can do what.

kubectl supports servers one minor version away; that older ones work too is our promise.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifecycle import catalog
from tests.conformance import commands, table
from tests.conformance import kubectl as kubectls
from tests.conformance.commands import Row
from tests.conformance.kubectl import PATIENTLY, Kubectl, Said
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo
from tests.suite import waiting

METRICS_SERVER = str(Path(catalog.__file__).parent / "metrics-server.yaml")
EDITOR = "sed -i 's/Limit: 10/Limit: 9/'"


@pytest.fixture(scope="module", autouse=True)
def printed(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    table.show(request.config, "kubectl")


@pytest.fixture(scope="module", autouse=True)
def measured(kubectl: Kubectl) -> Iterator[None]:
    """The metrics API is an aggregated server that somebody installs."""
    kubectl("apply", "-f", METRICS_SERVER)
    yield
    kubectl("delete", "-f", METRICS_SERVER)


@pytest.mark.seconds_max(1800)
@pytest.mark.parametrize("program", kubectls.drawn("matrix"), ids=kubectls.label)
def test_each_kubectl_can_do_each_command(
    program: Path, cluster: Demo, home: Path, tmp_path: Path
) -> None:
    kubectl = Kubectl(program, cluster.data_dir, home)
    client = kubectls.label(program)
    name = "matrix-" + client.replace(".", "-")
    for file, text in commands.FILES.items():
        (tmp_path / file).write_text(text)
    version = kubectls.minor_of(program)
    failed = {}
    with kubectl.space(name) as within:
        for row in commands.ROWS:
            if version < row.since:
                table.note("kubectl", row.name, client, "-")
                continue
            said = do(within, row, tmp_path, name)
            why = "" if is_right(said, row, name) else f"{said.code}: {said.err or said.out}"
            table.note("kubectl", row.name, client, "NO" if why else "ok")
            if why:
                failed[row.name] = why
        for what, act in SPECIAL:
            why = act(within)
            table.note("kubectl", what, client, "NO" if why else "ok")
            if why:
                failed[what] = why
    assert failed == {}


def do(kubectl: Kubectl, row: Row, files: Path, namespace: str) -> Said:
    text = row.words.format(files=files, ns=namespace, exit7="'exit 7'", patiently=PATIENTLY)
    words = text.split(" ") if text.startswith("patch") else shlex.split(text)

    def run() -> Said:
        return kubectl.run(*words, given=row.given, KUBE_EDITOR=EDITOR)

    if not row.patient:
        return run()
    return waiting.until(run, what=row.name, true=lambda said: is_right(said, row, namespace))


def is_right(said: Said, row: Row, namespace: str) -> bool:
    wanted = row.wanted.replace("{ns}", namespace)
    return said.code == row.code and re.search(wanted, said.out + said.err) is not None


def watched(kubectl: Kubectl) -> str:
    """`get -w` prints what is there and what comes."""
    ended = kubectl.open("get", "cm", "-w")
    try:
        kubectl("create", "cm", "seen", "--from-literal=a=b")
        return "" if _reads(ended, "seen") else "the new one was not printed"
    finally:
        ended.kill()
        ended.communicate()


def logs_followed(kubectl: Kubectl) -> str:
    """`logs -f` ends when the container does."""
    line = "echo first; sleep 2; echo last"
    kubectl("run", "talker", "--image=busybox", "--restart=Never", "--", "sh", "-c", line)
    kubectl.until(lambda out: out != "Pending", "get", "pod", "talker", "-o", PHASE)
    said = kubectl.run("logs", "-f", "talker")
    return "" if said.out == "first\nlast\n" else str(said)


def forwarded(kubectl: Kubectl) -> str:
    """A port of this machine answers as the pod does."""
    kubectl("run", "served", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/served", PATIENTLY)
    ended = kubectl.open("port-forward", "pod/served", ":80")
    try:
        assert ended.stdout is not None
        place = re.search(r"127\.0\.0\.1:\d+", ended.stdout.readline())
        if place is None:
            return str(ended.communicate(timeout=WAIT_SECONDS))
        with urllib.request.urlopen(f"http://{place[0]}/", timeout=WAIT_SECONDS) as answer:
            return "" if b"nginx" in answer.read() else "another answer"
    finally:
        ended.kill()
        ended.communicate()


def proxied(kubectl: Kubectl) -> str:
    """`kubectl proxy` passes the API on."""
    ended = kubectl.open("proxy", "--port=0")
    try:
        assert ended.stdout is not None
        place = ended.stdout.readline().rsplit(" ", 1)[-1].strip()
        with urllib.request.urlopen(f"http://{place}/version", timeout=WAIT_SECONDS) as answer:
            return "" if b"gitVersion" in answer.read() else "another answer"
    finally:
        ended.kill()
        ended.communicate()


def _reads(ended: subprocess.Popen[str], wanted: str) -> bool:
    assert ended.stdout is not None
    return any(wanted in line for line in ended.stdout)


PHASE = "jsonpath={.status.phase}"
SPECIAL: tuple[tuple[str, Callable[[Kubectl], str]], ...] = (
    ("get -w", watched),
    ("logs -f", logs_followed),
    ("port-forward", forwarded),
    ("proxy", proxied),
)
