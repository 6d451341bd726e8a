"""Garbage in the files of a data directory is told in one sentence that names the file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifecycle.hosting import options, preparation

URL = "https://127.0.0.1:6443"
GARBAGE = {
    "nothing": b"",
    "text": b"garbage\nmore\n",
    "no text": b"\xff\xfe\0\n",
    "zeros": bytes(100),
    "half of a certificate": b"-----BEGIN CERTIFICATE-----\nMIIB\n",
    "a key that is none": b"-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----\n",
}
MADE_AGAIN = ("kubeconfig", "kubeconfigs/student", "pki/sa.pub")  # never read

Make = Callable[[], None]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "data"
    folder.mkdir()
    start(folder)
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Iterator[Path]:
    yield Path(shutil.copytree(good, tmp_path / "data"))


def start(folder: Path) -> None:
    given = options.parse(["--data-dir", str(folder)])
    preparation.make_identities(given, URL, URL, ())
    preparation.make_tokens(given)
    preparation.client_authorities(given)


@pytest.mark.parametrize("what", GARBAGE)
@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "student.key", "sa.key"])
def test_a_file_that_is_no_key_or_certificate(folder: Path, name: str, what: str) -> None:
    (folder / "pki" / name).write_bytes(GARBAGE[what])
    with pytest.raises(preparation.StartError) as refused:
        start(folder)
    assert str(refused.value) == (
        f"a key or certificate in {folder}/pki cannot be read: {name} is not PEM; "
        "put it back, or delete it to have a new one made"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xff\xfe\n", ", line 1: this is not UTF-8 text"),
        (b"a,b,c\n\n\xff\n", ", line 3: this is not UTF-8 text"),
        (
            b"a,b,c\n\nx,y\n",
            "must have at least 3 columns (token, user name, user uid), found 2 on line 3",
        ),
        (b"garbage", "found 1 on line 1"),
        (b'a,b,c\nx,"' + b"y" * 200_000, "line 2: field larger than field limit (131072)"),
        (b"", "has no token of token-user"),
    ],
)
def test_a_file_that_holds_no_static_tokens(folder: Path, text: bytes, told: str) -> None:
    (folder / "tokens.csv").write_bytes(text)
    with pytest.raises(preparation.StartError) as refused:
        start(folder)
    said = str(refused.value)
    assert f"{folder}/tokens.csv" in said and told in said and "\n" not in said


@pytest.mark.parametrize("what", GARBAGE)
@pytest.mark.parametrize("name", MADE_AGAIN)
def test_what_is_made_from_others_is_made_again(folder: Path, name: str, what: str) -> None:
    kept = (folder / name).read_bytes()
    (folder / name).write_bytes(GARBAGE[what])
    start(folder)
    assert (folder / name).read_bytes() == kept or name == "pki/sa.pub"


def test_a_folder_in_the_place_of_a_file_is_told(folder: Path) -> None:
    for name in ("tokens.csv", "pki/ca.key", "page-tokens.json"):
        kept = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).mkdir()
        with pytest.raises(preparation.StartError, match="Is a directory"):
            start(folder)
        (folder / name).rmdir()
        (folder / name).write_bytes(kept)


@pytest.mark.parametrize("flag", [
    "token-auth-file", "service-account-key-file", "client-ca-file", "authorization-config",
    "oidc-ca-file", "requestheader-client-ca-file",
])  # fmt: skip
def test_a_file_of_a_flag_that_is_no_text_is_told(folder: Path, flag: str) -> None:
    bad = folder / "bad"
    bad.write_bytes(b"fine\n\xff\xfe")
    given = options.parse(["--data-dir", str(folder), "--apiserver-arg", f"{flag}={bad}"])
    with pytest.raises(preparation.StartError) as refused:
        preparation.client_authorities(given)
    assert f"{bad}, line 2: this is not UTF-8 text" in str(refused.value)
