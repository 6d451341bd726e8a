"""python -m tests.browser: what a visitor waits for, in a Chromium that draws by the processor.

First content and the bytes of the page's files; a picture of so many pods, from the first byte on;
the frames while they start, and those of an empty page beside the same cluster, which are the
machine's part of it; a seek in their recording; the heap after an hour of virtual churn.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.api_load import percentile
from lifecycle.bench.demo_start import Demo
from tests.browser.sight import start_chromium

FEW, MANY = 300, 1000
SIZE: ViewportSize = {"width": 1280, "height": 800}
SEEKS, SEED = 100, 1
CHURN_SPEED, CHURN_CYCLES, CHURN_PODS = 120, 60, 5  # an hour: one cycle a minute
CYCLE_SECONDS = 60 / CHURN_SPEED
TIMEOUT_SECONDS = 120
QUERY = "lang=en&theme=light"

# when the page has all that there was as it came, and has drawn every pod
COMPLETE = """(pods) => {
  const counts = [...document.querySelectorAll('.yard header span')];
  const drawn = counts.reduce((sum, { textContent }) => sum + Number(textContent), 0);
  if (document.body?.getAttribute('aria-busy') !== 'false' || drawn !== pods) return 0;
  return performance.now() - performance.getEntriesByType('navigation')[0].responseStart;
}"""
EMPTY = """<style>
  @keyframes along { to { translate: 50vw } }
  div { width: 2em; height: 2em; background: green; animation: along 2s infinite linear }
</style><div></div>"""
FRAMES = """() => {
  window.frames_ = [];
  let before = performance.now();
  const see = (now) => {
    window.frames_.push(now - before);
    before = now;
    requestAnimationFrame(see);
  };
  requestAnimationFrame(see);
}"""
# from the press to what comes after the frame in which it was drawn
SEEK = """([share]) => new Promise((done) => {
  const plot = document.querySelector('[role=slider]');
  const { left, width, bottom } = plot.getBoundingClientRect();
  const place = { clientX: left + width * share, clientY: bottom - 4, bubbles: true };
  const began = performance.now();
  for (const type of ['pointerdown', 'pointerup'])
    plot.dispatchEvent(new PointerEvent(type, { ...place, pointerId: 1, button: 0, buttons: 1 }));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
})"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser", description=__doc__)
    parser.add_argument("--runs", type=int, default=harness.RUNS, help="how often to measure")
    parser.add_argument("--json", action="store_true", help="one JSON object, on one line")
    given = parser.parse_args()
    figures = harness.repeated("page", _measure, given.runs, pods=MANY, churn_cycles=CHURN_CYCLES)
    if given.json:
        sys.stdout.write(json.dumps(figures) + "\n")
        return
    for name, value in figures.items():
        sys.stdout.write(f"{name:24} {value}\n")


def _measure() -> dict[str, Any]:
    with _chromium() as browser:
        return {**_empty(browser), **_opened(browser), **_crowd(browser), **_churned(browser)}


def _empty(browser: Browser) -> dict[str, float]:
    """A page on which nothing happens but that something moves, while FEW pods start."""
    with _demo(FEW) as demo:
        page = browser.new_page(viewport=SIZE)
        page.set_content(EMPTY)
        page.evaluate(FRAMES)
        _start(demo, FEW)
        figures = _taken(page, f"empty_{FEW}")
        page.close()
        return figures


def _opened(browser: Browser) -> dict[str, float]:
    """An empty cluster is opened, and then FEW pods start."""
    with _demo(FEW) as demo:
        page = browser.new_page(viewport=SIZE)
        wire = page.context.new_cdp_session(page)
        wire.send("Network.enable")
        sizes: list[float] = []
        wire.on("Network.loadingFinished", lambda one: sizes.append(one["encodedDataLength"]))
        _open(page, demo)
        paint = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        first = page.wait_for_function(paint).json_value() / 1000
        files = sum(sizes) / 1024
        return {
            "first_content_seconds": round(first, 3),
            "files_kib": round(files, 1),
            **_frames(page, demo, FEW),
        }


