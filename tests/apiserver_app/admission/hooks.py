"""Webhooks on a whole cluster: Services whose pods answer what a test says."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, cast

import orjson

from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest, NodeError, Nodes
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import server_session

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE: Object = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
    "scope": "*",
}
# what a server makes of a review's request: the response, or bytes, or a status code
Decide = Callable[[Object], Any]


class Lab:
    """A cluster without nodes; each server is a Service in namespace hooks with one pod."""

    def __init__(self) -> None:
        self.session: Session = server_session()
        self.asked: list[tuple[str, Object]] = []  # (server, review)
        self.paths: list[str] = []
        self._decide: dict[str, Decide] = {}
        self._seconds: dict[str, float] = {}
        self.session.cluster.outbound.nodes = cast(Nodes, self)
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hooks"}}
        self.create("/api/v1/namespaces", made)

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        name = name_of(pod)
        await self.session.cluster.kernel.sleep(self._seconds.get(name, 0.003))
        if name not in self._decide:
            raise NodeError(500, "nobody listens")
        review = orjson.loads(request.body)
        self.asked.append((name, review))
        self.paths.append(request.path)
        said = self._decide[name](review["request"])
        if isinstance(said, int):
            return HttpAnswer(said, {}, b"boom\n")
        if not isinstance(said, bytes):
            response = {"uid": review["request"]["uid"], **said}
            answer = {"kind": "AdmissionReview", "apiVersion": review["apiVersion"]}
            said = orjson.dumps({**answer, "response": response})
        return HttpAnswer(200, {"content-type": "application/json"}, said)

    def create(self, path: str, obj: Object, **more: Any) -> Answer:
        return self.session.request("POST", path, obj, **more)

    def serve(self, name: str, decide: Decide, seconds: float = 0.003) -> None:
        """A server that answers with what decide makes of the request."""
        if name not in self._decide:
            metadata = {"name": name, "namespace": "hooks"}
            root = "/api/v1/namespaces/hooks"
            self.create(
                f"{root}/services",
                {
                    "apiVersion": "v1",
                    "kind": "Service",
                    "metadata": metadata,
                    "spec": {"ports": [{"port": 443, "targetPort": 8443}]},
                },
            )
            self.create(
                f"{root}/serviceaccounts",
                {
                    "apiVersion": "v1",
                    "kind": "ServiceAccount",
                    "metadata": {**metadata, "name": "default"},
                },
            )
            answer = self.create(
                f"{root}/pods",
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": metadata,
                    "spec": {"containers": [{"name": "main", "image": name}]},
                },
            )
            assert answer.status == 201, answer.text
            self.create(
                "/apis/discovery.k8s.io/v1/namespaces/hooks/endpointslices",
                {
                    "apiVersion": "discovery.k8s.io/v1",
                    "kind": "EndpointSlice",
                    "metadata": {**metadata, "labels": {"kubernetes.io/service-name": name}},
                    "addressType": "IPv4",
                    "ports": [{"name": "", "port": 8443}],
                    "endpoints": [
                        {
                            "addresses": ["10.244.0.5"],
                            "conditions": {"ready": True},
                            "targetRef": {"kind": "Pod", "namespace": "hooks", "name": name},
                        }
                    ],
                },
            )
        self._decide[name], self._seconds[name] = decide, seconds

    def kill(self, name: str) -> None:
        """Its pod listens no more."""
        del self._decide[name]

    def hook(self, name: str, server: str = "", **fields: Any) -> Object:
        """One webhook, of the server of its own name if no other is named."""
        authority = self.session.cluster.inputs.ca_pem
        return {
            "name": f"{name}.example.com",
            "clientConfig": {
                "service": {"namespace": "hooks", "name": server or name, "path": "/review"},
                "caBundle": base64.b64encode(authority.encode()).decode(),
            },
            "rules": [RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }

    def configure(self, kind: str, name: str, *hooks: Object) -> None:
        """kind: mutating or validating."""
        made = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind.capitalize()}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": list(hooks),
        }
        answer = self.create(f"{GROUP}/{kind}webhookconfigurations", made)
        assert answer.status == 201, answer.text

    def plugins(self) -> list[Object]:
        """The plugin records of the last outside request that asked somebody."""
        records = self.session.records()
        span = [
            record["seq"] for record in records if record["kind"] == "request" and record["outside"]
        ][-1]
        return [
            record
            for record in records
            if record["kind"] == "plugin" and record["span"] == span and record["detail"]
        ]


def patch(*ops: Object, **more: Any) -> Object:
    """A response that allows with a JSON patch."""
    encoded = base64.b64encode(orjson.dumps(ops)).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded, **more}


def label(key: str, value: str) -> Object:
    """An operation that adds a label, where there are some already."""
    return {"op": "add", "path": f"/metadata/labels/{key}", "value": value}
