"""A client of an API server, over TLS, as the user of a kubeconfig: Deployments and their pods."""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

import yaml

TIMEOUT_SECONDS = 60
_DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments"


def deployment(name: str, pods: int) -> dict[str, Any]:
    """Of one small container, as `kubectl create deployment` makes it."""
    labels = {"app": name}
    container = {"name": "nginx", "image": "nginx:1.27"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": pods,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


class Api:
    """One connection."""

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._context = ssl.create_default_context(
            cadata=_pem(cluster["certificate-authority-data"])
        )
        with tempfile.TemporaryDirectory() as name:
            chain, key = os.path.join(name, "c"), os.path.join(name, "k")
            Path(chain).write_text(_pem(user["client-certificate-data"]))
            Path(key).write_text(_pem(user["client-key-data"]))
            self._context.load_cert_chain(chain, key)
        server = urllib.parse.urlsplit(cluster["server"])
        self._host, self._port = server.hostname or "", server.port
        self._connection = self._connect()

    def create(self, name: str, pods: int) -> None:
        self._send("POST", _DEPLOYMENTS.format("default"), deployment(name, pods))

    def wait_running(
        self, name: str, pods: int, seconds: float = TIMEOUT_SECONDS, namespace: str = "default"
    ) -> None:
        """Watch the Deployment until so many of its pods are ready."""
        query = f"watch=true&fieldSelector=metadata.name%3D{name}&timeoutSeconds={int(seconds)}"
        watch = self._connect()
        watch.request("GET", f"{_DEPLOYMENTS.format(namespace)}?{query}")
        try:
            for line in watch.getresponse():
                status = json.loads(line)["object"].get("status", {})
                if status.get("readyReplicas", 0) >= pods:
                    return
        finally:
            watch.close()
        raise RuntimeError(f"{pods} pods of {name} did not run within {seconds} s")

    def delete(self, name: str) -> None:
        self._send(
            "DELETE",
            f"{_DEPLOYMENTS.format('default')}/{name}",
            {"propagationPolicy": "Foreground"},
        )

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._host, self._port, context=self._context)

    def _send(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        data = json.dumps(body) if body is not None else None
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        decoded: dict[str, Any] = json.loads(answer.read())
        if answer.status not in (200, 201):
            raise RuntimeError(f"{method} {path}: {answer.status} {decoded.get('message')}")
        return decoded


def _pem(text: str) -> str:
    return base64.b64decode(text).decode()
