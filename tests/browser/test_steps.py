"""The steps inside a gate, and an object in its forms: body, object, bytes in etcd."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

REQUEST = "POST /api/v1/namespaces/default/pods"


@pytest.fixture(scope="module", autouse=True)
def made(demo: Demo) -> None:
    """One pod, made by one request that is the only one anybody follows."""
    asking.apply(demo, asking.pod("one"))
    asking.until(lambda: asking.objects(demo, "pods")["one"]["status"].get("phase") == "Running")


def panel(sight: Sight, gate: str, tab: str) -> Locator:
    """A tab of the explanation of a gate of the request that made the pod."""
    sight.page.locator("#api h2 button").first.click()
    sight.settle()
    for _ in range(30):
        if sight.page.locator("#api header .second").inner_text() == REQUEST:
            break
        sight.press("Shift+ArrowLeft")
        sight.settle()
    sight.gate(gate).locator("button.name").first.click()
    inspector = sight.page.get_by_role("complementary")
    inspector.get_by_role("tab", name=tab, exact=True).click()
    sight.settle()
    return inspector


@pytest.mark.parametrize("size", [COMPACT, ROOMY])
def test_a_gate_lists_its_steps(look: Look, size: tuple[int, int]) -> None:
    sight = look(size)

    steps = panel(sight, "prepare", "Steps").locator(".nest li")

    expect(steps.locator("b")).to_have_text(
        [
            "podStrategy",
            "ObjectTyper",
            "NamespaceScoped",
            "GenerateName",
            "PrepareForCreate",
            "Validate",
        ]
    )
    sight.says(steps.nth(4), "phase: Pending, qosClass: BestEffort")
    calls = panel(sight, "etcd", "Steps").locator(".nest li")
    expect(calls.locator("b")).to_have_text(
        ["Create", "Versioner", "encode", "put", "Get", "decorate", "respond"]
    )
    wide = sight.page.evaluate(
        "() => { const e = document.querySelector('.inspector .scroll');"
        " return e.scrollWidth - e.clientWidth; }"
    )
    assert wide <= 0


def test_an_object_is_shown_in_each_of_its_forms(look: Look) -> None:
    sight = look(COMPACT)

    inspector = panel(sight, "etcd", "Object")
    inspector.get_by_role("button", name="Show the body, the object and the bytes").click()

    parts = inspector.locator(".forms section")
    expect(parts).to_have_count(3)
    sight.says(parts.nth(0), "application/json")
    sight.says(parts.nth(1), "restartPolicy: Always")
    sight.says(parts.nth(2), "/registry/pods/default/one · application/vnd.kubernetes.protobuf")
    sight.says(parts.nth(2), "0000  6b 38 73 00")


def test_a_teacher_has_etcd_refuse_the_next_write(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)

    inspector = panel(sight, "etcd", "Steps")
    inspector.get_by_role("button", name="Let the next create of pods fail").click()
    sight.says(inspector, "will fail: etcdserver: request timed out")
    refused = asking.apply(demo, asking.pod("two"))[0]

    assert (refused["code"], refused["message"]) == (500, "etcdserver: request timed out")
    assert "two" not in asking.objects(demo, "pods")
    assert asking.apply(demo, asking.pod("two"))[0]["code"] == 201
