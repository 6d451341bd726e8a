"""pods/log in virtual time: what is asked of the node, what is refused, and how a log ends."""

from __future__ import annotations

import pytest

from tests.apiserver_app.http.streaming.test_sessions import Lab


@pytest.fixture(scope="module")
def lab() -> Lab:
    return Lab()


def test_log_is_plain_text(lab: Lab) -> None:
    answer = lab.open("web/log", {"accept": "application/json, */*"})
    assert (answer.status, answer.text, answer.done) == (200, b"one\ntwo\n", True)
    assert ("Content-Type", "text/plain") in answer.headers
    assert lab.stream("end") == {"why": "the log ended", "lines": 2, "in": 0, "out": 8}


def test_followed_log_goes_on_until_it_ends(lab: Lab) -> None:
    answer = lab.open("web/log?follow=true", {})
    assert not answer.done
    lab.nodes.lines[-1].box.put(b"three\n")
    lab.session.settle()
    assert answer.text.endswith(b"three\n")
    lab.nodes.lines[-1].box.close()
    lab.session.settle()
    assert answer.done


def test_reader_that_leaves_closes_the_log(lab: Lab) -> None:
    answer = lab.open("web/log?follow=true", {})
    answer.cancel()
    lab.session.settle()
    assert lab.nodes.lines[-1].closed


def test_log_options_reach_the_node(lab: Lab) -> None:
    query = "previous=true&timestamps=true&tailLines=5&limitBytes=99&sinceTime=2025-01-01T00:00:00Z"
    lab.open(f"web/log?{query}&insecureSkipTLSVerifyBackend=true", {})
    options = lab.nodes.lines[-1].options
    assert (options.previous, options.timestamps, options.tail_lines) == (True, True, 5)
    assert (options.limit_bytes, options.since) == (99, 1_735_689_600_000_000)


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        (
            "tailLines=-1",
            422,
            'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: '
            "must be greater than or equal to 0",
        ),
        (
            "sinceSeconds=0",
            422,
            'PodLogOptions "web" is invalid: sinceSeconds: Invalid value: 0: '
            "must be greater than 0",
        ),
        ("tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ],
)
def test_bad_log_options_are_named(lab: Lab, query: str, code: int, message: str) -> None:
    answer = lab.open(f"web/log?{query}", {})
    assert (answer.status, answer.json()["message"]) == (code, message)


def test_kubelets_refusal_of_a_log_is_a_bad_request(lab: Lab) -> None:
    answer = lab.open("two/log?container=gone", {})
    assert answer.json()["reason"] == "BadRequest"
    assert answer.json()["message"] == (
        'container "gone" in pod "two" is waiting to start: ContainerCreating'
    )
