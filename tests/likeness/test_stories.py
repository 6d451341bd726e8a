"""Stories: each component sends what its real counterpart sent, in the same order."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest
import yaml

from apiserver_app.etcd.backend import MemoryBackend
from lifecycle.cluster.inputs import Inputs
from tests.apiserver_app.cluster import copied
from tests.controllers_app.controllers.lab import deployment
from tests.likeness.stage import Sent, Stage, missing

STORIES = sorted((pathlib.Path(__file__).parent / "stories").glob("*.yaml"))
# of requests about events, another task's, only the ones that a story names are compared
EVENTS = ("events", "events.events.k8s.io")
ADMIN = "kubernetes-admin"  # who tells the story


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_each_component_sends_what_the_real_one_sent(
    path: pathlib.Path, inputs: Inputs, booted: MemoryBackend
) -> None:
    story = yaml.safe_load(path.read_text())
    stage = restored(inputs, booted, scheduler=story.get("scheduler", False))
    stage.tell(story["steps"])
    for who, wanted in story["sent"].items():
        component = who.removesuffix(" by object").removesuffix(" among others")
        lines = [_line(one) for one in wanted]
        sent = [
            request
            for request in stage.sent
            if (request.who == component or (component == "everybody" and request.who != ADMIN))
            and (_resource(request) not in EVENTS or _names_events(lines))
        ]
        if not any(" 409" in line for line in lines):
            sent = _without_conflicts(sent)
        if who.endswith(" by object"):
            _compare_by_object(component, wanted, sent)
        elif who.endswith(" among others"):
            rest = iter(request.line for request in sent)
            assert all(line in rest for line in lines), (component, sent)
        else:
            assert [request.line for request in sent] == lines, component
            _compare_bodies(component, wanted, sent)
    stage.assert_no_slips()


def restored(inputs: Inputs, booted: MemoryBackend, *, scheduler: bool) -> Stage:
    stage = Stage(inputs, copied(booted), scheduler=scheduler)
    stage.sent.clear()
    return stage


def _line(wanted: str | dict[str, Any]) -> str:
    return wanted if isinstance(wanted, str) else str(next(iter(wanted)))


def _resource(sent: Sent) -> str:
    return sent.line.split()[1]


def _names_events(lines: list[str]) -> bool:
    return any(line.split()[1] in EVENTS for line in lines)


def _without_conflicts(sent: list[Sent]) -> list[Sent]:
    """Whether two writers of one object meet is a matter of moments, on the real one too: a write
    that met a conflict is left out, with the read before the next try."""
    kept, again = [], set()
    for request in sent:
        if request.line.endswith(" 409"):
            again.add(request.about)
        elif request.about in again and request.line.startswith("get "):
            again.remove(request.about)
        else:
            kept.append(request)
    return kept


def _compare_bodies(who: str, wanted: list[Any], sent: list[Sent]) -> None:
    for one, request in zip(wanted, sent, strict=True):
        if isinstance(one, dict):
            found = list(missing(next(iter(one.values())), request.body))
            assert not found, f"{who}: {request.line} {request.name}: {found}"


def _compare_by_object(who: str, wanted: list[Any], sent: list[Sent]) -> None:
    """Where many workers act at once, only the order of requests about one object is certain; what
    is wanted are then sequences, separated by commas, one for each object."""
    by_object: dict[tuple[str, str], list[str]] = {}
    for request in sent:
        by_object.setdefault(request.about, []).append(request.line)
    got = sorted(", ".join(lines) for lines in by_object.values())
    assert got == sorted(wanted), who


def test_components_call_themselves_what_the_real_ones_do(
    inputs: Inputs, booted: MemoryBackend
) -> None:
    """Recorded: kube-controller-manager/v1.33.4 (linux/amd64) kubernetes/<commit>/<account>."""
    stage = restored(inputs, booted, scheduler=True)
    stage.tell([{"node": "node-1"}, {"create": deployment(replicas=1)}, {"run": 2}])
    agents = {request.who: request.agent for request in stage.sent}
    build = r"v1\.33\.\d+ \(linux/amd64\) kubernetes/[0-9a-f]{7}"
    account = "system:serviceaccount:kube-system:deployment-controller"
    assert re.fullmatch(
        f"kube-controller-manager/{build}/{account}", agents["deployment-controller"]
    )
    assert re.fullmatch(f"kube-scheduler/{build}/scheduler", agents["system:kube-scheduler"])
