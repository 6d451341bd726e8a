"""Real kubectl programs against one running cluster, and how to wait for what they print.

Each session has a HOME of its own, as kubectl caches discovery by host and port.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.lifecycle.hosting.running import WAIT_SECONDS
from tests.suite import seeds, waiting

PATIENTLY = f"--timeout={WAIT_SECONDS}s"  # of commands that wait for something
_NAME = re.compile(r"kubectl(\.\d+\.\d+)?")


@dataclass(frozen=True)
class Said:
    """What one command printed."""

    out: str
    err: str
    code: int

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def rows(self) -> list[list[str]]:
        """The cells of a printed table, without its head."""
        return [re.split(r" {2,}", line.strip()) for line in self.lines[1:]]


class Kubectl:
    """One program as one user."""

    def __init__(
        self, program: Path, data_dir: Path, home: Path, user: str = "", namespace: str = ""
    ) -> None:
        self.program = program
        self.data_dir, self.home = data_dir, home
        self.namespace = namespace
        self._flags = (f"--namespace={namespace}",) if namespace else ()
        self.config = data_dir / "kubeconfigs" / user if user else data_dir / "kubeconfig"

    def by(self, user: str) -> Kubectl:
        """The same program as one of the cast."""
        return Kubectl(self.program, self.data_dir, self.home, user)

    def bare(self) -> Kubectl:
        """The same program without any credential but what a flag says."""
        config = yaml.safe_load(self.config.read_text())
        config["users"] = [{"name": user["name"], "user": {}} for user in config["users"]]
        bare = Kubectl(self.program, self.data_dir, self.home)
        bare.config = self.home / "bare"
        bare.config.write_text(yaml.safe_dump(config))
        return bare

    def within(self, namespace: str) -> Kubectl:
        """The same program, looking into that namespace."""
        return Kubectl(self.program, self.data_dir, self.home, namespace=namespace)

    def forget(self) -> None:
        """What it has cached of discovery, ten minutes long: `get all` asks for each of it."""
        shutil.rmtree(self.home / ".kube" / "cache", ignore_errors=True)

    @contextlib.contextmanager
    def space(self, name: str) -> Iterator[Kubectl]:
        """A namespace for some tests, ready for pods; it is deleted behind them."""
        assert self("create", "namespace", name) == f"namespace/{name} created\n"
        within = self.within(name)
        within.until_furnished()
        yield within
        assert self("delete", "namespace", name) == f'namespace "{name}" deleted\n'

    def run(self, *arguments: str, given: str = "", **environment: str) -> Said:
        """Run a command to its end, whatever it says; a code below zero when it did not end."""
        try:
            done = subprocess.run(
                [str(self.program), *self._flags, *arguments],
                input=given,
                capture_output=True,
                text=True,
                timeout=WAIT_SECONDS,
                env={**self.environment(), **environment},
            )
        except subprocess.TimeoutExpired as late:
            said = (late.stdout or b"").decode(), (late.stderr or b"").decode()
            return Said(*said, -1)
        return Said(done.stdout, done.stderr, done.returncode)

    def __call__(self, *arguments: str, given: str = "") -> str:
        """What a command that must succeed printed."""
        said = self.run(*arguments, given=given)
        assert said.code == 0, f"kubectl {' '.join(arguments)}: {said.err or said.out}"
        return said.out

    def fails(self, *arguments: str, given: str = "") -> str:
        """The complaint of a command that must fail with exit code 1."""
        said = self.run(*arguments, given=given)
        assert said.code == 1, f"kubectl {' '.join(arguments)}: {said}"
        return said.err.strip()

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        """A command that goes on by itself."""
        return subprocess.Popen(
            [str(self.program), *self._flags, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(),
        )

    def object(self, *arguments: str) -> dict[str, Any]:
        """What `get` shows; an old program also shows the managed fields nobody asked for."""
        shown: dict[str, Any] = yaml.safe_load(self("get", *arguments, "-o", "json"))
        if "--show-managed-fields" not in arguments:
            for item in (shown, *shown.get("items", ())):
                item["metadata"].pop("managedFields", None)
        return shown

    def until(self, true: Callable[[str], Any], *arguments: str) -> str:
        """Ask until what is printed is as wanted."""
        return self._until(lambda said: true(said.out), *arguments)

    def until_furnished(self) -> None:
        """Wait until there is in its namespace what controllers put into each: before, no pod is
        let in, and what is listed or watched is not yet a test's alone."""
        for what in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
            self.until(bool, "get", what, "--ignore-not-found", "-o", "name")

    def until_established(self, definition: str) -> None:
        """Wait until a custom resource can be used. `kubectl wait` cannot read the conditions of a
        definition that was just made: they are null then, as upstream's."""
        types = "jsonpath={.status.conditions[*].type}"
        self.until(lambda out: "Established" in out, "get", "crd", definition, "-o", types)
        self("wait", "--for=condition=Established", f"crd/{definition}", PATIENTLY)

    def until_nothing(self, *arguments: str) -> None:
        """Ask until nothing is printed by a command that could be run."""
        self._until(lambda said: not said.out and said.code == 0, *arguments)

    def _until(self, true: Callable[[Said], Any], *arguments: str) -> str:
        what = f"kubectl {' '.join(arguments)}: what is wanted of it"
        return waiting.until(lambda: self.run(*arguments), what=what, true=true).out

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "HOME": str(self.home),
            "KUBECONFIG": str(self.config),
            "TZ": "UTC",
            "KUBECTL_EXTERNAL_DIFF": "diff -u -N",
            "GOGC": "off",  # it ends before it has much to collect
            # since 1.30 it reads from a WebSocket beside making the streams for what it reads, and
            # throws away what comes before them ("Unknown stream id 1, discarding message")
            "GOMAXPROCS": "1",
        }


