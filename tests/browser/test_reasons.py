"""Reasons on the page: how the server was built, policies, streams, custom objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from lifecycle import catalog
from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import Demo

SPEED = 1
ADMISSION = "admissionregistration.k8s.io"
EXPRESSION = "object.spec.replicas <= 5"
POLICY = {
    "apiVersion": f"{ADMISSION}/v1", "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "few"},
    "spec": {
        "matchConstraints": {"resourceRules": [{
            "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["deployments"],
        }]},
        "validations": [{"expression": EXPRESSION, "message": "at most 5 replicas"}],
    },
}  # fmt: skip
BINDING = {
    "apiVersion": f"{ADMISSION}/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "few"},
    "spec": {"policyName": "few", "validationActions": ["Deny"]},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "crontabs.stable.example.com"},
    "spec": {
        "group": "stable.example.com", "scope": "Namespaced",
        "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }],
    },
}  # fmt: skip
CRD = "crd/crontabs.stable.example.com"
CRONTAB = {"apiVersion": "stable.example.com/v1", "kind": "CronTab", "metadata": {"name": "mine"}}


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


def test_before_any_request_the_server_tells_how_it_was_built(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    told = next(
        record["detail"]
        for record in asking.records(demo)
        if record["kind"] == "component" and record["state"] == "starting"
    )

    sight.button("How this API server was built").click()

    dialog = sight.page.get_by_role("dialog", name="How this API server was built")
    expect(dialog).to_be_visible()
    expect(dialog.get_by_role("table")).to_have_count(3)
    mutating, validating, compared = (
        [row.inner_text().split("\t") for row in table.locator("tbody tr").all()]
        for table in dialog.get_by_role("table").all()
    )
    for phase, rows in (("mutating", mutating), ("validating", validating)):
        assert [[name, label] for _, name, label in rows] == told["admission"][phase]
    figures = [[str(one) for one in pair] for pair in catalog.likeness()["compared"].values()]
    assert [row[1:] for row in compared] == figures
    nested = dialog.locator("h2", has_text="Authenticators").locator(
        "xpath=following-sibling::ul[1]"
    )
    names = [one.inner_text().splitlines()[0] for one in nested.locator("li").all()]
    assert names[:4] == ["FailOnError", "AuthenticatedGroupAdder", "Union", "X509"]
    assert names[-1] == "Anonymous"
    sight.press("Escape")
    expect(dialog).to_be_hidden()


def test_a_policys_refusal_shows_its_expression_and_where_each_plugin_stands(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    for one in (POLICY, BINDING):
        kubectl("create", "-f", "-", given=json.dumps(one))
    sight = look(COMPACT)

    refused = kubectl.fails("create", "deployment", "big", "--image=nginx", "--replicas=9")

    assert "at most 5 replicas" in refused
    sight.says(sight.headline, "The ValidatingAdmissionPolicy plugin refused this.")
    inspector = sight.page.get_by_role("complementary")
    item = inspector.locator(".rules li", has_text=EXPRESSION)
    sight.says(item, "is false · at most 5 replicas")
    expect(inspector.locator("dl")).to_contain_text(["few"])
    assert_laid_out(sight)
    sight.gate("authentication").get_by_role("button", name="Authentication").first.click()
    tree = inspector.locator(".nest")
    sight.says(tree.locator("li.is-allow", has_text="X509"), 'certificate of "kubernetes-admin"')
    sight.says(tree.locator("li.is-wait", has_text="Anonymous"), "not asked")


def test_a_command_in_a_pod_is_drawn_to_its_node_and_tells_its_exit_code(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    asking.apply(demo, asking.pod("inside"))
    asking.until(lambda: ready(asking.objects(demo, "pods")["inside"]))
    node = asking.objects(demo, "pods")["inside"]["spec"]["nodeName"]
    sight = look()

    said = kubectl.run("exec", "inside", "--", "sh", "-c", "echo hello; exit 7")

    assert (said.out, said.code) == ("hello\n", 7)

    sight.says(sight.headline, "The process in inside ended with exit code 7.")
    chip = sight.page.locator(f"#n-{node} .stream")
    sight.says(chip, "exec: exit code 7")
    inspector = sight.page.get_by_role("complementary")
    sight.says(inspector, "v5.channel.k8s.io")
    sight.says(inspector, f"kubelet {node}")
    assert_laid_out(sight)
    # one hop back it is open, and a line leads to it
    for _ in range(3):
        sight.press("ArrowLeft")
        sight.settle()
        if "exec open" in chip.inner_text():
            break
    sight.says(chip, "exec open")
    asking.until(lambda: touches(sight, chip))


def test_a_custom_object_stands_among_the_objects_with_its_kind(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    kubectl("create", "-f", "-", given=json.dumps(DEFINITION))
    kubectl("wait", "--for=condition=Established", CRD, PATIENTLY)
    kubectl("create", "-f", "-", given=json.dumps(CRONTAB))
    sight = look()

    expect(sight.page.locator(".tree .row[title='CronTab mine']")).to_be_visible()
    sight.button("API server").click()
    sight.says(sight.gate("routing"), "extensions")
    sight.gate("routing").get_by_role("button", name="Routing").first.click()
    sight.says(sight.headline, "apiextensions-apiserver answers this itself.")
    assert_laid_out(sight)


def ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []


def touches(sight: Sight, what: Locator) -> bool:
    """Whether a line that is drawn blue ends at something."""
    script = """(e) => {
      const box = e.getBoundingClientRect();
      const near = (x, y) => Math.abs(x - box.left) < 3 && y >= box.top && y <= box.bottom;
      return [...document.querySelectorAll('.wire.live')].some((path) => {
        const at = path.getPointAtLength(path.getTotalLength())
          .matrixTransform(path.getScreenCTM());
        return near(at.x, at.y);
      });
    }"""
    return bool(what.evaluate(script))
