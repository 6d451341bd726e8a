"""Audit backends: lines to the log, lists to a webhook. Each truncates events that are too big.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/options/audit.go, pkg/audit/format.go and
plugin/pkg/audit/{log,truncate}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
import orjson

from apiserver_app.auditing.event import OBJECTS
from apiserver_app.auditing.policy import API_VERSION
from apiserver_app.flags import FlagError, Flags
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object

TRUNCATED = "audit.k8s.io/truncated"
MODES = ("batch", "blocking", "blocking-strict")
FORMATS = ("legacy", "json")
_CUT = ("Request", "RequestResponse")


class Backend(Protocol):
    name: str
    blocks: bool  # requests wait until their events are written
    errors: int  # lost events

    def take(self, event: Object) -> None: ...

    async def settle(self) -> bool:
        """Writes waiting events; reports success."""
        ...


class Truncation(msgspec.Struct, frozen=True):
    """The maximum event size in bytes; 0 disables truncation."""

    event_bytes_max: int = 0

    def encoded(self, event: Object) -> bytes | None:
        """Encodes an event, without its objects when too big; None when still too big."""
        data = orjson.dumps(event)
        if not self.event_bytes_max or len(data) <= self.event_bytes_max:
            return data
        if event["level"] in _CUT:
            reduced = {name: value for name, value in event.items() if name not in OBJECTS}
            reduced["annotations"] = {**event.get("annotations", {}), TRUNCATED: "true"}
            data = orjson.dumps(reduced)
        return data if len(data) <= self.event_bytes_max else None


class Log:
    """`write` takes lines that are sent with the next commit."""

    name = "log"
    blocks = False  # lines are written before the answer is sent

    def __init__(
        self, write: Callable[[bytes], None], format_: str, truncation: Truncation
    ) -> None:
        self.errors = 0
        self._write = write
        self._legacy = format_ == "legacy"
        self._truncation = truncation

    def take(self, event: Object) -> None:
        data = self._truncation.encoded(event)
        if data is None:
            self.errors += 1
            return
        self._write(legacy(event).encode() if self._legacy else data)

    async def settle(self) -> bool:
        return True


def legacy(event: Object) -> str:
    """Formats an event as one line of text."""
    user, other = event.get("user") or {}, event.get("impersonatedUser")
    namespace = (event.get("objectRef") or {}).get("namespace") or "<none>"
    status = event.get("responseStatus")
    as_groups = "<lookup>"
    if other is not None and other.get("groups") is not None:
        as_groups = _quoted(other["groups"])
    pairs = {
        "id": event["auditID"],
        "stage": event["stage"],
        "ip": (event.get("sourceIPs") or ["<unknown>"])[0],
        "method": event["verb"],
        "user": user.get("username") or "<none>",
        "groups": _quoted(user["groups"]) if user.get("groups") else "<none>",
        "as": "<self>" if other is None else other.get("username", ""),
        "asgroups": as_groups,
        "user-agent": event.get("userAgent", ""),
        "namespace": namespace,
        "uri": event["requestURI"],
        "response": "<deferred>" if status is None else str(status.get("code", 0)),
    }
    text = " ".join(f"{name}={go_value(value)}" for name, value in pairs.items())
    return f"{_nano(event['requestReceivedTimestamp'])} AUDIT: {text}"


def _quoted(groups: list[str]) -> str:
    return ",".join(map(go_value, groups))


def _nano(timestamp: str) -> str:
    """Formats as RFC3339Nano: without trailing zeros."""
    whole, _, fraction = timestamp.rstrip("Z").partition(".")
    digits = fraction.rstrip("0")
    return f"{whole}.{digits}Z" if digits else f"{whole}Z"


def check(flags: Flags) -> None:
    """Refuses invalid audit flags, in upstream's words."""
    if flags.audit_log_path:
        _check_mode("log", flags.audit_log_mode)
        _check_version(flags.audit_log_version)
        if flags.audit_log_format not in FORMATS:
            raise FlagError(
                f"invalid audit log format {flags.audit_log_format}, allowed formats are "
                f"{go_value(','.join(FORMATS))}"
            )
        for name in ("maxage", "maxbackup", "maxsize"):
            number = getattr(flags, f"audit_log_{name}")
            if number < 0:
                raise FlagError(f"--audit-log-{name} {number} can't be a negative number")
    if flags.audit_webhook_config_file:
        _check_mode("webhook", flags.audit_webhook_mode)
        _check_version(flags.audit_webhook_version)
        if flags.audit_webhook_mode == "batch":
            _check_batch(flags)


def _check_mode(plugin: str, mode: str) -> None:
    if mode not in MODES:
        raise FlagError(
            f"invalid audit {plugin} mode {mode}, allowed modes are {go_value(','.join(MODES))}"
        )


def _check_version(version: str) -> None:
    if version != API_VERSION:
        raise FlagError(f'invalid group version, allowed versions are ["{API_VERSION}"]')


def _check_batch(flags: Flags) -> None:
    numbers: list[tuple[str, Any]] = [
        ("buffer size", flags.audit_webhook_batch_buffer_size),
        ("max batch size", flags.audit_webhook_batch_max_size),
    ]
    if flags.audit_webhook_batch_throttle_enable:
        numbers += [
            ("throttle QPS", flags.audit_webhook_batch_throttle_qps),
            ("throttle burst", flags.audit_webhook_batch_throttle_burst),
        ]
    for name, number in numbers:
        if number <= 0:
            raise FlagError(
                f"invalid audit batch webhook {name} {number}, must be a positive number"
            )
