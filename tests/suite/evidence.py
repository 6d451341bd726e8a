"""What a failed test leaves: a folder below `.suite/failed` with what one needs to understand it.

`report.txt` (what failed, what was printed, the line that runs it again), a picture of every window
that was open, and for every cluster that was there its trace: of one in this process the records,
of a demo its data folder with the logs of edge and worker, but no key.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.suite import machine, opened, seeds

FOLDER = Path(__file__).resolve().parents[2] / ".suite" / "failed"
NAME_MAX = 120  # characters of a folder's name
RECORDS_MAX = 20_000  # of one cluster, the last ones
PICTURE_MS = 10_000  # a window that does not answer has no picture
SECRET = shutil.ignore_patterns("pki", "kubeconfig*", "endpoints.json")


def folder_of(nodeid: str) -> Path:
    return FOLDER / re.sub(r"[^\w.-]+", "-", nodeid.removeprefix("tests/"))[-NAME_MAX:]


def again(nodeid: str) -> str:
    """The line that runs a test again as it ran."""
    return f"SUITE_SEED={seeds.seed()} make test TESTS='\"{nodeid}\"'"


def pytest_report_header() -> str:
    return f"suite: seed {seeds.seed()}, slowness {machine.slowness():.1f}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        with contextlib.suppress(Exception):  # what is kept is a help, and no second failure
            keep(item.nodeid, report)
    return report


def keep(nodeid: str, report: pytest.TestReport) -> None:
    folder = folder_of(nodeid)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    parts = [nodeid, f"in its {report.when}", again(nodeid), report.longreprtext]
    parts += [f"-- {title}\n{text}" for title, text in report.sections]
    (folder / "report.txt").write_text("\n\n".join(parts))
    for number, session in enumerate(opened.last(opened.CLUSTERS)):
        with (folder / f"cluster-{number}.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in session.records()[-RECORDS_MAX:])
    for number, window in enumerate(opened.last(opened.WINDOWS)):
        with contextlib.suppress(Exception):
            window.page.screenshot(path=str(folder / f"window-{number}.png"), timeout=PICTURE_MS)
    for number, demo in enumerate(opened.last(opened.DEMOS)):
        shutil.copytree(demo.data_dir, folder / f"demo-{number}", ignore=SECRET)
