"""A data directory that is damaged, cut, emptied, of another version, backed up and restored."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifecycle.hosting import backup, storecheck
from lifecycle.hosting.mark import Mark
from tests.apiserver_app.cluster import CONFIGMAPS, configmap
from tests.conformance.api import Api
from tests.lifecycle.hosting.running import PROJECT, REAL, Demo, wait_for_end
from tests.suite import seeds

STORE = storecheck.STORE
FRAME_BYTES = 24 + 4096  # of the log


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a demo whose two processes were killed, and beside it a backup that
    was made while it ran."""
    where = tmp_path_factory.mktemp("killed")
    with Demo(where / "data", "--nodes", "1", driver=REAL) as demo:
        api = Api(demo, where)
        assert api.post(CONFIGMAPS, configmap("early", a="a")).code == 201
        assert manage("backup", where / "backup.tar.gz", "--data-dir", where / "data")[0] == 0
        refused = manage("restore", where / "backup.tar.gz", "--data-dir", where / "data")
        assert refused[0] == 1 and "is in use by another demo" in refused[1]
        late = api.post(CONFIGMAPS, configmap("late", a="a"))
        assert late.code == 201
        (where / "acknowledged").write_text(late.json["metadata"]["resourceVersion"])
        pids = [demo.endpoints["pid"], demo.endpoints["worker_pid"]]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        demo.process.wait()
        assert wait_for_end(pids[1])
    yield where / "data"


def manage(*arguments: object) -> tuple[int, str]:
    """Run a command of manage.py; its exit code and what it said."""
    command = [sys.executable, str(PROJECT / "manage.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def data(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "data"))


def names(data_dir: Path, where: Path) -> set[str]:
    """The config maps that a demo finds."""
    with Demo(data_dir, "--nodes", "1", driver=REAL) as demo:
        listed = Api(demo, where).get(CONFIGMAPS).json["items"]
    return {item["metadata"]["name"] for item in listed} & {"early", "late"}


def cut(data: Path) -> None:
    """Without the last of what was synced: behind it the file holds what an earlier round left."""
    log = data / f"{STORE}-wal"
    content, frames = memoryview(log.read_bytes()), 0
    while content[40 + frames * FRAME_BYTES :][:8] == content[16:24]:  # the salt of this round
        frames += 1
    os.truncate(log, 32 + frames // 2 * FRAME_BYTES)


def without_log(data: Path) -> None:
    (data / f"{STORE}-wal").unlink()


def emptied(data: Path) -> None:
    without_log(data)
    os.truncate(data / STORE, 0)


def gone(data: Path) -> None:
    without_log(data)
    (data / STORE).unlink()


def overwritten(data: Path) -> None:
    checkpointed(data)
    with (data / STORE).open("r+b") as file:
        file.seek((data / STORE).stat().st_size // 2 & ~4095)
        file.write(os.urandom(8192))


def no_database(data: Path) -> None:
    without_log(data)
    (data / STORE).write_bytes(b"x" * 8192)


def without_a_revision(data: Path) -> None:
    with sqlite3.connect(data / STORE) as database:
        database.execute("DELETE FROM apiserver_app_logentry WHERE revision=7")
    database.close()


def checkpointed(data: Path) -> None:
    database = sqlite3.connect(data / STORE)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (cut, "ends at revision"),
        (without_log, "but revision"),
        (emptied, "holds nothing"),
        (gone, "holds nothing"),
        (overwritten, "is damaged"),
        (no_database, "is damaged (file is"),
        (without_a_revision, "lacks 1 of its revisions"),
    ],
)
def test_harm_to_a_store_is_told_in_a_sentence(
    data: Path, harm: Callable[[Path], None], sentence: str
) -> None:
    harm(data)
    with pytest.raises(ValueError, match="restore a backup") as told:
        storecheck.check(data)
    assert sentence in str(told.value) and "\n" not in str(told.value)


def test_a_demo_does_not_start_on_a_cut_store_until_it_is_told_to(
    data: Path, tmp_path: Path
) -> None:
    cut(data)
    demo = Demo(data, "--nodes", "1", driver=REAL)
    told = demo.errors()
    demo.__exit__()
    assert demo.process.returncode == 1
    assert told.count("\n") == 1 and "acknowledged" in told
    (data / "demo.mark").unlink()
    assert names(data, tmp_path) <= {"early"}


def test_a_whole_store_is_opened_after_a_kill(killed: Path, data: Path, tmp_path: Path) -> None:
    acknowledged = int((killed.parent / "acknowledged").read_text())
    # a kill may come between a commit and its mark
    assert acknowledged <= Mark(data, "demo").read() <= storecheck.check(data)["demo"]
    assert names(data, tmp_path) == {"early", "late"}


@pytest.mark.parametrize("fresh", [True, False])
def test_a_backup_of_a_running_demo_is_restored(
    killed: Path, data: Path, tmp_path: Path, fresh: bool
) -> None:
    target = tmp_path / "new" if fresh else data
    code, told = manage("restore", killed.parent / "backup.tar.gz", "--data-dir", target)
    assert (code, told.count("\n")) == (0, 1) and "cluster demo is at revision" in told
    for name in ("pki/ca.key", "page-tokens.json"):
        assert (target / name).read_bytes() == (killed / name).read_bytes()
        assert (target / name).stat().st_mode & 0o77 == 0
    assert names(target, tmp_path) == {"early"}


def test_a_file_that_is_no_backup_replaces_nothing(killed: Path, data: Path) -> None:
    before = (data / STORE).read_bytes()
    good = killed.parent / "backup.tar.gz"
    bad = data.parent / "bad.tar.gz"
    for content in (b"", b"no backup", good.read_bytes()[:-5000]):
        bad.write_bytes(content)
        with pytest.raises(backup.BackupError) as refused:
            backup.restore(bad, data)
        assert "\n" not in str(refused.value)
    with tarfile.open(bad, "w:gz") as archive:
        archive.add(good, "../evil")
    code, told = manage("restore", bad, "--data-dir", data)
    assert code == 1 and told.startswith("CommandError: ") and told.count("\n") == 1
    assert "is no backup" in told
    assert (data / STORE).read_bytes() == before


def test_a_data_directory_of_a_newer_version_is_refused_in_a_sentence(data: Path) -> None:
    with sqlite3.connect(data / STORE) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('apiserver_app', '9999_later', '2030-01-01')"
        )
    database.close()
    demo = Demo(data, "--nodes", "1", driver=REAL)
    told = demo.errors()
    demo.__exit__()
    assert "was last used by a newer version (it has 9999_later)" in told
    assert told.count("\n") == 1


RELEASES = sorted((Path(__file__).parent / "releases").glob("*.tar.xz"))


@pytest.mark.parametrize("release", seeds.draw("releases", RELEASES, 1))
def test_a_data_directory_of_each_release_is_opened(release: Path, tmp_path: Path) -> None:
    with tarfile.open(release) as kept:
        kept.extractall(tmp_path / "data", filter="data")
    with Demo(tmp_path / "data", "--nodes", "1", driver=REAL) as demo:
        api = Api(demo, tmp_path)
        assert api.get(f"{CONFIGMAPS}/kept").json["data"] == {"a": "b"}
        assert api.post(CONFIGMAPS, configmap("new")).code == 201
