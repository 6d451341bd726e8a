"""A user for each pupil of a class: a namespace, what one may do in it, a quota, a kubeconfig.

Certificates are signed with the cluster's authority, as `kubeadm kubeconfig user` signs them, and
stay as valid as those of the cast. The objects are made by the admin through the API server, so a
class can see them come. Whatever is there already stays as it is.

Models kubernetes cmd/kubeadm/app/cmd/kubeconfig.go.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apiserver_app.auth import kubeconfig, pki
from apiserver_app.auth.data import cast

GROUP = "pupils"
PUPILS_MAX = 200
TIMEOUT_SECONDS = 60
LABEL = {"app.kubernetes.io/part-of": GROUP}
NAMESPACES = "/api/v1/namespaces"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"
# what everybody may read: what a scheduler looks at, and which namespaces there are
READABLE = [
    {"apiGroups": [""], "resources": ["namespaces", "nodes", "persistentvolumes"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"]},
]


class PupilsError(Exception):
    """Why not all was done, in one sentence."""


class Class:
    """The pupils of the demo that runs in a data directory."""

    def __init__(self, data_dir: Path) -> None:
        try:
            self._endpoints: dict[str, Any] = json.loads((data_dir / "endpoints.json").read_text())
        except FileNotFoundError:
            raise PupilsError(
                f"no demo runs in {data_dir}: start one, or name its --data-dir"
            ) from None
        self._keys = pki.read(data_dir)
        self._api = _Api(self._endpoints["https"], self._keys)

    def add(self, count: int, pods: int) -> Iterator[Path]:
        """Make the pupils 1 to `count`, each with `pods` pods at most; their kubeconfigs."""
        role = {"rules": [{**rule, "verbs": ["get", "list", "watch"]} for rule in READABLE]}
        self._api.create(f"{RBAC}/clusterroles", GROUP, role)
        self._api.create(f"{RBAC}/clusterrolebindings", GROUP, _binding(GROUP, "Group", GROUP))
        for name in _names(count):
            place = f"{NAMESPACES}/{name}/resourcequotas"
            bindings = f"{RBAC}/namespaces/{name}/rolebindings"
            self._api.create(NAMESPACES, name, {})
            self._api.create(place, GROUP, {"spec": {"hard": {"pods": str(pods)}}})
            self._api.create(bindings, GROUP, _binding("admin", "User", name))
            yield self._write(cast.Person(name, (GROUP,), namespace=name))

    def remove(self) -> Iterator[str]:
        """Delete the pupils' namespaces, with all that is in them, their rights and files."""
        query = "?labelSelector=" + "%2C".join(f"{k}%3D{v}" for k, v in LABEL.items())
        for item in self._api.ask("GET", NAMESPACES + query)["items"]:
            name = item["metadata"]["name"]
            self._api.ask("DELETE", f"{NAMESPACES}/{name}", missing_ok=True)
            self._file(name).unlink(missing_ok=True)
            yield name
        for plural in ("clusterrolebindings", "clusterroles"):
            self._api.ask("DELETE", f"{RBAC}/{plural}/{GROUP}", missing_ok=True)

    def _file(self, name: str) -> Path:
        return self._keys.directory / "kubeconfigs" / name

    def _write(self, person: cast.Person) -> Path:
        identity = pki.client(self._keys.directory, time.time_ns() // 1000, person)
        keys = dataclasses.replace(self._keys, clients={person.name: identity})
        text = kubeconfig.text(keys, self._endpoints["network"], person)
        file = self._file(person.name)
        pki.write_file(file, text.encode(), 0o600)
        return file


def _names(count: int) -> list[str]:
    digits = max(2, len(str(count)))
    return [f"pupil-{number:0{digits}}" for number in range(1, count + 1)]


def _binding(role: str, kind: str, name: str) -> dict[str, Any]:
    subject = {"kind": kind, "name": name, "apiGroup": RBAC_GROUP}
    reference = {"kind": "ClusterRole", "name": role, "apiGroup": RBAC_GROUP}
    return {"subjects": [subject], "roleRef": reference}


class _Api:
    """The API server, asked as the admin."""

    def __init__(self, url: str, keys: pki.Pki) -> None:
        context = ssl.create_default_context(cafile=keys.ca.certificate_path)
        context.load_cert_chain(keys.admin.certificate_path, keys.admin.key_path)
        where = urlsplit(url).netloc
        self._connection = http.client.HTTPSConnection(
            where, timeout=TIMEOUT_SECONDS, context=context
        )

    def create(self, collection: str, name: str, body: dict[str, Any]) -> None:
        """Create an object that may be there already."""
        metadata = {"name": name, "labels": LABEL}
        self.ask("POST", collection, {"metadata": metadata, **body}, there_ok=True)

    def ask(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        there_ok: bool = False,
        missing_ok: bool = False,
    ) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "User-Agent": "pupils"}
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, headers)
            reply = self._connection.getresponse()
            answer: dict[str, Any] = json.loads(reply.read())
        except TimeoutError:
            raise PupilsError("the cluster does not answer: is it paused?") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise PupilsError(f"the cluster cannot be reached: {error}") from error
        fine = (there_ok and reply.status == 409) or (missing_ok and reply.status == 404)
        if reply.status >= 300 and not fine:
            raise PupilsError(str(answer.get("message", reply.status)))
        return answer
