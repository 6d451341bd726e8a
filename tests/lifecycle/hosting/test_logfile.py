"""What fails is one sentence on the terminal, and a stack in a log file that rotates."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle.hosting import logfile

REPORTS = 40
LONG = "x" * 200_000  # forty of them are twice what the files may hold


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    handlers, raises = logging.getLogger("lifecycle.worker").handlers, logging.raiseExceptions
    before = [*handlers]
    file = tmp_path / "worker.log"
    logfile.open_log(file)
    yield file
    for handler in [*handlers]:
        if handler not in before:
            handler.close()
            handlers.remove(handler)
    logging.raiseExceptions = raises


def fail(reason: str) -> OSError:
    try:
        raise OSError(reason)
    except OSError as error:
        return error


def test_a_failure_is_one_sentence_that_names_the_file_with_its_stack(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logfile.report("the store takes no writes", fail("disk I/O\nerror"))

    told = f"demo: the store takes no writes: disk I/O error; {log} says where\n"
    assert capsys.readouterr().err == told
    written = log.read_text()
    assert "the store takes no writes" in written
    assert "Traceback (most recent call last):" in written and "raise OSError(reason)" in written


def test_the_log_file_rotates_and_its_files_are_bounded(log: Path) -> None:
    for number in range(REPORTS):
        logfile.report(f"{number} {LONG}", fail("full"))

    files = sorted(file.name for file in log.parent.iterdir())
    assert files == ["worker.log", "worker.log.1", "worker.log.2", "worker.log.3"]
    sizes = [file.stat().st_size for file in log.parent.iterdir()]
    assert max(sizes) <= logfile.BYTES_MAX
    assert f"{REPORTS - 1} {LONG}" in log.read_text()


def test_a_disk_that_takes_no_line_loses_the_line_only(
    tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log.mkdir()  # no file can be opened there
    logfile.report("the store takes no writes", fail("full"))
    assert capsys.readouterr().err.startswith("demo: the store takes no writes: full")
