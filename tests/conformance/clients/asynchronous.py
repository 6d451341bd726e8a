"""The official Python client's asynchronous sister."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import kubernetes_asyncio
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.stream import WsApiClient

from tests.conformance import clients
from tests.lifecycle.hosting.running import WAIT_SECONDS


class Asynchronous:
    """Each method is one step of the table, in an event loop of its own."""

    name = "kubernetes_asyncio " + kubernetes_asyncio.__version__

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self.ns = namespace
        self._kubeconfig = kubeconfig

    def _run(self, steps: Any) -> None:
        async def within() -> None:
            api = await config.new_client_from_config(self._kubeconfig)
            async with api:
                await asyncio.wait_for(steps(client.CoreV1Api(api), api), WAIT_SECONDS)

        asyncio.run(within())

    def version(self) -> None:
        async def steps(_core: Any, api: Any) -> None:
            assert (await client.VersionApi(api).get_code()).major == "1"

        self._run(steps)

    def discovery(self) -> None:
        async def steps(_core: Any, api: Any) -> None:
            groups = await client.ApisApi(api).get_api_versions()
            assert "apps" in [group.name for group in groups.groups]

        self._run(steps)

    def create(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            made = await core.create_namespaced_config_map(self.ns, clients.config_map("one"))
            assert made.metadata.uid

        self._run(steps)

    def get(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            assert (await core.read_namespaced_config_map("one", self.ns)).data == {"a": "b"}

        self._run(steps)

    def list(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            found = await core.list_namespaced_config_map(self.ns)
            assert "one" in [item.metadata.name for item in found.items]

        self._run(steps)

    def patch_strategic(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            done = await core.patch_namespaced_config_map("one", self.ns, {"data": {"c": "d"}})
            assert done.data == {"a": "b", "c": "d"}

        self._run(steps)

    def replace(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            found = await core.read_namespaced_config_map("one", self.ns)
            found.data = {"only": "this"}
            done = await core.replace_namespaced_config_map("one", self.ns, found)
            assert done.data == {"only": "this"}

        self._run(steps)

    def conflict(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            found = await core.read_namespaced_config_map("one", self.ns)
            found.metadata.resource_version = "1"
            await refused(409, core.replace_namespaced_config_map("one", self.ns, found))

        self._run(steps)

    def watch(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            since = (await core.list_namespaced_config_map(self.ns)).metadata.resource_version
            await core.create_namespaced_config_map(self.ns, clients.config_map("seen"))
            following = watch.Watch()
            async for event in following.stream(
                core.list_namespaced_config_map, self.ns, resource_version=since
            ):
                assert (event["type"], event["object"].metadata.name) == ("ADDED", "seen")
                break
            await following.close()

        self._run(steps)

    def not_found(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            await refused(404, core.read_namespaced_pod("nobody", self.ns))

        self._run(steps)

    def deployment(self) -> None:
        async def steps(_core: Any, api: Any) -> None:
            apps = client.AppsV1Api(api)
            await apps.create_namespaced_deployment(self.ns, clients.deployment("web"))
            while True:
                found = await apps.read_namespaced_deployment("web", self.ns)
                if found.status.ready_replicas == 2:
                    return
                await asyncio.sleep(0.05)

        self._run(steps)

    def scale(self) -> None:
        async def steps(_core: Any, api: Any) -> None:
            apps = client.AppsV1Api(api)
            body = {"spec": {"replicas": 1}}
            await apps.patch_namespaced_deployment_scale("web", self.ns, body)
            found = await apps.read_namespaced_deployment_scale("web", self.ns)
            assert found.spec.replicas == 1

        self._run(steps)

    def logs(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            await core.create_namespaced_pod(self.ns, clients.pod("says", "echo", "hello there"))
            await self._phase(core, "says", "Succeeded")
            assert await core.read_namespaced_pod_log("says", self.ns) == "hello there\n"

        self._run(steps)

    def exec(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            await core.create_namespaced_pod(self.ns, clients.pod("waits", "sleep", "3600"))
            await self._phase(core, "waits", "Running")
            async with WsApiClient(configuration=core.api_client.configuration) as streams:
                said = await client.CoreV1Api(streams).connect_get_namespaced_pod_exec(
                    "waits", self.ns, command=["echo", "hi"], stdout=True, stderr=True
                )
            assert said == "hi\n"

        self._run(steps)

    async def _phase(self, core: Any, name: str, wanted: str) -> None:
        while (await core.read_namespaced_pod(name, self.ns)).status.phase != wanted:
            await asyncio.sleep(0.05)

    def can_i(self) -> None:
        async def steps(_core: Any, api: Any) -> None:
            body = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
            reviews = client.AuthorizationV1Api(api)
            assert (await reviews.create_self_subject_access_review(body)).status.allowed

        self._run(steps)

    def delete(self) -> None:
        async def steps(core: Any, _api: Any) -> None:
            await core.delete_namespaced_config_map("one", self.ns)
            await refused(404, core.read_namespaced_config_map("one", self.ns))

        self._run(steps)


async def refused(code: int, call: Coroutine[Any, Any, Any]) -> None:
    try:
        await call
    except ApiException as error:
        assert error.status == code, error
        return
    raise AssertionError(f"it was not refused, {code} was expected")
