"""kube-scheduler: takes one pod at a time, decides on a node, binds it through the API server.

Each attempt is one `work` span of the trace with its phases. The decision is made on the
scheduler's own cache, in which a pod counts as placed as soon as its binding was sent. A pod that
no node can take may make others leave.

Models kubernetes pkg/scheduler/scheduler.go and schedule_one.go.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Coroutine, Sequence
from typing import Any

from apiserver_app.machinery import errors, meta, releases
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import QUARANTINED, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.runtime import podconditions
from controllers_app.runtime.component import CannotStart, Component
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.scheduler import (
    eventhandlers,
    flags,
    framework,
    podstatus,
    preemption,
    scoring,
)
from controllers_app.scheduler.cache import Cache
from controllers_app.scheduler.defaultselector import SelectorCaches
from controllers_app.scheduler.framework import ClusterEvent, Plugin
from controllers_app.scheduler.metrics import Metrics
from controllers_app.scheduler.nodeinfo import PodInfo
from controllers_app.scheduler.nominator import Nominator
from controllers_app.scheduler.plugins import PLUGINS
from controllers_app.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from controllers_app.scheduler.plugins.pod_topology_spread import PodTopologySpread
from controllers_app.scheduler.plugins.volume_binding import VolumePlugin
from controllers_app.scheduler.policy import Policy, PolicyError
from controllers_app.scheduler.queue import Queued, SchedulingQueue
from controllers_app.scheduler.volumes import Volumes

NAME = eventhandlers.NAME
PROFILE = eventhandlers.PROFILE
FLUSH_SECONDS = 30
# always the same: it is the only candidate, so after a restart it leads again at once
IDENTITY = "control-plane_00000000-0000-4000-8000-000000000002"

Ended = tuple[str, str]  # (result, what to say of it)


def build(
    kernel: Kernel,
    probe: Probe,
    rand: Rand,
    client: Client,
    *,
    version: Release,
    host: str = "node-1",
    given: flags.Flags = flags.NONE,
) -> Component:
    """The scheduler of `host` as a component that can be started, stopped and killed; `given` is
    its command line."""

    async def main(group: TaskGroup) -> None:
        try:
            policy = await given.chosen(client)
        except PolicyError as error:  # the program ends, and is started again
            group.give_up(CannotStart(str(error)))
            return
        made.metrics_source = scheduler = Scheduler(
            kernel, probe, rand, client, group, version, host, policy
        )
        if given.config_map:
            scheduler.told = _plugin_facts(scheduler.plugins)
        await scheduler.run()

    made = Component(kernel, probe, NAME, main, _facts(given))
    return made


def plugins(policy: Policy | None) -> tuple[Plugin, ...]:
    """Those that run, in their order."""
    known = tuple(kind() for kind in PLUGINS)
    return known if policy is None else policy.pick(known)


def _facts(given: flags.Flags) -> Object:
    """What the trace says about the scheduler when it starts. Which plugins run is not known before
    the policy of a ConfigMap is read; then it is told when the caches are filled."""
    facts: Object = {"resource": "pods", "source": "pkg/scheduler/schedule_one.go schedulePod"}
    return facts if given.config_map else {**facts, **_plugin_facts(plugins(given.policy))}


def _plugin_facts(plugins: Sequence[Plugin]) -> Object:
    return {"plugins": [framework.facts(plugin) for plugin in plugins]}


class LeadershipLost(Exception):
    """Another scheduler holds the lease, or it could not be renewed in time."""


class Scheduler:
    """One run of the scheduler, from its first list to its end."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        rand: Rand,
        client: Client,
        group: TaskGroup,
        version: Release = releases.DEFAULT,
        host: str = "node-1",
        policy: Policy | None = None,
    ) -> None:
        self._kernel = kernel
        self._probe = probe
        self._rand = rand
        self._client = client
        self._group = group
        self._recorder = Recorder(kernel, client, PROFILE, host, modern=True)
        self._election = Recorder(kernel, client, PROFILE)
        self._informers = InformerFactory(kernel, client, probe, NAME, group)
        self._version = version
        self.cache = Cache()
        self.plugins = plugins(policy)
        self.told: Object = {}  # once it is synced, beside what it reads
        self._filters = tuple(plugin for plugin in self.plugins if plugin.filters)
        self._scorers = tuple(plugin for plugin in self.plugins if plugin.scores)
        self._by_name = {plugin.name: plugin for plugin in self.plugins}
        self.queue = SchedulingQueue(
            kernel,
            probe,
            self._may_help,
            Nominator(version),
            pops_backoff=version.has("SchedulerPopFromBackoffQ"),
        )
        self._evaluator = preemption.Evaluator(
            kernel,
            rand,
            client,
            group,
            self._recorder,
            self._informers,
            self.cache,
            self.queue,
            asynchronous=version.has("SchedulerAsyncPreemption"),
        )
        volumes = Volumes(kernel, client, self._informers, self.cache.nodes)
        self._handlers = eventhandlers.EventHandlers(
            self._informers, self.cache, self.queue, volumes, version
        )
        selectors = SelectorCaches(self._informers)
        for plugin in self.plugins:
            plugin.version = version
            if isinstance(plugin, PodTopologySpread):
                plugin.owner_selector = selectors.default
            elif isinstance(plugin, InterPodAffinity):
                plugin.namespace_labels = selectors.namespace_labels
            elif isinstance(plugin, VolumePlugin):
                plugin.volumes = volumes
        self.metrics = Metrics()
        self._began: dict[
            str, tuple[int, int]
        ] = {}  # when an attempt began, and which of the pod's it is
        self._start = 0  # the node at which the next attempt begins to look

    async def run(self) -> None:
        """Lead, follow pods and nodes, and schedule one pod after another."""
        self._group.spawn(f"{NAME}/events", self._recorder.run())
        self._group.spawn(f"{NAME}/series", self._recorder.finish_series(), background=True)
        self._group.spawn(f"{NAME}/election events", self._election.run())
        self._handlers.register()
        self._informers.start()
        await self._informers.synced()
        elector = LeaderElector(
            self._kernel, self._client, self._probe, self._election, "kube-scheduler", IDENTITY
        )
        await elector.acquire()
        detail = {"nodes": len(self.cache.nodes), "reads": self._informers.read_by("")}
        detail.update(self.told)
        self._probe.tell("component", NAME, "synced", detail)
        self._group.spawn(f"{NAME}/lease", self._lead(elector), background=True)
        self._group.spawn(f"{NAME}/flush", self._flush(), background=True)
        while True:
            key, queued = await self.queue.take()
            await self._work(key, queued)

    async def _lead(self, elector: LeaderElector) -> None:
        """Who does not lead any more must not bind: the component ends and is started again."""
        await elector.renew()
        self._group.give_up(LeadershipLost("leaderelection lost"))

    async def _flush(self) -> None:
        while True:
            await self._kernel.sleep(FLUSH_SECONDS)
            self.queue.flush_old()

    def _may_help(self, event: ClusterEvent, queued: Queued) -> bool:
        """Whether one of the plugins that turned the pod down thinks so."""
        info: PodInfo | None = None
        if event.priority_max is not None:
            if (queued.pod["spec"].get("priority") or 0) > event.priority_max:
                return False
        for name in queued.blockers:
            plugin = self._by_name[name]
            if event.what in plugin.wakes_on:
                info = info or PodInfo(queued.pod, self._version)
                if plugin.hint(event, info):
                    return True
        return not queued.blockers

    # -- one attempt ----------------------------------------------------------------------------

    async def _work(self, key: str, queued: Queued) -> None:
        task = self._kernel.current
        assert task is not None
        revs, queued.revs = queued.revs, []
        self._began[key] = (self._kernel.now, queued.attempts)
        task.span = await self._probe.hop("work", NAME, key, revs, span=0)
        await self._conclude(key, self._attempt(key))
        task.span = 0

    async def _conclude(self, key: str, attempt: Coroutine[Any, Any, Ended | None]) -> None:
        """Close the span with what came of it, unless somebody else will."""
        try:
            ended = await attempt
        except errors.ApiError as error:
            ended = "retry", error.message
            self.queue.retry(key)
        if ended is not None:
            since, attempts = self._began.pop(key, (self._kernel.now, 1))
            self.metrics.ended(ended, self._kernel.now - since, attempts)
            await self._probe.hop("done", *ended, 0)

    async def _attempt(self, key: str) -> Ended | None:
        """Decide; None once it is decided: the binding continues apart, while other pods have their
        turn."""
        pod = self._handlers.pod(key)
        if pod is None or pod["spec"].get("nodeName") or meta.is_deleting(pod):
            self.queue.remove(key)
            return "ok", "gone, or placed already"
        if self._kernel.is_quarantined():
            self.queue.remove(key)
            self._recorder.event(pod, "Warning", "Quarantined", QUARANTINED, action="Scheduling")
            return "error", QUARANTINED
        info = PodInfo(pod, self._version)
        cache = self.cache
        nominator = self.queue.nominator
        filtered = framework.run_filters(self._filters, info, cache, nominator, self._start)
        if filtered.total and not filtered.nominated:
            self._start = (self._start + len(filtered.looked_at)) % filtered.total
        scored: scoring.Scored | framework.PreScoreFailed | None = None
        if len(filtered.feasible) > 1:  # on the nodes as they were filtered
            try:
                scored = scoring.run_scores(self._scorers, info, filtered.feasible, cache)
            except framework.PreScoreFailed as error:
                scored = error
        await self._probe.hop("schedule", "filter", key, filtered.detail())
        if not filtered.feasible:
            return await self._fail(key, info, filtered)
        if isinstance(scored, framework.PreScoreFailed):
            return await self._unbound(key, info, str(scored))
        if scored is None:
            chosen = filtered.feasible[0].name
            why = "the only node that passed the filters"
            if filtered.nominated:
                why = "the pod was nominated for it"
            detail: Object = {"node": chosen, "why": why}
        else:
            await self._probe.hop("schedule", "score", key, scored.detail())
            chosen, detail = self._select(scored)
        await self._probe.hop("schedule", "select", key, detail)
        self.cache.place(info, chosen)
        nominator.remove(meta.uid_of(pod))
        promised = framework.run_reserve(filtered.reservers, info, chosen)
        task = self._kernel.current
        assert task is not None
        bound = self._conclude(key, self._prepare(key, info, chosen, promised))
        self._group.spawn(f"{NAME}/bind {key}", bound, span=task.span)
        return None

    async def _prepare(
        self, key: str, info: PodInfo, node: str, promised: Sequence[tuple[Plugin, Any]]
    ) -> Ended:
        """Keep what was promised for the pod on its node, then bind it."""
        for plugin, todo in promised:
            detail = {"node": node, "plugin": plugin.name, **plugin.detail(todo)}
            await self._probe.hop("schedule", "prebind", key, detail)
            try:
                await plugin.pre_bind(todo, info, node)
            except (framework.PreBindFailed, errors.ApiError) as error:
                for other, undone in promised:
                    other.unreserve(undone)
                why = f'running PreBind plugin "{plugin.name}": {error}'
                return await self._unbound(key, info, why)
        return await self._bind(key, info, node)

    def _select(self, scored: scoring.Scored) -> tuple[str, Object]:
        """The highest total; among equals, chance decides."""
        total = scored.total
        best = max(scored.totals)
        winners = itertools.compress(scored.nodes, map(best.__eq__, total))
        ties = sorted(winners, key=operator.attrgetter("rank"))
        if len(ties) > 1:
            chosen = ties[self._rand.below(len(ties))].name
            shown = [node.name for node in ties[: framework.DETAIL_NODES_MAX]]
            why = f"{len(ties)} nodes are equal; one was drawn"
            return chosen, {"node": chosen, "total": best, "margin": 0, "ties": shown, "why": why}
        chosen, margin = ties[0].name, best - max(filter(best.__ne__, scored.totals))
        why = f"{best} points, {margin} more than the next"
        return chosen, {"node": chosen, "total": best, "margin": margin, "why": why}

    async def _bind(self, key: str, info: PodInfo, node: str) -> Ended:
        namespace, name = meta.split_key(key)
        uid = meta.uid_of(info.pod)
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "target": {"kind": "Node", "name": node},
        }
        await self._probe.hop("schedule", "bind", key, {"node": node, "uid": uid})
        try:
            await self._client.create("pods", namespace, binding, name=name, subresource="binding")
        except errors.ApiError as error:
            why = f'running Bind plugin "DefaultBinder": {error.message}'
            return await self._unbound(key, info, why)
        self.queue.remove(key)
        self._recorder.event(
            info.pod,
            "Normal",
            "Scheduled",
            f"Successfully assigned {namespace}/{name} to {node}",
            action="Binding",
        )
        return "ok", f"bound to {node}"

    async def _unbound(self, key: str, info: PodInfo, message: str) -> Ended:
        """It could not be bound: the pod is not there, whatever was assumed."""
        now = self._handlers.pod(key)
        if now is not None and meta.uid_of(now) != meta.uid_of(info.pod):
            await self._probe.hop(
                "schedule", "fail", key, {"message": message, "unschedulable": []}
            )
            return "ok", message  # another pod of that name has its own turn
        if now is None or not now["spec"].get("nodeName"):
            if self.cache.forget(key) is not None:
                self.queue.happened(ClusterEvent(framework.POD_DELETED, 0, pod=info))
        await self._probe.hop("schedule", "fail", key, {"message": message, "unschedulable": []})
        if now is None or now["spec"].get("nodeName"):
            self.queue.remove(key)
            return "ok", message
        self.queue.retry(key)
        self.queue.nominator.remove(meta.uid_of(now))
        self._recorder.event(info.pod, "Warning", "FailedScheduling", message, action="Scheduling")
        await self._note(info.pod, "SchedulerError", message)
        return "retry", message

    async def _fail(self, key: str, info: PodInfo, filtered: framework.Filtered) -> Ended:
        outcome = preemption.Outcome(nominated="")
        if filtered.total:
            outcome = self._evaluator.post_filter(info, filtered)
        if outcome.detail is not None:
            await self._probe.hop("schedule", "preempt", key, outcome.detail)
        if outcome.candidate is not None:
            await self._evaluator.prepare(info, outcome.candidate)
        message = framework.fit_error(filtered, outcome.message)
        blockers = filtered.blockers()
        detail = {"message": message, "unschedulable": list(blockers)}
        await self._probe.hop("schedule", "fail", key, detail)
        if blockers:
            self.queue.failed(key, blockers)
        else:  # no node is there at all
            self.queue.retry(key, background=True)
        now = self._handlers.pod(key)
        if now is not None and not now["spec"].get("nodeName"):
            self.queue.nominator.put(now, outcome.nominated)
        self._recorder.event(info.pod, "Warning", "FailedScheduling", message, action="Scheduling")
        await self._note(info.pod, "Unschedulable", message, outcome.nominated)
        return "requeue", message

    async def _note(
        self, pod: Object, reason: str, message: str, nominated: str | None = ""
    ) -> None:
        """The condition PodScheduled=False and the nominated node, unless the pod has them."""
        changes = podconditions.condition(
            pod, self._kernel.now, "PodScheduled", "False", reason, message
        )
        changes |= podstatus.nominated(pod, nominated)
        with errors.ignoring("NotFound", "Conflict"):
            await podstatus.patch(self._client, pod, changes)
