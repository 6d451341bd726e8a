"""A service stands below the nodes with its address, and its endpoints as discs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

LINE_PIXELS = 30  # at most


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module", autouse=True)
def web(demo: Demo, kubectl: Kubectl) -> None:
    """A service with two pods."""
    asking.run(demo, "web", 2)
    kubectl("expose", "deployment", "web", "--port=80")
    asking.until(lambda: "web" in {name.rpartition("-")[0] for name in slices(demo)})


@pytest.fixture
def shy(demo: Demo, kubectl: Kubectl) -> Iterator[None]:
    """A pod of the service that is never ready, while the test runs."""
    probe = {"exec": {"command": ["false"]}}
    container = {"name": "web", "image": "nginx", "readinessProbe": probe}
    asking.apply(
        demo,
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "shy", "labels": {"app": "web"}},
                "spec": {"containers": [container]},
            }
        ),
    )
    yield
    kubectl("delete", "pod", "shy", "--now")


@pytest.fixture
def nobody(demo: Demo, kubectl: Kubectl) -> Iterator[None]:
    """A service without pods, while the test runs."""
    port = {"port": 80}
    asking.apply(
        demo,
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "nobody"},
                "spec": {"selector": {"app": "nobody"}, "ports": [port]},
            }
        ),
    )
    yield
    kubectl("delete", "service", "nobody")


def scale(demo: Demo, kubectl: Kubectl, replicas: int) -> None:
    """Until the service has exactly these pods, and kube-proxy has written so on each node."""
    kubectl("scale", "deployment", "web", f"--replicas={replicas}")
    asking.until(lambda: len(addresses(demo)) == replicas and served(demo) == {replicas})


def test_endpoints_are_discs_and_one_leaves_with_its_pod(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    scale(demo, kubectl, 2)
    before = slice_of(demo)["metadata"]["resourceVersion"]
    sight = look(COMPACT)
    band = sight.page.get_by_role("region", name="Services")
    sight.says(band, asking.objects(demo, "services/specs")["web"]["spec"]["clusterIP"])
    assert discs(sight) == addresses(demo)
    sight.says(band, f"2 of 2 ready · r{before}")
    assert_laid_out(sight)

    kubectl("scale", "deployment", "web", "--replicas=1")

    expect(band.locator(".disc")).to_have_count(1)
    asking.until(lambda: len(addresses(demo)) == 1)
    assert discs(sight) == addresses(demo)
    past = look(COMPACT, query=f"lang=zh&theme=dark&r={before}")
    past.says(past.page.get_by_role("region", name="Service"), f"2/2 就绪 · r{before}")
    assert_laid_out(past)


def test_a_pod_that_is_ready_waits_until_a_slice_lists_it(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    scale(demo, kubectl, 1)
    others = {*pods(demo)}
    since = asking.state(demo)["seq"]
    scale(demo, kubectl, 2)
    ready = next(
        record
        for record in asking.records(demo, since)
        if record["kind"] == "write"
        and record["resource"] == "pods"
        and record["namespace"] == "default"
        and record["name"] not in others
        and is_ready(record["object"])
    )
    name = ready["name"].rpartition("-")[2]
    sight = look(ROOMY, query=f"theme=light&lang=en&r={ready['rev']}")
    band = sight.page.get_by_role("region", name="Services")
    sight.says(band, f"Left out: {name} (ready, but in no EndpointSlice yet)")
    assert_laid_out(sight)
    heading = band.get_by_role("heading", name="web").bounding_box()
    assert heading is not None
    assert heading["height"] < 2 * LINE_PIXELS


@pytest.mark.usefixtures("shy")
def test_who_is_not_ready_is_a_dashed_disc_that_gets_no_requests(look: Look) -> None:
    sight = look()

    out = sight.page.locator(".disc.is-out")
    expect(out).to_have_count(1)
    expect(out).to_have_attribute("title", re.compile("^shy, .*: not ready, gets no requests$"))
    assert_laid_out(sight)


@pytest.mark.usefixtures("shy")
def test_a_request_is_drawn_through_the_service_to_the_pod_that_answers(
    look: Look, demo: Demo
) -> None:
    sight = look()
    band = sight.page.get_by_role("region", name="Services")
    service = band.locator(".service", has_text="web")
    sight.says(service, "Left out: shy (not ready)")

    since = asking.state(demo)["seq"]
    service.get_by_role("button", name="Send a request").click()

    sight.says(service.get_by_role("status"), re.compile(r"^\w+ on node-\d answered: 200$"))
    (passed,) = [record for record in asking.records(demo, since) if record["kind"] == "stream"]
    pod = passed["detail"]["to"].removesuffix(":80")
    node = pods(demo)[pod]["spec"]["nodeName"]
    sight.says(service.get_by_role("status"), f"{pod.rpartition('-')[2]} on {node}")
    expect(service.locator(".disc.is-asked")).to_have_attribute("title", re.compile(f"^{pod},"))
    sight.says(sight.headline, f"{pod}:80 answered 200")
    expect(sight.page.locator(f".wire.live[data-to='s-{passed['span']}']")).to_have_count(1)
    path = "/api/v1/namespaces/default/services/web:80/proxy/"
    sight.says(sight.commands(), f"kubectl get --raw {path}")
    assert_laid_out(sight)


@pytest.mark.usefixtures("nobody")
def test_a_request_that_nobody_can_answer_says_why(look: Look) -> None:
    sight = look(COMPACT)
    band = sight.page.get_by_role("region", name="Services")
    service = band.locator(".service", has_text="nobody")
    sight.says(service, "no pod has app=nobody")
    service.get_by_role("button", name="Send a request").focus()

    sight.press("Enter")

    why = 'no endpoints available for service "nobody"'
    sight.says(service.get_by_role("status"), f"503: {why}")
    sight.says(sight.headline, "Nobody is there to answer for nobody:80.")
    assert_laid_out(sight)


def test_the_rules_of_kube_proxy_are_shown_and_are_the_same_on_all_nodes(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    scale(demo, kubectl, 2)
    sight = look(COMPACT)
    sight.page.get_by_role("region", name="Services").get_by_role("button", name="web").click()
    inspector = sight.page.locator(".inspector")

    inspector.get_by_role("button", name="Show the rules of kube-proxy").click()

    shown = inspector.locator("details", has_text="Rules of kube-proxy")
    sight.says(shown, "mode iptables, the same on 3 of 3 nodes · r")
    address = asking.objects(demo, "services/specs")["web"]["spec"]["clusterIP"]
    sight.says(shown, f"-A KUBE-SERVICES -d {address}/32 -p tcp")
    for endpoint in addresses(demo):
        sight.says(shown, f"-j DNAT --to-destination {endpoint}:80")
    assert_laid_out(sight)

    scale(demo, kubectl, 1)
    inspector.get_by_role("button", name="Read them again").click()
    expect(shown).to_contain_text(re.compile("DNAT(?!.*DNAT)", re.DOTALL))


def test_rules_beside_an_earlier_moment_are_said_to_be_of_another_revision(look: Look) -> None:
    sight = look(COMPACT)
    sight.page.get_by_role("region", name="Services").get_by_role("button", name="web").click()
    inspector = sight.page.locator(".inspector")
    inspector.get_by_role("button", name="Show the rules of kube-proxy").click()
    shown = inspector.locator("details", has_text="Rules of kube-proxy")
    expect(shown).to_contain_text("DNAT")
    note = inspector.get_by_role("note").filter(has_text="These are the rules at revision")
    expect(note).to_have_count(0)

    box = sight.page.locator(".timeline .plot").bounding_box()
    assert box
    sight.page.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)

    sight.says(sight.moment, "in the past")
    expect(shown).to_contain_text("DNAT")
    told = str(note.inner_text())
    later, at = (int(one.replace(",", "")) for one in re.findall(r"revision ([\d,]+)", told))
    assert later > at, told
    sight.says(shown, f"r{later}")
    assert_laid_out(sight)
    sight.press("l")
    expect(note).to_have_count(0)


def pods(demo: Demo) -> dict[str, Any]:
    return asking.objects(demo, "pods")


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or []
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )


def slices(demo: Demo) -> dict[str, Any]:
    return asking.objects(demo, "endpointslices")


def slice_of(demo: Demo) -> dict[str, Any]:
    return next(one for name, one in slices(demo).items() if name.startswith("web-"))


def addresses(demo: Demo) -> set[str]:
    return {endpoint["addresses"][0] for endpoint in slice_of(demo).get("endpoints") or []}


def served(demo: Demo) -> set[int]:
    """To how many endpoints the rules of kube-proxy lead, on any node."""
    rules = json.loads(demo.get(f"{asking.CLUSTER}/services/default/web/rules").read())
    return {one["text"].count("DNAT") for one in rules["texts"]}


def discs(sight: Sight) -> set[str]:
    """The addresses that the discs name."""
    titles = sight.page.locator(".disc").evaluate_all("all => all.map((one) => one.title)")
    return {title.split(", ")[1].split(":")[0] for title in titles}


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
