"""The official Python client, synchronous."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import kubernetes
from kubernetes import client, config, dynamic, stream, utils, watch
from kubernetes.client.rest import ApiException

from tests.conformance import clients
from tests.lifecycle.hosting.running import WAIT_SECONDS
from tests.suite import waiting


class Official:
    """Each method is one step of the table."""

    name = "kubernetes " + kubernetes.__version__

    def __init__(self, kubeconfig: str, namespace: str) -> None:
        self.ns = namespace
        self.api = config.new_client_from_config(kubeconfig)
        self.core = client.CoreV1Api(self.api)
        self.apps = client.AppsV1Api(self.api)

    def version(self) -> None:
        assert client.VersionApi(self.api).get_code().major == "1"

    def discovery(self) -> None:
        found = dynamic.DynamicClient(self.api).resources.get(
            api_version="apps/v1", kind="Deployment"
        )
        assert found.name == "deployments"

    def create(self) -> None:
        made = self.core.create_namespaced_config_map(self.ns, clients.config_map("one"))
        assert made.metadata.uid

    def get(self) -> None:
        assert self.core.read_namespaced_config_map("one", self.ns).data == {"a": "b"}

    def list(self) -> None:
        names = [item.metadata.name for item in self.core.list_namespaced_config_map(self.ns).items]
        assert "one" in names

    def selectors(self) -> None:
        found = self.core.list_namespaced_config_map(
            self.ns, label_selector="made=here", field_selector="metadata.name=one"
        )
        assert [item.metadata.name for item in found.items] == ["one"]

    def pages(self) -> None:
        first = self.core.list_namespaced_config_map(self.ns, limit=1)
        rest = self.core.list_namespaced_config_map(
            self.ns, limit=5, _continue=first.metadata._continue
        )
        assert len(first.items) == 1
        assert rest.items

    def patch_strategic(self) -> None:
        done = self.core.patch_namespaced_config_map("one", self.ns, {"data": {"c": "d"}})
        assert done.data == {"a": "b", "c": "d"}

    def patch_merge(self) -> None:
        found = dynamic.DynamicClient(self.api).resources.get(api_version="v1", kind="ConfigMap")
        done = found.patch(
            name="one",
            namespace=self.ns,
            body={"data": {"c": None}},
            content_type="application/merge-patch+json",
        )
        assert done.data.to_dict() == {"a": "b"}

    def patch_json(self) -> None:
        done = self.core.patch_namespaced_config_map(
            "one", self.ns, [{"op": "add", "path": "/data/e", "value": "f"}]
        )
        assert done.data["e"] == "f"

    def apply(self) -> None:
        found = dynamic.DynamicClient(self.api).resources.get(api_version="v1", kind="ConfigMap")
        body = clients.config_map("applied")
        done = found.server_side_apply(namespace=self.ns, body=body, field_manager="tests")
        assert done.metadata.managedFields[0].operation == "Apply"

    def replace(self) -> None:
        found = self.core.read_namespaced_config_map("one", self.ns)
        found.data = {"only": "this"}
        assert self.core.replace_namespaced_config_map("one", self.ns, found).data == {
            "only": "this"
        }

    def conflict(self) -> None:
        found = self.core.read_namespaced_config_map("one", self.ns)
        found.metadata.resource_version = "1"
        with expected(409):
            self.core.replace_namespaced_config_map("one", self.ns, found)

    def watch(self) -> None:
        since = self.core.list_namespaced_config_map(self.ns).metadata.resource_version
        self.core.create_namespaced_config_map(self.ns, clients.config_map("seen"))
        following = watch.Watch()
        for event in following.stream(
            self.core.list_namespaced_config_map,
            self.ns,
            resource_version=since,
            timeout_seconds=WAIT_SECONDS,
        ):
            assert (event["type"], event["object"].metadata.name) == ("ADDED", "seen")
            following.stop()

    def not_found(self) -> None:
        with expected(404):
            self.core.read_namespaced_pod("nobody", self.ns)

    def deployment(self) -> None:
        utils.create_from_dict(self.api, clients.deployment("web"), namespace=self.ns)
        waiting.until(
            lambda: self.apps.read_namespaced_deployment("web", self.ns).status.ready_replicas,
            what="both pods are ready",
            true=lambda ready: ready == 2,
        )

    def scale(self) -> None:
        self.apps.patch_namespaced_deployment_scale("web", self.ns, {"spec": {"replicas": 1}})
        assert self.apps.read_namespaced_deployment_scale("web", self.ns).spec.replicas == 1

    def status(self) -> None:
        self.core.create_namespaced_pod(self.ns, clients.pod("waits", "sleep", "3600"))
        done = self.core.patch_namespaced_pod_status(
            "waits", self.ns, {"status": {"conditions": [{"type": "mine", "status": "True"}]}}
        )
        assert "mine" in [condition.type for condition in done.status.conditions]
        self._until_phase("waits", lambda phase: phase == "Running")

    def custom_resource(self) -> None:
        extensions = client.ApiextensionsV1Api(self.api)
        custom = client.CustomObjectsApi(self.api)
        where = ("example.com", "v1", self.ns, "sizes")
        extensions.create_custom_resource_definition(clients.definition("sizes", "Size"))
        body = {"apiVersion": "example.com/v1", "kind": "Size", "metadata": {"name": "s"}}
        try:
            waiting.until(
                lambda: not _refused(custom.list_namespaced_custom_object, *where),
                what="the custom resource is served",
            )
            custom.create_namespaced_custom_object(*where, {**body, "spec": {"size": 3}})
            assert custom.get_namespaced_custom_object(*where, "s")["spec"] == {"size": 3}
            bad = {**body, "metadata": {"name": "t"}, "spec": {"size": 0}}
            with expected(422):
                custom.create_namespaced_custom_object(*where, bad)
        finally:
            extensions.delete_custom_resource_definition("sizes.example.com")

    def _until_phase(self, name: str, true: Callable[[str], bool]) -> None:
        waiting.until(
            lambda: self.core.read_namespaced_pod(name, self.ns).status.phase,
            what=f"pod {name} comes to its phase",
            true=true,
        )

    def logs(self) -> None:
        self.core.create_namespaced_pod(self.ns, clients.pod("says", "echo", "hello there"))
        self._until_phase("says", lambda phase: phase == "Succeeded")
        assert self.core.read_namespaced_pod_log("says", self.ns) == "hello there\n"

    def logs_follow(self) -> None:
        body = clients.pod("talks", "sh", "-c", "echo one; sleep 3; echo two")
        self.core.create_namespaced_pod(self.ns, body)
        self._until_phase("talks", lambda phase: phase != "Pending")
        lines = watch.Watch().stream(self.core.read_namespaced_pod_log, "talks", self.ns)
        assert list(lines) == ["one", "two"]

    def _exec(self, *command: str, **options: Any) -> Any:
        return stream.stream(
            self.core.connect_get_namespaced_pod_exec,
            "waits",
            self.ns,
            command=list(command),
            stdout=True,
            stderr=True,
            **options,
        )

    def exec(self) -> None:
        assert self._exec("echo", "hi") == "hi\n"

    def exec_exit_code(self) -> None:
        opened = self._exec("sh", "-c", "exit 7", _preload_content=False)
        opened.run_forever(timeout=WAIT_SECONDS)
        assert opened.returncode == 7

    def exec_stdin(self) -> None:
        opened = self._exec("sh", stdin=True, _preload_content=False)
        opened.write_stdin("echo from inside\n")
        assert opened.readline_stdout(timeout=WAIT_SECONDS) == "from inside"
        opened.close()

    def port_forward(self) -> None:
        body = clients.pod("serves", image="nginx")
        self.core.create_namespaced_pod(self.ns, body)
        self._until_phase("serves", lambda phase: phase == "Running")
        opened = stream.portforward(
            self.core.connect_get_namespaced_pod_portforward, "serves", self.ns, ports="80"
        )
        socket = opened.socket(80)
        socket.setblocking(True)
        socket.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while part := socket.recv(4096):
            answer += part
        assert b"nginx" in answer
        opened.close()

    def evict(self) -> None:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "serves"}}
        self.core.create_namespaced_pod_eviction("serves", self.ns, body)
        waiting.until(
            lambda: _refused(self.core.read_namespaced_pod, "serves", self.ns),
            what="the evicted pod is gone",
        )

    def token(self) -> None:
        body: dict[str, Any] = {"spec": {"audiences": ["me"], "expirationSeconds": 600}}
        made = self.core.create_namespaced_service_account_token("default", self.ns, body)
        review = client.AuthenticationV1Api(self.api).create_token_review(
            {"spec": {"token": made.status.token, "audiences": ["me"]}}
        )
        assert review.status.user.username == f"system:serviceaccount:{self.ns}:default"

    def can_i(self) -> None:
        body = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods"}}}
        made = client.AuthorizationV1Api(self.api).create_self_subject_access_review(body)
        assert made.status.allowed

    def delete(self) -> None:
        self.core.delete_namespaced_config_map("one", self.ns)
        self.core.delete_namespaced_pod("waits", self.ns, grace_period_seconds=0)
        with expected(404):
            self.core.read_namespaced_config_map("one", self.ns)

    def delete_collection(self) -> None:
        self.core.delete_collection_namespaced_config_map(self.ns, label_selector="made=here")
        left = self.core.list_namespaced_config_map(self.ns, label_selector="made=here")
        assert left.items == []


@contextlib.contextmanager
def expected(code: int) -> Iterator[None]:
    """The request inside is refused with this code."""
    try:
        yield
    except ApiException as error:
        assert error.status == code, error
        return
    raise AssertionError(f"it was not refused, {code} was expected")


def _refused(call: Any, *arguments: Any) -> bool:
    try:
        call(*arguments)
    except ApiException:
        return True
    return False
