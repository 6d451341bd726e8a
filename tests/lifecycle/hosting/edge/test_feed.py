"""The live feed over a real WebSocket."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.hosting.running import Demo, WebSocket

PATH = "/ws/v1/clusters/demo/trace"


def collect(feed: WebSocket, first: int, last: int) -> list[int]:
    """The seqs of the records first..last, whatever frames they come in."""
    got: list[int] = []
    while not got or got[-1] < last:
        got += [record["seq"] for record in feed.json().get("records", [])]
    assert got[0] == first
    return got


def test_hello_comes_first_and_new_records_follow(demo: Demo) -> None:
    seq = _seq(demo)
    feed = demo.feed(f"{PATH}?from={seq + 1}")
    hello = feed.json()["hello"]
    assert hello["cluster"] == "demo" and hello["seq"] == seq
    demo.act("trace", count=3)
    assert collect(feed, seq + 1, seq + 3) == [seq + 1, seq + 2, seq + 3]
    feed.close()


def test_a_feed_that_comes_back_gets_what_it_missed_once(demo: Demo) -> None:
    keeper = demo.feed(PATH + "?from=1")  # keeps the feed's frames alive
    keeper.json()
    seq = _seq(demo)
    for _ in range(5):
        demo.act("trace", count=2)
    feed = demo.feed(f"{PATH}?from={seq + 4}")
    assert collect(feed, seq + 4, seq + 10) == list(range(seq + 4, seq + 11))
    keeper.close()
    feed.close()


def test_records_the_store_does_not_have_are_named(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:  # nobody listens here, so the edge keeps nothing
        demo.act("trace", count=700)
        feed = demo.feed(PATH)
        assert "hello" in feed.json()
        assert feed.json() == {"missing": {"first": 1, "last": 500}}
        assert feed.json() == {"missing": {"first": 501, "last": 700}}
        feed.close()


def test_a_change_of_the_clock_is_told(demo: Demo) -> None:
    feed = demo.feed(f"{PATH}?from={_seq(demo) + 1}")
    feed.json()
    demo.act("clock", mode="paused", held={"at": 7})
    assert feed.json() == {"clock": {"mode": "paused", "held": {"at": 7}}}
    feed.close()


@pytest.mark.parametrize("start", ["0x1", "-1", "", "9" * 30, "two"])
def test_a_start_that_is_no_number_is_refused(demo: Demo, start: str) -> None:
    feed = demo.feed(f"{PATH}?from={start}")
    assert feed.json() == {"error": "from must be a whole number from 1 on"}
    assert feed.close_code() == 4400
    feed.close()


def test_an_unknown_cluster_is_refused(demo: Demo) -> None:
    feed = demo.feed("/ws/v1/clusters/nope/trace")
    assert feed.json() == {"error": 'there is no cluster "nope"'}
    assert feed.close_code() == 4404
    feed.close()


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (PATH, {"Origin": "http://evil.example"}),
        (PATH, {"Origin": "null"}),
        ("/ws/v1/nothing", {}),
        ("/ws/", {}),
    ],
)
def test_foreign_pages_and_other_paths_are_refused(
    demo: Demo, path: str, headers: dict[str, str]
) -> None:
    feed = demo.feed(path, **headers)
    assert feed.status == 403
    feed.close()


def test_our_own_page_is_let_in(demo: Demo) -> None:
    host, port = demo.authority
    feed = demo.feed(PATH, Origin=f"http://{host}:{port}")
    assert feed.status == 101
    feed.close()


def test_many_feeds_see_the_same(demo: Demo) -> None:
    seq = _seq(demo)
    feeds = [demo.feed(f"{PATH}?from={seq + 1}") for _ in range(20)]
    for feed in feeds:
        feed.json()
    for _ in range(10):
        demo.act("trace", count=100)
    for feed in feeds:
        assert collect(feed, seq + 1, seq + 1000) == list(range(seq + 1, seq + 1001))
        feed.close()


def test_a_listener_that_does_not_read_costs_little_and_is_sent_to_the_store(demo: Demo) -> None:
    seq = _seq(demo)
    feed = demo.feed(f"{PATH}?from={seq + 1}")
    feed.json()
    for _ in range(60):
        demo.act("trace", count=1000, pad=1000)
    covered: list[int] = []
    held = 0
    while not covered or covered[-1] < seq + 60_000:
        frame = feed.json()
        records = [record["seq"] for record in frame.get("records", [])]
        covered, held = covered + records, held + len(records)
        if "missing" in frame:  # the stand-in has no store
            covered += range(frame["missing"]["first"], frame["missing"]["last"] + 1)
    assert covered == list(range(seq + 1, seq + 60_001))
    assert held < 60_000 / 2  # what came was kept all the while, here or in the system's buffers
    feed.close()


def _seq(demo: Demo) -> int:
    state: dict[str, Any] = json.loads(demo.get("/viz/v1/clusters/demo").read())
    return int(state["seq"])


def test_who_understands_deflate_gets_the_same_compressed(demo: Demo) -> None:
    seq = _seq(demo)
    feed = demo.feed(f"{PATH}?from={seq + 1}&encoding=deflate")
    plain = demo.feed(f"{PATH}?from={seq + 1}")
    feed.json()
    plain.json()
    demo.act("trace", count=100, pad=100)
    opcode, payload = feed.frame()
    assert opcode == 2 and json.loads(zlib.decompress(payload)) == plain.json()
    assert len(payload) < 3000
    demo.act("clock", mode="paused")
    assert feed.json() == {"clock": {"mode": "paused"}}
    feed.close()
    plain.close()
