"""What a gate decided: the one record that the trace, metrics and the audit log are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import labelwords
from apiserver_app.registry import storagecalls


class Decision(msgspec.Struct):
    """`detail` goes into the trace: a `word` first, then what the decision rests on."""

    verdict: str  # allow, change, skip, deny
    detail: Any
    result: str = ""  # what metrics count it as; what has none is counted by no gate
    reason: str = ""  # upstream's reason, which the audit log has
    refusal: ApiError | None = None  # of a deny: how the request is answered


LEGAL = Decision("allow", {"word": "legal"})
WELL_FORMED = Decision("allow", {"word": "well formed"})


def refused(error: ApiError, call: str = "") -> Decision:
    """A refusal that was raised; inside a call of the storage interface if one is given."""
    detail = {**error.about, "word": str(error.code), "message": error.message}
    if call:
        detail.setdefault("call", call)
    return Decision("deny", detail, refusal=_answer(error))


def legal(info: ResourceInfo, name: str, errs: Sequence[FieldError], release: Release) -> Decision:
    """The decision of validation."""
    if not errs:
        return LEGAL
    group = "" if info.storage == "events" else info.group  # those of events.k8s.io are core's
    as_json = release.has("FieldErrorsAsJSON")
    if release.has("LabelKeysReworded"):
        errs = [*map(labelwords.reworded, errs)]
    error = errors.invalid(group, info.kind, name, errs, as_json=as_json)
    detail = {
        "word": f"{len(errs)} error{'s' if len(errs) != 1 else ''}",
        "message": error.message,
        "errors": error.details["causes"],
    }
    return Decision("deny", detail, refusal=error)


def stored(op: str, key: str, revision: int, *, dry_run: bool, unchanged: bool = False) -> Decision:
    """What a call of the storage interface did, which was carried out before this."""
    detail: Object = {"word": str(revision), "call": storagecalls.OF_WRITE[op], "key": key}
    if dry_run:
        detail.update(word="dry run", why=DRY_RUN)
    elif unchanged:
        detail["word"] = "no change"
    else:
        detail["rev"] = revision
        return Decision("allow", detail, op)
    return Decision("skip", detail)


def not_stored(op: str, key: str, error: ApiError) -> Decision:
    """The storage interface refused."""
    detail = {
        "word": error.reason or str(error.code),
        "call": storagecalls.OF_WRITE[op],
        "key": key,
        **error.about,
        "message": error.message,
    }
    return Decision("deny", detail, refusal=_answer(error))


def _answer(error: ApiError) -> ApiError:
    """The error without the frames it was raised in, one of which holds the decision: they would
    keep a large request until somebody looks for cycles."""
    return error.with_traceback(None)


def answered(why: str = "") -> Decision:
    """The answer was made up on the spot."""
    detail = {"word": "not stored", "why": why} if why else {"word": "not stored"}
    return Decision("skip", detail)


# what the storage does then, as upstream's DryRunnableStorage
DRY_RUN = "the key was looked up and the object answered; nothing was written"
