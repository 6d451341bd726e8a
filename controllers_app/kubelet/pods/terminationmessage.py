"""Termination messages: the text that a container wrote, or the tail of its log.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go (getTerminationMessage,
readLastStringFromContainerLogs).
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from controllers_app.cri import environment
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.status import ContainerState

MESSAGE_BYTES_MAX = 4096
LOG_BYTES_MAX, LOG_LINES_MAX = 2048, 80
FALLBACK = "FallbackToLogsOnError"


def of_end(pod: Pod, container: ContainerState, spec: Object, code: int) -> str:
    """The termination message; empty when there is none."""
    runtime, record = pod.kubelet.runtime, statuses.record_of(container)
    path = environment.termination_message_path(spec)
    message = runtime.termination_message(pod.uid, record, path)
    if message:
        return message[-MESSAGE_BYTES_MAX:].decode("utf-8", "replace")
    if code == 0 or spec.get("terminationMessagePolicy") != FALLBACK:
        return ""
    tail = runtime.log_tail(pod.uid, record, LOG_LINES_MAX)
    return tail[-LOG_BYTES_MAX:].decode("utf-8", "replace")
