"""The steps by which a kubelet starts and stops a pod, as the trace names them.

This is the only list of the steps: the first kubelet of a cluster records it in the trace, and the
page's texts about a step have the keys `step.<name>` and `step.<name>.*`.

Models kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go (SyncPod).
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery.meta import Object


class Step(NamedTuple):
    """One step: its name and the upstream file."""

    name: str
    source: str
    starts: bool = True  # on the way up; else on the way down


STEPS: tuple[Step, ...] = (
    Step("volumes", "pkg/kubelet/volumemanager/volume_manager.go WaitForAttachAndMount"),
    Step("sandbox", "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go createPodSandbox"),
    Step("network", "pkg/kubelet/kuberuntime/kuberuntime_sandbox.go createPodSandbox"),
    Step("image", "pkg/kubelet/images/image_manager.go EnsureImageExists"),
    Step("container", "pkg/kubelet/kuberuntime/kuberuntime_container.go startContainer"),
    Step("ready", "pkg/kubelet/status/status_manager.go SetContainerReadiness"),
    Step(
        "terminate", "pkg/kubelet/kuberuntime/kuberuntime_container.go killContainer", starts=False
    ),
)


def facts() -> Object:
    """The steps as the trace records them."""
    source = "pkg/kubelet/kubelet.go SyncPod"
    return {"resource": "pods", "source": source, "steps": [step._asdict() for step in STEPS]}
