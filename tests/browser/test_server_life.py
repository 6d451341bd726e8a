"""The API server, or etcd, is stopped and started from the page: what kubectl says."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import COMPACT, Look
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


def test_a_stopped_server_refuses_connections_until_it_is_started(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look(COMPACT)
    kubectl("create", "configmap", "before")
    banner = sight.page.locator(".banner")

    sight.button("How this API server was built").click()
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Stop the API server").click()
    sight.says(dialog, "ends every watch")
    assert asking.state(demo)["apiserver"] == "serving"
    dialog.get_by_role("button", name="Stop it for all").click()

    sight.says(banner, "The API server is stopped.")
    refused = kubectl.fails("get", "configmaps")
    assert "was refused - did you specify the right host or port?" in refused
    banner.get_by_role("button", name="Start it again").click()
    expect(banner).to_have_count(0)
    asking.until(lambda: kubectl.run("get", "configmap", "before").code == 0)
    made = asking.apply(demo, asking.pod("after"))
    assert made[0]["code"] == 201
    asking.until(lambda: asking.objects(demo, "pods")["after"]["spec"].get("nodeName"))


def test_with_etcd_off_the_server_is_not_ready_and_requests_fail_until_it_is_back(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look(COMPACT)
    asking.until(lambda: kubectl.run("create", "configmap", "known").code == 0)
    banner = sight.page.locator(".banner")

    sight.button("How this API server was built").click()
    dialog = sight.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Stop etcd").click()
    sight.says(dialog, "by what its watch cache has")
    assert asking.state(demo)["etcd"] == "running"
    dialog.get_by_role("button", name="Stop it for all").click()

    sight.says(banner, "etcd is stopped.")
    unready = kubectl.fails("get", "--raw", "/readyz")
    assert "[-]etcd failed: reason withheld" in unready
    assert "request did not complete" in kubectl.fails("create", "configmap", "refused")
    gate = sight.gate("etcd")
    expect(gate).to_have_class(re.compile("is-deny"))
    sight.says(gate, "504")
    sight.says(sight.headline, "etcd did not answer in time.")
    cached = kubectl("get", "--raw", "/api/v1/namespaces/default/configmaps?resourceVersion=0")
    assert '"name":"known"' in cached

    again = look(COMPACT)  # who comes later is told, too
    again.says(again.page.locator(".banner"), "etcd is stopped.")
    banner.get_by_role("button", name="Start it again").click()
    expect(banner).to_have_count(0)
    kubectl("get", "configmap", "known")
    kubectl("create", "configmap", "accepted")
    assert "refused" not in asking.objects(demo, "configmaps")
    asking.apply(demo, asking.pod("behind"))
    asking.until(lambda: asking.objects(demo, "pods")["behind"]["spec"].get("nodeName"))
