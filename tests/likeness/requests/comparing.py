"""What of an answer counts: what is random, of the moment or a controller's is left out."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.likeness.requests.madeup import MANAGERS, UID

_OF_THE_MOMENT = ("uid", "resourceVersion", "creationTimestamp", "time")
_CREDENTIAL = ("extra",)  # of whoever sends a signing request
_MASKS = (
    (re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "TIME"),
    (re.compile(r"time\.Date\(20[^)]*\)"), "TIME"),
    (re.compile(r"0x(?:c[0-9a-f]{8,9}|[0-9a-f]{10,})"), "ADDRESS"),
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1RV"),
    (re.compile("\u00a0"), " "),  # go-cmp's choice, once a process
)
# an object quoted in a message
_QUOTED = re.compile(r'Invalid value: "(\{(?:[^"\\]|\\.)*\})"')


def answer(code: int, body: Any) -> dict[str, Any]:
    """The answer as it is recorded."""
    if not isinstance(body, dict):
        return {"code": code, "text": masked(str(body).strip())}
    if body.get("kind") != "Status":
        return {"code": code, "object": _plain(body)}
    details = body.get("details") or {}
    causes = [
        [cause.get("reason"), cause.get("field"), masked(cause.get("message", ""))]
        for cause in details.get("causes") or ()
    ]
    rest = {name: value for name, value in details.items() if name not in ("causes", "uid")}
    return {
        "code": code,
        "reason": body.get("reason"),
        "message": masked(body.get("message", "")),
        "details": rest,
        "causes": causes,
    }


def sendable(stored: dict[str, Any]) -> dict[str, Any]:
    """The stored object as somebody would send it back."""
    uid = stored["metadata"]["uid"]
    kept = {
        name: value
        for name, value in stored["metadata"].items()
        if name not in (*_OF_THE_MOMENT, "managedFields")
    }
    out: dict[str, Any] = json.loads(json.dumps({**stored, "metadata": kept}).replace(uid, UID))
    return out


def masked(text: str) -> str:
    text = _QUOTED.sub(_quoted, text)
    head, several, findings = text.partition(": errors:\n")
    if several:  # of a map in Go, which is walked in any order
        text = head + several + "\n".join(sorted(findings.split("\n")))
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def _quoted(match: re.Match[str]) -> str:
    try:
        value = json.loads(json.loads(f'"{match[1]}"'))
    except ValueError:
        return match[0]
    return f"Invalid value: {json.dumps(_plain(value), ensure_ascii=False)}"


def _plain(value: Any, within: str = "") -> Any:
    if isinstance(value, dict):
        return {
            name: _plain(_managers(item) if name == "managedFields" else item, name)
            for name, item in value.items()
            if not (name in _OF_THE_MOMENT and within in ("metadata", "managedFields"))
            and not (name == "status" and not within)
            and not (name in _CREDENTIAL and "username" in value)
        }
    if isinstance(value, list):
        return [_plain(item, within) for item in value]
    return masked(value) if isinstance(value, str) else value


def _managers(entries: Any) -> Any:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return entries
    return [entry for entry in entries if entry.get("manager") in MANAGERS]
