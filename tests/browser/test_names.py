"""The names of a Service resolve on the page, step by step, as containers resolve them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

NARROW = (360, 780)


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module", autouse=True)
def nginx(demo: Demo, kubectl: Kubectl) -> None:
    """Two pods behind a Service, and behind a headless one."""
    asking.run(demo, "nginx", 2)
    kubectl("expose", "deployment", "nginx", "--port=80")
    kubectl("expose", "deployment", "nginx", "--port=80", "--name=peers", "--cluster-ip=None")
    asking.until(lambda: len(addresses(demo)) == 2)


@pytest.fixture
def without_coredns(demo: Demo, kubectl: Kubectl) -> Iterator[None]:
    """No pod of CoreDNS is ready while the test runs."""
    kubectl("scale", "deployment", "coredns", "-n", "kube-system", "--replicas=0")
    asking.until(lambda: not coredns(demo))
    yield
    kubectl("scale", "deployment", "coredns", "-n", "kube-system", "--replicas=2")
    asking.until_installed(demo)


def test_the_names_of_a_service_resolve(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    inspector = opened(sight)
    names = ["nginx", "nginx.default", "nginx.default.svc", "nginx.default.svc.cluster.local"]
    expect(inspector.locator(".links .link").filter(has_text="nginx")).to_have_text(names)
    address = asking.objects(demo, "services/specs")["nginx"]["spec"]["clusterIP"]

    for name in names:
        inspector.get_by_role("button", name=name, exact=True).click()
        expect(told(inspector).get_by_role("heading")).to_have_text(f"{name} is {address}")
        steps = told(inspector).get_by_role("listitem")
        expect(steps.last).to_contain_text(f"nginx.default.svc.cluster.local A {address}")
        expect(steps.last).to_contain_text("the cluster IP of the Service default/nginx")

    steps = told(inspector).get_by_role("listitem")
    sight.says(steps.nth(0), "The name has 4 dots, fewer than ndots:5")
    sight.says(steps.nth(1), "10.96.0.10:53is asked")
    sight.says(steps.nth(1), "the cluster IP of the Service kube-system/kube-dns")
    sight.says(steps.nth(2), re.compile(r"ready pod kube-system/coredns-\w+-\w+ on node-\d"))
    sight.says(steps.nth(3), "with default.svc.cluster.local: NXDOMAIN")
    told(inspector).get_by_text("/etc/resolv.conf of a pod in default").click()
    sight.says(told(inspector), "search default.svc.cluster.local svc.cluster.local cluster.local")
    assert_laid_out(sight)


def test_a_name_is_looked_up_by_the_keyboard_as_a_pod_of_another_namespace(look: Look) -> None:
    sight = look(COMPACT, expects="status of 400")
    inspector = opened(sight)
    inspector.get_by_role("combobox", name="as a pod of").select_option("kube-system")
    field = inspector.get_by_role("textbox", name="Name to look up")

    field.fill("nginx")
    field.press("Enter")

    expect(told(inspector).get_by_role("heading")).to_have_text("There is no nginx: NXDOMAIN")
    steps = told(inspector).get_by_role("listitem")
    expect(steps).to_have_count(7)
    sight.says(steps.nth(3), "there is no Service kube-system/nginx")
    expect(field).to_be_focused()

    field.fill("no name")
    field.press("Enter")
    sight.says(inspector.get_by_role("alert"), "a name has at most 253 characters: parts of")
    field.fill("nginx.default")
    field.press("Enter")
    sight.says(told(inspector).get_by_role("heading"), "nginx.default is 10.")
    expect(inspector.get_by_role("alert")).to_have_count(0)


def test_a_headless_service_has_the_addresses_of_its_ready_pods_and_a_name_for_each(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    inspector = opened(sight, "peers")
    inspector.get_by_role("button", name="peers", exact=True).click()

    for address in addresses(demo):
        sight.says(told(inspector).get_by_role("heading"), address)
    one = min(addresses(demo))
    full = f"{one.replace('.', '-')}.peers.default.svc.cluster.local"
    inspector.get_by_role("button", name=full).click()
    expect(told(inspector).get_by_role("heading")).to_have_text(f"{full} is {one}")
    sight.says(told(inspector).get_by_role("listitem").last, "one ready pod of the Service")
    assert_laid_out(sight)


@pytest.mark.usefixtures("without_coredns")
def test_without_coredns_nobody_answers(look: Look) -> None:
    sight = look(COMPACT, query="theme=dark&lang=en")
    inspector = opened(sight)

    inspector.get_by_role("button", name="nginx.default.svc", exact=True).click()

    heading = told(inspector).get_by_role("heading")
    expect(heading).to_have_text("Nobody answers what nginx.default.svc is")
    last = told(inspector).get_by_role("listitem").last
    sight.says(last, "Connection refused: kube-system/kube-dns has no ready pod that answers")
    sight.says(last, "Temporary failure in name resolution")
    assert_laid_out(sight)


def test_who_only_watches_looks_up_names_in_chinese_on_a_narrow_screen(
    chromium: Browser, demo: Demo
) -> None:
    address = asking.objects(demo, "services/specs")["nginx"]["spec"]["clusterIP"]
    sight = Sight(chromium, demo.endpoints["viewer_page"], NARROW, query="theme=dark&lang=zh")
    inspector = opened(sight)

    inspector.get_by_role("button", name="nginx.default.svc", exact=True).click()

    expect(told(inspector, "名称的解析结果").get_by_role("heading")).to_have_text(
        f"nginx.default.svc 是 {address}"
    )
    expect(told(inspector, "名称的解析结果").get_by_role("heading")).to_be_in_viewport()
    sight.page.evaluate("scrollTo(0, 0)")
    assert_laid_out(sight)
    sight.close()


def test_a_recording_has_the_names_and_says_that_nobody_can_be_asked(
    look: Look, demo: Demo
) -> None:
    body = json.dumps({"name": "names", "cluster": "demo"}).encode()
    revision = asking.state(demo)["revision"]
    saved = demo.ask("POST", "/viz/v1/traces", body, Content_Type="application/json")
    trace = json.loads(saved.read())["id"]
    sight = look(COMPACT, query=f"theme=light&lang=en&trace={trace}&r={revision}")
    inspector = opened(sight)

    sight.says(inspector, "a recording does not have it")
    expect(inspector.locator(".links code")).to_have_count(4)
    expect(inspector.get_by_role("textbox")).to_have_count(0)
    assert_laid_out(sight)


def test_what_cannot_be_fetched_yet_is_fetched_once_it_can(look: Look) -> None:
    sight = look(COMPACT, expects="service.js|ERR_FAILED")
    sight.page.route("**/service.js*", lambda route: route.abort())
    with sight.page.expect_event("requestfailed"):
        inspector = opened(sight)

    sight.page.unroute("**/service.js*")

    expect(inspector.get_by_role("button", name="nginx.default.svc", exact=True)).to_be_visible()


def opened(sight: Sight, name: str = "nginx") -> Locator:
    """The inspector of the Service, chosen in the band of Services."""
    sight.page.locator(".service").get_by_role("button", name=name, exact=True).click()
    return sight.page.locator(".inspector")


def told(inspector: Locator, label: str = "What becomes of the name") -> Locator:
    return inspector.get_by_role("status", name=label)


def coredns(demo: Demo) -> list[str]:
    found = asking.objects(demo, "pods", "kube-system")
    return [name for name in found if name.startswith("coredns-")]


def addresses(demo: Demo) -> set[str]:
    slices = asking.objects(demo, "endpointslices")
    return {
        endpoint["addresses"][0]
        for name, one in slices.items()
        if name.startswith("peers-")
        for endpoint in one.get("endpoints") or ()
    }


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
