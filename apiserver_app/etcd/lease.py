"""Leases: delete their keys when they expire.

Each lease that a client was granted has a timer. The API server's leases of events are many: their
id is the second at which they expire, and one task handles all of them.

Models etcd server/lease/lessor.go and server/etcdserver/api/v3rpc/lease.go.
"""

from __future__ import annotations

from apiserver_app.etcd import delete_range, errors
from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.server import Server
from apiserver_app.machinery.kernel import SECOND

TTL_SECONDS_MIN, TTL_SECONDS_MAX = 2, 9_000_000_000
STEP_SECONDS = 60  # keys that expire within it share a lease
EVENT_TTL_SECONDS = 3600  # --event-ttl


def grant(server: Server, ttl: int, lease: int = 0) -> tuple[int, int]:
    """Creates a lease; returns its id and the granted seconds."""
    if ttl > TTL_SECONDS_MAX:
        raise EtcdError(errors.LEASE_TTL_TOO_LARGE)
    lease = lease or int(server.rand.hex(16), 16) >> 1
    ttl = max(ttl, TTL_SECONDS_MIN)
    until = server.kernel.now + ttl * SECOND
    server.store.grant(lease, ttl, until)
    _end_at(server, lease, until)
    return lease, ttl


def of_event(now: int) -> int:
    """The lease of an event of `now`: it expires after its TTL, or up to a minute later."""
    return (now // SECOND // STEP_SECONDS + 1) * STEP_SECONDS + EVENT_TTL_SECONDS


def revoke(server: Server, lease: int, span: int | None) -> None:
    """Revokes a lease and deletes its keys."""
    store = server.store
    if lease not in store.leases():
        raise EtcdError(errors.LEASE_NOT_FOUND)
    for key in store.lease_keys(lease):
        entry = store.get(key)
        if entry is not None:
            delete_range.remove(server, entry, span)
    store.revoke(lease)


def renew(server: Server, lease: int) -> int:
    """Restarts the lease's time; returns its granted seconds."""
    granted = server.store.granted.get(lease)
    if granted is None:
        raise EtcdError(errors.LEASE_NOT_FOUND)
    server.store.grant(lease, granted.ttl, server.kernel.now + granted.ttl * SECOND)
    return granted.ttl


def keep_alive(server: Server, lease: int) -> None:
    """Renews a lease every third of its TTL, as its client does, until `let_go`."""
    server.kept_alive.add(lease)
    _keep_alive(server, lease)


def let_go(server: Server, lease: int) -> None:
    server.kept_alive.discard(lease)


def time_to_live(server: Server, lease: int) -> tuple[int, int]:
    """(seconds granted, seconds left); (0, -1) when there is no such lease."""
    now, granted = server.kernel.now, server.store.granted.get(lease)
    if granted is not None:
        return granted.ttl, -(-(granted.until - now) // SECOND)
    if lease in server.store.leases():
        return EVENT_TTL_SECONDS + STEP_SECONDS, lease - now // SECOND
    return 0, -1


# -- expiry ---------------------------------------------------------------------------------------


def recover(server: Server) -> None:
    """Sets the timers of all granted leases, after a restart."""
    for lease, granted in sorted(server.store.granted.items()):
        _end_at(server, lease, granted.until)


def promote(server: Server) -> None:
    """Gives all granted leases their whole time again, when etcd runs again."""
    for lease in sorted(server.store.granted):
        renew(server, lease)
    recover(server)


async def expire_shared(server: Server) -> None:
    """Revokes expired shared leases, forever."""
    store, kernel = server.store, server.kernel
    while True:
        await kernel.sleep(STEP_SECONDS)
        await server.life.until_running()
        for lease in store.leases():
            if lease not in store.granted and lease <= kernel.now // SECOND:
                revoke(server, lease, span=None)


def _keep_alive(server: Server, lease: int) -> None:
    granted, kernel = server.store.granted.get(lease), server.kernel
    if granted is not None and lease in server.kept_alive:
        if server.life.runs:  # else its client tries again
            renew(server, lease)
        due = kernel.now + granted.ttl * SECOND // 3
        kernel.call_at(due, lambda _: _keep_alive(server, lease), None, background=True)


def _end_at(server: Server, lease: int, until: int) -> None:
    server.kernel.call_at(until, lambda _: _due(server, lease), None, background=True)


def _due(server: Server, lease: int) -> None:
    granted = server.store.granted.get(lease)
    if granted is None or server.store.alarm or not server.life.runs:
        return
    if granted.until > server.kernel.now:
        _end_at(server, lease, granted.until)
    elif not server.store.lease_keys(lease):
        server.store.revoke(lease)
    else:
        with server.work(f"lease {lease:016x} expired") as work:
            revoke(server, lease, work.span)
            work.outcome = "its keys are gone"
