"""A pod that no node can take makes another leave: the page says who, where and why."""

from __future__ import annotations

import json

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo

DEMO = ("--nodes", "2")
PATIENTLY = f"--timeout={WAIT_SECONDS}s"
AT_PREEMPTION = {"id": "bp-preempt", "kind": "schedule", "phase": "preempt"}


def asking_for(cpu: str, klass: str, **spec: str) -> str:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    overrides = {"spec": {"containers": [container], "priorityClassName": klass, **spec}}
    return f"--overrides={json.dumps(overrides)}"


def test_the_page_tells_who_has_to_leave_and_why(look: Look, demo: Demo) -> None:
    kubectl = Kubectl(kubectls.newest(), demo.data_dir, demo.data_dir)
    for name, value in (("low", "-100"), ("mid", "1000"), ("high", "100000")):
        kubectl("create", "priorityclass", name, f"--value={value}")
    kubectl("run", "less", "--image=nginx", asking_for("3", "low", nodeName="node-2"))
    kubectl("run", "more", "--image=nginx", asking_for("3", "mid", nodeName="node-1"))
    kubectl("wait", "--for=condition=Ready", "pod/less", "pod/more", PATIENTLY)
    asking.control(demo, action="breakpoint", set=[AT_PREEMPTION])
    sight = look(COMPACT)
    kubectl("run", "web", "--image=nginx", asking_for("2", "high"))

    sight.says(sight.moment, "paused at a breakpoint")
    sight.says(sight.headline, "No node has room, so 1 pod must leave node-2 for web.")
    board = sight.page.locator(".board")
    sight.says(board, "node-1: more would leave (priority 1,000)")
    sight.says(board, "node-2: less would leave (priority -100)")
    why = sight.page.get_by_role("complementary")
    sight.says(why, "Of 2 nodes, the most important victim on node-2 has the lowest priority.")
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []

    asking.free(demo, "max")
    kubectl("wait", "--for=condition=Ready", "pod/web", PATIENTLY)
    told = ("get", "events", "--field-selector=reason=Preempted", "-o", "name")
    kubectl.until(lambda said: said.count("event/less") == 1, *told)
    assert kubectl("get", "pod", "web", "-o", "jsonpath={.spec.nodeName}") == "node-2"
