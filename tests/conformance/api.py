"""The Kubernetes API over a connection of one's own, for what no well-behaved client sends."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo

JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """One response, read to its end."""

    code: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def warnings(self) -> list[str]:
        return [value for key, value in self.headers if key.lower() == "warning"]


class Api:
    """Requests of one user; "" sends no credential at all."""

    def __init__(self, demo: Demo, where: Path, user: str = "admin") -> None:
        self._authority = demo.tls_authority
        self._context = ssl.create_default_context(cafile=demo.data_dir / "pki" / "ca.crt")
        if user:
            config = yaml.safe_load((demo.data_dir / "kubeconfig").read_text())["users"][0]["user"]
            chain = where / "admin.pem"
            chain.write_bytes(
                b"".join(
                    base64.b64decode(config[name])
                    for name in ("client-certificate-data", "client-key-data")
                )
            )
            self._context.load_cert_chain(chain)

    def ask(
        self, method: str, path: str, body: bytes | object = b"", kind: str = JSON, **headers: str
    ) -> Answer:
        """One request; a body that is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPSConnection(
            *self._authority, timeout=WAIT_SECONDS, context=self._context
        )
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        kinds = {"Content-Type": kind} if kind and data else {}
        try:
            connection.request(method, path, data or None, {**kinds, **more})
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: bytes | object, kind: str = JSON) -> Answer:
        return self.ask("POST", path, body, kind)

    def patch(self, path: str, body: bytes | object, kind: str) -> Answer:
        return self.ask("PATCH", path, body, f"application/{kind}")

    def dial(self) -> ssl.SSLSocket:
        """A connection for raw bytes."""
        plain = socket.create_connection(self._authority, WAIT_SECONDS)
        return self._context.wrap_socket(plain, server_hostname=self._authority[0])

    def revision(self) -> int:
        """Where the store stands."""
        lines = self.get("/metrics").body.decode().splitlines()
        (line,) = (one for one in lines if one.startswith("apiserver_storage_revision "))
        return int(line.split()[1])
