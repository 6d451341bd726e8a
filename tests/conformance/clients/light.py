"""lightkube, which asks for no discovery."""

from __future__ import annotations

import importlib.metadata
from typing import Any

from lightkube import ApiError, Client, KubeConfig
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.apiextensions_v1 import CustomResourceDefinitionSpec
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod
from lightkube.types import PatchType

from tests.conformance import clients


class Light:
    """Each method is one step of the table."""

    name = "lightkube " + importlib.metadata.version("lightkube")

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self.ns = namespace
        loaded = KubeConfig.from_file(kubeconfig)
        self.client = Client(config=loaded, namespace=namespace, field_manager="tests")

    def create(self) -> None:
        made = self.client.create(ConfigMap.from_dict(clients.config_map("one")))
        assert made.metadata is not None
        assert made.metadata.uid

    def get(self) -> None:
        assert self.client.get(ConfigMap, "one").data == {"a": "b"}

    def list(self) -> None:
        names = [one.metadata.name for one in self.client.list(ConfigMap) if one.metadata]
        assert "one" in names

    def selectors(self) -> None:
        found = self.client.list(
            ConfigMap, labels={"made": "here"}, fields={"metadata.name": "one"}
        )
        assert len([*found]) == 1

    def pages(self) -> None:
        assert len([*self.client.list(ConfigMap, chunk_size=1)]) >= 2

    def patch_strategic(self) -> None:
        done = self.client.patch(ConfigMap, "one", {"data": {"c": "d"}})
        assert done.data == {"a": "b", "c": "d"}

    def patch_merge(self) -> None:
        body: dict[str, Any] = {"data": {"c": None}}
        done = self.client.patch(ConfigMap, "one", body, patch_type=PatchType.MERGE)
        assert done.data == {"a": "b"}

    def patch_json(self) -> None:
        body = [{"op": "add", "path": "/data/e", "value": "f"}]
        done = self.client.patch(ConfigMap, "one", body, patch_type=PatchType.JSON)
        assert done.data is not None
        assert done.data["e"] == "f"

    def apply(self) -> None:
        done = self.client.apply(ConfigMap.from_dict(clients.config_map("applied")))
        assert done.metadata is not None
        assert [entry.operation for entry in done.metadata.managedFields or []] == ["Apply"]

    def replace(self) -> None:
        found = self.client.get(ConfigMap, "one")
        found.data = {"only": "this"}
        assert self.client.replace(found).data == {"only": "this"}

    def conflict(self) -> None:
        found = self.client.get(ConfigMap, "one")
        assert found.metadata is not None
        found.metadata.resourceVersion = "1"
        assert self._refused(self.client.replace, found) == 409

    def watch(self) -> None:
        self.client.create(ConfigMap.from_dict(clients.config_map("seen")))
        for _kind, found in self.client.watch(ConfigMap, fields={"metadata.name": "seen"}):
            assert found.metadata is not None
            assert found.metadata.name == "seen"
            return

    def not_found(self) -> None:
        assert self._refused(self.client.get, Pod, "nobody") == 404

    def deployment(self) -> None:
        self.client.create(Deployment.from_dict(clients.deployment("web")))
        self.client.wait(Deployment, "web", for_conditions=["Available"])

    def scale(self) -> None:
        found = self.client.get(Deployment.Scale, "web")
        found.spec = ScaleSpec(replicas=1)
        self.client.replace(found, "web")
        again = self.client.get(Deployment.Scale, "web").spec
        assert again is not None
        assert again.replicas == 1

    def custom_resource(self) -> None:
        spec = CustomResourceDefinitionSpec.from_dict(
            clients.definition("heights", "Height")["spec"]
        )
        name = "heights.example.com"
        self.client.create(CustomResourceDefinition(spec, metadata=ObjectMeta(name=name)))
        try:
            self.client.wait(CustomResourceDefinition, name, for_conditions=["Established"])
            height = create_namespaced_resource("example.com", "v1", "Height", "heights")
            self.client.create(height(metadata=ObjectMeta(name="h"), spec={"size": 2}))
            assert self.client.get(height, "h").spec == {"size": 2}
        finally:
            self.client.delete(CustomResourceDefinition, name)

    def logs(self) -> None:
        self.client.create(Pod.from_dict(clients.pod("says", "echo", "hello there")))
        self._until("says", "Succeeded")
        assert list(self.client.log("says")) == ["hello there\n"]

    def logs_follow(self) -> None:
        body = clients.pod("talks", "sh", "-c", "echo one; sleep 3; echo two")
        self.client.create(Pod.from_dict(body))
        self._until("talks", "Running", "Succeeded")
        assert list(self.client.log("talks", follow=True)) == ["one\n", "two\n"]

    def _until(self, name: str, *phases: str) -> None:
        for _kind, found in self.client.watch(Pod, fields={"metadata.name": name}):
            if found.status is not None and found.status.phase in phases:
                return

    def delete(self) -> None:
        self.client.delete(ConfigMap, "one")
        assert self._refused(self.client.get, ConfigMap, "one") == 404

    def _refused(self, call: Any, *arguments: Any) -> int:
        try:
            call(*arguments)
        except ApiError as error:
            return int(error.status.code or 0)
        return 200
