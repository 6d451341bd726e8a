"""The log of inputs holds no credential."""

from __future__ import annotations

import asyncio
import base64

import msgspec
import pytest

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker import masking
from lifecycle.hosting.worker.clusterhost import ClusterHost
from lifecycle.hosting.worker.driver import Driver

SECRET = "s3cret-token-of-somebody"
ENCODED = base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("authorization", f"Bearer {SECRET}", "Bearer <masked>"),
        ("Authorization", f"basic {ENCODED}", "basic <masked>"),
        ("authorization", SECRET, "<masked>"),
        ("authorization", f"{SECRET} x", "<masked>"),
        ("proxy-authorization", f"Basic {ENCODED}", "Basic <masked>"),
        ("cookie", f"sessionid={SECRET}", "<masked>"),
        (
            "sec-websocket-protocol",
            f"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.{ENCODED}",
            "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.<masked>",
        ),
        ("sec-websocket-protocol", "v5.channel.k8s.io", "v5.channel.k8s.io"),
        ("user-agent", "kubectl", "kubectl"),
    ],
)
def test_of_a_credential_only_its_sort_is_kept(name: str, value: str, kept: str) -> None:
    assert masking.headers([(name, value)]) == [(name, kept)]


def test_the_request_is_served_with_its_credential_and_stored_without() -> None:
    session = Session(default_inputs(nodes=0))
    host: ClusterHost = session.host
    loop = asyncio.new_event_loop()
    driver = Driver(loop, {"demo": host}, lambda messages: None)
    review = b'{"spec":{"token":"%s"}}' % SECRET.encode()
    reviews = "/apis/authentication.k8s.io/v1/tokenreviews"
    sent = [("authorization", f"Bearer {SECRET}"), ("cookie", SECRET)]
    driver.receive(
        [
            ("req", 1, host.cluster.name, "GET", "/api", "", sent, b"", None, "127.0.0.1:1"),
            ("req", 2, host.cluster.name, "POST", reviews, "", sent, review, None, "127.0.0.1:1"),
        ]
    )
    session.settle()
    loop.close()
    rows = [msgspec.msgpack.decode(entry.data) for entry in session.backend.inputs()]
    assert [row[1][4] for row in rows[-2:]] == [
        [["authorization", "Bearer <masked>"], ["cookie", "<masked>"]]
    ] * 2
    assert not any(SECRET.encode() in entry.data for entry in session.backend.inputs())
    gates = [record for record in session.records() if record.get("gate") == "authentication"]
    assert gates[-1]["detail"]["word"] == "401"  # the token itself was judged
