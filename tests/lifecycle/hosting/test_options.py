"""The command line of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifecycle.hosting import options


def test_defaults_are_those_of_the_contract() -> None:
    given = options.parse([])
    assert (given.host, given.port, given.tls_port) == ("127.0.0.1", 8000, 6443)
    assert (given.nodes, given.speed, given.seed) == (3, 1.0, None)
    assert (given.kubernetes_version, given.profile) == ("1.33", "")
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
        (["--kubernetes-version", "1.2"], "'1.2' is no version from 1.25 to 1.37"),
        (["--profile", "x"], "argument --profile: invalid choice: 'x'"),
        (["--flux"], "unrecognized arguments: --flux"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(arguments: list[str], sentence: str) -> None:
    with pytest.raises(options.OptionError, match=sentence):
        options.parse(arguments)


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        options.parse(["--help"])
    assert ended.value.code == 0
    assert "python manage.py demo --port 8080" in capsys.readouterr().out
