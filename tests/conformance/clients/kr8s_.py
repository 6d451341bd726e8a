"""kr8s, which finds out by discovery what there is."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import httpx
import kr8s
from kr8s.objects import ConfigMap, Deployment, Pod, new_class

from tests.conformance import clients
from tests.lifecycle.hosting.running import WAIT_SECONDS
from tests.suite import waiting


class Kr8s:
    """Each method is one step of the table."""

    name = "kr8s " + importlib.metadata.version("kr8s")

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self.ns = namespace
        self.api = kr8s.api(kubeconfig=kubeconfig, namespace=namespace)

    def _made(self, kind: Any, body: dict[str, Any]) -> Any:
        body["metadata"]["namespace"] = self.ns
        made = kind(body, api=self.api)
        made.create()
        return made

    def version(self) -> None:
        assert self.api.version()["major"] == "1"

    def discovery(self) -> None:
        assert "deployments" in [resource["name"] for resource in self.api.api_resources()]

    def create(self) -> None:
        assert self._made(ConfigMap, clients.config_map("one")).metadata["uid"]

    def get(self) -> None:
        assert ConfigMap.get("one", namespace=self.ns, api=self.api).raw["data"] == {"a": "b"}

    def list(self) -> None:
        names = [configmap.name for configmap in self.api.get("configmaps", namespace=self.ns)]
        assert "one" in names

    def selectors(self) -> None:
        found = self.api.get(
            "configmaps",
            namespace=self.ns,
            label_selector={"made": "here"},
            field_selector={"metadata.name": "one"},
        )
        assert [one.name for one in found] == ["one"]

    def patch_merge(self) -> None:
        found = ConfigMap.get("one", namespace=self.ns, api=self.api)
        found.patch({"data": {"c": "d"}})
        assert found.raw["data"]["c"] == "d"

    def patch_json(self) -> None:
        found = ConfigMap.get("one", namespace=self.ns, api=self.api)
        found.patch([{"op": "add", "path": "/data/e", "value": "f"}], type="json")
        assert found.raw["data"]["e"] == "f"

    def watch(self) -> None:
        self._made(ConfigMap, clients.config_map("seen"))
        for _kind, found in self.api.watch("configmaps", namespace=self.ns):
            if found.name == "seen":
                return

    def not_found(self) -> None:
        try:
            Pod.get("nobody", namespace=self.ns, api=self.api)
        except kr8s.NotFoundError:
            return
        raise AssertionError("it was found")

    def deployment(self) -> None:
        made = self._made(Deployment, clients.deployment("web"))
        made.wait("condition=Available", timeout=WAIT_SECONDS)
        assert made.ready()

    def scale(self) -> None:
        found = Deployment.get("web", namespace=self.ns, api=self.api)
        found.scale(1)
        assert found.replicas == 1

    def custom_resource(self) -> None:
        definition = new_class(
            "CustomResourceDefinition", "apiextensions.k8s.io/v1", namespaced=False
        )
        made = definition(clients.definition("widths", "Width"), api=self.api)
        made.create()
        try:
            # A definition that has just been made has `conditions: null`, as upstream's; kr8s
            # cannot read that, so its users wait for something else before they ask.
            made.wait("jsonpath='{.status.acceptedNames.kind}'=Width", timeout=WAIT_SECONDS)
            made.wait("condition=Established", timeout=WAIT_SECONDS)
            width = new_class("Width", "example.com/v1", namespaced=True, plural="widths")
            body = {"apiVersion": "example.com/v1", "kind": "Width", "metadata": {"name": "w"}}
            self._made(width, {**body, "spec": {"size": 2}})
            assert width.get("w", namespace=self.ns, api=self.api).spec.size == 2
        finally:
            made.delete()

    def logs(self) -> None:
        made = self._made(Pod, clients.pod("says", "echo", "hello there"))
        made.wait("jsonpath='{.status.phase}'=Succeeded", timeout=WAIT_SECONDS)
        assert list(made.logs()) == ["hello there"]

    def exec(self) -> None:
        made = self._made(Pod, clients.pod("waits", "sleep", "3600"))
        made.wait("condition=Ready", timeout=WAIT_SECONDS)
        assert made.exec(["echo", "hi"]).stdout == b"hi\n"

    def exec_exit_code(self) -> None:
        made = Pod.get("waits", namespace=self.ns, api=self.api)
        assert made.exec(["sh", "-c", "exit 7"], check=False).returncode == 7

    def port_forward(self) -> None:
        made = self._made(Pod, clients.pod("serves", image="nginx"))
        made.wait("condition=Ready", timeout=WAIT_SECONDS)
        with made.portforward(80) as port:
            assert "nginx" in httpx.get(f"http://127.0.0.1:{port}/", timeout=WAIT_SECONDS).text

    def delete(self) -> None:
        found = ConfigMap.get("one", namespace=self.ns, api=self.api)
        found.delete()
        waiting.until(lambda: not found.exists(), what="the config map is gone")