def programs() -> list[Path]:
    """Every kubectl on the PATH and beside where it really lies, the newest last."""
    places = [Path(folder) for folder in os.get_exec_path()]
    found = shutil.which("kubectl")
    if found:
        places.append(Path(found).resolve().parent)
    programs: dict[Path, None] = {}
    for place in places:
        for path in sorted(place.glob("kubectl*")):
            if _NAME.fullmatch(path.name) and os.access(path, os.X_OK):
                programs.setdefault(path.resolve())
    assert programs, "these tests need a real kubectl on the PATH; there is none"
    return sorted(programs, key=lambda path: _version(path))


def drawn(what: str) -> list[Path]:
    """The oldest and the newest of the programs, and of those between one each day; all of them in
    the long suite."""
    ends = {oldest(), newest()}
    between = seeds.draw(what, [path for path in programs() if path not in ends], 1)
    return [path for path in programs() if path in ends or path in between]


def newest() -> Path:
    """The program the proof is made with: 1.33 if it is there, else the newest."""
    found = programs()
    return next((path for path in found if path.name == "kubectl.1.33"), found[-1])


def oldest() -> Path:
    """Debian's 1.20 where it is: as old as the clusters of the older profiles."""
    return min(programs(), key=minor_of)


def since(major: int, minor: int, why: str) -> pytest.MarkDecorator:
    """Marks a test for which an older kubectl lacks the command, the flag or the words."""
    return pytest.mark.kubectl_since((major, minor), why)


def label(program: Path) -> str:
    """What the table calls it: kubectl.1.27, or kubectl for one that picks another by itself."""
    if _version(program) != (0, 0) or any(program.parent.glob("kubectl.1.*")):
        return program.name
    return "kubectl.{}.{}".format(*minor_of(program))


@functools.cache
def minor_of(program: Path) -> tuple[int, int]:
    """Its version, (1, 33) say; what it says of itself when its name does not."""
    named = _version(program)
    if named != (0, 0):
        return named
    said = subprocess.run(
        [str(program), "version", "--client"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(r"v(1)\.(\d+)", said)
    assert found, f"{program} does not say its version: {said}"
    return int(found[1]), int(found[2])


def _version(path: Path) -> tuple[int, int]:
    """(0, 0) for the unversioned one, which may only pick another."""
    _, _, version = path.name.partition(".")
    major, _, minor = version.partition(".")
    return int(major or 0), int(minor or 0)
