"""What the audit gate asks: whether a request is logged, and as what; it takes the lines, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver_app.auditing.backends import Backend
from apiserver_app.auditing.event import Event, source_addresses
from apiserver_app.auditing.policy import Finding, Policy
from apiserver_app.auth.protocols import Attributes
from apiserver_app.machinery.meta import Object


class Auditor:
    """Every event goes to every backend."""

    def __init__(self, policy: Policy, backends: Sequence[Backend]) -> None:
        self.policy = policy
        self.backends = tuple(backends)
        self.blocks = any(one.blocks for one in backends)
        self.events = 0
        self.levels: dict[str, int] = {}  # requests, by level

    def _write(self, event: Object) -> None:
        self.events += 1
        for one in self.backends:
            one.take(event)

    async def settle(self) -> bool:
        """Wait for backends that requests wait for; False when one of the strict took nothing."""
        took = True
        for one in self.backends:
            if one.blocks and not await one.settle():
                took = took and not getattr(one, "strict", False)
        return took

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
        self.levels[finding.level] = self.levels.get(finding.level, 0) + 1
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
