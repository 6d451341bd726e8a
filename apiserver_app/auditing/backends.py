"""Where events go: as lines to the log, as lists to a webhook. Each cuts what is too big.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/options/audit.go, pkg/audit/format.go and
plugin/pkg/audit/{log,truncate}.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

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
    blocks: bool  # requests wait until it has taken what was told of them
    errors: int  # events that were lost

    def take(self, event: Object) -> None: ...

    async def settle(self) -> bool:
        """Let go of what is waiting; whether somebody took it."""
        ...


@dataclass(frozen=True, slots=True)
class Truncation:
    """The greatest event in bytes; 0 when none is cut."""

    event_bytes_max: int = 0

    def encoded(self, event: Object) -> bytes | None:
        """The event, without its objects when it is too big; None when that does not help."""
        data = orjson.dumps(event)
        if not self.event_bytes_max or len(data) <= self.event_bytes_max:
            return data
        if event["level"] in _CUT:
            kept = {name: value for name, value in event.items() if name not in OBJECTS}
            kept["annotations"] = {**event.get("annotations", {}), TRUNCATED: "true"}
            data = orjson.dumps(kept)
        return data if len(data) <= self.event_bytes_max else None


class Log:
    """`write` takes lines that leave with the next commit."""

    name = "log"
    blocks = False  # every line is there when its answer leaves

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
    """An event in one line of text."""
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
    words = " ".join(f"{name}={go_value(value)}" for name, value in pairs.items())
    return f"{_nano(event['requestReceivedTimestamp'])} AUDIT: {words}"


def _quoted(groups: list[str]) -> str:
    return ",".join(map(go_value, groups))


def _nano(moment: str) -> str:
    """As RFC3339Nano writes it: without zeros at its end."""
    whole, _, fraction = moment.rstrip("Z").partition(".")
    kept = fraction.rstrip("0")
    return f"{whole}.{kept}Z" if kept else f"{whole}Z"


def check(given: Flags) -> None:
    """What cannot be, in upstream's words."""
    if given.audit_log_path:
        _check_mode("log", given.audit_log_mode)
        _check_version(given.audit_log_version)
        if given.audit_log_format not in FORMATS:
            raise FlagError(
                f"invalid audit log format {given.audit_log_format}, allowed formats are "
                f"{go_value(','.join(FORMATS))}"
            )
        for name in ("maxage", "maxbackup", "maxsize"):
            number = getattr(given, f"audit_log_{name}")
            if number < 0:
                raise FlagError(f"--audit-log-{name} {number} can't be a negative number")
    if given.audit_webhook_config_file:
        _check_mode("webhook", given.audit_webhook_mode)
        _check_version(given.audit_webhook_version)
        if given.audit_webhook_mode == "batch":
            _check_batch(given)


def _check_mode(plugin: str, mode: str) -> None:
    if mode not in MODES:
        raise FlagError(
            f"invalid audit {plugin} mode {mode}, allowed modes are {go_value(','.join(MODES))}"
        )


def _check_version(version: str) -> None:
    if version != API_VERSION:
        raise FlagError(f'invalid group version, allowed versions are ["{API_VERSION}"]')


def _check_batch(given: Flags) -> None:
    numbers: list[tuple[str, Any]] = [
        ("buffer size", given.audit_webhook_batch_buffer_size),
        ("max batch size", given.audit_webhook_batch_max_size),
    ]
    if given.audit_webhook_batch_throttle_enable:
        numbers += [
            ("throttle QPS", given.audit_webhook_batch_throttle_qps),
            ("throttle burst", given.audit_webhook_batch_throttle_burst),
        ]
    for name, number in numbers:
        if number <= 0:
            raise FlagError(
                f"invalid audit batch webhook {name} {number}, must be a positive number"
            )
