"""Getting a container's image: pull policy, pulls, back-off, invalid names.

Models kubernetes pkg/kubelet/images/image_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery.meta import Object
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.cri.services import PullError
from controllers_app.kubelet.backoff import Backoff, exact_go_duration, go_duration
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.status import ContainerState

PULL_SECONDS, PULL_SECONDS_MAX = 10, 300
SYNC_SECONDS = 12  # between two syncs of a pod that makes no progress
NOTICE_SECONDS = 1.0  # until the kubelet notices that a sandbox started or a container ended (pleg)


# container, type, reason and message of an event about it
Event = Callable[[ContainerState, str, str, str], None]


class Refused(Exception):
    """The container cannot be started now. `reason` is its waiting reason, the text its message,
    `wait` the seconds until the retry; None: only after a change of the pod."""

    def __init__(self, reason: str, message: str, wait: float | None) -> None:
        super().__init__(message)
        self.reason = reason
        self.wait = wait


class ImageGetter:
    """Gets the images of one pod's containers, and remembers how often that failed."""

    __slots__ = ("_backoffs", "_event", "_pod")

    def __init__(self, pod: Pod, event: Event) -> None:
        self._pod = pod
        self._event = event
        self._backoffs: dict[str, Backoff] = {}

    def is_background(self, container: ContainerState) -> bool:
        """Whether further retries run in the background."""
        backoff = self._backoffs.get(container.name)
        return backoff is not None and backoff.is_background

    def forget(self, container: ContainerState) -> None:
        self._backoffs.pop(container.name, None)

    def until_sync(self, container: ContainerState) -> float:
        """Seconds until the pod is synced again: soon after its sandbox is there, then rarely."""
        backoff = self._backoff(container, SYNC_SECONDS, SYNC_SECONDS)
        return backoff.next() if backoff.count else min(backoff.next(), NOTICE_SECONDS)

    async def get(self, container: ContainerState, spec: Object) -> Image:
        """Returns the image, pulled if necessary. Raises Refused."""
        pod = self._pod
        image, policy = spec["image"], spec.get("imagePullPolicy", "IfNotPresent")
        await pod.step("image", "begin", {"image": image, "policy": policy})
        try:
            images.check(image)
        except images.InvalidName as error:
            message = f'Failed to apply default image tag "{image}": {error}'
            await self._fail(container, image, "InspectFailed", message, "InvalidImageName")
            raise Refused("InvalidImageName", message, None) from error
        runtime = pod.kubelet.runtime
        present = runtime.image_status(image) if policy != "Always" else None
        if present is not None:
            message = f'Container image "{image}" already present on machine'
            self._event(container, "Normal", "Pulled", message)
            await pod.step("image", "end", {"image": image, "seconds": 0})
            pulled = present
        elif policy == "Never":
            message = f'Container image "{image}" is not present with pull policy of Never'
            await self._fail(container, image, "ErrImageNeverPull", message, "ErrImageNeverPull")
            raise Refused("ErrImageNeverPull", message, self.until_sync(container))
        else:
            pulled = await self._pull(container, image)
        container.image = runtime.kind.image(pulled.name)
        container.image_id = runtime.kind.image_ref(pulled)
        return images.for_container(pulled, pod.pod, container.name)

    async def _pull(self, container: ContainerState, image: str) -> Image:
        pod = self._pod
        self._event(container, "Normal", "Pulling", f'Pulling image "{image}"')
        try:
            pulled, pull, waited = await pod.kubelet.runtime.pull_image(image)
        except PullError as error:
            message = f'Failed to pull image "{image}": {error}'
            await self._fail(container, image, "Failed", message, "ErrImagePull")
            wait = self._backoff(container, PULL_SECONDS, PULL_SECONDS_MAX).next()
            raise Refused("ErrImagePull", str(error), wait) from error
        self._event(
            container,
            "Normal",
            "Pulled",
            f'Successfully pulled image "{image}"{self._took(pull, waited, pulled)}',
        )
        detail = {"image": image, "seconds": round(waited, 3), "bytes": pulled.size_bytes}
        await pod.step("image", "end", detail)
        return pulled

    def _took(self, pull: float, waited: float, pulled: Image) -> str:
        """How long a pull took, as each release says it."""
        release = self._pod.kubelet.release
        if not release.has("PullsSayHowLong"):
            return ""
        text = go_duration if release.has("PullsSayMilliseconds") else exact_go_duration
        if not release.has("PullsSayHowLongTheyWaited"):
            return f" in {text(waited)}"
        said = f" in {text(pull)} ({text(waited)} including waiting)"
        if release.has("PullsSayTheSize"):
            said += f". Image size: {pulled.size_bytes} bytes."
        return said

    async def _fail(
        self, container: ContainerState, image: str, reason: str, message: str, error: str
    ) -> None:
        """Reports a failure by upstream's two events."""
        pod = self._pod
        await pod.step("image", "fail", {"image": image, "message": message})
        self._event(container, "Warning", reason, message)
        self._event(container, "Warning", "Failed", f"Error: {error}")

    def _backoff(self, container: ContainerState, base: float, limit: float) -> Backoff:
        backoff = self._backoffs.get(container.name)
        if backoff is None or backoff.base_seconds != base:
            backoff = self._backoffs[container.name] = Backoff(base, limit)
        return backoff
