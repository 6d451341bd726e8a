"""What lies open to others on the machine and to web sites that somebody visits."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """Of somebody whose umask lets everybody read, after a version that did."""
    data = tmp_path_factory.mktemp("demo") / "data"
    data.mkdir()
    for name in ("store.sqlite3", "rooms.sqlite3"):
        (data / name).touch(0o644)
    before = os.umask(0)
    try:
        data.chmod(0o755)
        with Demo(data) as running:
            yield running
    finally:
        os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    return sorted(
        str(path.relative_to(folder.parent))
        for path in (folder, *folder.rglob("*"))
        if stat.S_IMODE(path.stat().st_mode) & 0o077 and path.suffix not in (".crt", ".pub")
    )


def test_the_data_directory_is_for_its_owner_only(demo: Demo) -> None:
    assert open_to_others(demo.data_dir) == []
    demo.ask("POST", "/viz/v1/traces", b'{"name": "x"}', Content_Type="application/json").read()
    assert open_to_others(demo.data_dir) == []
    for public in (*demo.data_dir.rglob("*.crt"), *demo.data_dir.rglob("*.pub")):
        assert "PRIVATE KEY" not in public.read_text()


@pytest.mark.parametrize(
    "path", ["/", "/viz/v1/docs", "/viz/v1/clusters", "/viz/nothing", "/static/mark.svg"]
)
def test_whatever_a_browser_shows_loads_nothing_from_elsewhere(demo: Demo, path: str) -> None:
    answer = demo.get(path, Accept="text/html")
    answer.read()
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "object-src 'none'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 400),
        ("127.0.0.1.evil.example:80", 400),
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("demo", 200),
    ],
)
def test_the_api_over_http_answers_to_no_name_that_a_site_could_have(
    demo: Demo, host: str, status: int
) -> None:
    answer = demo.get("/version", Host=host)
    body = answer.read()
    assert answer.status == status
    assert (b"this host name is not served here" in body) is (status == 400)


def test_over_tls_the_certificate_says_who_it_is(demo: Demo) -> None:
    assert demo.https_get(demo.tls(), "/version")
