"""Writes of a controller that its cache does not show yet.

After creating three pods a controller must not count its pods again until the cache shows all
three, or it would create more. Expectations expire after five minutes.

Models kubernetes pkg/controller/controller_utils.go (ControllerExpectations and
UIDTrackingControllerExpectations).
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.kernel import SECOND, Kernel

TIMEOUT_SECONDS = 5 * 60


class Expectations:
    """The number of creations and the uids of deletions still to be observed, by owner key."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._creations: dict[str, int] = {}
        self._deletions: dict[str, dict[str, None]] = {}
        self._since: dict[str, int] = {}

    def satisfied(self, key: str) -> bool:
        """Whether every expected write was observed or the expectations have expired."""
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
        """Counts creations as observed. Call it for failed creations too: no event will come."""
        if key in self._creations:
            self._creations[key] -= count

    def deletion_observed(self, key: str, child: str) -> None:
        deletions = self._deletions.get(key)
        if deletions is not None:
            deletions.pop(child, None)

    def forget(self, key: str) -> None:
        """Drops the expectations of a deleted owner."""
        self._creations.pop(key, None)
        self._deletions.pop(key, None)
        self._since.pop(key, None)
