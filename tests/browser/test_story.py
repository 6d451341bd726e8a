"""A create goes through every gate before one's eyes, until three pods run on three nodes."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import COMPACT, GATES, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

SPEED = 10
# from now on, each time the page is drawn: the request shown, its gates, and the objects there are
WATCH = """() => {
  window.drawn = [];
  const see = () => {
    const corridor = document.querySelector('#api.corridor:not(.slim)');
    const gates = corridor ? [...corridor.querySelectorAll('.gate[id]')] : [];
    const state = (gate) => [...gate.classList].find((c) => c.startsWith('is-')).slice(3);
    const seen = {
      request: corridor ? corridor.querySelector('header .second').textContent : '',
      gates: gates.map((gate) => [gate.id.slice(2), state(gate)]),
      objects: [...document.querySelectorAll('.tree .row')].map((row) => row.title),
    };
    const last = window.drawn[window.drawn.length - 1];
    if (JSON.stringify(last) !== JSON.stringify(seen)) window.drawn.push(seen);
  };
  new MutationObserver(see).observe(document.body, {
    subtree: true, childList: true, characterData: true, attributes: true,
    attributeFilter: ['class', 'title'],
  });
}"""
PASSED = ("allow", "change", "noop", "skip")


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


def test_run_it_travels_through_the_eleven_gates_until_three_pods_run(look: Look) -> None:
    sight = look()
    sight.page.evaluate(WATCH)

    sight.button("Run it").click()

    sight.says(sight.headline, "3 of 3 pods are ready")
    sight.says(sight.moment, "live")
    drawn = sight.page.evaluate("window.drawn")
    path = "/apis/apps/v1/namespaces/default/deployments"
    assert passed_in_order(drawn, f"POST {path}") == list(GATES)
    assert_stored_with_etcd(drawn, "/deployments", "Deployment nginx")
    expect(sight.page.locator(".map .node .pods li:not(.sys)")).to_have_count(3)
    assert pods_of_nodes(sight) == {"node-1": 1, "node-2": 1, "node-3": 1}
    expect(sight.page.locator(".tree .row[title^='Pod nginx-']")).to_have_count(3)
    sight.says(sight.page.get_by_role("log"), "deployment.apps/nginx created")


def test_a_pod_of_kubectl_travels_through_the_gates_too(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look(COMPACT)
    sight.page.get_by_role("tab", name="Objects").click()
    sight.page.evaluate(WATCH)

    assert kubectl("run", "lone", "--image=nginx") == "pod/lone created\n"

    sight.says(sight.page.locator("#client"), "kubectl")
    sight.until("() => window.drawn.some((d) => d.objects.includes('Pod lone'))")
    drawn = sight.page.evaluate("window.drawn")
    # on a small screen audit and flow control share a row
    assert passed_in_order(drawn, "POST /api/v1/namespaces/default/pods") == [
        gate for gate in GATES if gate != "audit"
    ]
    assert_stored_with_etcd(drawn, "/pods", "Pod lone")
    sight.says(sight.moment, "live")
    phase = ("get", "pod", "lone", "-o", "jsonpath={.status.phase}")
    kubectl.until(lambda said: said == "Running", *phase)
    everywhere = sight.page.locator(".map .node .pods li:not(.sys)")
    expect(everywhere).to_have_count(len(asking.objects(demo, "pods")))


def passed_in_order(drawn: list[dict[str, Any]], request: str) -> list[str]:
    """The gates of a request, in the order in which they were first shown as passed."""
    order: list[str] = []
    for one in drawn:
        if one["request"].startswith(request):
            order += [g for g, state in one["gates"] if state in PASSED and g not in order]
    return order


def assert_stored_with_etcd(drawn: list[dict[str, Any]], path: str, title: str) -> None:
    """The object is in the tree when the last gate has been passed, and not before."""
    first = next(i for i, one in enumerate(drawn) if title in one["objects"])
    before = [one for one in drawn[:first] if one["request"].endswith(path)]
    assert before
    assert all(dict(one["gates"]).get("etcd") not in PASSED for one in before[:-1])
    assert dict(drawn[first]["gates"]).get("etcd") in PASSED
    assert drawn[first]["request"].endswith(path)


def pods_of_nodes(sight: Sight) -> dict[str, int]:
    """How many pods are shown on each node."""
    nodes = sight.page.locator(".map .node")
    shown = {}
    for i in range(nodes.count()):
        node = nodes.nth(i)
        pods = node.locator(".pods li:not(.sys)")
        shown[node.get_by_role("heading").inner_text()] = pods.count()
    return shown
