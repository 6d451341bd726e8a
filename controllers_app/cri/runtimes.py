"""What a container runtime calls itself, its containers and its images.

Docker, by dockershim, was the kubelets' runtime up to 1.23: `--container-runtime=docker`.

Models containerd's pkg/cri/server/helpers.go and kubernetes 1.22 pkg/kubelet/dockershim/naming.go,
convert.go, docker_image.go and pkg/kubelet/pleg/generic.go (Relist); the names of images
distribution/reference (FamiliarString).
"""

from __future__ import annotations

from typing import NamedTuple

from controllers_app.cri import images
from controllers_app.cri.images import Image


class Kind(NamedTuple):
    """One implementation of the CRI."""

    name: str
    version: str
    socket: str
    reference: str = ""  # what the reference of a pulled image begins with
    is_familiar: bool = False  # images are `nginx`, not `docker.io/library/nginx`
    sandbox_seconds: float = 0.18
    network_seconds: float = 0.04
    create_seconds: float = 0.05
    relist_seconds: float = 0.0  # between two looks at what runs; 0: it is seen at once

    @property
    def said(self) -> str:
        """As a node's status has it."""
        return f"{self.name}://{self.version}"

    def container(self, identity: str) -> str:
        """What a container of that ID is called in the status of a pod."""
        return f"{self.name}://{identity}"

    def image(self, name: str) -> str:
        """What an image of that normalized name is called."""
        if not self.is_familiar:
            return name
        return name.removeprefix("docker.io/").removeprefix("library/")

    def digest(self, image: Image) -> str:
        """The image by its digest."""
        return f"{self.image(images.repository(image.name))}@{image.digest}"

    def image_ref(self, image: Image) -> str:
        """What a pod's status says of the image that its container runs."""
        return f"{self.reference}{self.digest(image)}"


CONTAINERD = Kind("containerd", "1.7.27", "unix:///run/containerd/containerd.sock")
DOCKER = Kind(
    "docker",
    "20.10.8",
    "/var/run/dockershim.sock",
    "docker-pullable://",
    is_familiar=True,
    sandbox_seconds=0.6,  # the pause container is created and started by the daemon
    network_seconds=0.1,
    create_seconds=0.2,
    relist_seconds=1.3,  # the kubelet's second, and what the daemon takes to list and inspect
)
KINDS = {kind.name: kind for kind in (CONTAINERD, DOCKER)}
