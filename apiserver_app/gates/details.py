"""What the first gates decided, as data for the trace: words, tries, reasons.

The same few answers come again and again (a component asks, its token is in the cache, one rule
allows it), so the decision is made once and kept for as long as the very same tries are given.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from apiserver_app import authprotocols as auth
from apiserver_app.authprotocols import Try
from apiserver_app.handlers.decision import Decision
from apiserver_app.machinery import memos
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.serializer import compact

KEPT_MAX = 512  # the same few come again; those about one object never do


class Allowed:
    """Decisions that let a request go on, by the identity of the tries they rest on. Bounded."""

    def __init__(self) -> None:
        # what the key identifies is kept alive with the decision: no identity is used twice
        self._kept: dict[tuple[int, ...], tuple[Sequence[Try], Decision]] = {}

    def authentication(
        self, user: User, tries: Sequence[Try], dropped: Sequence[str] = ()
    ) -> Decision:
        """Who was asked in which order, who it turned out to be, and which headers of the request
        are gone now."""
        key = (len(dropped), *map(id, tries))
        decision = self._kept.get(key)
        if decision is None:
            detail = authentication(user, tries)
            if dropped:
                detail["dropped"] = list(dropped)
            decision = self._keep(key, tries, Decision("allow", _encoded(detail), "success"))
        return decision[1]

    def authorization(self, authorized: auth.Decision) -> Decision:
        """Which authorizer said what, and the rule it went by."""
        key = tuple(map(id, authorized.tries))
        decision = self._kept.get(key)
        if decision is None:
            detail = _encoded(authorization(authorized))
            decision = self._keep(
                key, authorized.tries, Decision("allow", detail, "allowed", authorized.reason)
            )
        return decision[1]

    def _keep(
        self, key: tuple[int, ...], tries: Sequence[Try], decision: Decision
    ) -> tuple[Sequence[Try], Decision]:
        memos.make_room(self._kept, KEPT_MAX)
        kept = self._kept[key] = (tries, decision)
        return kept


def _encoded(detail: Object) -> msgspec.Raw:
    return msgspec.Raw(compact.encode(detail))


def authentication(user: User | None, tries: Sequence[Try]) -> Object:
    detail: Object = {
        "word": "known" if user is not None else "401",
        "tries": [_try(attempt) for attempt in tries],
    }
    if user is not None:
        detail["user"] = {"name": user.name, "groups": list(user.groups)}
        if user.name == "system:anonymous":
            detail["word"] = "anonymous"
    else:
        detail["message"] = "Unauthorized"
    return detail


def authorization(decision: auth.Decision) -> Object:
    """The detail of one decision, as plain data."""
    detail: Object = {
        "word": "allowed" if decision.allowed else "403",
        "tries": [_try(attempt) for attempt in decision.tries],
    }
    if decision.reason:
        detail["why"] = decision.reason
    return detail


def _try(attempt: Try) -> Object:
    out: Object = {"name": attempt.name, "verdict": attempt.verdict}
    if attempt.why:
        out["why"] = attempt.why
    if attempt.error:
        out["error"] = attempt.error
    if attempt.detail:
        out["detail"] = attempt.detail
    if attempt.source and attempt.verdict == "deny":
        out["source"] = attempt.source
    return out
