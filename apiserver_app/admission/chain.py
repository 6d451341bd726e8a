"""The admission chain: every plugin in upstream's order, the mutating phase, then the validating.

Each plugin that was asked is recorded at once, by itself, so that the cluster can be held between
two plugins: `tell(phase, name, verdict, why, ops)`, awaited when it returns something. Plugins that
do not look at this kind or operation, and those that answer skip, are recorded together when the
phase ends: one call with verdict "skip" and their names joined by commas. A refusal is recorded as
"deny" with its message, ends the chain and is raised; no later plugin is asked. Reads never come
here.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/{chain,reinvocation}.go and
pkg/kubeapiserver/options/plugins.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NamedTuple, NoReturn

from apiserver_app.admission.plugin import Attributes, Later, Ops, Plugin, Verdict
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.patch import jsonpatch

MUTATING, VALIDATING = "mutating", "validating"
SKIPPED_WHY = "not for this kind or operation"

# (phase, plugin or names joined by commas, verdict, why, ops)
Tell = Callable[[str, str, str, str, Ops], Awaitable[object] | None]
Ask = Callable[[Attributes], Verdict | Awaitable[Verdict]]


class _Plan(NamedTuple):
    """Who is asked about one kind of request, and the names of the others."""

    asked: tuple[tuple[str, Ask], ...]
    skipped: tuple[str, ...]


class Chain:
    """`sleep` waits for so many seconds; without it a plugin that says Later refuses."""

    def __init__(
        self, plugins: Sequence[Plugin], sleep: Callable[[float], Awaitable[None]] | None = None
    ) -> None:
        self.plugins = tuple(plugins)
        self._sleep = sleep
        self.plans: dict[tuple[str, str, str, str], _Plan] = {}

    def mutate(self, attributes: Attributes, tell: Tell) -> Coroutine[Any, Any, int]:
        """Run the mutating phase; attributes.obj is changed in place. The number of changes.

        After a webhook changed something the phase is run once more, as upstream does: plugins see
        what it added, and webhooks that ask for it are called again.
        """
        return self._run(MUTATING, attributes, tell)

    def validate(self, attributes: Attributes, tell: Tell) -> Coroutine[Any, Any, int]:
        """Run the validating phase. Always 0."""
        return self._run(VALIDATING, attributes, tell)

    async def _run(self, phase: str, attributes: Attributes, tell: Tell) -> int:
        asked, skipped = self._plan(phase, attributes)
        changes = 0
        for name, ask in asked:
            try:
                verdict = ask(attributes)
                if not isinstance(verdict, Verdict):
                    verdict = await verdict
            except Later as later:
                verdict = await self._again(phase, name, ask, attributes, later, tell)
            except ApiError as error:
                await _refuse(phase, name, error, tell)
            if verdict.verdict == "skip":
                skipped = (*skipped, name)
                continue
            if verdict.ops:
                changes += len(verdict.ops)
                _apply(attributes, verdict.ops)
            held = tell(phase, name, verdict.verdict, verdict.why, verdict.ops)
            if held is not None:
                await held
        if skipped:
            held = tell(phase, ",".join(skipped), "skip", SKIPPED_WHY, [])
            if held is not None:
                await held
        run = attributes.run
        if run.reinvoke and not run.round and phase == MUTATING:
            run.round = 1
            changes += await self._run(phase, attributes, tell)
        return changes

    async def _again(
        self, phase: str, name: str, ask: Ask, attributes: Attributes, later: Later, tell: Tell
    ) -> Verdict:
        """Ask once more after each wait, until the plugin decides."""
        try:
            while self._sleep is not None:
                attributes.run.attempt += 1
                await self._sleep(later.micros / 1_000_000)
                try:
                    answer = ask(attributes)
                    return answer if isinstance(answer, Verdict) else await answer
                except Later as again:
                    later = again
            raise later.otherwise
        except ApiError as error:
            await _refuse(phase, name, error, tell)
        finally:
            attributes.run.attempt = 0

    def _plan(self, phase: str, attributes: Attributes) -> _Plan:
        resource = attributes.info.key
        key = (phase, attributes.operation, resource, attributes.subresource)
        plan = self.plans.get(key)
        if plan is None:
            if attributes.subresource:
                resource = f"{resource}/{attributes.subresource}"
            plan = self.plans[key] = self._make_plan(phase, attributes.operation, resource)
        return plan

    def _make_plan(self, phase: str, operation: str, resource: str) -> _Plan:
        asked: list[tuple[str, Ask]] = []
        skipped: list[str] = []
        for plugin in self.plugins:
            if not (plugin.mutates if phase == MUTATING else plugin.validates):
                continue
            wanted = not plugin.resources or resource in plugin.resources
            if wanted and operation in plugin.handles:
                ask = plugin.admit if phase == MUTATING else plugin.validate
                asked.append((plugin.name, ask))
            else:
                skipped.append(plugin.name)
        return _Plan(tuple(asked), tuple(skipped))


async def _refuse(phase: str, name: str, error: ApiError, tell: Tell) -> NoReturn:
    """Record the refusal of a plugin, and raise it."""
    held = tell(phase, name, "deny", error.message, [])
    if held is not None:
        await held
    raise error


def _apply(attributes: Attributes, ops: Ops) -> None:
    """Carry out a plugin's patch. Values are copied: the trace keeps the patch as it was."""
    obj, old = attributes.obj, attributes.old
    assert obj is not None, "nothing to change on delete and connect"
    if old is not None and obj.get("spec") is old.get("spec"):  # the stored one stays as it is
        obj["spec"] = _copy(obj.get("spec"))
    own = [{**op, "value": _copy(op["value"])} if "value" in op else op for op in ops]
    jsonpatch.apply_in_place(obj, own)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
