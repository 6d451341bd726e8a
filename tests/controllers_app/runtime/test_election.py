"""Leader election: one leads, it renews, and after its death another follows."""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import Kernel
from controllers_app.runtime.election import LeaderElector
from controllers_app.runtime.events import Recorder
from tests.controllers_app.runtime.mini import MiniApi, RecordingProbe, advance, settle

KEY = ("leases.coordination.k8s.io", "kube-system", "kube-scheduler")


class Candidate:
    """Runs an elector and notes when it leads."""

    def __init__(self, kernel: Kernel, api: MiniApi, probe: RecordingProbe, identity: str) -> None:
        self.elector = LeaderElector(
            kernel, api, probe, Recorder(kernel, api, "x"), "kube-scheduler", identity
        )
        self.led_at = 0
        self.lost_at = 0
        self._kernel = kernel
        self.task = kernel.spawn(identity, self._run())

    async def _run(self) -> None:
        await self.elector.acquire()
        self.led_at = self._kernel.now
        await self.elector.renew()
        self.lost_at = self._kernel.now


def test_the_first_candidate_leads_at_once_and_renews_every_two_seconds(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    start = kernel.now
    one = Candidate(kernel, api, probe, "one")
    advance(kernel, 7)
    spec = api.objects[KEY]["spec"]
    assert one.led_at == start
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("one", 0)
    assert spec["acquireTime"] == "2025-06-15T15:06:40.000000Z"
    assert spec["renewTime"] == "2025-06-15T15:06:46.000000Z"
    assert ("kube-scheduler", "leading", {"identity": "one"}) in probe.of("component")


def test_renewing_does_not_drag_a_fast_clock(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    Candidate(kernel, api, probe, "one")
    settle(kernel)
    assert not kernel.fire_timer(kernel.now, jump=True)


def test_a_second_candidate_waits_while_the_first_lives_and_follows_its_death(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    one = Candidate(kernel, api, probe, "one")
    two = Candidate(kernel, api, probe, "two")
    advance(kernel, 60)
    assert two.led_at == 0
    kernel.kill(one.task)
    died = kernel.now
    advance(kernel, 30)
    assert 13 <= (two.led_at - died) / 1_000_000 <= 18
    spec = api.objects[KEY]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("two", 1)


def test_after_a_restart_the_same_identity_leads_at_once(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    one = Candidate(kernel, api, probe, "one")
    advance(kernel, 5)
    kernel.kill(one.task)
    again = Candidate(kernel, api, probe, "one")
    settle(kernel)
    assert again.led_at == kernel.now


def test_a_failed_renewal_is_tried_again(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    one = Candidate(kernel, api, probe, "one")
    advance(kernel, 3)
    api.fail = errors.internal("etcd")
    advance(kernel, 30)
    assert one.lost_at == 0


def test_a_leader_whose_lease_was_taken_stops_leading(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    one = Candidate(kernel, api, probe, "one")
    advance(kernel, 3)
    lease = api.objects[KEY]
    stolen = {**lease, "spec": {**lease["spec"], "holderIdentity": "two"}}
    kernel.spawn("thief", api.update(*KEY, stolen))
    advance(kernel, 5)
    assert one.lost_at > one.led_at
