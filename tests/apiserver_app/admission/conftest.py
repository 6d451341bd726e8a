"""One cluster's admission: the default plugins over a new cluster's objects."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import pytest

from apiserver_app.admission import plugins
from apiserver_app.admission.chain import Chain
from apiserver_app.admission.config import Configuration
from apiserver_app.admission.plugin import CREATE, Attributes, Given, Ops
from apiserver_app.auth.authz import union
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from tests import builders
from tests.apiserver_app.memory import MemoryReader, bootstrapped, run

NOW = 1_760_000_000_000_000
ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))
KUBELET = User("system:node:node-1", ("system:nodes", "system:authenticated"))
RESOURCES = kinds.Resources(Release(33))


class Told(NamedTuple):
    phase: str
    plugin: str
    verdict: str
    why: str
    ops: Ops


class Cluster:
    """Sends requests through the chain and remembers what was told."""

    def __init__(
        self,
        version: str = "1.33",
        *names: str,
        config: dict[str, Object] | None = None,
        **given: Any,
    ) -> None:
        """With `names` exactly those plugins, in that order, else kubeadm's."""
        self.version, self.now = version, NOW
        self.reader: MemoryReader = bootstrapped()
        self.authorization = union.build(["Node", "RBAC"], self.reader)
        self.slept: list[float] = []
        self.made: list[str] = []
        all_given = Given(
            version=Release.parse(version),
            config=Configuration(config),
            resource_of=lambda version, kind: RESOURCES.by_gvk(*version.rpartition("/")[::2], kind),
            make_namespace=self._make_namespace,
            **given,
        )
        wanted = names or plugins.enabled(Release.parse(version), ("NodeRestriction",))
        self.chain = Chain(plugins.build(all_given, wanted), self._sleep)
        self.told: list[Told] = []
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.appears: dict[str, Object] = {}  # what a controller makes during the next wait
        self.account("default", "default")

    async def _make_namespace(self, name: str) -> None:
        self.made.append(name)
        self.namespace(name)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        for resource, obj in self.appears.items():
            self.reader.put(resource, obj)

    async def _tell(self, phase: str, plugin: str, verdict: str, why: str, ops: Ops) -> None:
        self.told.append(Told(phase, plugin, verdict, why, copy.deepcopy(ops)))

    def send(
        self,
        resource: str,
        obj: Object | None,
        *,
        operation: str = CREATE,
        subresource: str = "",
        old: Object | None = None,
        user: User = ADMIN,
        name: str = "",
        dry_run: bool = False,
    ) -> Object:
        """The object as both phases leave it."""
        info = RESOURCES.by_key[resource]
        metadata = (obj or old or {}).get("metadata", {})
        namespace = metadata.get("namespace", "default" if info.namespaced else "")
        attributes = Attributes(
            operation, info, subresource, namespace, name or metadata.get("name", ""),
            copy.deepcopy(obj), old, user, self.reader, Rand(7), self.now,
            Release.parse(self.version), dry_run=dry_run, warnings=self.warnings,
            annotations=self.annotations, authorization=self.authorization,
        )  # fmt: skip
        self.told.clear()
        self.annotations.clear()
        self.attributes = attributes
        run(self.chain.mutate(attributes, self._tell))
        run(self.chain.validate(attributes, self._tell))
        return attributes.obj or {}

    def said(self, plugin: str) -> Told:
        """What the plugin itself was told of saying, in the first phase it was asked in."""
        return next(one for one in self.told if one.plugin == plugin)

    def account(self, namespace: str, name: str, **fields: Any) -> None:
        metadata = {"namespace": namespace, "name": name, "uid": f"uid-{name}"}
        self.reader.put("serviceaccounts", {"metadata": metadata, **fields})

    def namespace(
        self, name: str, phase: str = "Active", labels: dict[str, str] | None = None
    ) -> None:
        metadata = {"name": name, "labels": labels or {}}
        self.reader.put("namespaces", {"metadata": metadata, "status": {"phase": phase}})


def pod(name: str = "nginx", namespace: str = "default", **spec: Any) -> Object:
    body = builders.pod(name, container="nginx", namespace=namespace)
    body["spec"]["containers"][0]["resources"] = {}
    body["spec"].update(spec)
    return body


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def with_resources(**resources: dict[str, str]) -> Object:
    """A pod whose only container asks for these."""
    return pod(containers=[{"name": "nginx", "image": "nginx", "resources": resources}])
