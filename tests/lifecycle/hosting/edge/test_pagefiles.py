"""The page's files follow their sources, are kept by their version, and are there at any rate."""

from __future__ import annotations

import gzip
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lifecycle.hosting.edge import making, pagefiles
from tests.lifecycle.hosting.running import Demo
from tests.tidy import sources


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return shutil.copytree(sources.ROOT / "static", tmp_path / "static")


def test_a_change_of_a_source_gives_its_joined_file_another_address(root: Path) -> None:
    said: list[str] = []
    files = pagefiles.PageFiles(root, said.append)
    before = files.addresses()
    assert files.addresses() == before

    with (root / "js/i18n/page/en.js").open("a") as file:
        file.write("export const more = 1;\n")

    after = files.addresses()
    assert after.script != before.script  # it loads the words, by an address of theirs
    assert after.style == before.style
    words = files.find("js/i18n/english.js")
    assert words is not None and b"const more=1;" in gzip.decompress(words.packed)
    assert said == []


def test_what_cannot_be_joined_is_served_file_by_file_until_it_can(root: Path) -> None:
    said: list[str] = []
    files = pagefiles.PageFiles(root, said.append)
    joined = files.addresses()
    written = (root / "js/main.js").read_text()
    line = written.count("\n") + 2

    (root / "js/main.js").write_text(written + "if (1) {\n")

    assert files.addresses() == files.addresses() == making.Addresses()
    assert files.find("js/main.js") is None
    assert said == [f"the page is served file by file: js/main.js: line {line}: {{ is not closed"]
    (root / "js/main.js").write_text(written)
    assert files.addresses() == joined


def test_what_cannot_be_read_just_now_is_joined_the_next_time(root: Path) -> None:
    said: list[str] = []
    files = pagefiles.PageFiles(root, said.append)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        assert files.addresses() == making.Addresses()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert files.addresses() != making.Addresses()
    assert said == []


def test_another_start_finds_what_was_made_of_the_same_files(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    apart = making.apart

    def counted(folder: Path) -> making.Made:
        made.append(folder)
        return apart(folder)

    def start() -> making.Addresses:
        files = pagefiles.PageFiles(root, print, tmp_path / "kept")
        found = files.addresses()
        assert files.find(making.SCRIPT) is not None
        return found

    monkeypatch.setattr(making, "apart", counted)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    first = start()
    assert not (tmp_path / "kept").exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert (start(), len(made)) == (first, 2)
    assert (start(), len(made)) == (first, 2)

    (tmp_path / "kept").write_bytes((tmp_path / "kept").read_bytes()[:-1])
    assert (start(), start(), len(made)) == (first, first, 3)
    with (root / "js/main.js").open("a") as file:
        file.write("const more = 1;\n")
    assert start() != first
    assert len(made) == 4


def test_files_are_made_in_another_process_and_without_one_in_place(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    here = making.here

    def counted(folder: Path) -> making.Made:
        asked.append(folder)
        return here(folder)

    monkeypatch.setattr(making, "here", counted)
    apart = making.apart(root)
    assert (asked, apart) == ([], here(root))

    monkeypatch.setattr(sys, "executable", str(root / "no such program"))
    assert (making.apart(root), asked) == (apart, [root])


def test_the_edge_keeps_nothing_of_what_joins_the_files() -> None:
    code = "import sys; from lifecycle.hosting import serving; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=sources.ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    loaded = ended.stdout.split()
    assert "lifecycle.hosting.edge.making" in loaded
    assert "lifecycle.hosting.edge.joining" not in loaded


def test_joined_files_are_kept_for_good_by_their_version_and_asked_for_without_it(
    demo: Demo,
) -> None:
    page = demo.get("/", Accept="text/html", **demo.credential).read().decode()
    found = re.findall(r'(?:src|href)="(/static/joined/[^"]+)"', page)
    assert [one.split("?")[0] for one in found] == [
        "/static/joined/css/page.css",
        "/static/joined/js/main.js",
    ]
    for address in found:
        answer = demo.get(address, Accept_Encoding="gzip")
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        packed = answer.read()
        plain = demo.get(address.replace("v=", "v=0"))
        assert plain.headers["Cache-Control"] == "no-cache"
        assert plain.headers["Content-Type"].split(";")[0] in ("text/css", "text/javascript")
        assert plain.read() == gzip.decompress(packed)
        again = demo.get(address, If_None_Match=plain.headers["ETag"])
        assert (again.status, again.read()) == (304, b"")
    trail = demo.get("/static/joined/js/main.js.map")
    assert trail.headers["Content-Type"] == "application/json"
    for source in re.findall(r'"(/static/[^"]+)"', trail.read().decode()):
        assert (sources.ROOT / source[1:]).is_file()
    for name in ("", "js/views/page/app.js", "../manage.py", "%00", "js/main.js/"):
        assert demo.get(f"/static/joined/{name}").status == 404
