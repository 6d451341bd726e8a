"""What the page says of an object, beside what the program kubectl prints at its revision."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.js import situations
from tests.js.situations import SITUATIONS, STORIES, Stage

PAGE = Path(__file__).with_name("situations.mjs")


@pytest.mark.parametrize("story", STORIES)
def test_the_page_says_what_kubectl_prints(story: Callable[[Stage], None], tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node, "these tests need node on the PATH: tests/setup installs it"
    with situations.stage(tmp_path) as stage:
        story(stage)
    given = {
        "epoch": stage.session.header()["epoch"],
        "records": stage.session.records(),
        "seen": stage.seen,
    }
    (file := tmp_path / "seen.json").write_text(json.dumps(given))

    ran = subprocess.run([node, PAGE, file], capture_output=True, text=True, check=True)

    for seen, said in zip(stage.seen, json.loads(ran.stdout), strict=True):
        situation, rev = seen["situation"], seen["rev"]
        assert said["rev"] == rev, situation
        wanted = SITUATIONS[situation][-1]
        assert fnmatchcase(said["text"], wanted), f"{situation}: {said['text']}"


def test_every_situation_is_seen() -> None:
    assert len(SITUATIONS) >= 30
    told = Path(situations.__file__).read_text()
    assert [situation for situation in SITUATIONS if told.count(f'"{situation}"') < 2] == []
