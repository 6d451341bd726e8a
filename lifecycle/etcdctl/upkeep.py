"""etcdctl lease, endpoint, alarm, auth, defrag, version.

Models etcd etcdctl/ctlv3/command/{lease,ep,alarm,auth,defrag,version}_command.go.
"""

from __future__ import annotations

from apiserver_app.etcd import lease as leases_of
from apiserver_app.etcd import maintenance
from apiserver_app.etcd.errors import NO_SPACE, EtcdError
from lifecycle.etcdctl.session import BAD_ARGS, BAD_CONNECTION, ERROR, Exit, Session

KEEP_ALIVES_A_TTL = 3
TOOK = "2.184375ms"  # what a proposal is modelled to take


async def grant(session: Session) -> None:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "lease grant command needs TTL argument")
    try:
        wanted = session.number(session.words[0])
    except ValueError as error:
        raise Exit(BAD_ARGS, f"bad TTL ({error})") from error
    await session.connect()
    try:
        lease, ttl = leases_of.grant(session.server, wanted)
    except EtcdError as error:
        raise Exit(ERROR, f"failed to grant lease ({error})") from error
    session.show("grant", {**session.header(), "ID": lease, "TTL": ttl, "Error": ""})


async def revoke(session: Session) -> None:
    lease = _lease(session, "lease revoke command needs 1 argument")
    await session.connect()
    try:
        with session.server.work(session.line) as work:
            leases_of.revoke(session.server, lease, work.span)
            work.outcome = "revoked"
    except EtcdError as error:
        raise Exit(ERROR, f"failed to revoke lease ({error})") from error
    session.show("revoke", {"header": session.header(), "ID": lease})


async def time_to_live(session: Session) -> None:
    lease = _lease(session, "lease timetolive command needs lease ID as argument")
    await session.connect()
    granted, left = leases_of.time_to_live(session.server, lease)
    keys = None
    if session.flag("keys"):
        keys = [key.encode() for key in sorted(session.server.store.lease_keys(lease))]
    session.show(
        "timetolive",
        {**session.header(), "id": lease, "ttl": left, "granted-ttl": granted, "keys": keys},
    )


async def leases(session: Session) -> None:
    await session.connect()
    held = [{"id": lease} for lease in session.server.store.leases()]
    session.show("leases", {**session.header(), "leases": held})


async def keep_alive(session: Session) -> None:
    lease = _lease(session, "lease keep-alive command needs lease ID as argument")
    await session.connect()
    while True:
        try:
            ttl = leases_of.renew(session.server, lease)
        except EtcdError as error:
            if session.flag("once"):
                raise Exit(BAD_CONNECTION, str(error)) from error
            break
        session.show("keepalive", {**session.header(), "ID": lease, "TTL": ttl})
        if session.flag("once"):
            return
        await session.process.sleep(ttl / KEEP_ALIVES_A_TTL)
    if session.flag("write-out") == "simple":
        session.say(f"lease {lease:016x} expired or revoked.")


def _lease(session: Session, needs: str) -> int:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, needs)
    return session.lease_of(session.words[0])


# -- endpoints and members ------------------------------------------------------------------------


async def health(session: Session) -> None:
    await session.connect()
    results = [
        {"endpoint": endpoint, "health": True, "took": TOOK} for endpoint in _endpoints(session)
    ]
    if session.flag("write-out") != "simple":
        session.show("health", {"list": results})
        return
    for result in results:
        healthy = f"{result['endpoint']} is healthy: successfully committed proposal"
        session.say(f"{healthy}: took = {result['took']}")


async def status(session: Session) -> None:
    await session.connect()
    server = session.server
    index = maintenance.raft_index(server)
    size = maintenance.size_bytes(server)
    answer = {
        "version": server.version,
        "dbSize": size,
        "leader": server.members.leader.id,
        "raftIndex": index,
        "raftTerm": server.members.term,
        "raftAppliedIndex": index,
        "dbSizeInUse": size,
    }
    results = []
    for endpoint in _endpoints(session):
        member = session.member_at(endpoint)
        head = {**session.header(), "member_id": member.id}
        full = {"header": head, **answer, **({"isLearner": True} if member.is_learner else {})}
        results.append({"Endpoint": endpoint, "Status": full})
    session.show("status", {"list": results})


async def hashkv(session: Session) -> None:
    await session.connect()
    total = maintenance.hash_kv(session.server, session.flag("rev"))
    answer = {
        "header": session.header(),
        "hash": total,
        "compact_revision": session.server.store.compacted,
    }
    session.show(
        "hashkv",
        {"list": [{"Endpoint": endpoint, "HashKV": answer} for endpoint in _endpoints(session)]},
    )


def _endpoints(session: Session) -> list[str]:
    if session.flag("cluster"):
        return [url for member in session.server.members.all for url in member.client_urls]
    return session.endpoints()


async def alarms(session: Session) -> None:
    """Of the list, and of disarming: what keeps the disk full raises it again at once."""
    await session.connect()
    server = session.server
    raised = [
        {"memberID": member.id, "alarm": 1}
        for member in server.members.all
        if server.store.alarm == NO_SPACE
    ]
    session.show("alarms", {"header": session.header(), **({"alarms": raised} if raised else {})})


async def auth_status(session: Session) -> None:
    await session.connect()
    session.show("auth status", {"header": session.header(), "authRevision": 1})


async def auth_enable(session: Session) -> None:
    """There is no user root, and none can be made."""
    await session.connect()
    raise EtcdError("etcdserver: root user does not exist")


async def auth_disable(session: Session) -> None:
    await session.connect()
    session.show("auth disable", {"header": session.header()})


async def nobody(session: Session) -> None:
    """The users, or the roles: none."""
    await session.connect()
    session.show("nobody", {"header": session.header()})


async def defrag(session: Session) -> None:
    await session.connect()
    for endpoint in _endpoints(session):
        session.say(f"Finished defragmenting etcd member[{endpoint}]. took 21.401ms")


async def version(session: Session) -> None:
    number = session.server.version
    session.say(f"etcdctl version: {number}\nAPI version: {number.rpartition('.')[0]}")
