"""The server goes away and comes back: the page stays, says so, and misses nothing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, Look, Sight
from tests.conformance.api import Api
from tests.lifecycle.hosting.running import REAL, Demo, kept_ports
from tests.robustness.test_disk import until_refused
from tests.robustness.trouble import Failing

LOST = "WebSocket connection|ERR_CONNECTION"


def test_the_server_is_started_again_on_its_port(chromium: Browser, tmp_path: Path) -> None:
    options = ("--speed", "max", *kept_ports())
    with Demo(tmp_path / "data", *options, driver=REAL) as first:
        asking.run(first, "before", 1)
        revision = asking.state(first)["revision"]
        sight = Sight(chromium, first.endpoints["page"], expects=LOST)
        expect(sight.page.get_by_title("Deployment before")).to_be_visible()
        sight.button("Recordings").click()  # what shows them is loaded with the first of them
        expect(sight.page.get_by_role("dialog")).to_be_visible()
        sight.press("Escape")
        expect(sight.page.get_by_role("dialog")).to_have_count(0)
    assert_lost(sight, revision)

    with Demo(tmp_path / "data", *options, driver=REAL) as second:
        asking.run(second, "after", 1)
        assert_back(sight, second, "after")
        sight.close()


def test_the_worker_dies_and_is_started_again(chromium: Browser, tmp_path: Path) -> None:
    with Demo(tmp_path / "data", "--speed", "max", driver=REAL) as demo:
        asking.run(demo, "before", 1)
        sight = Sight(chromium, demo.endpoints["page"], expects=f"{LOST}|status of 50[0-9]")
        expect(sight.page.get_by_title("Deployment before")).to_be_visible()

        killed = worker_of(demo)
        os.kill(killed, signal.SIGKILL)

        asking.until(lambda: worker_of(demo) != killed and revived(demo))
        asking.run(demo, "after", 1)
        assert_back(sight, demo, "after")
        sight.close()


def test_a_network_that_goes_is_told_at_once_and_what_was_missed_is_shown(
    chromium: Browser, tmp_path: Path
) -> None:
    with Demo(tmp_path / "data", "--speed", "max", driver=REAL) as demo:
        asking.run(demo, "before", 1)
        sight = Sight(chromium, demo.endpoints["page"], expects=f"{LOST}|DISCONNECTED")
        expect(sight.page.get_by_title("Deployment before")).to_be_visible()
        sight.context.set_offline(True)
        sight.says(sight.moment, "connection lost")
        asking.run(demo, "after", 1)
        expect(sight.page.get_by_title("Deployment after")).to_have_count(0)
        sight.context.set_offline(False)
        assert_back(sight, demo, "after")
        sight.close()


def test_a_disk_that_takes_no_writes_is_told_in_the_bar(chromium: Browser, tmp_path: Path) -> None:
    with Demo(tmp_path / "data", driver=REAL) as demo:
        sight = Sight(chromium, demo.endpoints["page"], expects=f"{LOST}|status of 50[0-9]")
        told = sight.page.locator("#bar [role=status]").filter(has_text="writes are refused")
        broken = Failing(demo)
        try:
            until_refused(Api(demo, tmp_path), "full")
            expect(told).to_be_visible()
            expect(told).to_have_attribute("title", "etcdserver: mvcc: database space exceeded")
        finally:
            broken.heal()
        expect(told).to_have_count(0)
        sight.close()


def assert_lost(sight: Sight, revision: int) -> None:
    sight.says(sight.moment, "connection lost")
    banner = sight.page.locator(".banner")
    sight.says(banner, "Reconnecting.")
    assert int("".join(filter(str.isdigit, banner.inner_text()))) >= revision
    expect(sight.page.get_by_title("Deployment before")).to_be_visible()
    sight.button("Recordings").click()
    dialog = sight.page.get_by_role("dialog")
    sight.says(dialog.get_by_role("alert"), "That did not work: the server cannot be reached")
    sight.press("Escape")
    expect(dialog).to_have_count(0)
    bar, wait = sight.page.evaluate(
        """() => {
          const probe = document.createElement('i');
          probe.style.color = 'var(--wait-tint)';
          document.body.append(probe);
          const tint = getComputedStyle(probe).color;
          probe.remove();
          return [getComputedStyle(document.getElementById('bar')).backgroundColor, tint];
        }"""
    )
    assert bar == wait, "the bar is amber"


def assert_back(sight: Sight, demo: Demo, name: str) -> None:
    """The page is live again and knows every record that there is."""
    expect(sight.page.get_by_title(f"Deployment {name}")).to_be_visible()
    sight.says(sight.moment, "live")
    expect(sight.page.locator(".banner")).to_have_count(0)
    known = "() => Number(document.querySelector('[role=slider]').getAttribute('aria-valuemax'))"
    seq = asking.state(demo)["seq"]
    sight.until(f"([seq]) => ({known})() >= seq", seq)
    pods = asking.objects(demo, "pods")
    assert len(pods) == 2
    for pod in pods:
        expect(sight.page.get_by_title(f"Pod {pod}", exact=True).first).to_be_visible()
    seqs = [record["seq"] for record in asking.records(demo)]
    assert seqs == list(range(1, len(seqs) + 1))


def worker_of(demo: Demo) -> int:
    return int(json.loads((demo.data_dir / "endpoints.json").read_text())["worker_pid"])


def revived(demo: Demo) -> bool:
    try:
        return bool(asking.state(demo).get("ready"))
    except (OSError, ValueError):
        return False


def test_a_feed_that_is_closed_while_it_connects_leaves_no_complaint(look: Look) -> None:
    sight = look(COMPACT)
    closed = """async () => {
      const { Feed } = await import('/static/js/net/feed.js');
      const feed = new Feed('demo', { connection() {} }, () => 0);
      feed.open();
      feed.close();
      const { code } = await new Promise((done) => feed.socket.addEventListener('close', done));
      return [code, feed.socket.readyState];
    }"""
    assert sight.page.evaluate(closed) == [1000, 3], "closed by the page, once it was open"
    assert not sight.complaints
