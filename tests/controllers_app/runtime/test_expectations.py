"""Expectations: a lagging cache must not make a controller create twice."""

from __future__ import annotations

from apiserver_app.machinery.kernel import SECOND, Kernel
from controllers_app.runtime.expectations import TIMEOUT_SECONDS, Expectations


def test_nothing_expected_is_satisfied(kernel: Kernel) -> None:
    assert Expectations(kernel).satisfied("ns/a")


def test_creations_must_all_be_seen(kernel: Kernel) -> None:
    expected = Expectations(kernel)
    expected.expect_creations("ns/a", 2)
    expected.creation_observed("ns/a")
    assert not expected.satisfied("ns/a")
    expected.creation_observed("ns/a")
    assert expected.satisfied("ns/a")


def test_a_deletion_is_seen_by_name_so_that_twice_the_same_counts_once(kernel: Kernel) -> None:
    expected = Expectations(kernel)
    expected.expect_deletions("ns/a", ["p1", "p2"])
    expected.deletion_observed("ns/a", "p1")
    expected.deletion_observed("ns/a", "p1")
    assert not expected.satisfied("ns/a")
    expected.deletion_observed("ns/a", "p2")
    assert expected.satisfied("ns/a")


def test_an_expectation_runs_out(kernel: Kernel) -> None:
    expected = Expectations(kernel)
    expected.expect_creations("ns/a", 1)
    kernel.advance(kernel.now + (TIMEOUT_SECONDS + 1) * SECOND)
    assert expected.satisfied("ns/a")
