"""What the first gates decided, as data for the trace: words, tries, reasons, sources."""

from __future__ import annotations

from apiserver_app.auth.protocols import Decision, Try
from apiserver_app.machinery.meta import Object, User


def authentication(user: User | None, tries: list[Try]) -> Object:
    """Who was asked in which order, and who it turned out to be."""
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
    """Which authorizer said what, and the rule it went by."""
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
    if one.detail:
        out["detail"] = one.detail
    if one.source:
        out["source"] = one.source
    return out
