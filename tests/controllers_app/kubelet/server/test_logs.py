"""Logs from the kubelet's server, through the node's proxy."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Answer, Session
from tests.controllers_app.nodelab import log
from tests.controllers_app.podlab import cluster, create, pod

PROXY = "/api/v1/nodes/node-1/proxy"


@pytest.fixture(scope="module")
def session() -> Session:
    session = cluster(nodes=1)
    create(session, pod())
    session.cluster.hosts.nodes["node-1"].host.disk.write("/var/log/a&b.log", b"one\n", 0)
    return session


def ask(session: Session, path: str) -> Answer:
    return session.request("GET", f"{PROXY}{path}")


def test_a_containers_log_is_that_of_its_pod(session: Session) -> None:
    answer = ask(session, "/containerLogs/default/web/c")
    assert answer.status == 200
    assert bytes(answer.text).decode() == log(session)
    last = bytes(ask(session, "/containerLogs/default/web/c?tailLines=1&timestamps=true").text)
    assert last.count(b"\n") == 1 and last.split()[0].endswith(b"Z")


@pytest.mark.parametrize("query", ["tail=2", "tailLines=2"])
def test_a_tail_has_two_names(session: Session, query: str) -> None:
    text = bytes(ask(session, f"/containerLogs/default/web/c?{query}").text)
    assert text.count(b"\n") == 2


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("default/none/c", 404, 'pod "none" does not exist'),
        ("other/web/c", 404, 'pod "web" does not exist'),
        ("default/web/d", 404, 'container "d" not found in pod "web"'),
        ("default/web/c?tailLines=x", 400, '{"message": "Unable to decode query."}'),
        ("default/web/c?sinceTime=x", 400, '{"message": "Unable to decode query."}'),
        (
            "default/web/c?sinceTime=2025-01-01T00:00:00",
            400,
            '{"message": "Unable to decode query."}',
        ),
        ("default/web/c?tailLines=-1", 422, '{"message": "Invalid request."}'),
        ("default/web/c?limitBytes=0", 422, '{"message": "Invalid request."}'),
        (
            "default/web/c?previous=true",
            400,
            'previous terminated container "c" in pod "web" not found',
        ),
        ("default/web", 404, "404: Page Not Found"),
    ],
)
def test_a_log_is_refused_in_upstreams_words(
    session: Session, path: str, status: int, text: str
) -> None:
    answer = ask(session, f"/containerLogs/{path}")
    assert (answer.status, bytes(answer.text).decode()) == (status, text)


def test_a_log_is_not_followed_without_an_end(session: Session) -> None:
    answer = ask(session, "/containerLogs/default/web/c?follow=true")
    assert answer.status == 400 and b"follows no log" in answer.text


def test_the_nodes_own_logs_are_listed_and_read(session: Session) -> None:
    listed = bytes(ask(session, "/logs/").text).decode()
    assert '<a href="a%26b.log">a&amp;b.log</a>' in listed
    assert '<a href="pods/">pods/</a>' in listed
    assert ask(session, "/logs/a%26b.log").text == b"one\n"
    assert ask(session, "/logs/none").text == b"404 page not found\n"


def test_folders_and_files_are_sent_on_to_where_they_are(session: Session) -> None:
    folder = ask(session, "/logs/pods")
    assert (folder.status, dict(folder.headers)["Location"]) == (301, "pods/")
    file = ask(session, "/logs/a%26b.log/")
    assert (file.status, dict(file.headers)["Location"]) == (301, "../a%26b.log")


def test_nothing_outside_of_the_folder_of_logs_is_read(session: Session) -> None:
    assert ask(session, "/logs/../../etc/hostname").status == 404
    assert ask(session, "/logs/%2e%2e/%2e%2e/etc/hostname").status == 404
