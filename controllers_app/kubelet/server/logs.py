"""Logs as the kubelet's server has them: of containers, and the files below its node's /var/log.

A log that is followed would never end here, so it is refused.

Models kubernetes pkg/kubelet/server/server.go (getContainerLogs, getLogs), kubelet_pods.go
(GetKubeletContainerLogs, validateContainerLogStatus) and Go's net/http fs.go.
"""

from __future__ import annotations

import html
import posixpath
import urllib.parse

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.net.nodeapi import HttpAnswer, LogOptions, NodeError
from controllers_app.cri.services import ContainerRecord
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.kubelet import Kubelet
from controllers_app.kubelet.pods.worker import PodWorker
from controllers_app.shell.filesystem import File, Folder

ROOT = "/var/log"
_PLAIN = {"content-type": "text/plain; charset=utf-8"}
_HTML = {"content-type": "text/html; charset=utf-8"}
_NUMBERS = {"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}  # and the least they may be
_TRUE = ("1", "t", "T", "true", "TRUE", "True")


def record_of(worker: PodWorker, options: LogOptions) -> ContainerRecord:
    """The instance whose log is requested. Raises upstream's errors when it does not exist."""
    name, pod = options.container, meta.name_of(worker.pod)
    state = worker.containers.find(name)
    if state is None:
        raise NodeError(400, f'container "{name}" in pod "{pod}" is not available')
    last = state.last.get("terminated") or {}
    if options.previous:
        if not last.get("containerID"):
            message = f'previous terminated container "{name}" in pod "{pod}" not found'
            raise NodeError(400, message)
        return statuses.last_record_of(state)
    if state.is_running or (state.terminated and state.terminated.get("containerID")):
        return statuses.record_of(state)
    if last.get("containerID"):
        return statuses.last_record_of(state)
    reason = (state.state.get("waiting") or {}).get("reason", "")
    message = {
        "": " - no logs yet",
        "ErrImagePull": ": image can't be pulled",
        "ImagePullBackOff": ": trying and failing to pull image",
    }.get(reason, f": {reason}")
    raise NodeError(400, f'container "{name}" in pod "{pod}" is waiting to start{message}')


async def container(kubelet: Kubelet, path: str, query: str) -> HttpAnswer:
    """The answer at /containerLogs/`namespace`/`pod`/`container`."""
    parts = [urllib.parse.unquote(part) for part in path.strip("/").split("/")]
    if len(parts) != 3:
        return HttpAnswer(404, _PLAIN, b"404: Page Not Found")
    namespace, name, container = parts
    try:
        options = _options(kubelet, container, dict(urllib.parse.parse_qsl(query)))
        worker = _worker(kubelet, namespace, name)
        if worker.containers.find(container) is None:
            raise NodeError(404, f'container "{container}" not found in pod "{name}"')
        record = record_of(worker, options)
    except NodeError as error:
        return HttpAnswer(error.code, _PLAIN, str(error).encode())
    lines = worker.kubelet.runtime.logs(worker.uid, record, options)
    found = []
    while (part := await lines.next()) is not None:
        found.append(part)
    return HttpAnswer(200, _PLAIN, b"".join(found))


def _worker(kubelet: Kubelet, namespace: str, name: str) -> PodWorker:
    for worker in kubelet.workers.values():
        if (meta.namespace_of(worker.pod), meta.name_of(worker.pod)) == (namespace, name):
            return worker
    raise NodeError(404, f'pod "{name}" does not exist')


def _options(kubelet: Kubelet, container: str, query: dict[str, str]) -> LogOptions:
    if tail := query.pop("tail", ""):  # the parameter's old name
        query["tailLines"] = "" if tail == "all" else tail
    try:
        numbers = {name: int(query[name]) if query.get(name) else None for name in _NUMBERS}
        since = meta.parse_time(query["sinceTime"]) if query.get("sinceTime") else None
    except (TypeError, ValueError) as error:
        raise NodeError(400, '{"message": "Unable to decode query."}') from error
    too_small = any(value is not None and value < _NUMBERS[name] for name, value in numbers.items())
    seconds = numbers["sinceSeconds"]
    if too_small or (since is not None and seconds is not None):
        raise NodeError(422, '{"message": "Invalid request."}')
    if seconds is not None:
        since = kubelet.dependencies.kernel.now - seconds * SECOND
    flags = {name: query.get(name) in _TRUE for name in ("follow", "previous", "timestamps")}
    if flags["follow"]:
        raise NodeError(400, "this kubelet's server follows no log: ask for the pod's")
    stream = query.get("stream") or "All"
    if stream != "All":
        words = "Please enable PodLogsQuerySplitStreams feature gate in kubelet"
        raise NodeError(400, f'unable to return the given log stream: "{stream}". {words}')
    return LogOptions(
        container,
        previous=flags["previous"],
        since=since,
        timestamps=flags["timestamps"],
        tail_lines=numbers["tailLines"],
        limit_bytes=numbers["limitBytes"],
    )


def files(kubelet: Kubelet, path: str) -> HttpAnswer:
    """The answer at /logs/`path`: a file, or what is in a folder."""
    path = urllib.parse.unquote(path)
    inside = posixpath.normpath(f"/{path}")
    found = kubelet.dependencies.runtime.host.disk.find(ROOT + inside)
    is_folder = path == "" or path.endswith("/")
    last = path.strip("/").rpartition("/")[2]
    if isinstance(found, Folder):
        if not is_folder:
            return HttpAnswer(301, {"location": urllib.parse.quote(f"{last}/")}, b"")
        return HttpAnswer(200, _HTML, _listed(found).encode())
    if not isinstance(found, File):
        return HttpAnswer(404, _PLAIN, b"404 page not found\n")
    if is_folder:
        return HttpAnswer(301, {"location": "../" + urllib.parse.quote(last)}, b"")
    return HttpAnswer(200, _PLAIN, found.data)


def _listed(folder: Folder) -> str:
    lines = []
    for name, entry in sorted(folder.entries.items()):
        shown = f"{name}/" if isinstance(entry, Folder) else name
        link = urllib.parse.quote(shown)
        lines.append(f'<a href="{link}">{html.escape(shown)}</a>\n')
    head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n'
    return f"{head}<pre>\n{''.join(lines)}</pre>\n"
