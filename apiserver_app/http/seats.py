"""How many long-running requests one user may have open: watches, logs, processes, ports.

Flow control counts what ends soon; what stays open is counted here, so that one user cannot fill
the server. Upstream leaves that to the memory of the machine.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import User

SEATS_MAX = 256
RETRY_SECONDS = 10
UNBOUNDED = frozenset(("system:masters", "system:nodes", "system:serviceaccounts:kube-system"))
_COMPONENTS = ("system:kube-scheduler", "system:kube-controller-manager")
_ACCOUNTS = "system:serviceaccounts:"


class Seats:
    """The open long-running requests of a cluster, by who has them."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, user: User) -> Callable[[], None]:
        """Returns what gives the seat back, however often it is called. Raises a 429."""
        if user.name in _COMPONENTS or not UNBOUNDED.isdisjoint(user.groups):
            return _nothing
        holder = _holder(user)
        taken = self._taken.get(holder, 0)
        if taken >= SEATS_MAX:
            raise errors.too_many_requests(
                f"{holder} {taken} watches and streams open, as many as one user may have; end "
                "some, or try again later",
                RETRY_SECONDS,
            )
        self._taken[holder] = taken + 1
        held = [holder]

        def give_back() -> None:
            if held:
                self._give_back(held.pop())

        return give_back

    def _give_back(self, holder: str) -> None:
        self._taken[holder] -= 1
        if not self._taken[holder]:
            del self._taken[holder]


def _holder(user: User) -> str:
    """Who has the seat: the service accounts of a namespace are made by the same people."""
    for group in user.groups:
        if group.startswith(_ACCOUNTS):
            return f"the service accounts of namespace {group.removeprefix(_ACCOUNTS)} have"
    return f'user "{user.name}" has'


def _nothing() -> None:
    return None
