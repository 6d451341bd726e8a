"""What a controller still expects to see in its cache after its own writes.

A cache lags behind. After creating three pods a controller must not count again until it has seen
all three, or it would create more. Expectations that are never met run out after five minutes.

Models kubernetes pkg/controller/controller_utils.go (ControllerExpectations and
UIDTrackingControllerExpectations).
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.kernel import SECOND, Kernel

TIMEOUT_SECONDS = 5 * 60


class Expectations:
    """By key of the owner: how many creations, and which deletions, are still to be seen."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._creations: dict[str, int] = {}
        self._deletions: dict[str, dict[str, None]] = {}
        self._since: dict[str, int] = {}

    def satisfied(self, key: str) -> bool:
        """Everything was seen, nothing was expected, or the wait ran out."""
        since = self._since.get(key)
        if since is None:
            return True
        if self._creations.get(key, 0) <= 0 and not self._deletions.get(key):
            return True
        return self._kernel.now - since > TIMEOUT_SECONDS * SECOND

    def expect_creations(self, key: str, count: int) -> None:
        self._creations[key] = count
        self._deletions.pop(key, None)
        self._since[key] = self._kernel.now

    def expect_deletions(self, key: str, children: Iterable[str]) -> None:
        self._creations.pop(key, None)
        self._deletions[key] = dict.fromkeys(children)
        self._since[key] = self._kernel.now

    def creation_observed(self, key: str, count: int = 1) -> None:
        """Also for a creation that failed: nothing will be seen of it."""
        if key in self._creations:
            self._creations[key] -= count

    def deletion_observed(self, key: str, child: str) -> None:
        deletions = self._deletions.get(key)
        if deletions is not None:
            deletions.pop(child, None)

    def forget(self, key: str) -> None:
        """The owner is gone."""
        self._creations.pop(key, None)
        self._deletions.pop(key, None)
        self._since.pop(key, None)
