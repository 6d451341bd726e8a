"""What holds for every test: none runs for ever, and a random one repeats itself."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from types import FrameType

import hypothesis
import pytest
from hypothesis.internal.conjecture import providers

pytest_plugins = (
    "tests.suite.sizes", "tests.suite.seeds", "tests.suite.costs", "tests.suite.evidence",
    "tests.suite.lanes", "tests.suite.outcome",
)  # fmt: skip

SECONDS_MAX = 900  # then it hangs: a machine that is ten times slower is done before
# thousands of clusters are made here, each of many small objects, and while a test runs most of
# them are in use: collecting as often as Python does takes a quarter of all time
GARBAGE = (1_000_000, 20, 50)
GARBAGE_BETWEEN_TESTS = 300_000  # objects: with as many a test's cluster is cleared away behind it

# how many times as many examples as in a build: `make fuzz`
FUZZ = int(os.environ.get("FUZZ", "1"))

# the same examples each time: a failure seen once is seen again, and a build is not a lottery
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")
# it would also take constants of the modules that are loaded, so of the tests that ran before
assert "is_local_module_file" in vars(providers)
vars(providers)["is_local_module_file"] = lambda path: False


class TooSlow(BaseException):
    """Not an Exception, so that no retry switch under test swallows it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "take the pictures in tests/golden/page anew"
    parser.addoption("--rewrite-pictures", action="store_true", help=told)
    told = "record the bundled story of the articles' session anew"
    parser.addoption("--rewrite-recording", action="store_true", help=told)


def pytest_collection_finish() -> None:
    """What is imported stays; it need not be looked through for garbage each time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test, with its fixtures, gets a bounded time."""

    marker = item.get_closest_marker("seconds_max")
    seconds = FUZZ * max(SECONDS_MAX, int(marker.args[0]) if marker else 0)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"{item.nodeid} ran longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        if gc.get_count()[0] > GARBAGE_BETWEEN_TESTS:
            gc.collect()
