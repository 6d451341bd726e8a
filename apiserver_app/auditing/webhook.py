"""The audit webhook: sends events in batches, with retries.

Queued events are lost when the server ends. Calls leave through egress, in virtual time; in the
blocking modes a request waits for them.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/audit/{webhook,buffered}.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
import orjson

from apiserver_app.auditing.backends import Truncation
from apiserver_app.auditing.policy import API_VERSION
from apiserver_app.egress import kubeconfigs, outbound
from apiserver_app.flags import Flags
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe

TRIES_MAX, PAUSE_FACTOR = 5, 1.5
TIMEOUT_SECONDS = 30.0
COMPONENT = "audit-webhook"  # in the trace


class Settings(msgspec.Struct, frozen=True):
    """The audit-webhook-* flags."""

    target: kubeconfigs.Target
    mode: str = "batch"
    backoff_seconds: float = 10.0
    buffer_size: int = 10_000
    batch_size: int = 400
    wait_seconds: float = 30.0
    throttle: bool = True
    batches_per_second: int = 10
    burst: int = 15
    truncation: Truncation = Truncation()


def settings_of(flags: Flags) -> Settings:
    size = flags.audit_webhook_truncate_max_event_size
    return Settings(
        kubeconfigs.target(flags.audit_webhook_config_file),
        flags.audit_webhook_mode,
        flags.audit_webhook_initial_backoff,
        flags.audit_webhook_batch_buffer_size,
        flags.audit_webhook_batch_max_size,
        flags.audit_webhook_batch_max_wait,
        flags.audit_webhook_batch_throttle_enable,
        flags.audit_webhook_batch_throttle_qps,
        flags.audit_webhook_batch_throttle_burst,
        Truncation(size if flags.audit_webhook_truncate_enabled else 0),
    )


class Webhook:
    """`call` is egress; every batch sent is traced."""

    name = "webhook"

    def __init__(
        self,
        settings: Settings,
        call: Callable[[outbound.Call], Awaitable[outbound.Answer]],
        kernel: Kernel,
        probe: Probe,
    ) -> None:
        self.settings = settings
        self.blocks = settings.mode != "batch"
        self.strict = settings.mode == "blocking-strict"
        self.errors = 0
        self.call = call
        self._kernel = kernel
        self._probe = probe
        self._buffer: list[bytes] = []
        self._interval_start = kernel.now  # when the buffer's current interval began
        self._timer = 0
        self._tokens = float(settings.burst)
        self._refilled = kernel.now

    def take(self, event: Object) -> None:
        data = self.settings.truncation.encoded(event)
        if data is None or len(self._buffer) >= self.settings.buffer_size:
            self.errors += 1
            return
        self._buffer.append(data)
        if self.blocks:
            return
        if len(self._buffer) >= self.settings.batch_size:
            self._flush(None)
        elif not self._timer:
            self._timer = self._kernel.call_at(self._due(), self._flush, None, background=True)

    async def settle(self) -> bool:
        batch, self._buffer = self._buffer, []
        return not batch or await self._send(batch)

    def _due(self) -> int:
        """Returns the end of the current interval."""
        stretch = max(1, int(self.settings.wait_seconds * SECOND))
        return (
            self._interval_start
            + ((self._kernel.now - self._interval_start) // stretch + 1) * stretch
        )

    def _flush(self, _argument: object) -> None:
        if self._timer and self._due() > self._kernel.now:
            self._kernel.drop(self._timer)
        self._timer = 0
        self._interval_start = self._kernel.now
        batch = self._buffer[: self.settings.batch_size]
        self._buffer = self._buffer[self.settings.batch_size :]
        if batch:
            self._kernel.spawn(
                "audit/webhook", self._send_in_background(batch), background=True, span=0
            )

    async def _send_in_background(self, batch: list[bytes]) -> None:
        if self.settings.throttle:
            await self._throttle()
        await self._send(batch)

    async def _throttle(self) -> None:
        rate, now = self.settings.batches_per_second, self._kernel.now
        grown = self._tokens + rate * (now - self._refilled) / SECOND
        self._tokens, self._refilled = min(grown, self.settings.burst) - 1, now
        if self._tokens < 0:
            await self._kernel.sleep(-self._tokens / rate, background=True)

    async def _send(self, batch: list[bytes]) -> bool:
        target, pause, reason = self.settings.target, self.settings.backoff_seconds, ""
        items = [orjson.Fragment(event) for event in batch]
        body = orjson.dumps(
            {"kind": "EventList", "apiVersion": API_VERSION, "metadata": {}, "items": items}
        )
        call = target.post(body, TIMEOUT_SECONDS)
        detail: Object = {"events": len(batch), "to": target.url}
        for number in range(1, TRIES_MAX + 1):
            try:
                answer = await self.call(call)
            except outbound.CallFailed as error:
                reason = str(error)
            else:
                if 200 <= answer.status < 300:
                    detail |= {"tries": number, "by": answer.by}
                    self._probe.tell("component", COMPONENT, "synced", detail, span=0)
                    return True
                reason = f"the server answered {answer.status}"
            if number < TRIES_MAX:
                await self._kernel.sleep(pause, background=not self.blocks)
                pause *= PAUSE_FACTOR
        self.errors += len(batch)
        detail |= {"tries": TRIES_MAX, "why": reason}
        self._probe.tell("component", COMPONENT, "failed", detail, span=0)
        return False
