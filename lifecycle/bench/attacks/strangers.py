"""What those may try who have the link that only watches, or none."""

from __future__ import annotations

from lifecycle.bench.attacks.making import NOBODY, PAGE, VIEWER, Attack, Send

HOST = "127.0.0.1"
CLUSTER = "/viz/v1/clusters/demo"
FEED = "/ws/v1/clusters/demo/trace?token={token}&from="
POD = "key=/registry/pods/kube-system/etcd-node-1"


def looked(path: str) -> Attack:
    """A flood by who may only watch."""
    return Attack(
        flood=lambda n: Send("GET", f"{CLUSTER}/{path}", host=HOST), who=VIEWER, port=PAGE
    )


def knocked(path: str, **headers: str) -> Attack:
    """A flood by nobody in particular."""
    more = tuple(headers.items())
    return Attack(flood=lambda n: Send("GET", path, headers=more, host=HOST), who=NOBODY, port=PAGE)


def _followed(start: int) -> bytes:
    lines = [
        f"GET {FEED}{start} HTTP/1.1",
        f"Host: {HOST}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "",
        "",
    ]
    return "\r\n".join(lines).encode()


ATTACKS: dict[str, Attack] = {
    "all records of the trace": looked("records?from=1&to=1000000"),
    "all objects": looked("objects"),
    "objects of any revision": looked(f"object?{POD}&revision=300"),
    "forms of requests": looked("requests/500/forms"),
    "comparisons": looked("comparison"),
    "feeds from the beginning": Attack(held=_followed(1), who=VIEWER, port=PAGE),
    "feeds that nobody reads": Attack(held=_followed(1), reads=False, who=VIEWER, port=PAGE),
    "pages without a token": knocked("/"),
    "the schema": knocked("/viz/v1/schema"),
    "static files": knocked("/static/js/i18n/page/en.js"),
    "tokens that are guessed": Attack(
        flood=lambda n: Send("GET", f"/?token={n:064}", host=HOST), who=NOBODY, port=PAGE
    ),
    "cookies that are guessed": knocked("/", Cookie="a=b; " * 3000),
    "slow heads at the page": Attack(
        held=f"GET / HTTP/1.1\r\nHost: {HOST}\r\nX: ".encode(), who=NOBODY, port=PAGE
    ),
    "sockets without a token": Attack(
        held=_followed(1).replace(b"{token}", b"x"), who=NOBODY, port=PAGE
    ),
}
