"""manage.py trace: record, validate, replay, export, import."""

from __future__ import annotations

import io
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from lifecycle.management.commands.trace import SCRIPT

MINIMAL = """
seed: 3
nodes: 0
steps:
- apply: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- settle: true
"""


def trace(*arguments: Any) -> str:
    out = io.StringIO()
    call_command("trace", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script and its recording."""
    folder = tmp_path_factory.mktemp("once")
    script = folder / "script.yaml"
    script.write_text(MINIMAL)
    file = folder / "trace.jsonl.gz"
    assert "records written to" in trace("record", "--script", script, "--out", file)
    return folder


@pytest.fixture
def recorded(once: Path, tmp_path: Path) -> Path:
    """Of each test its own."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return tmp_path / "trace.jsonl.gz"


def test_what_is_recorded_is_valid_and_can_be_told(recorded: Path) -> None:
    assert "good;" in trace("validate", recorded)
    told = trace("replay", recorded)
    assert "create configmaps default/a by script/1" in told
    assert len(trace("replay", recorded, "--all")) > len(told)


def test_a_seed_of_the_command_wins_over_that_of_the_script(recorded: Path) -> None:
    script = recorded.with_name("script.yaml")
    other, same = recorded.with_name("other.gz"), recorded.with_name("same.gz")
    trace("record", "--script", script, "--seed", 4, "--out", other)
    trace("record", "--script", script, "--seed", 3, "--out", same)
    assert same.read_bytes() == recorded.read_bytes() != other.read_bytes()


def test_a_file_that_was_cut_is_told_to_the_cut(recorded: Path) -> None:
    cut = recorded.with_name("cut.jsonl.gz")
    cut.write_bytes(recorded.read_bytes()[:-2000])
    for command in ("validate", "replay"):
        with pytest.raises(CommandError, match=r"the file was cut: it ends at record \d+ of \d+"):
            trace(command, cut)


def test_a_file_is_imported_into_a_data_directory(recorded: Path) -> None:
    data = recorded.parent / "data"
    said = trace("import", recorded, "--data-dir", data, "--name", "lesson")
    assert said.startswith("saved as ")


def test_a_file_without_a_name_is_saved_by_that_of_the_file(recorded: Path) -> None:
    file = recorded.rename(recorded.with_name("morning.jsonl.gz"))
    said = trace("import", file, "--data-dir", recorded.parent / "data")
    assert said == "saved as morning\n"


def test_the_script_that_record_shows_can_be_recorded(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(textwrap.dedent(SCRIPT.partition("\n")[2]))
    told = trace("record", "--script", script, "--out", tmp_path / "trace.jsonl.gz")
    assert "records written to" in told


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("validate", "missing.gz"), "missing.gz: No such file or directory"),
        (("replay", "{trace}", "--speed", "0"), 'speed must be "max" or a number'),
        (("record", "--script", "{bad}", "--out", "x"), "step 1: exactly one of"),
        (("validate", "{bad}"), ""),
        (("export", "--data-dir", "{empty}", "--out", "x"), "no cluster was ever started here"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    recorded: Path, arguments: tuple[str, ...], why: str
) -> None:
    bad, empty = recorded.with_name("bad.yaml"), recorded.with_name("empty")
    bad.write_text("steps: [{fly: true}]")
    empty.mkdir()
    places = {"trace": recorded, "bad": bad, "empty": empty}
    with pytest.raises(CommandError) as caught:
        trace(*(argument.format(**places) for argument in arguments))
    assert why in str(caught.value) and "\n" not in str(caught.value)
