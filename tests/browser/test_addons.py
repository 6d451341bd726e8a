"""Add-ons are cards that say how each stands; a button installs one, and another removes it."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

NARROW = (360, 740)
METRICS = "Metrics Server"
FAILS = "status of 503|ERR_FAILED"


def test_metrics_server_is_installed_from_its_card_watched_and_removed(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    metrics = card(sight, METRICS)
    sight.says(metrics, "not installed")
    expect(metrics.get_by_role("list", name="Its pods")).to_have_count(0)
    since = asking.state(demo)["seq"]

    metrics.get_by_role("button", name="Install").click()

    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    log = sight.page.get_by_role("log")
    sight.says(log, "kubectl create -f metrics-server.yaml  # admin")
    sight.says(log, "apiservice.apiregistration.k8s.io/v1beta1.metrics.k8s.io created")
    made = [
        record["path"]
        for record in asking.records(demo, since)
        if record["kind"] == "request" and record["outside"] and record["verb"] == "create"
    ]
    assert "/apis/apps/v1/namespaces/kube-system/deployments" in made
    metrics = card(sight, METRICS)
    sight.says(metrics, "running: 1 of 1 pods ready")
    sight.says(metrics, "Made of 9 objects, 9 are there")
    expect(metrics.get_by_role("button", name="Install")).to_have_count(0)
    assert_laid_out(sight)

    metrics.get_by_role("button", name=re.compile("^metrics-server-")).click()

    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    sight.says(sight.page.get_by_role("complementary"), re.compile("metrics-server-"))
    card(sight, METRICS).get_by_role("button", name="Remove").click()
    sight.says(log, 'deployment.apps "metrics-server" deleted')
    sight.says(log, 'apiservice.apiregistration.k8s.io "v1beta1.metrics.k8s.io" deleted')
    sight.says(card(sight, METRICS), "not installed")
    asking.until(
        lambda: (
            not [
                name
                for name in asking.objects(demo, "pods", "kube-system")
                if name.startswith("metrics-server-")
            ]
        )
    )


def test_the_ingress_controller_is_installed_in_a_namespace_of_its_own(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    ingress = card(sight, "Ingress controller")
    sight.says(ingress, "not installed")

    ingress.get_by_role("button", name="Install").click()

    log = sight.page.get_by_role("log")
    sight.says(log, "ingressclass.networking.k8s.io/nginx created")
    ingress = card(sight, "Ingress controller")
    sight.says(ingress, "running: 1 of 1 pods ready")
    ingress.get_by_text("Made of 10 objects, 10 are there").click()
    expect(ingress.get_by_role("button", name="IngressClass nginx")).to_be_visible()
    ingress.get_by_text("Its manifest").click()
    sight.says(ingress, "controller: k8s.io/ingress-nginx")
    assert_laid_out(sight)
    narrow = card(look(NARROW), "Ingress controller")
    expect(narrow.get_by_role("list", name="Its pods").get_by_role("button")).to_be_visible()
    assert narrow.evaluate("(card) => card.scrollWidth <= card.clientWidth")


def test_a_student_who_installs_one_is_refused_in_the_words_of_the_api_server(look: Look) -> None:
    sight = look(COMPACT)
    metrics = card(sight, METRICS)
    dialog(sight).get_by_role("combobox", name="as").select_option("student")

    metrics.get_by_role("button", name="Install").click()

    log = sight.page.get_by_role("log")
    sight.says(log, "kubectl create -f metrics-server.yaml  # student")
    why = 'deployments.apps is forbidden: User "student" cannot create resource "deployments"'
    sight.says(log, f"Error from server (Forbidden): {why}")
    sight.says(card(sight, METRICS), "not installed")


def test_what_kubeadm_installed_is_a_card_that_leads_to_its_pods_and_objects(look: Look) -> None:
    sight = look()
    dns = card(sight, "CoreDNS")
    sight.says(dns, "running: 2 of 2 pods ready")
    sight.says(card(sight, "kube-proxy"), "running: 3 of 3 pods ready")
    sight.says(dns, "kubeadm installs it with the cluster.")
    expect(dns.get_by_role("list", name="Its pods").get_by_role("button")).to_have_count(2)
    expect(dns.get_by_role("button", name=re.compile("Install|Remove"))).to_have_count(0)
    assert_laid_out(sight)

    dns.get_by_text("Made of 6 objects").click()
    dns.get_by_role("button", name="Service kube-dns").click()

    sight.says(sight.headline, "kube-dns")


def test_of_what_is_not_simulated_the_card_says_so(look: Look) -> None:
    sight = look()
    for name in ("Dashboard", "Fluentd-Elasticsearch"):
        sight.says(card(sight, name), "Not simulated here, so it cannot be installed.")
        expect(card(sight, name).get_by_role("button")).to_have_count(0)


def test_in_chinese_by_keyboard_on_a_telephone(look: Look) -> None:
    sight = look(NARROW, query="theme=dark&lang=zh")
    sight.button("开始").focus()
    sight.press("Enter")
    sight.page.get_by_role("button", name="附加组件").focus()
    sight.press("Enter")

    metrics = sight.page.locator(".addon").filter(has=sight.page.get_by_text(METRICS, exact=True))
    sight.says(metrics, "未安装")
    expect(sight.page.get_by_role("dialog", name="附加组件")).to_be_focused()
    assert_laid_out(sight)
    sight.press("Escape")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    expect(sight.button("开始")).to_be_focused()


def test_who_only_watches_sees_how_they_stand_and_no_button(chromium: Browser, demo: Demo) -> None:
    sight = Sight(chromium, demo.endpoints["viewer_page"], COMPACT)
    sight.says(card(sight, METRICS), "not installed")
    sight.says(dialog(sight), "You are watching.")
    expect(dialog(sight).get_by_role("button", name=re.compile("Install|Remove"))).to_have_count(0)
    expect(dialog(sight).get_by_role("combobox")).to_have_count(0)
    sight.close()


def test_a_recording_shows_what_was_there_and_that_nothing_can_be_installed(
    look: Look, demo: Demo
) -> None:
    body = json.dumps({"name": "bare", "cluster": "demo"}).encode()
    answer = demo.ask("POST", "/viz/v1/traces", body, Content_Type="application/json")
    saved = json.loads(answer.read())["id"]
    sight = look(COMPACT, query=f"theme=light&lang=en&trace={saved}")
    sight.press("l")  # to its end

    sight.says(card(sight, "CoreDNS"), "2 of 2 pods ready")
    sight.says(dialog(sight), "A recording can only be read.")
    expect(dialog(sight).get_by_role("button", name="Install")).to_have_count(0)


def test_without_a_server_the_dialog_says_so(look: Look) -> None:
    sight = look(COMPACT, expects=FAILS)
    sight.page.route("**/viz/v1/addons", lambda route: route.abort())

    opened(sight)

    sight.says(dialog(sight), "the server cannot be reached")


def opened(sight: Sight) -> None:
    sight.page.locator(".brand").click()
    sight.page.get_by_role("button", name="Add-ons").click()


def card(sight: Sight, name: str) -> Locator:
    """The card of that add-on, in the dialog, which is opened if it is not."""
    if not sight.page.get_by_role("dialog", name="Add-ons").count():
        opened(sight)
    heading = sight.page.get_by_role("heading", name=name)
    return sight.page.locator(".addon").filter(has=heading)


def dialog(sight: Sight) -> Locator:
    return sight.page.get_by_role("dialog", name="Add-ons")


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
