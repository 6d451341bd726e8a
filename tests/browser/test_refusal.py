"""Refused at authorization: the gate, upstream's words, the rules looked at, nothing stored."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import COMPACT, Look
from tests.lifecycle.hosting.running import Demo

SPEED = 10
MESSAGE = (
    'deployments.apps is forbidden: User "student" cannot create resource "deployments" in API '
    'group "apps" in the namespace "default"'
)


def test_a_student_is_refused_at_authorization_and_told_why(look: Look, demo: Demo) -> None:
    sight = look()

    sight.button(re.compile("^Why does a student get 403")).click()

    gate = sight.gate("authorization")
    expect(gate).to_have_class(re.compile("is-deny"))
    sight.says(gate, "403")
    sight.says(gate, MESSAGE)
    for name in ("routing", "decode", "mutating", "etcd"):
        expect(sight.gate(name)).to_have_class(re.compile("is-wait"))
    sight.says(sight.moment, re.compile("live|stopped at a refusal"))
    explanation = sight.page.get_by_role("complementary")
    for tab in explanation.get_by_role("tab").all():
        if tab.inner_text() == "Rules":
            tab.click()
    looked_at = [
        attempt
        for record in asking.records(demo)
        if record["kind"] == "gate"
        and record["gate"] == "authorization"
        and record["verdict"] == "deny"
        for attempt in record["detail"]["tries"]
    ]
    assert looked_at
    for one in looked_at:
        sight.says(gate, one["name"])
    bindings = [b for one in looked_at for b in one.get("detail", {}).get("bindings", [])]
    assert bindings
    for binding in bindings:
        sight.says(explanation, f"{binding['role']['kind']} {binding['role']['name']}")
    sight.says(sight.page.get_by_role("log"), f"Error from server (Forbidden): {MESSAGE}")
    sight.says(sight.page.locator(".tape"), "nothing was written")
    sight.says(sight.page.locator("#kcm"), "Nothing was stored, so nothing woke them.")
    assert asking.objects(demo, "deployments") == {}

    # the same by somebody who may
    sight.button(re.compile("^Send it again as")).click()
    sight.says(sight.headline, "3 of 3 pods are ready")
    assert list(asking.objects(demo, "deployments")) == ["nginx"]


def test_the_refusal_is_seen_whole_on_a_small_screen(look: Look) -> None:
    sight = look(COMPACT)
    sight.send(asking.deployment("mine", 1, "default"), "student")

    gate = sight.gate("authorization")
    expect(gate).to_have_class(re.compile("is-deny"))
    sight.says(gate, MESSAGE)
    sight.settle()
    gates = sight.page.locator(".corridor .gates").bounding_box()
    box = gate.bounding_box()
    assert gates and box
    assert gates["y"] - 1 <= box["y"]
    assert box["y"] + box["height"] <= gates["y"] + gates["height"] + 1


def test_a_quotas_refusals_are_told_apart_and_the_names_in_them_stay_whole(
    look: Look, demo: Demo
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    asking.apply(demo, json.dumps({**quota, "spec": {"hard": {"pods": "0"}}}))
    asking.apply(demo, asking.deployment("many", 3))
    sight = look((1366, 768))
    # at once, as the headline follows the cluster to whatever comes next
    refused = sight.headline.filter(has_text="exceeded quota")
    whole = refused.locator(".named").filter(has_text=re.compile(r'^"many-[\w-]+"$'))
    expect(whole).to_be_attached()
    expect(sight.page.locator(".plot .mark").nth(3)).to_be_attached()
    sight.settle()

    assert sight.page.evaluate(_OVERLAPPING) == []


# what stands at refusals, and lies on something else that stands in that lane
_OVERLAPPING = """() => {
  const texts = [...document.querySelectorAll('.plot text:is(.outlabel, .inlabel)')];
  const box = (text) => text.getBoundingClientRect();
  return [...document.querySelectorAll('.plot .mark text')].filter((one) =>
    texts.some((other) => other !== one
      && Math.abs(box(other).top - box(one).top) < 4
      && box(other).left < box(one).right && box(other).right > box(one).left),
  ).map((one) => one.textContent);
}"""
