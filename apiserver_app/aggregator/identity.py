"""The request headers by which an aggregated server identifies the user.

Models kubernetes staging/src/k8s.io/client-go/transport/round_trippers.go (SetAuthProxyHeaders).
"""

from __future__ import annotations

import urllib.parse

from apiserver_app.machinery.meta import User
from apiserver_app.machinery.releases import Release

USER, UID, GROUP, EXTRA = "x-remote-user", "x-remote-uid", "x-remote-group", "x-remote-extra-"
AGGREGATOR = User("system:kube-aggregator", ("system:masters",))


def headers(user: User, version: Release) -> list[tuple[str, str]]:
    """Returns the headers in order; one entry per value."""
    out = [(USER, user.name)]
    if user.uid and version.has("RemoteRequestHeaderUID"):
        out.append((UID, user.uid))
    out += [(GROUP, group) for group in user.groups]
    for key, values in user.extra.items():
        out += [
            (EXTRA + urllib.parse.quote(key.lower(), safe="!#$&'*+-.^_`|~"), value)
            for value in values
        ]
    return out


def is_claim(name: str) -> bool:
    """Reports whether a lower-case header claims an identity: a client's own is dropped."""
    return name in (USER, UID, GROUP) or name.startswith(EXTRA)
