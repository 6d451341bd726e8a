"""The trace tells what each reconcile looked up in its caches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from controllers_app.runtime.informer import Informer
from lifecycle.hosting.scripted import Session, default_inputs
from tests.sim.test_story import DEPLOYMENTS, deployment

SERVICES = "/api/v1/namespaces/default/services"
SERVICE = {
    "metadata": {"name": "web"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
}
Asked = dict[int, dict[tuple[str, str], list[int]]]  # by span, by resource and how


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the caches were asked, and in which span: each read is noted on its way."""
    found: Asked = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    reads = {name: getattr(Informer, name) for name in ("get", "list", "by", "count")}
    inner = [0]  # reads under way: one may be answered by another

    def noted(name: str, how: Callable[..., str], size: Callable[[Any], int]) -> None:
        def read(self: Informer, *args: str) -> Any:
            inner[0] += 1
            answer = reads[name](self, *args)
            inner[0] -= 1
            task = self._kernel.current
            if not inner[0] and task is not None and task.span:
                counts = found[task.span][self.resource, how(*args)]
                counts[0] += 1
                counts[1] += size(answer)
            return answer

        monkeypatch.setattr(Informer, name, read)

    noted("get", lambda key: "", lambda one: int(one is not None))
    noted("list", lambda namespace="": "namespace" if namespace else "*", _length)
    noted("by", lambda index, value: index, _length)
    noted("count", lambda census, value: census, lambda counts: sum(counts.values()))
    return found


def _length(found: Iterable[Object] | Mapping[str, Object]) -> int:
    assert isinstance(found, Sized)
    return len(found)


def test_what_a_reconcile_tells_of_its_look_ups_is_what_the_caches_were_asked(asked: Asked) -> None:
    session = Session(default_inputs(seed=5))
    assert session.request("POST", SERVICES, SERVICE).status == 201
    body = deployment()
    body["spec"]["replicas"] = 3
    assert session.request("POST", DEPLOYMENTS, body).status == 201
    session.wait(10)

    records = session.records()
    works = {record["seq"]: record["component"] for record in records if record["kind"] == "work"}
    told = {
        record["span"]: {(what[0], what[1]): what[2:] for what in record["looked"]}
        for record in records
        if record["kind"] == "done" and "looked" in record
    }
    assert told == {span: dict(asked.get(span, {})) for span in told}
    assert {"deployment", "replicaset", "endpointslice"} <= {works[span] for span in told}
    hows = {how for looked in told.values() for _, how in looked}
    assert {"", "controller"} <= hows
