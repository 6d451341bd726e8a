"""`manage.py pupils`: what each pupil of a class gets and may do, by the real kubectl."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.kubectl import Kubectl
from tests.conformance.test_command_line import manage
from tests.lifecycle.hosting.running import PROJECT


def pupils(kubectl: Kubectl, *arguments: str) -> list[str]:
    done = manage("pupils", *arguments, "--data-dir", str(kubectl.data_dir))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_each_pupil_works_in_a_namespace_of_that_name_and_sees_nodes_but_no_others(
    kubectl: Kubectl,
) -> None:
    files = pupils(kubectl, "2", "--pods", "1")
    assert files == [str(kubectl.data_dir / "kubeconfigs" / f"pupil-0{n}") for n in (1, 2)]
    assert Path(files[0]).stat().st_mode & 0o777 == 0o600
    first = kubectl.by("pupil-01")
    first.until(bool, "get", "serviceaccount", "default", "-o", "name")
    assert first("run", "a", "--image=nginx") == "pod/a created\n"
    assert "exceeded quota: pupils" in first.fails("run", "b", "--image=nginx")
    assert "pod/a" in kubectl("get", "pods", "-n", "pupil-01", "-o", "name")
    first.until(lambda out: len(out.split()) == 3, "get", "nodes", "-o", "name")
    who = 'User "pupil-01" cannot list resource "pods"'
    assert who in first.fails("get", "pods", "-n", "pupil-02")
    assert "cannot delete" in first.fails("delete", "quota", "pupils")


def test_more_can_be_made_later_and_what_is_there_stays(kubectl: Kubectl) -> None:
    pupils(kubectl, "1", "--pods", "1")
    before = kubectl.by("pupil-01").config.read_text()
    assert len(pupils(kubectl, "3", "--pods", "5")) == 3
    assert kubectl.by("pupil-01").config.read_text() == before
    hard = ("get", "quota", "pupils", "-o", "jsonpath={.spec.hard.pods}")
    assert [kubectl.by(f"pupil-0{n}")(*hard) for n in (1, 3)] == ["1", "5"]


def test_all_of_them_can_be_removed(kubectl: Kubectl) -> None:
    pupils(kubectl, "2")
    second = kubectl.by("pupil-02").config.read_text()
    gone = pupils(kubectl, "--remove")
    assert {"pupil-01 is being deleted", "pupil-02 is being deleted"} <= set(gone)
    assert not kubectl.by("pupil-02").config.exists()
    label = "app.kubernetes.io/part-of=pupils"
    kubectl.until(lambda said: not said, "get", "namespaces", "-l", label, "-o", "name")
    kept = kubectl.by("pupil-02")
    kept.config = kubectl.home / "kept"
    kept.config.write_text(second)
    assert "Forbidden" in kept.fails("get", "nodes")
    assert pupils(kubectl, "--remove") == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("0",), "must be 1 to 200"),
        (("3", "--pods", "-1"), "must not be below 0"),
        (("3",), "no demo runs in"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    tmp_path: Path, arguments: tuple[str, ...], why: str
) -> None:
    done = manage("pupils", *arguments, "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert why in line


def test_a_directory_without_keys_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "endpoints.json").write_text('{"https": "https://127.0.0.1:1"}')
    done = manage("pupils", "3", "--data-dir", str(tmp_path))
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("CommandError: cannot read keys and certificates in")


def test_without_django_a_command_goes_on_in_the_environment_or_says_what_makes_it(
    tmp_path: Path,
) -> None:
    """-S: this Python without anything that was installed for it."""
    shutil.copy(PROJECT / "manage.py", tmp_path)
    command = [sys.executable, "-S", str(tmp_path / "manage.py"), "pupils", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == "Django is not installed here: `make demo` installs it into .venv\n"
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path / 'manage.py'} pupils 3\n"
