"""What the audit gate asks: whether a request is logged, and as what; it takes the lines, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apiserver_app.auditing.event import Event, source_addresses
from apiserver_app.auditing.policy import Finding, Policy
from apiserver_app.auth.protocols import Attributes
from apiserver_app.machinery.meta import Object


class Auditor:
    """`write` takes lines that leave with the next commit."""

    def __init__(self, policy: Policy, write: Callable[[bytes], None]) -> None:
        self.policy = policy
        self._write = write

    def begin(
        self,
        asked: Attributes,
        *,
        known: bool,
        audit_id: str,
        uri: str,
        agent: str,
        headers: Mapping[str, str],
        address: str,
        now: int,
    ) -> tuple[Finding, Event | None]:
        """The rule about a request, and its event unless nothing of it is logged."""
        finding = self.policy.find(asked if known else None, asked)
        if finding.level == "None":
            return finding, None
        event = Event(
            finding, asked, self._write, audit_id=audit_id, uri=uri, agent=agent,
            addresses=source_addresses(headers, address), known=known, now=now,
        )  # fmt: skip
        return finding, event


def told(finding: Finding, audit_id: str) -> Object:
    """What the trace is told of it."""
    detail: Object = {"word": finding.level, "id": audit_id, "level": finding.level}
    if finding.level == "None":
        detail["word"] = "not logged"
    if finding.rule:
        detail["rule"] = finding.rule
    if finding.omitted:
        detail["omitStages"] = sorted(finding.omitted)
    return detail
