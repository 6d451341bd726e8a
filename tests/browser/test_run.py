"""A line of kubectl run does on an old release what it did then, and tells its steps."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look
from tests.lifecycle.hosting.running import Demo

DEMO = ("--kubernetes-version", "1.13")
STEPS = (
    "NewKubectlCommand", "NewMatchVersionFlags", "NewFactory", "NewCmdRun", "Complete", "Run",
    "GeneratorFn", "createGeneratedObject", "Generate", "ToRESTMapper", "Helper.Create", "PrintObj",
)  # fmt: skip
BEGINS_AT_THE_TOP = """() => {
  const [steps, answers] = ['.client', '.answers'].map((part) => document.querySelector(part));
  return Math.abs(steps.getBoundingClientRect().top - answers.getBoundingClientRect().top) < 8;
}"""


def test_the_articles_line_makes_a_deployment_and_names_its_generator(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    field = sight.commands().get_by_role("textbox")
    newest = sight.page.locator(".answers .run").first

    field.fill("kubectl run --image=nginx --replicas=3")
    field.press("Enter")
    sight.says(newest, "error: NAME is required for run")

    field.fill("kubectl run nginx --image=nginx --replicas=3")
    field.press("Enter")
    sight.says(newest, "kubectl run --generator=deployment/apps.v1 is DEPRECATED")
    sight.says(newest, "deployment.apps/nginx created")
    newest.get_by_text("What kubectl 1.13 did").press("Enter")  # a click would scroll, too
    sight.until(BEGINS_AT_THE_TOP)
    expect(newest.locator("li code")).to_have_text(STEPS)
    sight.says(newest, "the generator deployment/apps.v1, inferred from --restart=Always")
    sight.says(newest, "a Deployment goes to POST /apis/apps/v1/namespaces/default/deployments")
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)

    asking.until_ready(demo, "nginx", 3)
    nodes = {pod["spec"]["nodeName"] for pod in asking.objects(demo, "pods").values()}
    assert len(nodes) >= 2


def test_what_is_wrong_is_told_at_its_step_and_never_sent(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    field = sight.commands().get_by_role("textbox")
    newest = sight.page.locator(".answers .run").first

    field.fill("kubectl run unsent --image='ng inx'")
    field.press("Enter")

    sight.says(newest, 'error: Invalid image name "ng inx": invalid reference format')
    newest.get_by_text("What kubectl 1.13 did").click()
    expect(newest.locator("li code")).to_have_text(STEPS[:6])
    assert "unsent" not in json.dumps(asking.records(demo))


def test_a_line_waits_in_the_field_while_what_makes_its_object_cannot_be_fetched(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT, expects="generators.js|ERR_FAILED")
    sight.page.route("**/generators.js*", lambda route: route.abort())
    field = sight.commands().get_by_role("textbox")
    newest = sight.page.locator(".answers .run").first

    field.fill("kubectl run late --image=nginx")
    field.press("Enter")
    sight.says(newest, "the server cannot be reached")
    expect(field).to_have_value("kubectl run late --image=nginx")

    sight.page.unroute("**/generators.js*")
    field.press("Enter")
    sight.says(newest, "deployment.apps/late created")
    assert "late" in asking.objects(demo, "deployments")
