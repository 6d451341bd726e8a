"""Kubeconfigs of webhooks that the API server is configured with by file.

`inlined` replaces the names of certificate and key files by their contents, so that nothing inside
a cluster reads a file; `target` is the server and user of the current context.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go (LoadKubeconfig) and
staging/src/k8s.io/client-go/tools/clientcmd.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from apiserver_app.egress.outbound import Call

_FILES = {
    "certificate-authority": "certificate-authority-data",
    "client-certificate": "client-certificate-data",
    "client-key": "client-key-data",
}


class Target(NamedTuple):
    """A server and the credentials for it."""

    url: str
    ca_pem: str = ""
    client_cert_pem: str = ""
    client_key_pem: str = ""
    insecure: bool = False
    headers: Mapping[str, str] = {}

    def post(self, body: bytes, timeout_seconds: float, query: str = "") -> Call:
        """The call that sends JSON there and takes JSON back."""
        return Call(
            to=self.url,
            query=query,
            body=body,
            ca_pem=self.ca_pem,
            client_cert_pem=self.client_cert_pem,
            client_key_pem=self.client_key_pem,
            insecure=self.insecure,
            timeout_seconds=timeout_seconds,
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json, */*",
                **self.headers,
            },
        )


def inlined(text: str, path: str, read: Callable[[str], str]) -> str:
    """The kubeconfig with the contents of the files it names. Other texts stay unchanged."""
    config = _load(text)
    changed = False
    for entry in _entries(config, "clusters", "cluster") + _entries(config, "users", "user"):
        for name, data in _FILES.items():
            file = entry.pop(name, None)
            if isinstance(file, str) and file and not entry.get(data):
                there = posixpath.join(posixpath.dirname(path), file)
                entry[data] = base64.b64encode(read(there).encode()).decode()
                changed = True
        file = entry.pop("tokenFile", None)
        if isinstance(file, str) and file and not entry.get("token"):
            entry["token"] = read(posixpath.join(posixpath.dirname(path), file)).strip()
            changed = True
    if not changed:
        return text
    import yaml

    return str(yaml.safe_dump(config, sort_keys=False))


def named(text: str) -> list[str]:
    """The kubeconfig files that a configuration names anywhere, in order."""
    files: list[str] = []
    _collect(_load(text), files)
    return files


def _collect(value: Any, files: list[str]) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            if name == "kubeConfigFile" and isinstance(item, str) and item:
                files.append(item)
            else:
                _collect(item, files)
    elif isinstance(value, list):
        for item in value:
            _collect(item, files)


def target(text: str) -> Target:
    """The target of the current context. Raises ValueError if there is none."""
    config = _load(text)
    context: Mapping[str, Any] = {}
    current = config.get("current-context") or ""
    for entry in config.get("contexts") or ():
        if entry.get("name") == current:
            context = entry.get("context") or {}
    if current and not context:
        raise ValueError(
            f"invalid configuration: [context was not found for specified context: {current}, "
            "cluster has no server defined]"
        )
    cluster = _named(config, "clusters", "cluster", context.get("cluster"))
    user = _named(config, "users", "user", context.get("user"))
    server = cluster.get("server")
    if not server:
        raise ValueError("invalid configuration: no configuration has been provided")
    for entry in (cluster, user):
        for name in _FILES:
            if entry.get(name):
                raise ValueError(f"unable to read {name} {entry[name]}")
    return Target(
        str(server),
        _decoded(cluster, "certificate-authority-data"),
        _decoded(user, "client-certificate-data"),
        _decoded(user, "client-key-data"),
        bool(cluster.get("insecure-skip-tls-verify")),
        _headers(user),
    )


def _headers(user: Mapping[str, Any]) -> dict[str, str]:
    if user.get("token"):
        return {"Authorization": f"Bearer {user['token']}"}
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password') or ''}"
        return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
    return {}


def _load(text: str) -> dict[str, Any]:
    import yaml  # needed only with a configuration file

    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = str(error).replace("\n", " ")
        raise ValueError(f"error loading config: {problem}") from error
    if not isinstance(config, dict):
        raise ValueError("invalid configuration: no configuration has been provided")
    return config


def _entries(config: Mapping[str, Any], plural: str, singular: str) -> list[dict[str, Any]]:
    listed = config.get(plural)
    entries = [item.get(singular) for item in listed or () if isinstance(item, dict)]
    return [item for item in entries if isinstance(item, dict)]


def _named(config: Mapping[str, Any], plural: str, singular: str, name: Any) -> Mapping[str, Any]:
    for entry in config.get(plural) or ():
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry.get(singular) or {}
    return {}


def _decoded(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not value:
        return ""
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError(f"illegal base64 data in {name}") from error
