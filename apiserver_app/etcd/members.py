"""The members of the cluster's etcd: one to begin with, more as etcdctl adds them.

All of them have the one log of the simulation. A member that was added starts a moment later, if
its peer URL leads to a node; then it has a name and clients reach it. One that would take the
quorum away for good is refused: etcd would answer nobody, and the cluster would stand still.

Models etcd server/etcdserver/{server.go,api/membership/cluster.go} (strict reconfiguration check).
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from apiserver_app.etcd.errors import EtcdError
from apiserver_app.machinery.kernel import SECOND, Kernel

FIRST = "node-1", "10.0.0.11"  # name and address
START_SECONDS = 3
FIRST_TERM = 2
LEARNERS_MAX = 1

NOT_FOUND = "etcdserver: member not found"
EXISTS = "etcdserver: Peer URLs already exists"
BAD_URLS = "etcdserver: given member URLs are invalid"
TOO_MANY_LEARNERS = "etcdserver: too many learner members in cluster"
NOT_ENOUGH = "etcdserver: re-configuration failed due to not enough started members"
NOT_LEARNER = "etcdserver: can only promote a learner member"
NOT_READY = "etcdserver: can only promote a learner member which is in sync with leader"

BAD_TRANSFEREE = "etcdserver: bad leader transferee"
TRANSFER_TIMEOUT = "etcdserver: request timed out, leader transfer took too long"


class Member(NamedTuple):
    """One member; without a name it has not started."""

    id: int
    name: str
    peer_urls: tuple[str, ...]
    client_urls: tuple[str, ...]
    is_learner: bool = False


class Members:
    """The membership of one cluster. The first of `all` is the one the API server talks to."""

    def __init__(
        self,
        cluster: str,
        kernel: Kernel,
        is_node: Callable[[str], bool],
        saved: Sequence[Sequence[Any]] = (),
        led: Sequence[int] = (),
        first: tuple[str, str] = FIRST,
    ) -> None:
        self._cluster = cluster
        self._kernel = kernel
        self._is_node = is_node
        self.all = [
            Member(member[0], member[1], tuple(member[2]), tuple(member[3]), member[4])
            for member in saved
        ] or [_started(identity(f"{cluster} member"), *first)]
        self._leader, self.term = led or (self.own.id, FIRST_TERM)
        for member in self.all:
            if not member.name:
                self._start_later(member.id, member.peer_urls, f"etcd-{member.id:x}")

    @property
    def own(self) -> Member:
        return self.all[0]

    @property
    def leader(self) -> Member:
        return self.find(self._leader)

    @property
    def led(self) -> tuple[int, int]:
        """Who leads, and in which term: what is saved."""
        return self._leader, self.term

    def lead(self, member: int) -> None:
        """Another one leads from now on, in a term of its own."""
        leader = next((known for known in self.all if known.id == member), None)
        if leader is None or leader.is_learner:
            raise EtcdError(BAD_TRANSFEREE)
        if not leader.name:
            raise EtcdError(TRANSFER_TIMEOUT)
        if member != self._leader:
            self._leader, self.term = member, self.term + 1

    def find(self, member: int) -> Member:
        for known in self.all:
            if known.id == member:
                return known
        raise EtcdError(NOT_FOUND)

    def at(self, host: str) -> Member | None:
        """The started member whose clients reach it there."""
        return next(
            (member for member in self.all if member.name and _host(member.client_urls) == host),
            None,
        )

    def add(self, name: str, urls: Sequence[str], *, learner: bool) -> Member:
        self._check_urls(urls, None)
        if learner and sum(member.is_learner for member in self.all) >= LEARNERS_MAX:
            raise EtcdError(TOO_MANY_LEARNERS)
        will_start = self._is_node(_host(urls))
        if not learner and not will_start:
            voters = [member for member in self.all if not member.is_learner]
            started = sum(bool(voter.name) for voter in voters)
            if started < _quorum(len(voters) + 1):
                raise EtcdError(
                    f"a member at {urls[0]} that no node would start is not simulated: etcd would "
                    "have no quorum and answer nobody; use a node's address, or --learner"
                )
        made = Member(identity(f"{self._cluster} {' '.join(urls)}"), "", tuple(urls), (), learner)
        self.all.append(made)
        self._start_later(made.id, made.peer_urls, name)
        return made

    def remove(self, member: int) -> Member:
        gone = self.find(member)
        left = [other for other in self.all if other.id != member and not other.is_learner]
        if not gone.is_learner and sum(bool(other.name) for other in left) < _quorum(len(left)):
            raise EtcdError(NOT_ENOUGH)
        if gone is self.own:
            raise EtcdError(
                "removing the API server's own member is not simulated: it has no other endpoint"
            )
        if gone.id == self._leader:
            self.lead(self.own.id)
        self.all.remove(gone)
        return gone

    def update(self, member: int, urls: Sequence[str]) -> Member:
        old = self.find(member)
        self._check_urls(urls, member)
        made = old._replace(peer_urls=tuple(urls))
        self.all[self.all.index(old)] = made
        return made

    def promote(self, member: int) -> Member:
        old = self.find(member)
        if not old.is_learner:
            raise EtcdError(NOT_LEARNER)
        if not old.name:
            raise EtcdError(NOT_READY)
        made = old._replace(is_learner=False)
        self.all[self.all.index(old)] = made
        return made

    # -- inside ---------------------------------------------------------------------------------

    def _check_urls(self, urls: Sequence[str], but: int | None) -> None:
        for url in urls:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme not in ("http", "https") or ":" not in parts.netloc or parts.path:
                raise EtcdError(BAD_URLS)
        for member in self.all:
            if member.id != but and set(member.peer_urls) & set(urls):
                raise EtcdError(EXISTS)

    def _start_later(self, member: int, urls: Sequence[str], name: str) -> None:
        if self._is_node(_host(urls)):
            due = self._kernel.now + START_SECONDS * SECOND
            self._kernel.call_at(due, self._start, (member, name), background=True)

    def _start(self, what: tuple[int, str]) -> None:
        member, name = what
        for at, known in enumerate(self.all):
            if known.id == member and not known.name:
                started = _started(member, name, _host(known.peer_urls))
                self.all[at] = started._replace(
                    peer_urls=known.peer_urls, is_learner=known.is_learner
                )


def _started(member: int, name: str, host: str) -> Member:
    return Member(member, name, (f"https://{host}:2380",), (f"https://{host}:2379",))


def _quorum(voters: int) -> int:
    return voters // 2 + 1


def _host(urls: Sequence[str]) -> str:
    return (urllib.parse.urlsplit(urls[0]).hostname or "") if urls else ""


def identity(text: str) -> int:
    """64 bits that follow from a name."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
