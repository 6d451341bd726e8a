"""Floods of pods and of what makes them."""

from __future__ import annotations

from typing import Any

from lifecycle.bench.attacks.making import (
    APPS,
    BATCH,
    CORE,
    HUGE,
    MERGE,
    NAMESPACE,
    STRATEGIC,
    Attack,
    Send,
    job,
    made,
    obj,
    pod,
    workload,
)


def cron(number: int) -> dict[str, Any]:
    spec = {
        "schedule": "* * * * *",
        "startingDeadlineSeconds": HUGE,
        "jobTemplate": {"spec": job("x")["spec"]},
    }
    return obj("CronJob", f"c{number}", "batch/v1", spec=spec)


def _affine(number: int) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        "topologyKey": "kubernetes.io/hostname",
    }
    near = [{"weight": 1, "podAffinityTerm": term}] * 100
    anti = {"preferredDuringSchedulingIgnoredDuringExecution": near}
    body = pod(f"a{number}", affinity={"podAntiAffinity": anti, "podAffinity": anti})
    body["metadata"]["labels"] = {"a": str(number % 50)}
    return body


def _spread(number: int) -> dict[str, Any]:
    keys = [f"key-{key}" for key in range(30)]
    rules = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        }
        for key in keys
    ]
    return pod(f"s{number}", topologySpreadConstraints=rules)


def _probed(number: int) -> dict[str, Any]:
    body = pod(f"w{number}")
    probe = {"exec": {"command": ["sh", "-c", "seq 1 20000 | sort | wc"]}, "periodSeconds": 1}
    body["spec"]["containers"][0] |= {"livenessProbe": probe, "readinessProbe": probe}
    return body


def _with(number: int, **container: Any) -> dict[str, Any]:
    body = pod(f"v{number}")
    body["spec"]["containers"][0] |= container
    return body


def _scaler(name: str, **more: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    spec = {"scaleTargetRef": target, "maxReplicas": 100, **more}
    return obj("HorizontalPodAutoscaler", name, "autoscaling/v2", spec=spec)


def _changed(number: int) -> dict[str, Any]:
    return {"spec": {"template": {"metadata": {"annotations": {"n": f"{number}"}}}}}


def _eviction(number: int) -> dict[str, Any]:
    return obj("Eviction", f"e{number}", "policy/v1")


def _mounted(number: int) -> dict[str, Any]:
    volumes = [{"name": f"v{n}", "emptyDir": {}} for n in range(400)]
    body = pod(f"v{number}", volumes=volumes)
    body["spec"]["containers"][0]["volumeMounts"] = [
        {"name": f"v{n}", "mountPath": f"/v/{n}"} for n in range(400)
    ]
    return body


def _pulled(number: int) -> dict[str, Any]:
    body = pod(f"i{number}")
    own = {"name": "own", "image": f"example.com/image-{number}"}
    body["spec"]["containers"].append(own)
    return body


SCALERS = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"

ATTACKS: dict[str, Attack] = {
    "stateful sets": made(
        f"{APPS}/statefulsets",
        lambda n: workload("StatefulSet", f"s{n}", replicas=HUGE, serviceName="x"),
    ),
    "jobs with indexes": made(
        f"{BATCH}/jobs",
        lambda n: job(f"j{n}", completions=HUGE, parallelism=10, completionMode="Indexed"),
    ),
    "deployments": made(
        f"{APPS}/deployments", lambda n: workload("Deployment", f"d{n}", replicas=HUGE)
    ),
    "daemon sets": made(f"{APPS}/daemonsets", lambda n: workload("DaemonSet", f"d{n}")),
    "cron jobs of all minutes": made(f"{BATCH}/cronjobs", cron),
    "scaling to and fro": Attack(
        (Send("POST", f"{APPS}/deployments", workload("Deployment", "d")),),
        lambda n: Send(
            "PATCH", f"{APPS}/deployments/d/scale", {"spec": {"replicas": n % 2 * 100}}, MERGE
        ),
        connections=1,
    ),
    "autoscalers": made(SCALERS, lambda n: _scaler(f"h{n}")),
    "autoscalers that disagree": Attack(
        (
            Send("POST", f"{APPS}/deployments", workload("Deployment", "x", replicas=3)),
            *(Send("POST", SCALERS, _scaler(f"aim{n}", minReplicas=n)) for n in range(1, 50)),
        ),
        lambda n: Send(
            "PATCH", f"{SCALERS}/aim{n % 49 + 1}", {"spec": {"minReplicas": n % 90 + 1}}, MERGE
        ),
    ),
    "rollouts": Attack(
        (Send("POST", f"{APPS}/deployments", workload("Deployment", "x", replicas=10)),),
        lambda n: Send("PATCH", f"{APPS}/deployments/x", _changed(n), STRATEGIC),
    ),
    "evictions": Attack(
        tuple(Send("POST", f"{CORE}/pods", pod(f"e{n}")) for n in range(20)),
        lambda n: Send("POST", f"{CORE}/pods/e{n % 20}/eviction", _eviction(n % 20)),
    ),
    "pods of many volumes": made(f"{CORE}/pods", _mounted),
    "pods of images of their own": made(f"{CORE}/pods", _pulled),
    "pods": made(f"{CORE}/pods", lambda n: pod(f"p{n}")),
    "pods that crash": made(f"{CORE}/pods", lambda n: pod(f"p{n}", "false")),
    "pods of 50 containers": made(
        f"{CORE}/pods",
        lambda n: (
            pod(f"p{n}")
            | {"spec": {"containers": [{"name": f"c{k}", "image": "nginx"} for k in range(50)]}}
        ),
    ),
    "pods of 2,000 variables": made(
        f"{CORE}/pods",
        lambda n: _with(n, env=[{"name": f"A{k}", "value": f"$(A{k - 1})x"} for k in range(2000)]),
    ),
    "pods of many terms": made(f"{CORE}/pods", _affine),
    "pods that spread": made(f"{CORE}/pods", _spread),
    "costly probes": made(f"{CORE}/pods", _probed),
}
