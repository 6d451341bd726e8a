"""Breaks the product in places drawn by chance, and looks whether a test notices.

    make mutants
    make mutants ARGS="--count 20 --seed 7 --of page"

For each place a copy of the tree is changed there, and tests run in it until one fails: first those
that lie where the changed file does, then all of the core, then the whole suite. What no test finds
is printed with its line: it gets a test, or changes nothing that could be seen.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath

from tests.suite import mutations, seeds, sizes

ROOT = Path(__file__).resolve().parents[2]
FOUND_FILE = ROOT / ".suite" / "mutants.jsonl"
COUNT = 100
MINUTES_MAX = 10  # of one step for one mutant: what hangs is found, too
ROOMS = {
    "core": (
        "apiserver_app/admission", "apiserver_app/auth", "apiserver_app/etcd",
        "apiserver_app/gates", "apiserver_app/handlers", "apiserver_app/http",
        "apiserver_app/pipeline.py", "apiserver_app/localclient.py",
        "apiserver_app/machinery/kernel.py", "apiserver_app/machinery/meta.py",
        "apiserver_app/machinery/patch", "apiserver_app/registry/core",
        "apiserver_app/registry/apps", "apiserver_app/registry/generic.py",
        "controllers_app/controllers/deployment", "controllers_app/controllers/replicaset.py",
        "controllers_app/controllers/endpoints", "controllers_app/controllers/garbagecollector.py",
        "controllers_app/cri", "controllers_app/containerruntime", "controllers_app/kubelet",
        "controllers_app/runtime", "controllers_app/scheduler", "lifecycle/cluster",
        "lifecycle/trace",
    ),
    "page": ("static/js/core",),
}  # fmt: skip


@dataclass
class Mutant:
    """A mutation of a file, and who found it."""

    path: str
    mutation: mutations.Mutation
    found_by: str = ""
    seconds: float = 0.0


def drawn(rooms: tuple[str, ...], count: int, seed: int) -> list[Mutant]:
    """So many mutants: a room is drawn first, so that the large ones do not take all."""
    chance = random.Random(seed)
    chosen: dict[tuple[str, int, str], Mutant] = {}
    while len(chosen) < count:
        room = ROOT / chance.choice(rooms)
        path = chance.choice(sorted(_files(room)))
        change = mutations.of_python if path.suffix == ".py" else mutations.of_javascript
        if places := change(path.read_text()):
            mutation = chance.choice(places)
            name = str(path.relative_to(ROOT))
            chosen.setdefault((name, mutation.start, mutation.new), Mutant(name, mutation))
    return list(chosen.values())


def _files(room: Path) -> list[Path]:
    if room.is_file():
        return [room]
    return [path for end in ("*.py", "*.js") for path in room.rglob(end)]


def steps(path: str) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """What is run for a changed file, the likeliest first: its name, arguments, environment."""
    if path.startswith("static/js"):
        yield "tests/js", ["tests/js"], {}
        yield "tests/browser", ["-n", "3", "tests/browser"], {}
        return
    if near := beside(path):
        yield near, [near], {}
    yield "make test-core", ["-n", "2"], {sizes.VARIABLE: sizes.SMALL}
    # the diffs in CONTRIBUTING.md tell any change of some files, which proves nothing
    yield "make test", ["-n", "3", "--ignore=tests/tidy"], {}


def beside(path: str) -> str:
    """The tests that lie where a file of the product does: its own, or the nearest folder."""
    here = PurePath(path).with_suffix("")
    for part in (here, *here.parents[:-2]):
        for tests in (
            PurePath("tests") / part.parent / f"test_{part.name}.py",
            PurePath("tests") / part,
        ):
            if (ROOT / tests).exists():
                return str(tests)
    return ""


class Copy:
    """A copy of the tree in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stamp = time.time()
        command = f"git ls-files -z | xargs -0 cp --parents --target-directory {folder}"
        subprocess.run(command, shell=True, cwd=ROOT, check=True)
        (folder / "tests/js/node_modules").symlink_to(ROOT / "tests/js/node_modules")

    def write(self, path: str, text: str) -> None:
        """Python tells what it compiled by the second in which a file was written."""
        self._stamp += 2
        (self.folder / path).write_text(text)
        os.utime(self.folder / path, (self._stamp, self._stamp))

    def notices(self, arguments: list[str], environment: dict[str, str]) -> bool:
        """Whether a test fails."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *arguments]
        running = subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **environment}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            return running.wait(MINUTES_MAX * 60) != 0
        except subprocess.TimeoutExpired:
            return True
        finally:  # also what it has started, and when one has seen enough
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def hunt(copy: Copy, mutant: Mutant, most: int) -> None:
    """Run step after step, so many at most, until a test notices."""
    text, began = (ROOT / mutant.path).read_text(), time.monotonic()
    copy.write(mutant.path, mutant.mutation.applied(text))
    try:
        for name, arguments, environment in itertools.islice(steps(mutant.path), most):
            if copy.notices(arguments, environment):
                mutant.found_by = name
                break
    finally:
        copy.write(mutant.path, text)
        mutant.seconds = round(time.monotonic() - began, 1)


def main() -> int:
    options = argparse.ArgumentParser(prog="make mutants", description=__doc__.split("\n")[0])
    options.add_argument("--count", type=int, default=COUNT)
    options.add_argument("--seed", type=int, default=seeds.seed())
    options.add_argument("--of", choices=sorted(ROOMS), default="core")
    options.add_argument("--skip", type=int, default=0, help="so many of the first, done before")
    options.add_argument("--steps", type=int, default=3, help="1: only the tests that lie beside")
    asked = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was started ends with this
    mutants = drawn(ROOMS[asked.of], asked.count, asked.seed)[asked.skip :]
    FOUND_FILE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, FOUND_FILE.open("a") as file:
        copy = Copy(Path(folder))
        for number, mutant in enumerate(mutants, asked.skip + 1):
            hunt(copy, mutant, asked.steps)
            file.write(json.dumps(asdict(mutant)) + "\n")
            file.flush()
            print(f"{number:3d} {_told(mutant)}", flush=True)
    missed = [mutant for mutant in mutants if not mutant.found_by]
    print(f"seed {asked.seed}: {len(mutants) - len(missed)} of {len(mutants)} found")
    return 1 if missed else 0


def _told(mutant: Mutant) -> str:
    change = mutant.mutation
    found = f"found by {mutant.found_by}" if mutant.found_by else "NOT FOUND"
    old, new = (" ".join(text.split())[:70] for text in (change.old, change.new))
    return f"{found} ({mutant.seconds} s): {mutant.path}:{change.line}: {old} -> {new}"


if __name__ == "__main__":
    raise SystemExit(main())
