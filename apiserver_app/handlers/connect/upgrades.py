"""Which protocol a client that wants to upgrade its connection gets, or why none.

Pure. A WebSocket offers subprotocols; SPDY/3.1 names versions of the stream protocol; port
forwarding may tunnel SPDY through a WebSocket. What the API server itself translates it answers
for; the rest goes to the kubelet, whose refusals are plain text.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/httpstream (httpstream.go, wsstream) and
staging/src/k8s.io/apiserver/pkg/util/proxy (translatinghandler.go, streamtunnel.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from apiserver_app.machinery import errors
from apiserver_app.machinery.releases import Release

WEBSOCKET, SPDY, TUNNEL = "websocket", "spdy", "tunnel"
SPDY_VERSION = "SPDY/3.1"
PROTOCOL_VERSION = "x-stream-protocol-version"
TUNNEL_PREFIX = f"{SPDY_VERSION}+"
V5 = "v5.channel.k8s.io"
FORWARDING = "portforward.k8s.io"

# a kubelet's; "" is a client that offers nothing
_KUBELET_SOCKET = (
    "",
    "channel.k8s.io",
    "base64.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
)
_KUBELET_FORWARD_SOCKET = ("", "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
_KUBELET_SPDY = ("v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io", "channel.k8s.io")
_UPGRADE = re.compile(r"(^|.*,\s*)upgrade($|\s*,)")


class Upgrade(msgspec.Struct, frozen=True):
    """What was agreed on. `headers` are those of the 101."""

    carrier: str
    protocol: str
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list)

    @property
    def translated(self) -> bool:
        """Whether the API server grants it before it asks the kubelet."""
        return self.protocol == V5 and self.carrier == WEBSOCKET


class Refused(Exception):
    """The kubelet's refusal: plain text, which the API server passes on."""

    def __init__(self, code: int, text: str, headers: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(text)
        self.code = code
        self.headers = list(headers)


def is_websocket(headers: Mapping[str, str]) -> bool:
    wanted = headers.get("upgrade", "").lower() == "websocket"
    return wanted and bool(_UPGRADE.match(headers.get("connection", "").lower()))


def of_remote_command(headers: Mapping[str, str], version: Release) -> Upgrade:
    """For exec and attach. Raises ApiError or Refused."""
    _check_asked(headers)
    if not is_websocket(headers):
        return _spdy(headers, _KUBELET_SPDY)
    if V5 in offered(headers) and version.has("TranslateStreamCloseWebsocketRequests"):
        return _socket(V5)
    return _choose(headers, _KUBELET_SOCKET)


def of_forwarding(headers: Mapping[str, str], version: Release) -> Upgrade:
    """For portforward. Raises ApiError or Refused."""
    _check_asked(headers)
    if not is_websocket(headers):
        return _spdy(headers, (FORWARDING,))
    if version.has("PortForwardWebsockets"):
        for protocol_name in offered(headers):
            if protocol_name.startswith(TUNNEL_PREFIX) and protocol_name.endswith("k8s.io"):
                protocol = _negotiate([protocol_name.removeprefix(TUNNEL_PREFIX)], (FORWARDING,))
                return Upgrade(TUNNEL, protocol, [("Sec-WebSocket-Protocol", protocol_name)])
    return _choose(headers, _KUBELET_FORWARD_SOCKET)


def of_watch(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The headers of the 101: the subprotocol is the one that is offered, whatever it is."""
    asked = offered(headers)
    return [("Sec-WebSocket-Protocol", asked[0])] if len(asked) == 1 else []


def offered(headers: Mapping[str, str]) -> list[str]:
    """The subprotocols of a WebSocket client, in its order."""
    return _listed(headers.get("sec-websocket-protocol", ""))


def _check_asked(headers: Mapping[str, str]) -> None:
    if "upgrade" not in headers.get("connection", "").lower():
        raise errors.bad_request("Upgrade request required")


def _choose(headers: Mapping[str, str], allowed: Sequence[str]) -> Upgrade:
    asked = offered(headers)
    for protocol in asked or [""]:
        if protocol in allowed:
            return _socket(protocol)
    raise Refused(
        403,
        f"requested protocol(s) are not supported: [{' '.join(asked)}]; "
        f"supports [{' '.join(allowed).strip()}]",
    )


def _socket(protocol: str) -> Upgrade:
    headers = [("Sec-WebSocket-Protocol", protocol)] if protocol else []
    return Upgrade(WEBSOCKET, protocol, headers)


def _spdy(headers: Mapping[str, str], allowed: Sequence[str]) -> Upgrade:
    asked = _listed(headers.get(PROTOCOL_VERSION, ""))
    if headers.get("upgrade", "").lower() != SPDY_VERSION.lower():
        raise Refused(400, "unable to upgrade: missing upgrade headers in request")
    if not asked:
        raise Refused(400, "unable to upgrade: X-Stream-Protocol-Version is required")
    protocol = _negotiate(asked, allowed)
    return Upgrade(SPDY, protocol, [("X-Stream-Protocol-Version", protocol)])


def _negotiate(asked: Sequence[str], allowed: Sequence[str]) -> str:
    for protocol in asked:
        if protocol in allowed:
            return protocol
    raise Refused(
        403,
        f"unable to upgrade: unable to negotiate protocol: client supports [{' '.join(asked)}], "
        f"server accepts [{' '.join(allowed)}]",
        [("X-Accepted-Stream-Protocol-Versions", protocol) for protocol in allowed],
    )


def _listed(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
