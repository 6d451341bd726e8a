"""Checks of Host and Origin for requests to the page and the product API.

Another web site must neither change a cluster through a visitor's browser (Origin) nor read it by
pointing its own DNS name at this machine (Host). Programs send no Origin and are allowed.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


def own_names(more: Iterable[str] = ()) -> frozenset[str]:
    """Returns the host names that are served, beside every IP address."""
    names = {"localhost", socket.gethostname().lower(), *(name.lower() for name in more)}
    return frozenset(name for name in names if name)


def host_allowed(host: str, names: Collection[str]) -> bool:
    """Reports whether a Host header is served: any IP address, or one of `names`."""
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


def could_be_foreign(host: str, names: Collection[str]) -> bool:
    """Reports whether a web site elsewhere could have this name: those have a dot in them."""
    return "." in (_host_name(host) or "") and not host_allowed(host, names)


def same_origin(origin: str | None, host: str) -> bool:
    """Reports whether a request comes from our own page or from a program without an Origin."""
    if origin is None:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
