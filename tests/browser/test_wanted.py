"""What is not as wanted stands over the map, in the words that kubectl's table bears out."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

SPEED = 10
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def running(demo: Demo) -> None:
    """Each test begins with a cluster that runs."""
    asking.free(demo, 10)


@pytest.fixture(scope="module")
def crash(kubectl: Kubectl) -> None:
    kubectl("run", "crash", "--image=busybox", "--annotations=simulation.lifecycle/crash=true")


def test_a_healthy_cluster_says_that_all_is_as_wanted(look: Look, demo: Demo) -> None:
    asking.run(demo, "web")
    sight = look(COMPACT)

    expect(strip_of(sight)).to_have_count(0)
    sight.says(sight.page.locator(".timeline .tools"), "All 8 objects are as wanted")


@pytest.mark.usefixtures("crash")
def test_a_crash_loop_stands_over_the_map_and_leads_to_the_exit(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look(COMPACT)
    said = strip_of(sight).get_by_role("button", name="crash")
    sight.says(said, re.compile(r"0 of 1 runs: crash has exited ([3-9]|\d\d) times, code 1"))

    asking.control(demo, action="speed", speed=1)  # its back-off is longer than to ask both
    sight.press("l")
    sight.says(sight.moment, "live")

    def row() -> list[str]:
        """What kubectl prints, if the page says the same before and after it."""
        times = exits(said)
        printed = kubectl("get", "pods", "crash", "--no-headers").split()
        return printed if times == int(printed[3]) + 1 == exits(said) else []

    name, ready, status, *_ = asking.until(row)
    assert (name, ready) == ("crash", "0/1")
    assert status in ("CrashLoopBackOff", "Error")
    assert_laid_out(sight)
    said.click()

    sight.says(sight.headline, "crash of crash has exited with code 1.")


@pytest.mark.usefixtures("crash")
def test_shift_f_goes_from_failure_to_failure(look: Look, demo: Demo, kubectl: Kubectl) -> None:
    kubectl("run", "typo", "--image=ngnix")
    kubectl("create", "-f", "-", given=json.dumps(CLAIM))
    kubectl("create", "-f", "-", given=asking.pod("huge", containers=[huge()]))
    sight = look()
    strip = strip_of(sight)
    sight.says(strip, "and 1 more")
    table = {line.split()[0]: line.split()[2] for line in pods(kubectl)}
    assert table["huge"] == "Pending"
    assert table["typo"] in ("ErrImagePull", "ImagePullBackOff")
    assert_laid_out(sight)

    asking.control(demo, action="pause")  # no failure is to come between
    sight.says(sight.moment, "paused")
    seen = set()
    for _ in range(4):
        sight.press("Shift+F")
        sight.settle()
        seen.add(sight.headline.inner_text())

    assert len(seen) == 4, seen
    assert "No node can take this pod, so it stays Pending." in seen
    assert "The image ngnix could not be pulled." in seen


@pytest.mark.parametrize(
    ("query", "found", "named"),
    [
        ("theme=light&lang=en", "The scheduler found no node for large: 0/3", "3 Schedule, failed"),
        ("theme=dark&lang=zh", "调度器没有为 large 找到节点：0/3", "3 调度, 失败"),
    ],
)
def test_a_chapter_and_a_lane_say_what_failed(
    look: Look, kubectl: Kubectl, query: str, found: str, named: str
) -> None:
    kubectl("delete", "pod", "large", "--ignore-not-found")
    sight = look(COMPACT, query=query)
    kubectl("create", "-f", "-", given=asking.pod("large", containers=[huge()]))

    sight.says(sight.page.locator(".inspector .chapter"), found)
    expect(sight.page.get_by_role("button", name=named, exact=True)).to_be_visible()
    lane = sight.page.locator(".timeline .names li", has_text="scheduler")
    expect(lane.locator(".g-deny")).to_be_visible()
    assert_laid_out(sight)


def exits(said: Locator) -> int:
    return int(re.findall(r"exited (\d+) times", said.inner_text())[0])


def huge() -> dict[str, object]:
    return {"name": "web", "image": "nginx", "resources": {"requests": {"cpu": "64"}}}


def pods(kubectl: Kubectl) -> list[str]:
    return kubectl("get", "pods", "--no-headers").splitlines()


def strip_of(sight: Sight) -> Locator:
    return sight.page.locator(".map .wanted")


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []
