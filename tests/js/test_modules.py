"""The page's model, tested by node: one test here for each tests/js/*.test.mjs, and for each trace
one that looks at its records: at a sample of them, in the long suite at every one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from apiserver_app.machinery.probe import KINDS
from tests.js import recorded
from tests.suite import seeds, sizes
from tests.tidy import sources

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.test.mjs"))
EXHAUSTIVE = HERE / "known.test.mjs"
# each day a part of the stories is looked at, and of their records one in so many
STORIES, ONE_IN = 6, 10
SECONDS_MAX = 600  # then it hangs


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    recorded.record(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_a_type_for_every_kind_of_record(kind: str) -> None:
    types = (sources.ROOT / "static/js/types.d.ts").read_text()
    interface = rf"(?ms)^export interface \w+ extends Told {{\n  kind: '{kind}';\n(.*?)^}}"
    record = re.search(interface, types)
    assert record, f"static/js/types.d.ts has no record of kind {kind}"
    fields = set(re.findall(r"(?m)^  (\w+): ", record[1]))
    assert fields == {*KINDS[kind], *(["object"] if kind == "write" else [])}


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if file != EXHAUSTIVE],
    ids=lambda file: file.name.removesuffix(".test.mjs"),
)
def test_module(file: Path, traces: Path) -> None:
    run(file, traces)


@pytest.mark.parametrize("story", seeds.draw("known", list(recorded.STORIES), STORIES))
def test_no_view_knows_what_follows_in(story: str, traces: Path, tmp_path: Path) -> None:
    name = f"{story}.jsonl.gz"
    (tmp_path / name).symlink_to(traces / name)
    run(EXHAUSTIVE, tmp_path, SAMPLE="" if sizes.is_long() else f"{seeds.seed()}/{ONE_IN}")


def run(file: Path, traces: Path, **more: str) -> None:
    node = shutil.which("node")
    assert node, "these tests need node on the PATH: tests/setup installs it"
    ran = subprocess.run(
        [node, str(file)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        env={**os.environ, "TRACES": str(traces), **more},
    )
    assert ran.returncode == 0, f"\n{ran.stdout}{ran.stderr}"
