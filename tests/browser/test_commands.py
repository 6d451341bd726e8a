"""One field takes a manifest or a line of kubectl or etcdctl; what is answered stands below it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

KEYS = "etcdctl get / --prefix --keys-only"


@pytest.fixture(scope="module", autouse=True)
def stored(demo: Demo) -> None:
    asking.run(demo, "web", 1)


@pytest.mark.parametrize("size", [ROOMY, COMPACT])
def test_a_manifest_and_lines_are_typed_in_one_field_and_answered_below(
    look: Look, demo: Demo, size: tuple[int, int]
) -> None:
    name = f"typed-{size[0]}"
    sight = look(size)
    sight.send(asking.deployment(name, 1), "admin")
    sight.says(newest(sight), f"deployment.apps/{name} created")
    expect(field(sight)).to_have_value("")

    enter(sight, f"kubectl scale deployment/{name} --replicas=2")
    sight.says(newest(sight), f"kubectl scale deployment/{name} --replicas=2 # admin")
    sight.says(newest(sight), f"deployment.apps/{name} scaled")
    asking.until(lambda: asking.objects(demo, "deployments")[name]["spec"]["replicas"] == 2)
    enter(sight, "etcdctl get /registry/namespaces/default --keys-only")
    sight.says(newest(sight), "/registry/namespaces/default")

    told = [one.inner_text() for one in sight.page.locator(".answers .run .c").all()]
    assert [one.split()[0] for one in told] == ["etcdctl", "kubectl", "kubectl"]  # newest first
    assert_laid_out(sight)


def test_get_prints_a_table_by_a_request_of_ones_own(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    enter(sight, "kubectl get pods -n kube-system -o wide")
    table = newest(sight).locator(".is-table")
    lines = table.inner_text().splitlines()
    assert lines[0].split()[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert len(lines) > 5 and len({line.index("1/1") for line in lines[1:]}) == 1
    path = "/api/v1/namespaces/kube-system/pods"
    (asked,) = [
        record
        for record in asking.records(demo)
        if (record.get("path"), record.get("client")) == (path, "page")
    ]
    assert (asked["verb"], asked["outside"]) == ("list", True)
    large = newest(sight).get_by_role("button", name="Show the table")
    large.focus()
    sight.press("Enter")
    dialog = sight.page.get_by_role("dialog")
    assert dialog.locator(".is-table").inner_text() == table.inner_text()
    assert_laid_out(sight)
    sight.press("Escape")
    expect(large).to_be_focused()
    enter(sight, "kubectl get pods nobody")
    sight.says(newest(sight), 'Error from server (NotFound): pods "nobody" not found')
    assert_laid_out(sight)


def test_what_cannot_be_sent_says_why_and_stays_to_be_mended(look: Look) -> None:
    sight = look(COMPACT, expects="400|403")
    enter(sight, "")
    sight.says(newest(sight), "There is nothing to send.")
    for line in ("hello", "kubectl attach web"):
        enter(sight, line)
        sight.says(newest(sight), line)
        sight.says(newest(sight), "create deployment, run, scale, rollout restart")
        expect(field(sight)).to_have_value(line)
    enter(sight, "kubectl describe pods")
    sight.says(newest(sight), "use a terminal with the kubeconfig")
    broken = "apiVersion: v1\nkind: Pod\n  metadata:\n"
    sight.send(broken)
    sight.says(newest(sight), "error: error converting YAML to JSON: yaml: line 3: ")
    expect(field(sight)).to_have_value(broken)
    assert_laid_out(sight)

    sight.send(asking.pod("mine"), "viewer")
    sight.says(newest(sight), "Error from server (Forbidden): pods is forbidden")
    expect(field(sight)).to_have_value(re.compile("mine"))


def test_the_first_command_of_the_articles_is_told_what_does_it_today(look: Look) -> None:
    sight = look(COMPACT)
    enter(sight, "kubectl run --image=nginx --replicas=3")
    sight.says(newest(sight), "error: unknown flag: --replicas")
    sight.says(newest(sight), "Since 1.18 kubectl run makes one pod")
    today = "kubectl create deployment nginx --image=nginx --replicas=3"
    newest(sight).get_by_role("button", name=today).click()
    expect(field(sight)).to_have_value(today)
    assert_laid_out(sight)


def test_the_pod_of_the_articles_is_an_example_and_its_policy_is_shown(look: Look) -> None:
    sight = look(COMPACT)
    sight.button("YAML of a Pod").click()
    expect(field(sight)).to_have_value(re.compile("name: nginx-pod(.|\n)*image: nginx:1.8"))
    sight.press("Control+Enter")
    sight.says(newest(sight), "pod/nginx-pod created")
    sight.says(sight.headline, "1 of 1 pod is ready")
    sight.page.locator(".inspector .cards button", has_text="nginx-pod").click()
    sight.page.get_by_role("tab", name="Object", exact=True).click()
    shown = sight.page.locator("#inspector-body")
    expect(shown).to_contain_text("name: nginx-pod")
    expect(shown).to_contain_text("imagePullPolicy: IfNotPresent")


def test_the_arrow_up_goes_back_in_what_was_sent(look: Look) -> None:
    sight = look(COMPACT)
    for line in ("etcdctl version", "etcdctl endpoint health"):
        enter(sight, line)
        sight.says(newest(sight), line)
    sight.send("kind: Nothing\nitems: []\n")
    sight.says(newest(sight), "no matches for kind")
    field(sight).fill("draft")
    for expected in ("kind: Nothing\nitems: []\n", "etcdctl endpoint health", "etcdctl version"):
        sight.press("Control+Home", "ArrowUp")
        expect(field(sight)).to_have_value(expected)
    for expected in ("etcdctl endpoint health", "kind: Nothing\nitems: []\n", "draft"):
        sight.press("Control+End", "ArrowDown")
        expect(field(sight)).to_have_value(expected)


def test_a_line_that_is_sent_while_another_runs_waits_for_it_and_is_not_lost(look: Look) -> None:
    held: list[Route] = []

    def hold(page: Page) -> None:
        page.route("**/console", lambda route: held.append(route))

    sight = look(COMPACT, before=hold)
    for line in ("etcdctl version", "etcdctl endpoint health", "etcdctl get --help"):
        enter(sight, line)
        expect(field(sight)).to_have_value("")
        sight.says(newest(sight), line)
    waiting = sight.page.locator(
        ".answers .run", has_text="Waits until the one before it has ended."
    )
    expect(waiting).to_have_count(2)
    assert_laid_out(sight)
    waiting.first.get_by_role("button", name="Do not send it").click()
    expect(field(sight)).to_have_value("etcdctl get --help")
    expect(waiting).to_contain_text(["etcdctl endpoint health"])

    for number in range(2):
        # the handler runs while Playwright waits for the page
        asking.until(lambda: sight.until("() => true") and held)
        assert len(held) == 1, number
        held.pop().continue_()
    sight.says(newest(sight), "is healthy")
    expect(waiting).to_have_count(0)


def test_the_keys_of_etcd_are_a_press_away_and_its_members_are_told(look: Look) -> None:
    sight = look(COMPACT)
    sight.commands().get_by_role("button", name=KEYS).click()
    expect(field(sight)).to_have_value(KEYS)
    field(sight).fill("")
    sight.button("The keys in etcd").click()
    expect(field(sight)).to_be_focused()
    expect(field(sight)).to_have_value(KEYS)
    sight.press("Enter")
    sight.says(newest(sight), "/registry/deployments/default/web")

    enter(sight, "etcdctl member list -w table")
    sight.says(newest(sight), "| started |")
    sight.says(newest(sight), "etcd has 1 member")
    assert_laid_out(sight)


def field(sight: Sight) -> Locator:
    return sight.page.locator(".command textarea")


def enter(sight: Sight, line: str) -> None:
    """Type a line and send it."""
    sight.commands()
    field(sight).fill(line)
    field(sight).press("Enter")


def newest(sight: Sight) -> Locator:
    return sight.page.locator(".answers .run").first


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], "\n".join(wrong)
