"""The command line of the demo."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apiserver_app import flags
from apiserver_app.machinery.releases import Release
from lifecycle.hosting import apiserver, options


def test_defaults_are_those_of_the_contract() -> None:
    given = options.parse([])
    assert (given.host, given.port, given.tls_port) == ("127.0.0.1", 8000, 6443)
    assert (given.nodes, given.speed, given.seed) == (3, None, None)
    assert (given.kubernetes_version, given.profile) == ("1.33", "default")
    assert given.data_dir == Path("data").absolute()
    assert given.browser and not given.single_process


def test_options_cross_to_the_worker_unchanged() -> None:
    given = options.parse(["--speed", "max", "--seed", "7", "--port", "0", "--tls-port", "0"])
    assert options.Options.from_json(given.to_json()) == given
    assert given.speed == "max" and given.seed == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "x"], "argument --port: 'x' is not a whole number"),
        (["--port", "70000"], "argument --port: 70000 is not between 0 and 65535"),
        (["--nodes", "0"], "argument --nodes: 0 is not between 1 and 10000"),
        (["--speed", "fast"], "argument --speed: 'fast' is neither a number nor max"),
        (["--speed", "0"], "argument --speed: 0 is not between 0.1 and 1000"),
        (["--speed", "nan"], "argument --speed: nan is not between 0.1 and 1000"),
        (["--port", "81", "--tls-port", "81"], "are both 81; they must differ"),
        (["--kubernetes-version", "1.2"], "'1.2' is no version from 1.8 to 1.37"),
        (["--profile", "x"], "argument --profile: invalid choice: 'x'"),
        (["--flux"], "unrecognized arguments: --flux"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(options.OptionError, match=sentence):
        options.parse(arguments)


def test_a_profile_is_a_version_with_the_flags_of_its_time() -> None:
    given = options.parse(["--profile", "v1.8", "--apiserver-arg", "profiling=false"])
    assert (given.kubernetes_version, given.profile) == ("1.8", "v1.8")
    assert given.apiserver_args[0].startswith("admission-control=NamespaceLifecycle,")
    assert given.apiserver_args[-1] == "profiling=false"


def test_a_version_that_is_named_goes_before_that_of_the_profile() -> None:
    given = options.parse(["--profile", "v1.19", "--kubernetes-version", "1.20"])
    assert given.kubernetes_version == "1.20"


@pytest.mark.parametrize("name", options.profiles())
def test_the_server_takes_the_flags_of_every_profile(name: str) -> None:
    given = options.parse(["--profile", name])
    parsed = flags.parse(
        given.apiserver_args, lambda path: "", Release.parse(given.kubernetes_version)
    )
    assert bool(parsed.admission_control) is (name == "v1.8")


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options.parse(["--help"])
    assert ended.value.code == 0
    assert "python manage.py demo --port 8080" in capsys.readouterr().out


def test_every_flag_of_the_help_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options.parse(["--help"])
    examples = capsys.readouterr().out.partition("each as --apiserver-arg FLAG=VALUE:")[2]
    named = re.findall(r"(?<![A-Za-z-])([a-z][a-z-]+)=\S", examples)
    assert len(named) > 12 and set(named) <= set(flags.names())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "service-cluster-ip-rang=10.0.0.0/16",
            "unknown flag: --service-cluster-ip-rang; did you mean --service-cluster-ip-range?",
        ),
        ("basic-auth-file=x", "unknown flag: --basic-auth-file; it is not simulated, or not of "),
        ("service-cluster-ip-range=10.0.0.0/30", "must be at least 8 IP addresses"),
    ],
)
def test_a_flag_that_cannot_be_is_refused_in_one_sentence(
    given: str, said: str, tmp_path: Path
) -> None:
    asked = options.parse(["--data-dir", str(tmp_path), "--apiserver-arg", given])
    for path in ("pki/ca.crt", "tokens.csv"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).touch()
    with pytest.raises(flags.FlagError, match=re.escape(said)):
        apiserver.parse(asked)
