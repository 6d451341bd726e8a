"""The horizontal pod autoscaler: as many replicas as what is measured asks for.

Every 15 seconds it looks at each autoscaler: reads the scale of its target, measures, and writes
the scale when the target should be larger or smaller. Where nobody serves metrics it says so.

Models kubernetes pkg/controller/podautoscaler/horizontal.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers.podautoscaler import limits, sources
from controllers_app.controllers.podautoscaler.limits import History
from controllers_app.controllers.podautoscaler.sources import Failed, Proposal
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Reads, Watches

AUTOSCALERS = "horizontalpodautoscalers.autoscaling"
SYNC_SECONDS = 15  # --horizontal-pod-autoscaler-sync-period


class NoScale(Exception):
    """The target has no scale that could be read, or none that could be used; with what was
    measured before that was known."""

    measured: list[Object] | None = None


class _Draft:
    """The status to be of one autoscaler."""

    def __init__(self, autoscaler: Object, now: int) -> None:
        self._now = meta.rfc3339(now)
        self._old = autoscaler.get("status") or {}
        self._conditions: list[Object] = list(self._old.get("conditions") or ())

    def say(self, kind: str, status: str, reason: str, message: str) -> None:
        """Set a condition; its time is that of its last change."""
        old = next((condition for condition in self._conditions if condition["type"] == kind), None)
        entry = {
            "type": kind,
            "status": status,
            "lastTransitionTime": self._now,
            "reason": reason,
            "message": message,
        }
        if old is None:
            self._conditions.append(entry)
            return
        if old["status"] == status:
            entry["lastTransitionTime"] = old.get("lastTransitionTime", self._now)
        self._conditions[self._conditions.index(old)] = entry

    def counted(
        self, current: int, desired: int, measured: list[Object] | None, *, rescaled: bool
    ) -> Object:
        """The whole status."""
        out: Object = {}
        since = self._now if rescaled else self._old.get("lastScaleTime")
        if since is not None:
            out["lastScaleTime"] = since
        if current:
            out["currentReplicas"] = current
        out["desiredReplicas"] = desired
        out["currentMetrics"] = measured
        out["conditions"] = self._conditions
        return out

    def as_before(self) -> Object:
        """With the conditions of now, and what was counted, measured and wanted before."""
        return self.unscaled(self._old.get("currentReplicas", 0), self._old.get("currentMetrics"))

    def unscaled(self, current: int, measured: list[Object] | None) -> Object:
        """With what is wanted as before."""
        desired = self._old.get("desiredReplicas", 0)
        return self.counted(current, desired, measured, rescaled=False)


class HorizontalPodAutoscalerController(Controller):
    """Reconciles horizontal pod autoscalers."""

    source = "pkg/controller/podautoscaler/horizontal.go reconcileAutoscaler"
    watches = (
        # whatever changes, its turn comes with the next period
        For(AUTOSCALERS, on=ADDED | UPDATED, after=SYNC_SECONDS, background=True),
        Watches(AUTOSCALERS, on=DELETED, keys=lambda self, autoscaler: self._forget(autoscaler)),
        Reads("pods", index=indexes.BY_NAMESPACE),
        Reads(customresources.DEFINITIONS),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._histories: dict[str, History] = {}
        self._selectors: dict[str, labels.Selector] = {}

    async def reconcile(self, key: str) -> Result | None:
        autoscaler = self.caches[AUTOSCALERS].get(key)
        if autoscaler is None:
            return Result("is gone")
        outcome = await self._autoscale(key, autoscaler)
        return Result(outcome, SYNC_SECONDS, background=True)

    async def _autoscale(self, key: str, autoscaler: Object) -> str:
        draft = _Draft(autoscaler, self.kernel.now)
        try:
            resource, scale = await self._scale(autoscaler)
        except (NoScale, errors.ApiError) as error:
            why = f"the HPA controller was unable to get the target's current scale: {error}"
            draft.say("AbleToScale", "False", "FailedGetScale", why)
            self.recorder.event(autoscaler, "Warning", "FailedGetScale", str(error))
            await self._write(autoscaler, draft.as_before())
            return why
        why = "the HPA controller was able to get the target's current scale"
        draft.say("AbleToScale", "True", "SucceededGetScale", why)
        current = scale["spec"].get("replicas", 0)
        history = self._histories.setdefault(key, History())
        history.begin(current, self.kernel.now)
        spec = autoscaler["spec"]
        least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
        measured: list[Object] | None = None
        if current == 0 and least != 0:
            why = "scaling is disabled since the replica count of the target is zero"
            draft.say("ScalingActive", "False", "ScalingDisabled", why)
            await self._write(autoscaler, draft.counted(0, 0, None, rescaled=False))
            return why
        if current > most:
            wanted, why = most, "Current number of replicas above Spec.MaxReplicas"
        elif current < least:
            wanted, why = least, "Current number of replicas below Spec.MinReplicas"
        else:
            try:
                proposal, measured = await self._measure(key, autoscaler, scale, draft)
            except NoScale as error:
                await self._write(autoscaler, draft.unscaled(current, error.measured))
                self.recorder.event(
                    autoscaler, "Warning", "FailedComputeMetricsReplicas", str(error)
                )
                return str(error)
            wanted, why = self._limited(history, autoscaler, current, proposal, draft)
        if wanted != current:
            return await self._rescale(
                key, autoscaler, draft, resource, scale, wanted, why, measured
            )
        await self._write(autoscaler, draft.counted(current, current, measured, rescaled=False))
        return f"has {current}, wants {current}"

    # -- the target -----------------------------------------------------------------------------

    async def _scale(self, autoscaler: Object) -> tuple[str, Object]:
        """(resource, its scale)."""
        target = autoscaler["spec"]["scaleTargetRef"]
        resource = self._resource(target)
        namespace = meta.namespace_of(autoscaler)
        return resource, await self.client.get(
            resource, namespace, target["name"], subresource="scale"
        )

    def _resource(self, reference: Object) -> str:
        """The resource of what is referred to by kind."""
        group = (reference.get("apiVersion") or "").rpartition("/")[0]
        kind = reference["kind"]
        for info in self.resources.all:
            if (info.group, info.kind) == (group, kind):
                return info.key
        for definition in self.caches[customresources.DEFINITIONS].list():
            for info in customresources.resources(definition):
                if (info.group, info.kind) == (group, kind):
                    return info.key
        raise NoScale(f'no matches for kind "{kind}" in group "{group}"')

    async def _rescale(
        self,
        key: str,
        autoscaler: Object,
        draft: _Draft,
        resource: str,
        scale: Object,
        wanted: int,
        why: str,
        measured: list[Object] | None,
    ) -> str:
        current = scale["spec"].get("replicas", 0)
        namespace, name = meta.namespace_of(scale), meta.name_of(scale)
        changed = meta.with_path(scale, ("spec", "replicas"), wanted)
        try:
            await self.client.update(resource, namespace, name, changed, subresource="scale")
        except errors.ApiError as error:
            note = f"New size: {wanted}; reason: {why}; error: {error.message}"
            self.recorder.event(autoscaler, "Warning", "FailedRescale", note)
            message = f"the HPA controller was unable to update the target scale: {error.message}"
            draft.say("AbleToScale", "False", "FailedUpdateScale", message)
            await self._write(autoscaler, draft.unscaled(current, measured))
            return message
        message = f"the HPA controller was able to update the target scale to {wanted}"
        draft.say("AbleToScale", "True", "SucceededRescale", message)
        note = f"New size: {wanted}; reason: {why}"
        self.recorder.event(autoscaler, "Normal", "SuccessfulRescale", note)
        history, behavior = self._histories[key], autoscaler["spec"].get("behavior")
        history.scaled(current, wanted, behavior, self.kernel.now)
        await self._write(autoscaler, draft.counted(current, wanted, measured, rescaled=True))
        return f"has {current}, wants {wanted}: {why}"

    # -- what is measured -----------------------------------------------------------------------

    async def _measure(
        self, key: str, autoscaler: Object, scale: Object, draft: _Draft
    ) -> tuple[Proposal, list[Object]]:
        """The largest proposal, and the status of every metric. Raises NoScale."""
        target = self._target(key, autoscaler, scale, draft)
        best: Proposal | None = None
        failed: list[Failed] = []
        measured: list[Object] = []
        specs = autoscaler["spec"].get("metrics") or ()
        for spec in specs:
            try:
                measurement = await sources.measure(self.client, self._resource, spec, target)
            except Failed as error:
                self.recorder.event(autoscaler, "Warning", error.reason, str(error))
                failed.append(error)
                measured.append({"type": ""})
                continue
            measured.append(measurement.status)
            if best is None or measurement.replicas > best.replicas:
                best = measurement
        if failed and (best is None or best.replicas < target.wanted):
            first = failed[0]
            why = f"the HPA was unable to compute the replica count: {first}"
            draft.say("ScalingActive", "False", first.reason, why)
            counted = f"{len(failed)} invalid out of {len(specs)}"
            refusal = NoScale(f"invalid metrics ({counted}), first error is: {first.whole}")
            refusal.measured = measured
            raise refusal
        assert best is not None, "an autoscaler has metrics, by default one"
        why = f"the HPA was able to successfully calculate a replica count from {best.name}"
        draft.say("ScalingActive", "True", "ValidMetricFound", why)
        return best, measured

    def _target(self, key: str, autoscaler: Object, scale: Object, draft: _Draft) -> sources.Target:
        """What is scaled, with the pods that belong to it and to no other autoscaler."""
        status: dict[str, Any] = scale.get("status") or {}
        if not status.get("selector"):
            why = "the HPA target's scale is missing a selector"
            draft.say("ScalingActive", "False", "InvalidSelector", why)
            message = "selector is required"
            self.recorder.event(autoscaler, "Warning", "SelectorRequired", message)
            raise NoScale(message)
        try:
            selector = labels.parse(status["selector"])
        except errors.ApiError as error:
            why = "couldn't convert selector into a corresponding internal selector object: "
            why += error.message
            draft.say("ScalingActive", "False", "InvalidSelector", why)
            self.recorder.event(autoscaler, "Warning", "InvalidSelector", why)
            raise NoScale(why) from error
        self._selectors[key] = selector
        namespace = meta.namespace_of(autoscaler)
        pods = [
            pod
            for _, pod in sorted(self.caches["pods"].by("namespace", namespace).items())
            if selector.matches(meta.labels_of(pod))
        ]
        others = self._who_selects(namespace, pods)
        if len(others) > 1:
            why = f"pods by selector {selector} are controlled by multiple HPAs: "
            why += f"[{' '.join(others)}]"
            draft.say("ScalingActive", "False", "AmbiguousSelector", why)
            self.recorder.event(autoscaler, "Warning", "AmbiguousSelector", why)
            raise NoScale(why)
        wanted = scale["spec"].get("replicas", 0)
        there = status.get("replicas", 0)
        return sources.Target(namespace, wanted, there, selector, pods, self.kernel.now)

    def _who_selects(self, namespace: str, pods: list[Object]) -> list[str]:
        """Keys of the autoscalers that have one of the pods."""
        return [
            key
            for key, selector in sorted(self._selectors.items())
            if meta.split_key(key)[0] == namespace
            and any(selector.matches(meta.labels_of(pod)) for pod in pods)
        ]

    def _limited(
        self, history: History, autoscaler: Object, current: int, proposal: Proposal, draft: _Draft
    ) -> tuple[int, str]:
        """What is allowed of the proposal, and why the size changes."""
        spec = autoscaler["spec"]
        limited = limits.limit(
            history,
            current,
            proposal.replicas,
            spec.get("minReplicas", 1),
            spec["maxReplicas"],
            spec.get("behavior"),
            self.kernel.now,
        )
        draft.say("AbleToScale", "True", *limited.able)
        draft.say("ScalingLimited", "True" if limited.is_limited else "False", *limited.limited)
        why = "All metrics below target"
        if proposal.replicas > current:
            why = f"{proposal.name} above target"
        return limited.replicas, why

    # -- what is written ------------------------------------------------------------------------

    async def _write(self, autoscaler: Object, status: Object) -> None:
        """The status, if it changed."""
        if status == autoscaler.get("status"):
            return
        namespace, name = meta.namespace_of(autoscaler), meta.name_of(autoscaler)
        try:
            await self.client.update(
                AUTOSCALERS, namespace, name, {**autoscaler, "status": status}, subresource="status"
            )
        except errors.ApiError as error:
            self.recorder.event(autoscaler, "Warning", "FailedUpdateStatus", error.message)

    def _forget(self, autoscaler: Object) -> tuple[str, ...]:
        key = meta.key_of(autoscaler)
        self._histories.pop(key, None)
        self._selectors.pop(key, None)
        self.queue.set_after(key, 0)
        return ()
