"""The parts a kubelet is made of: addresses, names of images, probes, back-offs, statuses."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers_app.containerruntime.addresses import Addresses
from controllers_app.cri import images, memory
from controllers_app.cri.images import Catalog, Image
from controllers_app.cri.services import NoAddress
from controllers_app.kubelet import status
from controllers_app.kubelet.backoff import Backoff, go_duration
from controllers_app.kubelet.pods.worker import TRANSITIONS
from controllers_app.kubelet.prober import forecast
from controllers_app.kubelet.prober.forecast import Moment
from controllers_app.kubelet.status import ContainerState

# -- addresses ------------------------------------------------------------------------------------


@given(st.lists(st.sampled_from(["take", "claim", "release"]), max_size=60), st.randoms())
def test_no_two_pods_have_one_address_whatever_happens(moves: list[str], chance: Any) -> None:
    addresses = Addresses()
    addresses.move("10.244.1.0/28")
    held: list[str] = []
    for move in moves:
        if move == "release" and held:
            addresses.release(held.pop(chance.randrange(len(held))))
        elif move == "claim":
            wanted = f"10.244.1.{chance.randrange(2, 15)}"
            assert addresses.claim(wanted) == (wanted not in held)
            if wanted not in held:
                held.append(wanted)
        elif move == "take" and len(held) < 13:
            taken = addresses.take()
            assert taken not in held
            held.append(taken)
    assert len(addresses) == len(held)


def test_a_full_range_gives_no_address_until_one_is_released() -> None:
    addresses = Addresses()
    addresses.move("10.244.1.0/29")
    taken = [addresses.take() for _ in range(5)]
    assert taken[0] == "10.244.1.2" and taken[-1] == "10.244.1.6"
    with pytest.raises(NoAddress, match="no IP addresses available in range set"):
        addresses.take()
    addresses.release("10.244.1.4")
    assert addresses.take() == "10.244.1.4"


def test_an_address_is_not_used_again_at_once() -> None:
    addresses = Addresses()
    addresses.move("10.244.1.0/24")
    first = addresses.take()
    addresses.release(first)
    assert addresses.take() != first


# -- images ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("bitnami/redis", "docker.io/bitnami/redis:latest"),
        ("quay.io/a/b:1", "quay.io/a/b:1"),
        ("localhost/a", "localhost/a:latest"),
        ("reg:5000/a", "reg:5000/a:latest"),
        ("a@sha256:" + "0" * 64, "docker.io/library/a@sha256:" + "0" * 64),
    ],
)
def test_a_short_name_stands_for_the_hubs(image: str, name: str) -> None:
    images.check(image)
    assert images.normalized(image) == name


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("nginx:::", "invalid reference format"),
        ("nginx:la test", "invalid reference format"),
        ("", "invalid reference format"),
        ("Nginx", "invalid reference format: repository name (library/Nginx) must be lowercase"),
        ("a" * 64, "invalid repository name"),
    ],
)
def test_what_is_no_image_name_is_refused_with_the_reason(image: str, why: str) -> None:
    with pytest.raises(images.InvalidName) as refused:
        images.check(image)
    assert str(refused.value).startswith(f'couldn\'t parse image reference "{image}": ')
    assert why in str(refused.value)


def test_the_repository_leaves_tag_and_digest_out() -> None:
    assert images.repository("reg:5000/a/b:1@sha256:00") == "reg:5000/a/b"


def noted(**notes: str) -> dict[str, Any]:
    prefixed = {images.PREFIX + key.replace("_", "-"): text for key, text in notes.items()}
    return {"metadata": {"annotations": prefixed}, "spec": {}}


def test_an_annotation_for_one_container_wins_over_one_for_all() -> None:
    pod = noted(exit_code="1")
    pod["metadata"]["annotations"][images.PREFIX + "b.exit-code"] = "2"
    plain = Image("x")
    assert images.for_container(plain, pod, "a").exit_code == 1
    assert images.for_container(plain, pod, "b").exit_code == 2


@pytest.mark.parametrize("text", ["soon", "-1", "nan", ""])
def test_an_annotation_that_cannot_be_read_is_ignored(text: str) -> None:
    plain = Image("x")
    assert images.for_container(plain, noted(run_seconds=text), "c") == plain


def test_never_is_a_time_and_a_huge_one_is_cut() -> None:
    pod = noted(ready_after_seconds="never", stop_seconds="1e300", run_seconds="never")
    found = images.for_container(Image("x", runs_seconds=1), pod, "c")
    assert found.ready_seconds == images.NEVER and found.runs_seconds is None
    assert found.stop_seconds == images.SECONDS_MAX


@pytest.mark.parametrize(
    ("container", "owner", "image", "ends"),
    [
        ("setup", "ReplicaSet", Image("x"), True),
        ("setup", "ReplicaSet", Image("x", userland="none"), False),
        ("sidecar", "Job", Image("x"), False),
        ("main", "ReplicaSet", Image("x"), False),
        ("main", "Job", Image("x"), True),
        ("main", "Job", Image("x", runs_seconds=60), False),
    ],
)
def test_of_an_image_of_which_nothing_is_known_what_others_wait_for_ends_well(
    container: str, owner: str, image: Image, ends: bool
) -> None:
    pod = {
        "metadata": {"ownerReferences": [{"kind": owner, "name": "a", "controller": True}]},
        "spec": {
            "initContainers": [{"name": "setup"}, {"name": "sidecar", "restartPolicy": "Always"}],
            "containers": [{"name": "main"}],
        },
    }
    found = images.for_container(image, pod, container)
    assert (found.runs_seconds, found.exit_code) == (
        (images.TASK_SECONDS, 0) if ends else (image.runs_seconds, 0)
    )


@pytest.mark.parametrize(
    ("command", "args", "used"),
    [
        (["stress"], ["--vm", "1", "--vm-bytes", "150M", "--vm-hang", "1"], 150 << 20),
        (["/usr/bin/stress", "-m", "2", "--vm-bytes", "1g"], None, 2 << 30),
        (["stress", "--vm", "1"], None, 256 << 20),
        (["stress", "--cpu", "2"], None, None),
        (["stress", "--vm", "1", "--vm-bytes", "much"], None, None),
        (["nginx", "--vm", "1"], None, None),
        (None, None, None),
    ],
)
def test_stress_uses_the_memory_that_its_arguments_say(
    command: list[str] | None, args: list[str] | None, used: int | None
) -> None:
    assert memory.used({"command": command, "args": args}, Image("x")) == used


def test_an_image_that_is_in_no_catalog_is_plausible_and_always_the_same() -> None:
    a, b = Catalog().find("ghcr.io/me/it:1"), Catalog().find("ghcr.io/me/it:1")
    assert a == b and a.digest.startswith("sha256:") and a.size_bytes > 0


# -- probes ---------------------------------------------------------------------------------------


def told(spec: dict[str, Any], limit: int = 6, **behaviour: Any) -> list[tuple[float, str]]:
    found = forecast.moments(spec, Image("x", **behaviour))
    return [(one.at, one.what) for one in itertools.islice(found, limit)]


def test_a_readiness_probe_is_asked_every_period_until_it_succeeds() -> None:
    spec = {"readinessProbe": {"initialDelaySeconds": 5, "periodSeconds": 3}}
    assert told(spec, ready_seconds=9.0) == [(5, "unhealthy"), (8, "unhealthy"), (11, "ready")]


def test_a_success_threshold_delays_being_ready() -> None:
    spec = {"readinessProbe": {"periodSeconds": 2, "successThreshold": 3}}
    assert told(spec) == [(4.1, "ready")]


def test_readiness_is_lost_after_the_failure_threshold() -> None:
    spec = {"readinessProbe": {"periodSeconds": 10, "failureThreshold": 2}}
    assert told(spec, 4, unready_after_seconds=25.0) == [
        (0.1, "ready"),
        (30.1, "unhealthy"),
        (40.1, "unhealthy"),
        (40.1, "unready"),
    ]


def test_the_other_probes_wait_for_the_startup_probe() -> None:
    spec = {
        "startupProbe": {"periodSeconds": 5},
        "readinessProbe": {"periodSeconds": 1},
        "livenessProbe": {"periodSeconds": 1, "failureThreshold": 1},
    }
    assert told(spec, ready_seconds=7.0, unhealthy_after_seconds=0.0)[2:4] == [
        (10.1, "started"),
        (10.1, "ready"),
    ]


def test_a_failing_liveness_probe_kills_at_its_threshold() -> None:
    spec = {"livenessProbe": {"periodSeconds": 10, "failureThreshold": 3}}
    assert [what for _, what in told(spec, unhealthy_after_seconds=15.0)] == [
        "unhealthy",
        "unhealthy",
        "unhealthy",
        "kill",
    ]


def test_probes_that_will_say_nothing_new_have_no_moments() -> None:
    assert told({"livenessProbe": {"periodSeconds": 1}}) == []


def test_failures_that_never_end_are_marked_as_such() -> None:
    spec = {"readinessProbe": {"periodSeconds": 1}}
    found = forecast.moments(spec, Image("x", ready_seconds=images.NEVER))
    first, second, third = itertools.islice(found, 3)
    assert not first.endless and second.endless and third.endless
    assert isinstance(first, Moment)


# -- small things ---------------------------------------------------------------------------------


def test_a_back_off_doubles_to_its_end_and_becomes_housekeeping() -> None:
    backoff = Backoff(10, 300)
    waits = []
    for _ in range(7):
        waits.append((backoff.next(), backoff.is_background))
    assert [wait for wait, _ in waits] == [10, 20, 40, 80, 160, 300, 300]
    assert [late for _, late in waits] == [False] * 5 + [True] * 2


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (0.641, "641ms"), (1.5, "1.5s"), (20, "20s"), (59.9996, "1m0s"), (300, "5m0s"),
     (62.25, "1m2.25s"), (3600, "1h0m0s")],
)  # fmt: skip
def test_durations_read_as_gos(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


def test_every_state_of_a_pod_worker_can_come_to_its_end() -> None:
    leads = {"gone"}
    for _ in TRANSITIONS:
        leads |= {source for (source, _), target in TRANSITIONS.items() if target in leads}
    assert leads == {source for source, _ in TRANSITIONS} | {"gone"}


# -- status ---------------------------------------------------------------------------------------

RUN = status.running(0)
WAIT = status.waiting("ContainerCreating")
GOOD = status.terminated(0, 0, 0, "x")
BAD = status.terminated(1, 0, 0, "x")


@pytest.mark.parametrize(
    ("policy", "states", "terminal", "phase"),
    [
        ("Always", [WAIT], False, "Pending"),
        ("Always", [RUN, WAIT], False, "Pending"),
        ("Always", [RUN, GOOD], False, "Running"),
        ("Always", [GOOD], False, "Running"),
        ("Always", [GOOD], True, "Succeeded"),
        ("Always", [BAD, GOOD], True, "Failed"),
        ("Always", [WAIT], True, "Pending"),
        ("Never", [BAD, RUN], False, "Running"),
        ("Never", [BAD, GOOD], False, "Failed"),
        ("Never", [GOOD, GOOD], False, "Succeeded"),
        ("OnFailure", [BAD, GOOD], False, "Running"),
        ("OnFailure", [GOOD], False, "Succeeded"),
    ],
)
def test_the_phase_follows_from_the_containers(
    policy: str, states: list[dict[str, Any]], terminal: bool, phase: str
) -> None:
    main = [ContainerState(str(number), "x", state=one) for number, one in enumerate(states)]
    pod = {"spec": {"restartPolicy": policy}}
    assert status.phase_of(pod, [], main, terminal=terminal) == phase


def test_what_never_ended_by_itself_is_lost_with_its_pod() -> None:
    waits, done = (
        {"name": name, "state": state, "lastState": {}}
        for name, state in (("waits", WAIT), ("done", GOOD))
    )
    told = {"phase": "Pending", "conditions": ["as they are"], "containerStatuses": [waits, done]}
    lost = status.terminated_pod(told, initialized=True)
    assert lost["phase"] == "Failed" and lost["conditions"] == told["conditions"]
    reasons = [each["state"]["terminated"]["reason"] for each in lost["containerStatuses"]]
    assert reasons == ["ContainerStatusUnknown", "Completed"]
    told = {**told, "initContainerStatuses": [done, waits]}
    lost = status.terminated_pod(told, initialized=False)
    assert lost["initContainerStatuses"] == [done, waits]
    assert lost["containerStatuses"] == [waits, done]


def test_a_patch_takes_away_the_reason_a_condition_has_no_more() -> None:
    old = {"conditions": [{"type": "Ready", "status": "False", "reason": "X", "message": "y"}]}
    new = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert status.patch_of(old, new) == {
        "conditions": [{"type": "Ready", "status": "True", "reason": None, "message": None}],
        "$setElementOrder/conditions": [{"type": "Ready"}],
    }
    assert status.patch_of(new, new) == {}


def test_a_patch_replaces_an_address_rather_than_adding_one() -> None:
    changed = status.patch_of({"podIPs": [{"ip": "a"}]}, {"podIPs": [{"ip": "b"}]})
    assert changed == {"podIPs": [{"$patch": "delete", "ip": "a"}, {"ip": "b"}]}
