"""Decides whether and how a request is audited, and writes its events to the backends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver_app.auditing.backends import Backend
from apiserver_app.auditing.event import Event, source_addresses
from apiserver_app.auditing.policy import Finding, Policy
from apiserver_app.authprotocols import Attributes
from apiserver_app.machinery.meta import Object


class Auditor:
    """Sends every event to every backend."""

    def __init__(self, policy: Policy, backends: Sequence[Backend]) -> None:
        self.policy = policy
        self.backends = tuple(backends)
        self.blocks = any(backend.blocks for backend in backends)
        self.events = 0
        self.rejected = 0  # requests whose event could not be stored
        self.levels: dict[str, int] = {}  # requests, by level

    def _write(self, event: Object) -> None:
        self.events += 1
        for backend in self.backends:
            backend.take(event)

    async def settle(self) -> bool:
        """Waits for blocking backends; False when a strict one failed."""
        took = True
        for backend in self.backends:
            if backend.blocks and not await backend.settle():
                took = took and not getattr(backend, "strict", False)
        return took

    def begin(
        self,
        attributes: Attributes,
        *,
        known: bool,
        audit_id: str,
        uri: str,
        agent: str,
        headers: Mapping[str, str],
        address: str,
        now: int,
    ) -> tuple[Finding, Event | None]:
        """Returns the rule for a request, and its event unless the level is None."""
        finding = self.policy.find(attributes if known else None, attributes)
        self.levels[finding.level] = self.levels.get(finding.level, 0) + 1
        if finding.level == "None":
            return finding, None
        event = Event(
            finding,
            attributes,
            self._write,
            audit_id=audit_id,
            uri=uri,
            agent=agent,
            addresses=source_addresses(headers, address),
            known=known,
            now=now,
        )
        return finding, event


def detail(finding: Finding, audit_id: str) -> Object:
    """Returns the trace's detail of a request."""
    detail: Object = {"word": finding.level, "id": audit_id, "level": finding.level}
    if finding.level == "None":
        detail["word"] = "not logged"
    if finding.rule:
        detail["rule"] = finding.rule
    if finding.omitted:
        detail["omitStages"] = sorted(finding.omitted)
    return detail
