"""What the first gates decided, as data for the trace: words, tries, reasons.

The same few answers come again and again (a component asks, its token is in the cache, one rule
allows it), so they are encoded once and kept for as long as the very same tries are given.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver_app.authprotocols import Decision, Try
from apiserver_app.machinery.meta import Object, User

KEPT_MAX = 2048


class Details:
    """Encoded details by the identity of what they say. Bounded."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[Sequence[Try], User | None, orjson.Fragment]] = {}

    def authentication(
        self, user: User | None, tries: Sequence[Try], dropped: Sequence[str] = ()
    ) -> orjson.Fragment:
        """Who was asked in which order, who it turned out to be, and which headers of the request
        are gone now."""
        key = (len(dropped), *map(id, tries))
        found = self._kept.get(key)
        if found is None:
            detail = _authentication(user, tries)
            if dropped:
                detail["dropped"] = list(dropped)
            found = self._keep(key, tries, user, detail)
        return found[2]

    def authorization(self, decision: Decision) -> orjson.Fragment:
        """Which authorizer said what, and the rule it went by."""
        tries = decision.tries
        key = tuple(map(id, tries))
        found = self._kept.get(key)
        if found is None:
            found = self._keep(key, tries, None, authorization(decision))
        return found[2]

    def _keep(
        self, key: tuple[int, ...], tries: Sequence[Try], user: User | None, detail: Object
    ) -> tuple[Sequence[Try], User | None, orjson.Fragment]:
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        # what the key identifies is kept alive with it, so that no identity is used twice
        kept = self._kept[key] = (tries, user, orjson.Fragment(orjson.dumps(detail)))
        return kept


def _authentication(user: User | None, tries: Sequence[Try]) -> Object:
    detail: Object = {
        "word": "known" if user is not None else "401",
        "tries": [_try(one) for one in tries],
    }
    if user is not None:
        detail["user"] = {"name": user.name, "groups": list(user.groups)}
        if user.name == "system:anonymous":
            detail["word"] = "anonymous"
    else:
        detail["message"] = "Unauthorized"
    return detail


def authorization(decision: Decision) -> Object:
    """The detail of one decision, as plain data."""
    detail: Object = {
        "word": "allowed" if decision.allowed else "403",
        "tries": [_try(one) for one in decision.tries],
    }
    if decision.reason:
        detail["why"] = decision.reason
    return detail


def _try(one: Try) -> Object:
    out: Object = {"name": one.name, "verdict": one.verdict}
    if one.why:
        out["why"] = one.why
    if one.error:
        out["error"] = one.error
    if one.detail:
        out["detail"] = one.detail
    if one.source and one.verdict == "deny":
        out["source"] = one.source
    return out
