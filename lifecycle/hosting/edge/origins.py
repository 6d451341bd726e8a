"""Who may talk to the page's side of the edge: the right host name, and pages of the same origin.

A foreign web page must be able neither to act on a cluster through a visitor's browser (origin) nor
to read one by pointing its own name at this machine (host). Programs send no Origin and pass.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def own_names(more: Iterable[str] = ()) -> frozenset[str]:
    """The names this machine answers to, beside every address."""
    names = {"localhost", socket.gethostname().lower(), *(name.lower() for name in more)}
    return frozenset(name for name in names if name)


def host_allowed(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names us. An address always does: only names can be pointed at us."""
    name = _host_name(host)
    if name is None:
        return False
    if name in names or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def same_origin(origin: str | None, host: str) -> bool:
    """Whether a request comes from our own page or from no page at all."""
    if origin is None:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
