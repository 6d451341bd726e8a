"""Floods of reads and of reviews."""

from __future__ import annotations

from lifecycle.bench.attacks.making import (
    CORE,
    LISTED,
    MANY,
    NAMESPACE,
    SERVES,
    Attack,
    Send,
    create,
    got,
)

TERMS = ",".join(f"k{n}!=v" for n in range(10_000))
REVIEWS = "/apis/authorization.k8s.io/v1"
REVIEW = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
EXACT = "resourceVersionMatch=Exact"
PROTOBUF_SCHEMA = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _past(number: int) -> int:
    """A revision that there was while the attack began."""
    return 400 + number % 150


ATTACKS: dict[str, Attack] = {
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
    "lists of the past": Attack(
        MANY, lambda n: Send("GET", f"{LISTED}?resourceVersion={_past(n)}&{EXACT}")
    ),
    "pages of one": got(f"{LISTED}?limit=1")._replace(before=MANY),
    "OpenAPI of a group": got("/openapi/v3/apis/apps/v1"),
    "OpenAPI as protobuf": got("/openapi/v2", Accept=PROTOBUF_SCHEMA),
    "proxied requests": got(f"{CORE}/pods/aim/proxy/")._replace(before=(SERVES,)),
    "proxied requests to nobody": got(f"{CORE}/services/http:aim:80/proxy/"),
    "tokens for many audiences": create(
        f"{CORE}/serviceaccounts/default/token",
        {"spec": {"audiences": [f"https://{n}.example.com" for n in range(2000)]}},
    ),
    "tokens": create(f"{CORE}/serviceaccounts/default/token", {"spec": {}}),
    "tokens that are wrong": got(LISTED, Authorization="Bearer " + "e30." * 2000),
}
