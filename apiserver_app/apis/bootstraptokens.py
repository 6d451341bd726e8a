"""Secrets of the type bootstrap.kubernetes.io/token, as server and controllers read them.

Models kubernetes staging/src/k8s.io/cluster-bootstrap/{token/api,util/secrets,util/tokens}.
"""

from __future__ import annotations

import base64
import binascii
import re

from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object

NAMESPACE = "kube-system"
NAME_PREFIX = "bootstrap-token-"
TYPE = "bootstrap.kubernetes.io/token"
DEFAULT_GROUP = "system:bootstrappers"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


def split(token: str) -> tuple[str, str] | None:
    """(id, secret) of what looks like a bootstrap token."""
    found = _TOKEN.fullmatch(token)
    return (found[1], found[2]) if found else None


def read(secret: Object, key: str) -> str:
    """The text under a key; "" when there is none."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(key) or "").decode()
    except (binascii.Error, ValueError):
        return ""


def expires(secret: Object) -> int | None:
    """When it ends (µs); None when it never does, 0 when the text is no time."""
    text = read(secret, "expiration")
    if not text:
        return None
    try:
        return meta.parse_time(text)
    except ValueError:
        return 0


def expired(secret: Object, now: int) -> bool:
    end = expires(secret)
    return end is not None and now > end


def groups(secret: Object) -> tuple[str, ...]:
    """The groups of whoever brings it. ValueError names one that may not be."""
    named = read(secret, "auth-extra-groups")
    more = sorted(set(named.split(","))) if named else []
    for group in more:
        if not _GROUP.fullmatch(group):
            raise ValueError(
                f"bootstrap group {go_value(group)} is invalid "
                r"(must match \Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z)"
            )
    return (DEFAULT_GROUP, *more)
