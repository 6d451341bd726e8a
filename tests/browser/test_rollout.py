"""A rollout is two ReplicaSets side by side with the bounds between them, and tells each step as
the objects have it."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

REPLICAS, LEAST, MOST = 6, 5, 8  # 25 % of 6: up to 2, down to 1
CHOSEN = "sel=object/deployments.apps/default/web"
LOOKS = 3


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    asking.until(lambda: len(asking.objects(demo, "pods", "kube-system")) >= 5)
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def scaled(demo: Demo, kubectl: Kubectl) -> list[dict[str, Any]]:
    """The writes by which the Deployment's controller moved from the old ReplicaSet to the new."""
    asking.run(demo, "web", REPLICAS)
    first = asking.objects(demo, "deployments")["web"]["metadata"]["resourceVersion"]
    kubectl("set", "image", "deployment/web", "web=httpd")
    kubectl("rollout", "status", "deployment/web")
    sizes: dict[str, int] = {}
    found = []
    for write in writes(demo):
        if write["resource"] != "replicasets.apps":
            continue
        size = write["object"]["spec"]["replicas"]
        if write["rev"] > int(first) and size != sizes.get(write["name"], 0):
            found.append(write | {"by": size - sizes.get(write["name"], 0)})
        sizes[write["name"]] = size
    return found


def test_each_step_says_what_the_controller_scaled(
    look: Look, demo: Demo, scaled: list[dict[str, Any]]
) -> None:
    step = len(scaled) // LOOKS
    for write in scaled[1::step]:
        sight = look(COMPACT, query=f"r={write['rev']}&{CHOSEN}&theme=light&lang=en")
        board = sight.page.get_by_role("region", name="Rollout of web")
        what = f"{abs(write['by'])} {'new' if write['by'] > 0 else 'old'} may"
        sight.says(board.locator(".step"), what)
        sight.says(board, f"at least {LEAST} ready")
        sight.says(board, f"at most {MOST} in all")
        pods = pods_at(demo, write["rev"])
        ready = sum(1 for stage in pods.values() if stage[1] == "ready")
        there = sum(1 for stage in pods.values() if stage[1] != "ending")
        sight.says(board, f"{ready} ready, {there} in all")
        assert squares(sight) == Counter(stage for _, stage in pods.values())
        assert LEAST <= ready <= there <= MOST
        assert_laid_out(sight)


def test_a_rollout_that_is_followed_takes_the_place_of_the_nodes(
    look: Look, kubectl: Kubectl, scaled: list[dict[str, Any]]
) -> None:
    sight = look(ROOMY)
    board = sight.page.get_by_role("region", name="Rollout of web")
    sight.says(board, "6 of 6 new ready. The old ReplicaSet stays, with no pods, for an undo.")
    sight.says(board.locator(".change"), "image nginx → httpd")
    assert_laid_out(sight)

    kubectl("rollout", "undo", "deployment/web")

    sight.says(board.locator(".change"), "image httpd → nginx")
    sight.says(board.locator(".side").nth(0), "Old, revision 2")
    sight.says(board.locator(".side").nth(1), "New, revision 3")
    sight.says(board, "6 of 6 new ready.")


def test_the_arithmetic_and_every_step_are_a_key_away(
    look: Look, scaled: list[dict[str, Any]]
) -> None:
    sight = look(COMPACT, query=f"r={scaled[-1]['rev']}&{CHOSEN}&theme=dark&lang=en")
    sight.page.get_by_text("The arithmetic, and every step").focus()
    sight.press("Enter")
    fold = sight.page.locator(".rollout details")
    sight.says(fold, "maxSurge: 25% of 6 = 1.5, rounded up 2. At most 6 + 2 = 8 in all.")
    sight.says(fold, "maxUnavailable: 25% of 6 = 1.5, rounded down 1. At least 6 − 1 = 5 ready.")
    first = fold.locator("ol button").first
    sight.says(first, "at most 8 in all, so 2 new may come; 6 ready and 5 must stay")

    first.focus()
    sight.press("Enter")

    # the new ReplicaSet is made and the old one scaled in one reconcile
    expect(sight.page.locator(".tape .cell.at")).to_contain_text(str(scaled[1]["rev"]))
    phone = look((390, 844), query=f"r={scaled[2]['rev']}&{CHOSEN}&theme=projector&lang=zh")
    phone.says(phone.page.locator(".rollout .gauge"), re.compile("至少 5 个就绪"))
    assert_laid_out(phone)


def writes(demo: Demo) -> list[dict[str, Any]]:
    return [record for record in asking.records(demo) if record["kind"] == "write"]


def pods_at(demo: Demo, rev: int) -> dict[str, tuple[str, str]]:
    """Of each pod of the Deployment at a revision its ReplicaSet, and how far it is."""
    found: dict[str, tuple[str, str]] = {}
    for write in writes(demo):
        if write["rev"] > rev or write["resource"] != "pods" or write["namespace"] != "default":
            continue
        if write["op"] == "delete":
            del found[write["name"]]
        else:
            found[write["name"]] = (write["name"].rsplit("-", 1)[0], stage_of(write["object"]))
    return found


def stage_of(pod: dict[str, Any]) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "ending"
    conditions = {
        condition["type"]: condition["status"] for condition in pod["status"].get("conditions", [])
    }
    if conditions.get("Ready") == "True":
        return "ready"
    return "starting" if "nodeName" in pod["spec"] else "stored"


def squares(sight: Sight) -> Counter[str]:
    """How many pods are drawn as what."""
    drawn = sight.page.locator(".squares li:not(.is-absent)")
    return Counter(drawn.evaluate_all("all => all.map((one) => one.className.slice(3))"))


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