def _crowd(browser: Browser) -> dict[str, float]:
    with _demo(MANY) as demo:
        page = browser.new_page(viewport=SIZE)
        _open(page, demo)
        figures = _frames(page, demo, MANY)
        page.close()
        late = browser.new_page(viewport=SIZE)
        _open(late, demo)
        drawn = late.wait_for_function(COMPLETE, arg=MANY).json_value()
        late.close()
        saved = _ask(demo, "/viz/v1/traces", {"name": "many"})
        return {
            **figures,
            "complete_seconds": round(drawn / 1000, 3),
            **_seeks(browser, demo, saved),
        }


def _frames(page: Page, demo: Demo, pods: int) -> dict[str, float]:
    """While so many pods start, and until all that happened is shown."""
    page.evaluate(FRAMES)
    _start(demo, pods)
    _until_known(page, _ask(demo, "/viz/v1/clusters/demo")["seq"])
    return _taken(page, f"frame_{pods}")


def _start(demo: Demo, pods: int) -> None:
    demo.create("many", pods)
    demo.wait_running("many", pods, TIMEOUT_SECONDS)


def _taken(page: Page, name: str) -> dict[str, float]:
    """What the frames took since they were looked at first."""
    seen = [one / 1000 for one in page.evaluate("window.frames_")]
    return {
        f"{name}_p50_ms": percentile(seen, 50),
        f"{name}_p99_ms": percentile(seen, 99),
        f"{name}_worst_ms": round(max(seen) * 1000, 1),
    }


def _seeks(browser: Browser, demo: Demo, saved: dict[str, Any]) -> dict[str, float]:
    page = browser.new_page(viewport=SIZE)
    page.goto(f"{_link(demo)}&trace={saved['id']}")
    _until_known(page, saved["last"])
    chance = random.Random(SEED)
    page.keyboard.press("0")  # all of it on the axis
    took = [page.evaluate(SEEK, [chance.uniform(0.05, 0.95)]) / 1000 for _ in range(SEEKS)]
    page.close()
    return {
        "records": saved["last"],
        "seek_p50_ms": percentile(took, 50),
        "seek_p99_ms": percentile(took, 99),
    }


def _churned(browser: Browser) -> dict[str, float]:
    """The heap of a page that saw a Deployment come and go each minute for an hour."""
    with _demo(CHURN_PODS, speed=str(CHURN_SPEED)) as demo:
        page = browser.new_page(viewport=SIZE)
        wire = page.context.new_cdp_session(page)
        _open(page, demo)
        for number in range(CHURN_CYCLES):
            ends = time.monotonic() + CYCLE_SECONDS
            demo.create(f"churn-{number}", CHURN_PODS)
            time.sleep(CYCLE_SECONDS / 2)
            demo.delete(f"churn-{number}")
            time.sleep(max(0.0, ends - time.monotonic()))
        _until_known(page, _ask(demo, "/viz/v1/clusters/demo")["seq"])
        wire.send("HeapProfiler.collectGarbage")
        used = wire.send("Runtime.getHeapUsage")["usedSize"]
        return {"heap_mib": round(used / 2**20, 1)}


@contextlib.contextmanager
def _chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield start_chromium(playwright, whole=True)


@contextlib.contextmanager
def _demo(pods: int, speed: str = "max") -> Iterator[Demo]:
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name), nodes=max(3, lifecycle_pods.nodes_for(pods)), speed=speed)
        try:
            demo.wait_running("coredns", 2, namespace="kube-system")
            yield demo
        finally:
            demo.stop()


def _open(page: Page, demo: Demo) -> None:
    page.set_default_timeout(TIMEOUT_SECONDS * 1000)
    page.goto(_link(demo))
    page.wait_for_function("() => document.body.getAttribute('aria-busy') === 'false'")


def _link(demo: Demo) -> str:
    return f"http://{demo.page}/?token={demo.token}&{QUERY}"


def _until_known(page: Page, seq: int) -> None:
    known = "(seq) => Number(document.querySelector('[role=slider]')?.ariaValueMax) >= seq"
    page.wait_for_function(known, arg=seq, timeout=TIMEOUT_SECONDS * 1000)


def _ask(demo: Demo, path: str, body: Any = None) -> dict[str, Any]:
    request = urllib.request.Request(
        f"http://{demo.page}{path}",
        json.dumps(body).encode() if body else None,
        {"Authorization": f"Bearer {demo.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        told: dict[str, Any] = json.load(answer)
    return told


if __name__ == "__main__":
    main()
