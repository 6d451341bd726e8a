"""The address from which a kubelet reads static pods, when its configuration names one.

It is asked when the kubelet starts and every `httpCheckFrequency` after that, over the cluster's
network: a node knows no names of services, so the host has to be an address. What cannot be read,
or is no pod, changes nothing; what is there no more ends.

Models kubernetes pkg/kubelet/config/http.go and cmd/kubelet/app (the file of --config).
"""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpRequest
from apiserver_app.machinery.serializer import yamlbody
from apiserver_app.machinery.syntax import goduration
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.pods import manifestfiles
from controllers_app.shell.filesystem import File, Files
from controllers_app.shell.machine import Unreachable

CONFIG = "/var/lib/kubelet/config.yaml"  # what kubeadm's --config names
CHECK_SECONDS = 20.0  # httpCheckFrequency
CHECK_SECONDS_MIN = 1.0
_LISTS = ("PodList", "List")

Taken = Callable[[list[Object]], Coroutine[Any, Any, None]]


class Source(msgspec.Struct, frozen=True):
    """What the configuration says of it."""

    url: str
    headers: Mapping[str, str]
    seconds: float


class ManifestUrl:
    """That of one kubelet; `taken` gets the pods that are there after each change."""

    def __init__(self, kubelet: Dependencies, taken: Taken) -> None:
        self._kubelet = kubelet
        self._taken = taken
        self._data: bytes | None = None  # that was read last

    def watch(self, disk: Files) -> None:
        """Begins, if the configuration on the node's disk asks for it."""
        source = configured(disk)
        if source is not None:
            kubelet = self._kubelet
            kubelet.group.spawn(f"{kubelet.lane}/manifest url", self._run(source), background=True)

    async def _run(self, source: Source) -> None:
        while True:
            data = await self._read(source)
            if data is not None and data != self._data:
                self._data = data
                found = pods(data)
                if found is not None:
                    await self._taken(found)
            await self._kubelet.kernel.sleep(source.seconds, background=True)

    async def _read(self, source: Source) -> bytes | None:
        """What is there; None when it cannot be had."""
        url = urllib.parse.urlsplit(source.url)
        port = url.port or 80
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {**source.headers, "host": url.netloc, "user-agent": "Go-http-client/1.1"}
        try:
            server = self._kubelet.connect(url.hostname or "", port)
            answer = await server.answer(port, HttpRequest("GET", path, headers))
        except Unreachable:
            return None
        return answer.body if answer.status == 200 else None


def configured(disk: Files) -> Source | None:
    """Reads the kubelet's configuration; None where it names no address that can be read."""
    file = disk.find(CONFIG)
    try:
        config: Any = yamlbody.load(file.data)[0] if isinstance(file, File) else None
    except yamlbody.YamlError:
        return None
    if not isinstance(config, dict):
        return None
    url = config.get("staticPodURL")
    if not isinstance(url, str) or not _is_address(url):
        return None
    try:
        headers = msgspec.convert(config.get("staticPodURLHeader") or {}, dict[str, list[str]])
    except msgspec.ValidationError:
        return None
    return Source(
        url,
        {name.lower(): ", ".join(values) for name, values in headers.items()},
        _seconds(config.get("httpCheckFrequency")),
    )


def _is_address(url: str) -> bool:
    try:
        split = urllib.parse.urlsplit(url)
        ipaddress.ip_address(split.hostname or "")
        return split.scheme == "http" and split.port != 0
    except ValueError:
        return False


def _seconds(text: Any) -> float:
    try:
        found = goduration.parse(str(text)) / goduration.SECOND if text else CHECK_SECONDS
    except ValueError:
        return CHECK_SECONDS
    return max(found, CHECK_SECONDS_MIN)


def pods(data: bytes) -> list[Object] | None:
    """The pod, or the pods of the list; None when it is neither."""
    if not data:
        return []
    try:
        found, _ = yamlbody.load(data)
    except yamlbody.YamlError:
        return None
    if isinstance(found, dict) and found.get("kind") in _LISTS:
        try:
            items = msgspec.convert(found.get("items") or [], list[dict[str, Any]])
        except msgspec.ValidationError:
            return None
        found_pods = [
            manifestfiles.pod({"kind": "Pod", "apiVersion": "v1", **item}) for item in items
        ]
    else:
        found_pods = [manifestfiles.pod(found)]
    known = [pod for pod in found_pods if pod is not None]
    return known if len(known) == len(found_pods) else None
