"""The documents say what is: kinds, commands, links, and the state of the checklist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from apiserver_app.admission import plugins as admission
from apiserver_app.machinery.probe import KINDS, OPTIONAL
from controllers_app import controllers
from controllers_app.scheduler import plugins as scheduling
from lifecycle.trace import reading
from tests.tidy import sources

DOCS = sources.ROOT / "docs"
PAGES = sorted((*sources.ROOT.glob("*.md"), *DOCS.glob("**/*.md")))
TRACE_FORMAT = (DOCS / "trace-format.md").read_text()
CHECKLIST = (DOCS / "checklist.md").read_text()
STATES = ("done", "partly", "open")
ROWS = 293


@pytest.mark.parametrize("kind", KINDS)
def test_trace_format_explains_every_kind_with_all_its_fields_and_an_example(kind: str) -> None:
    found = re.search(rf"(?ms)^### `{kind}`\n(.*?)(?=^##)", TRACE_FORMAT)
    assert found, f"docs/trace-format.md has no section for {kind}"
    prose, _, example = found[1].partition("```json\n")
    optional = OPTIONAL.get(kind, ())
    missing = [field for field in (*KINDS[kind], *optional) if f"`{field}`" not in prose]
    assert missing == []
    record = json.loads(example.partition("\n```")[0])
    extra = {"object"} if kind == "write" else set()
    assert set(record) - extra == {"seq", "t", "kind", "span", *KINDS[kind], *optional}
    assert record["kind"] == kind


def test_trace_format_explains_no_kind_that_there_is_not() -> None:
    assert re.findall(r"(?m)^### `(\w+)`", TRACE_FORMAT) == list(KINDS)


def test_the_header_in_trace_format_is_a_good_one() -> None:
    header = next(line for line in TRACE_FORMAT.splitlines() if line.startswith('{"format"'))
    assert reading.check_header(header.encode())["kubernetes"] == "1.33"


@pytest.mark.parametrize(
    "part",
    [
        *(f"`{controller.name}`" for controller in controllers.CONTROLLERS),
        *(row.plugin.name for row in admission.PLUGINS),
        *(plugin.name for plugin in scheduling.PLUGINS),
    ],
)
def test_every_controller_and_plugin_is_in_what_is_simulated(part: str) -> None:
    assert part in (DOCS / "what-is-simulated.md").read_text()


def test_commands_in_the_documents_exist() -> None:
    makefile = (sources.ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?m)^([a-z]+):", makefile))
    own = {file.stem for file in sources.ROOT.glob("*/management/commands/*.py")}
    wrong = []
    for page in PAGES:
        text = page.read_text()
        wrong += [
            f"{page.name}: make {target}"
            for target in re.findall(r"(?m)(?:^|[`$] ?)make ([a-z]+)", text)
            if target not in targets
        ]
        wrong += [
            f"{page.name}: manage.py {command}"
            for command in re.findall(r"manage\.py ([a-z]+)", text)
            if command not in own | {"migrate", "runworker", "test"}
        ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=sources.name)
def test_links_and_paths_in_the_documents_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text)
    dead = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    paths = re.findall(
        r"`((?:apiserver_app|controllers_app|lifecycle|tests|static|templates|docs)/[\w./-]+)`",
        text,
    )
    dead += [path for path in paths if not (sources.ROOT / path).exists()]
    assert dead == []


def test_the_checklist_has_every_row_once_with_a_state() -> None:
    rows = _rows()
    ids = [row[0] for row in rows]
    assert len(ids) == len(set(ids)) == ROWS
    assert [row[0] for row in rows if row[2] not in STATES] == []


def test_rows_done_or_partly_done_name_a_test_that_exists() -> None:
    missing = []
    for number, _name, state, tests in _rows():
        named = re.findall(r"`([^`]+)`", tests)
        if state != "open" and not named:
            missing.append(f"{number} is {state} without a test")
        missing += [f"{number}: {one}" for one in named if not _exists(one)]
    assert missing == []


def test_the_count_at_the_top_of_the_checklist_is_right() -> None:
    rows = _rows()
    counts = [sum(row[2] == state for row in rows) for state in STATES]
    assert f"{counts[0]} done, {counts[1]} partly, {counts[2]} open" in CHECKLIST


def _rows() -> list[list[str]]:
    lines = re.findall(r"(?m)^\| ([A-Z]+-\d+) \| (.+?) \| (\w+) \| (.*?) ?\|$", CHECKLIST)
    return [list(line) for line in lines]


def _exists(test: str) -> bool:
    """`path::name`, both below tests/; a path alone will do for node's tests."""
    path, _, name = test.partition("::")
    file = sources.ROOT / "tests" / path
    if not file.is_file():
        return False
    if not name:
        return file.suffix == ".mjs"
    if file.suffix == ".mjs":
        return name in sources.text(file)
    return re.search(rf"(?m)^(async )?def {re.escape(name)}\(", sources.text(file)) is not None


DIFFS = re.findall(r"(?ms)^```diff\n(.*?)^```$", (sources.ROOT / "CONTRIBUTING.md").read_text())


@pytest.mark.parametrize("diff", DIFFS)
def test_what_contributing_shows_as_added_stands_in_the_tree(diff: str) -> None:
    files = re.findall(r"(?m)^--- .*\n\+\+\+ b/(.*)\n((?:[@ +-].*\n)+?)(?=--- |\Z)", diff)
    assert len(files) == diff.count("\n+++ ")
    for name, hunks in files:
        text = (sources.ROOT / name).read_text()
        for hunk in re.split(r"(?m)^@@ .* @@\n", hunks)[1:]:
            after = [line[1:] for line in hunk.splitlines() if not line.startswith("-")]
            assert "\n".join((*after, "")) in text, name


def test_contributing_shows_each_kind_of_addition() -> None:
    assert len(DIFFS) == 5
