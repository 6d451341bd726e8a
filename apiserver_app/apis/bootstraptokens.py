"""Secrets of type bootstrap.kubernetes.io/token, for the API server and the controllers.

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
    """Splits a bootstrap token into (id, secret); None if it is not one."""
    match = _TOKEN.fullmatch(token)
    return (match[1], match[2]) if match else None


def read(secret: Object, key: str) -> str:
    """The decoded value of a key; "" if there is none."""
    try:
        return base64.b64decode((secret.get("data") or {}).get(key) or "").decode()
    except (binascii.Error, ValueError):
        return ""


def expires(secret: Object) -> int | None:
    """When the token expires (µs); None if never, 0 if the time does not parse."""
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
    """The groups of the token's user. Raises ValueError for an invalid group."""
    named = read(secret, "auth-extra-groups")
    more = sorted(set(named.split(","))) if named else []
    for group in more:
        if not _GROUP.fullmatch(group):
            raise ValueError(
                f"bootstrap group {go_value(group)} is invalid "
                r"(must match \Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z)"
            )
    return (DEFAULT_GROUP, *more)
