"""Floods of objects."""

from __future__ import annotations

from typing import Any

from lifecycle.bench.attacks.making import (
    CORE,
    LISTED,
    MANY,
    NAMESPACE,
    Attack,
    Send,
    made,
    obj,
    pod,
)


def _event(number: int) -> dict[str, Any]:
    about = {"kind": "Pod", "namespace": NAMESPACE, "name": "x"}
    return obj("Event", f"e{number}", involvedObject=about, reason="x", message="m" * 900)


def _circle(number: int) -> dict[str, Any]:
    body = obj("ConfigMap", f"o{number}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o0", "uid": f"u{number}"}
    body["metadata"]["ownerReferences"] = [{**owner, "uid": f"{n}"} for n in range(50)]
    return body


def _rules(number: int) -> dict[str, Any]:
    path = {
        "path": "/",
        "pathType": "Prefix",
        "backend": {"service": {"name": "x", "port": {"number": 80}}},
    }
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


def _long_event(number: int) -> dict[str, Any]:
    name = f"{number:08}" + "x" * 245
    about = {"kind": "Pod", "namespace": NAMESPACE, "name": "y" * 253}
    return obj(
        "Event",
        name,
        "events.k8s.io/v1",
        regarding=about,
        reason="r" * 128,
        action="a" * 128,
        note="\u5b57" * 340,
        type="Normal",
        reportingController="c.example.com/" + "z" * 60,
        reportingInstance="i" * 128,
        eventTime="2026-01-01T00:00:00.000000Z",
    )


def _kept(number: int) -> Send:
    """An object that stays after it is deleted, or the end of all of them."""
    if number % 5 == 4:
        return Send("DELETE", LISTED)
    body = {"metadata": {"name": f"k{number}", "finalizers": ["example.com/never"]}}
    return Send("POST", LISTED, body)


def _labelled(number: int) -> dict[str, Any]:
    body = pod(f"l{number}", "sh", "-c", "while :; do sleep 1; done")
    body["metadata"]["labels"] = {"a": "b"}
    return body


PORTS = [{"name": f"p{n}", "port": 1000 + n} for n in range(100)]
SERVICE = {"ports": [{"port": 80, "nodePort": 0}], "type": "NodePort", "selector": {"a": "b"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


ATTACKS: dict[str, Attack] = {
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
    "events of long names": made(
        f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events", _long_event
    ),
    "accounts": made(f"{CORE}/serviceaccounts", lambda n: obj("ServiceAccount", f"s{n}")),
    "finalizers that nobody takes away": Attack(flood=_kept),
    "services of all pods": Attack(
        tuple(Send("POST", f"{CORE}/pods", _labelled(n)) for n in range(50)),
        lambda n: Send(
            "POST",
            f"{CORE}/services",
            obj("Service", f"s{n}", spec={"selector": {"a": "b"}, "ports": PORTS}),
        ),
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
}
