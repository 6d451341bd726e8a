"""What a list or watch asks for besides its selectors: how much, how fresh, from where.

Only reads the query; refuses what upstream refuses, in its words.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/apis/meta/internalversion/validation and
staging/src/k8s.io/apiserver/pkg/storage/interfaces.go (ValidateListOptions).
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.handlers.call import Call
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.releases import Release

EXACT, NOT_OLDER_THAN = "Exact", "NotOlderThan"
FALSE = ("false", "0")
DIGITS_MAX = 20  # of a number that is read at all
_MATCH = "resourceVersionMatch"


class ListOptions(NamedTuple):
    """A list: at most `limit` items (0: all), at exactly `revision` if that is given, else at the
    head, which must have come to `at_least`."""

    limit: int = 0
    revision: int = 0
    at_least: int = 0
    token: str = ""


class WatchOptions(NamedTuple):
    """A watch: from behind `revision` (0: from what is there), with what is there already first
    or not, and told when that has been given."""

    revision: int
    initial: bool
    initial_end: bool
    bookmarks: bool
    timeout_seconds: int  # 0: none was named


HEAD = ListOptions()


def of_list(call: Call) -> ListOptions:
    if not call.params:
        return HEAD
    limit = max(0, number(call, "limit"))
    number(call, "timeoutSeconds")  # of a list it means nothing, but has to be a number
    asked, match, token = call.param("resourceVersion"), call.param(_MATCH), call.param("continue")
    errs: list[FieldError] = []
    if match:
        errs += _match_findings(match, asked, token)
    if call.param("sendInitialEvents"):
        why = "sendInitialEvents is forbidden for list"
        errs.append(errors.forbidden_value("sendInitialEvents", why))
    _refuse(errs)
    if token:
        if asked and asked != "0":
            raise errors.bad_request(
                "specifying resource version is not allowed when using continue"
            )
        return ListOptions(limit, token=token)
    try:
        revision = parse_revision(asked)
    except ApiError as error:
        raise errors.bad_request(f"invalid resource version: {error.message}") from error
    if not revision:  # anything goes, and all of it: the watch cache has no pages
        return ListOptions(0 if asked == "0" else limit)
    if match == EXACT or (limit and not match):
        return ListOptions(limit, revision=revision)
    return ListOptions(limit, at_least=revision)


def of_watch(call: Call, version: Release) -> WatchOptions:
    """`version` decides whether a watch may begin with a list (the gate WatchList)."""
    match, initial = call.param(_MATCH), call.param("sendInitialEvents")
    number(call, "limit")  # of a watch it means nothing, but has to be a number
    errs: list[FieldError] = []
    if initial:
        if match != NOT_OLDER_THAN:
            why = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
            errs.append(errors.forbidden_value(_MATCH, why))
        if not version.has("WatchList"):
            why = (
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is "
                "enabled"
            )
            errs.append(errors.forbidden_value("sendInitialEvents", why))
    if match:
        if not initial:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            errs.append(errors.forbidden_value(_MATCH, why))
        if match != NOT_OLDER_THAN:
            errs.append(errors.not_supported(_MATCH, match, (NOT_OLDER_THAN,)))
        if call.param("continue"):
            why = "resourceVersionMatch is forbidden when continue is provided"
            errs.append(errors.forbidden_value(_MATCH, why))
    _refuse(errs)
    revision = parse_revision(call.param("resourceVersion"))
    wanted = bool(initial) and initial.lower() not in FALSE
    marks = call.params.get("allowWatchBookmarks")  # without a value it is meant
    bookmarks = marks is not None and marks[0].lower() not in FALSE
    return WatchOptions(
        revision,
        wanted or (not revision and not initial),
        wanted and bookmarks,
        bookmarks,
        max(0, number(call, "timeoutSeconds")),
    )


def parse_revision(text: str) -> int:
    """A resourceVersion as a number, 0 for none; refused as the storage layer words it."""
    if not text:
        return 0
    if text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX and int(text) < 2**64:
        return int(text)
    why = "value out of range" if text.isascii() and text.isdecimal() else "invalid syntax"
    finding = errors.invalid_value(
        "resourceVersion", text, f'strconv.ParseUint: parsing "{text}": {why}'
    )
    raise errors.unclassified(str(finding))


def number(call: Call, name: str) -> int:
    """An integer of the query; 0 when it is not there."""
    return integer(call, name) or 0


def integer(call: Call, name: str) -> int | None:
    """An integer of the query, or None; a parameter without a value counts as absent. Models
    staging/src/k8s.io/apimachinery/pkg/runtime/conversion.go."""
    values = call.params.get(name)
    if values is None:
        return None
    text = values[0]
    digits = text[1:] if text[:1] in ("+", "-") else text
    why = ""
    if not (digits.isascii() and digits.isdecimal()):
        why = "invalid syntax"
    elif len(digits.lstrip("0")) > DIGITS_MAX or not -(2**63) <= int(text) < 2**63:
        why = "value out of range"
    if why:
        raise errors.bad_request(f"strconv.ParseInt: parsing {errors.go_value(text)}: {why}")
    return int(text)


def _match_findings(match: str, asked: str, token: str) -> list[FieldError]:
    errs = []
    if not asked:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        errs.append(errors.forbidden_value(_MATCH, why))
    if token:
        why = "resourceVersionMatch is forbidden when continue is provided"
        errs.append(errors.forbidden_value(_MATCH, why))
    if match not in (EXACT, NOT_OLDER_THAN):
        errs.append(errors.not_supported(_MATCH, match, (EXACT, NOT_OLDER_THAN, "")))
    if match == EXACT and asked == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        errs.append(errors.forbidden_value(_MATCH, why))
    return errs


def _refuse(errs: list[FieldError]) -> None:
    if errs:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", errs)
