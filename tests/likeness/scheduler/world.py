"""A cluster in memory that becomes one recorded world after the other, and is asked as the real
one was: each pod alone, its first attempt, then what happens that may wake it.

No kubelet runs, nor the controllers that judge nodes and collect pods, as beside the real one.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import yaml

from apiserver_app.flags import Flags
from lifecycle.hosting.scripted import Session, create_path, default_inputs
from lifecycle.trace import storage

OFF = (
    "nodelifecycle",
    "tainteviction",
    "podgc",
    "garbagecollector",
    "disruption",
    "volumeprotection",
    "claimprotection",
)
BACKOFF_SECONDS = 3.5  # longer than the first back-off of a refused pod
MERGE = {"content-type": "application/merge-patch+json"}
NOW = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
LATER = {**NOW, "gracePeriodSeconds": 3600}
ORPHAN = {**NOW, "propagationPolicy": "Orphan"}
_PREPARED = pathlib.Path(__file__).with_name("prepared.yaml")
_CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
_VOLUMES = "/api/v1/persistentvolumes"
_SERVICES = "/api/v1/namespaces/default/services"
_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

Object = dict[str, Any]


class World:
    def __init__(self) -> None:
        flags = Flags(disable_admission_plugins=("TaintNodesByCondition",))
        self._session = Session(default_inputs(nodes=0, flags=flags))
        roles = self._session.cluster.roles
        self._session.cluster.role("kubelet", "stop")
        for name in OFF:
            self._session.cluster.role("controllers", "stop", component=name)
        assert set(OFF) <= set(roles["controllers"].components)
        for kind in ("deployments", "daemonsets", "replicasets"):
            for item in self._items(f"/apis/apps/v1/{kind}"):
                self._must("DELETE", self._path(item), ORPHAN)
        for obj in yaml.safe_load_all(_PREPARED.read_text()):
            self._create(obj)
        self.clear()

    # -- a world --------------------------------------------------------------------------------

    def build(self, world: Object) -> None:
        for one in (*world["nodes"], *world["services"], *world["volumes"], *world["claims"]):
            self._create(one)
        for budget in world["budgets"]:
            self._create(budget)
            status = {
                "disruptionsAllowed": budget["_allowed"],
                "currentHealthy": 1,
                "desiredHealthy": 1,
                "expectedPods": 1,
                "observedGeneration": 1,
            }
            self._status(budget, status)
        for number, pod in enumerate(world["pods"]):
            self._create(pod)
            status = dict(pod.get("_status", {}))
            if "_phase" in pod:
                status["phase"] = pod["_phase"]
            if "priority" in world["themes"]:
                status["startTime"] = f"2026-01-01T00:{number:02d}:00Z"
            if status:
                self._status(pod, status)
            if pod.get("_leaving"):
                self._must("DELETE", self._path(pod), LATER)
        self._session.wait(1)

    def clear(self) -> None:
        for namespace in ("default", "team-b", "kube-system"):
            self._must("DELETE", f"/api/v1/namespaces/{namespace}/pods", NOW)
        for path in ("/api/v1/nodes", _CLAIMS, _VOLUMES, _BUDGETS):
            self._must("DELETE", path, NOW)
        for service in self._items(_SERVICES):
            if service["metadata"]["name"] != "kubernetes":
                self._must("DELETE", self._path(service))
        for path in (_CLAIMS, _VOLUMES):
            for item in self._items(path):
                body = {"metadata": {"finalizers": None}}
                self._session.request(
                    "PATCH", f"{path}/{item['metadata']['name']}", body, headers=MERGE
                )
        for path in ("/api/v1/nodes", "/api/v1/pods", _CLAIMS, _VOLUMES):
            assert not self._items(path), path

    # -- a pod ----------------------------------------------------------------------------------

    def schedule(self, pod: Object, then: list[Any]) -> Object:
        """Everything about the first attempt, and whether `then` woke the pod."""
        path, name = self._path(pod), pod["metadata"]["name"]
        leaving = self._leaving()
        seq = self._session.cluster.recorder.seq
        answer = self._session.request("POST", path.rpartition("/")[0], _plain(pod), settle=False)
        if answer.status >= 300:
            said = answer.json()["message"]
            return {"outcome": f"refused {answer.status}", "condition": ["", said]}
        self._session.wait(0.9)  # the first attempt, not the second
        now = self._get(path)
        found = self._verdict(now, pod)
        found |= self._decided(f"{pod['metadata']['namespace']}/{name}", seq)
        if found["outcome"] == "unschedulable":
            found["nominated"] = (now.get("status") or {}).get("nominatedNodeName")
            found["victims"] = sorted(self._leaving() - leaving)
        if found["outcome"] not in ("bound", "gated", "nothing happened"):
            found["event"] = self._event(now)
        if then:
            for method, where, body in then:
                self._must(method, where, body, MERGE if method == "PATCH" else None)
            self._session.wait(BACKOFF_SECONDS)
            spans = {decision["span"] for decision in self._schedules(f"default/{name}", seq)}
            found["woken"] = [len(spans) > 1, bool(self._get(path)["spec"].get("nodeName"))]
        self._must("DELETE", path, NOW)
        self._session.wait(0.1)
        return found

    def _verdict(self, now: Object, pod: Object) -> Object:
        found: Object = {"outcome": "nothing happened", "node": now["spec"].get("nodeName")}
        for condition in (now.get("status") or {}).get("conditions") or ():
            if condition["type"] == "PodScheduled" and condition["status"] == "False":
                reason = condition["reason"]
                found["condition"] = [reason, condition.get("message")]
                known = {"SchedulingGated": "gated", "Unschedulable": "unschedulable"}
                found["outcome"] = known.get(reason, reason)
        if found["node"]:
            found["outcome"] = "bound"
        names = [
            volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["spec"].get("volumes", ())
            if "persistentVolumeClaim" in volume
        ]
        claims = {claim["metadata"]["name"]: claim for claim in self._items(_CLAIMS)}
        found["volumes"] = {
            name: claims[name]["spec"].get("volumeName") for name in names if name in claims
        }
        for name in names:
            notes = claims.get(name, {}).get("metadata", {}).get("annotations") or {}
            node = notes.get("volume.kubernetes.io/selected-node")
            if found["outcome"] == "nothing happened" and node:
                found["outcome"], found["node"] = "bound", node
        return found

    def _decided(self, key: str, seq: int) -> Object:
        found: Object = {}
        span = 0
        for decision in self._schedules(key, seq):
            span = span or decision["span"]
            if decision["span"] != span:
                break
            detail = decision["detail"]
            if decision["phase"] == "filter":
                found["passed"] = sorted(set(detail["nodes"]) - set(detail["failed"]))
            elif decision["phase"] == "score":
                found["scores"] = {
                    plugin["name"]: {
                        node: score * plugin["weight"]
                        for node, score in plugin["normalized"].items()
                    }
                    for plugin in detail["plugins"]
                }
                found["totals"] = detail["total"]
            elif decision["phase"] == "fail":
                found["blockers"] = sorted(detail["unschedulable"])
        return found

    def _schedules(self, key: str, seq: int) -> Iterator[Object]:
        for one in storage.read(self._session.backend, seq + 1, self._session.cluster.recorder.seq):
            if one["kind"] == "schedule" and one["pod"] == key:
                yield one

    def _leaving(self) -> set[str]:
        return {
            pod["metadata"]["name"]
            for pod in self._items("/api/v1/pods")
            if pod["metadata"].get("deletionTimestamp")
        }

    def _event(self, pod: Object) -> str | None:
        events = [
            event
            for event in self._items("/api/v1/events")
            if event["reason"] == "FailedScheduling"
            and event["involvedObject"].get("uid") == pod["metadata"]["uid"]
        ]
        events.sort(key=lambda one: one.get("eventTime") or one.get("firstTimestamp") or "")
        return events[0]["message"] if events else None

    # -- requests -------------------------------------------------------------------------------

    def _path(self, obj: Object) -> str:
        return f"{create_path(self._session.cluster, obj)}/{obj['metadata']['name']}"

    def _create(self, obj: Object) -> None:
        self._must("POST", create_path(self._session.cluster, obj), _plain(obj))

    def _status(self, obj: Object, status: Object) -> None:
        self._must("PATCH", f"{self._path(obj)}/status", {"status": status}, MERGE)

    def _must(self, method: str, path: str, body: Any = None, headers: Any = None) -> Object:
        answer = self._session.request(method, path, body, headers=headers)
        assert answer.status < 300, (method, path, answer.text)
        found: Object = answer.json()
        return found

    def _get(self, path: str) -> Object:
        return self._must("GET", path)

    def _items(self, path: str) -> list[Object]:
        listed = self._get(path)
        kind = listed["kind"].removesuffix("List")
        common = {"apiVersion": listed["apiVersion"], "kind": kind}
        return [{**common, **item} for item in listed["items"]]


def _plain(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if not key.startswith("_")}
