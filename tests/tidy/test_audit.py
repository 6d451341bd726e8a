"""The audit of the locked packages finds what a database knows against them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AUDIT = ROOT / ".ci/audit.py"


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


def audit(address: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(AUDIT)], capture_output=True, text=True, env={"OSV": address}
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


def test_a_known_vulnerability_is_named_and_fails(database: Database) -> None:
    database.known = {"django": "GHSA-0000-0000-0000"}

    done = audit(address_of(database))

    assert done.returncode == 1
    assert "(PyPI): GHSA-0000-0000-0000" in done.stdout


def test_without_the_database_it_says_that_nothing_was_audited() -> None:
    done = audit("http://127.0.0.1:1")

    assert done.returncode == 0
    assert done.stdout.startswith("NOT AUDITED: ")
