"""What a container leaves as the reason of its end: the text that it wrote, or the end of its log.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go (getTerminationMessage,
readLastStringFromContainerLogs).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import mounts

if TYPE_CHECKING:
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.status import ContainerState

MESSAGE_BYTES_MAX = 4096
LOG_BYTES_MAX, LOG_LINES_MAX = 2048, 80
FALLBACK = "FallbackToLogsOnError"


def of_end(worker: PodWorker, one: ContainerState, spec: Object, code: int) -> str:
    """Its message; empty when it left none."""
    station = worker.kubelet.station
    cell = station.found(worker.uid, one.name, one.container_id)
    falls_back = code != 0 and spec.get("terminationMessagePolicy") == FALLBACK
    if cell is None and falls_back:
        cell = station.current(worker, one, worker.containers.image_of(one))
    if cell is None:
        return ""
    said = cell.left_message(mounts.message_path(spec))
    if said:
        return said[-MESSAGE_BYTES_MAX:].decode("utf-8", "replace")
    if not falls_back:
        return ""
    data = b"".join(entry.data for entry in list(cell.log.entries)[-LOG_LINES_MAX:])
    return data[-LOG_BYTES_MAX:].decode("utf-8", "replace")
