"""etcdctl member list, add, remove, update, promote, and move-leader.

Models etcd etcdctl/ctlv3/command/{member,move_leader}_command.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.etcd.members import Member
from lifecycle.etcdctl.session import BAD_ARGS, Exit, Session


async def listed(session: Session) -> None:
    await session.connect()
    header = session.header(revision=False)
    session.show("members", {"header": header, "members": _all(session)})


async def add(session: Session) -> None:
    if not session.words:
        raise Exit(BAD_ARGS, "member name not provided")
    if len(session.words) > 1:
        hints = [word for word in session.words if word.lower().startswith("http")]
        text = "".join(f", did you mean --peer-urls={hint}" for hint in hints)
        raise Exit(BAD_ARGS, f"too many arguments{text}")
    listed = session.flag("peer-urls")
    if not listed:
        raise Exit(BAD_ARGS, "member peer urls not provided")
    await session.connect()
    name, urls = session.words[0], listed.split(",")
    made = session.server.members.add(name, urls, learner=session.flag("learner"))
    _record(session, f"added {made.id:x}")
    header = session.header(revision=False)
    answer = {"header": header, "member": _shown(made), "members": _all(session)}
    session.show("member add", answer)
    if session.flag("write-out") != "simple":
        return
    named = [
        f"{name if member.id == made.id else member.name}={url}"
        for member in session.server.members.all
        for url in member.peer_urls
    ]
    session.say(
        f'\nETCD_NAME="{name}"\nETCD_INITIAL_CLUSTER="{",".join(named)}"\n'
        f'ETCD_INITIAL_ADVERTISE_PEER_URLS="{listed}"\nETCD_INITIAL_CLUSTER_STATE="existing"'
    )


async def remove(session: Session) -> None:
    member = await _named(session)
    _changed(session, "remove", member, session.server.members.remove, member)


async def update(session: Session) -> None:
    urls = session.flag("peer-urls")
    member = await _named(session, needs_urls=not urls)
    _changed(session, "update", member, session.server.members.update, member, urls.split(","))


async def promote(session: Session) -> None:
    member = await _named(session)
    _changed(session, "promote", member, session.server.members.promote, member)


async def move_leader(session: Session) -> None:
    """Asked of the leader itself, which has to be among the endpoints."""
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "move-leader command needs 1 argument")
    try:
        target = int(session.words[0], 16)
    except ValueError:
        why = f'strconv.ParseUint: parsing "{session.words[0]}": invalid syntax'
        raise Exit(BAD_ARGS, why) from None
    await session.connect()
    members, endpoints = session.server.members, session.endpoints()
    leader = members.leader
    if all(session.member_at(endpoint).id != leader.id for endpoint in endpoints):
        raise Exit(BAD_ARGS, f"no leader endpoint given at [{' '.join(endpoints)}]")
    members.lead(target)
    _record(session, f"leader {target:x}, term {members.term}")
    session.say(f"Leadership transferred from {leader.id:x} to {target:x}")


async def _named(session: Session, *, needs_urls: bool = False) -> int:
    """The id on the command line."""
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "member ID is not provided")
    try:
        member = int(session.words[0], 16)
    except ValueError:
        why = f'strconv.ParseUint: parsing "{session.words[0]}": invalid syntax'
        raise Exit(BAD_ARGS, f"bad member ID arg ({why}), expecting ID in Hex") from None
    if needs_urls:
        raise Exit(BAD_ARGS, "member peer urls not provided")
    await session.connect()
    return member


def _changed(session: Session, what: str, member: int, change: Any, *given: Any) -> None:
    change(*given)
    _record(session, f"{what} {member:x}")
    header = session.header(revision=False)
    answer = {"header": header, "members": _all(session), "id": member}
    session.show(f"member {what}", answer)


def _record(session: Session, text: str) -> None:
    """A change of the membership is work that the trace shows, though it writes no key."""
    with session.server.work(session.line) as work:
        work.outcome = f"{text}: {len(session.server.members.all)} members"


def _all(session: Session) -> list[dict[str, Any]]:
    return [_shown(member) for member in session.server.members.all]


def _shown(member: Member) -> dict[str, Any]:
    """As JSON has it: what is empty is left out."""
    return {
        "ID": member.id,
        "name": member.name or None,
        "peerURLs": list(member.peer_urls),
        "clientURLs": list(member.client_urls) or None,
        "isLearner": member.is_learner or None,
    }
