"""The audit of the locked packages finds what a database knows against them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AUDIT = ".ci/audit.py"
LOCKS = ("requirements.txt", "requirements-dev.txt", "tests/js/package-lock.json")


class Database(HTTPServer):
    """Knows something against some packages, by their names."""

    known: dict[str, str]
    asked: list[dict[str, object]]


class Handler(BaseHTTPRequestHandler):
    server: Database

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked = body["queries"]
        known = [self.server.known.get(query["package"]["name"]) for query in body["queries"]]
        results = [{"vulns": [{"id": one}]} if one else {} for one in known]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"results": results}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def database() -> Iterator[Database]:
    server = Database(("127.0.0.1", 0), Handler)
    server.known, server.asked = {}, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def audit(address: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(root / AUDIT)],
        capture_output=True,
        text=True,
        env={"OSV": address, "PATH": os.environ["PATH"]},
    )


def address_of(database: Database) -> str:
    return f"http://127.0.0.1:{database.server_port}"


def test_every_locked_package_is_asked_about_with_its_version(database: Database) -> None:
    done = audit(address_of(database))

    asked = {
        (one["package"]["ecosystem"], one["package"]["name"], one["version"])  # type: ignore[index]
        for one in database.asked
    }
    lock = (ROOT / "requirements-dev.txt").read_text()
    pinned = [line.split("==")[0].split("[")[0] for line in lock.splitlines() if "==" in line]
    assert {name for _, name, _ in asked} >= {name.lower() for name in pinned}
    assert ("npm", "typescript") in {(ecosystem, name) for ecosystem, name, _ in asked}
    assert done.returncode == 0
    audited = f"{len(asked)} locked packages audited, 0 known vulnerabilities"
    assert done.stdout.strip() == audited


# -- what is about to land --------------------------------------------------------------------


def git(root: Path, *arguments: str) -> None:
    named = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.com")
    subprocess.run(["git", "-C", str(root), *named, *arguments], check=True, capture_output=True)


def commit(root: Path, *changed: str) -> None:
    for path in changed:
        with (root / path).open("a") as file:
            file.write("\n")
    git(root, "add", ".")
    git(root, "commit", "--message", "some change")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a repository with the audit and the lock files, in which nothing was done yet."""
    origin = tmp_path / "origin"
    for path in (AUDIT, *LOCKS):
        (origin / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, origin / path)
    git(tmp_path, "init", "--quiet", str(origin))
    commit(origin, "README")
    commit(origin, "README")
    git(tmp_path, "clone", "--quiet", str(origin), str(tmp_path / "clone"))
    return tmp_path / "clone"


def found(database: Database, root: Path) -> int:
    """The exit code of an audit that finds something, which it names."""
    database.known = {"django": "GHSA-0000-0000-0000"}
    done = audit(address_of(database), root)
    assert "(PyPI): GHSA-0000-0000-0000" in done.stdout
    assert ("WARNING: no lock file is changed" in done.stdout) is (done.returncode == 0)
    return done.returncode


@pytest.mark.parametrize("lock", LOCKS)
def test_a_known_vulnerability_fails_what_changes_a_lock_file(
    database: Database, clone: Path, lock: str
) -> None:
    commit(clone, lock)
    assert found(database, clone) == 1
    commit(clone, "README")  # the change of the lock file lies further back, and has not landed
    assert found(database, clone) == 1


def test_a_lock_file_that_is_not_committed_is_changed(database: Database, clone: Path) -> None:
    (clone / LOCKS[0]).write_text("Django==5.2.19\n")
    assert found(database, clone) == 1


def test_what_changes_no_lock_file_is_warned_of_and_lands(database: Database, clone: Path) -> None:
    assert found(database, clone) == 0
    commit(clone, "README")
    commit(clone, "README")
    assert found(database, clone) == 0


def test_in_a_clone_of_what_is_about_to_land_its_last_commit_counts(
    database: Database, clone: Path
) -> None:
    commit(clone, LOCKS[0])
    again = clone.parent / "again"
    git(clone, "clone", "--quiet", str(clone), str(again))
    assert found(database, again) == 1
    commit(clone, "README")
    git(again, "pull", "--quiet")
    assert found(database, again) == 0


def test_without_a_history_nothing_is_known_to_be_as_it_was(
    database: Database, clone: Path
) -> None:
    shutil.rmtree(clone / ".git")
    assert found(database, clone) == 1


def test_without_the_database_it_says_that_nothing_was_audited() -> None:
    done = audit("http://127.0.0.1:1")

    assert done.returncode == 0
    assert done.stdout.startswith("NOT AUDITED: ")
