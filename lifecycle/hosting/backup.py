"""Backups of a data directory: one file with its store, keys and saved traces.

A backup is a gzip tar: `backup.json` (format, clusters), then the files by the names they have in
the data directory. The store in it is one moment of a running demo: SQLite copies it while the
worker goes on. What a start makes anew is left out.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lifecycle.hosting import preparation, storecheck
from lifecycle.hosting.mark import SUFFIX, Mark

FORMAT = 1
HEAD = "backup.json"
KEPT = ("bookmarks.json", "page-tokens.json", "pki/*", "quarantine.json", "tokens.csv", "traces/*")


class BackupError(Exception):
    """Nothing was backed up or restored, in one sentence."""


def write(data_dir: Path, target: Path) -> tuple[Path, dict[str, int]]:
    """Backs up to a file, or into a directory; returns the file, and the clusters' revisions."""
    store = data_dir / storecheck.STORE
    if not store.is_file():
        raise BackupError(f"no cluster was ever started in {data_dir}")
    with _reported(), tempfile.TemporaryDirectory(prefix=".backup-", dir=_folder(target)) as folder:
        copy = Path(folder) / storecheck.STORE
        with (
            contextlib.closing(sqlite3.connect(store)) as source,
            contextlib.closing(sqlite3.connect(copy)) as destination,
        ):
            source.backup(destination)
        clusters = storecheck.read(copy)
        if target.is_dir():
            names = "-".join(f"{name}-{revision}" for name, revision in clusters.items())
            target = target / f"{names or 'empty'}.tar.gz"
        made = Path(folder) / "made"
        with tarfile.open(made, "w:gz", compresslevel=1) as archive:
            head = json.dumps({"format": FORMAT, "clusters": clusters}).encode()
            member = tarfile.TarInfo(HEAD)
            member.size = len(head)
            archive.addfile(member, io.BytesIO(head))
            archive.add(copy, storecheck.STORE)
            for path in _kept(data_dir):
                archive.add(path, str(path.relative_to(data_dir)))
        made.chmod(0o600)
        _sync(made)
        made.replace(target)
        return target, clusters


def restore(source: Path, data_dir: Path) -> dict[str, int]:
    """Puts a backup in place of whatever the data directory holds; the clusters' revisions."""
    os.umask(0o077)
    try:
        lock = preparation.take_data_dir(data_dir)
    except preparation.StartError as error:
        raise BackupError(str(error)) from error
    try:
        with _reported(), tempfile.TemporaryDirectory(prefix=".restore-", dir=data_dir) as folder:
            clusters = _unpack(source, Path(folder))
            _swap(Path(folder), data_dir)
            for cluster, revision in clusters.items():
                Mark(data_dir, cluster).write(revision)
            return clusters
    finally:
        os.close(lock)


def _unpack(source: Path, folder: Path) -> dict[str, int]:
    """Unpacks what a backup may hold, and checks it."""
    with tarfile.open(source, "r:gz") as archive:
        first = archive.next()
        data = archive.extractfile(first) if first is not None and first.name == HEAD else None
        if data is None:
            raise BackupError(f"{source} is no backup")
        head = json.loads(data.read())
        if head["format"] != FORMAT:
            raise BackupError(
                f"{source} was made by another version (format {head['format']}, here {FORMAT})"
            )
        while (member := archive.next()) is not None:
            path = Path(member.name)
            if not member.isfile() or not _may_hold(path):
                raise BackupError(f"{source} is no backup: it holds {member.name}")
            content = archive.extractfile(member)
            assert content is not None, "it is a file"
            (folder / path).parent.mkdir(exist_ok=True)
            with (folder / path).open("wb") as file:
                shutil.copyfileobj(content, file)
            if path.suffix in (".crt", ".pub"):
                (folder / path).chmod(0o644)
            _sync(folder / path)
    clusters = storecheck.read(folder / storecheck.STORE)
    if clusters != head["clusters"]:
        raise BackupError(f"{source} is damaged: its store is not the one that was backed up")
    return clusters


def _swap(folder: Path, data_dir: Path) -> None:
    """The marks go first: until they are back, nothing is claimed of what is there."""
    old = [*data_dir.glob(f"*{SUFFIX}"), *data_dir.glob(f"{storecheck.STORE}-*"), *_kept(data_dir)]
    for path in old:
        path.unlink()
    for path in [folder / storecheck.STORE, *_kept(folder)]:
        target = data_dir / path.relative_to(folder)
        target.parent.mkdir(exist_ok=True)
        path.replace(target)


def _kept(folder: Path) -> list[Path]:
    return sorted(path for pattern in KEPT for path in folder.glob(pattern) if path.is_file())


def _may_hold(path: Path) -> bool:
    if path.is_absolute() or ".." in path.parts:
        return False
    return str(path) == storecheck.STORE or any(path.match(pattern) for pattern in KEPT)


def _folder(target: Path) -> Path:
    return target if target.is_dir() else target.parent


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise BackupError(f"{where}{error.strerror or error}") from error
    except (tarfile.TarError, EOFError, KeyError, ValueError, sqlite3.Error) as error:
        raise BackupError(str(error)) from error
