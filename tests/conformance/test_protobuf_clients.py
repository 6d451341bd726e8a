"""Protobuf over TLS on loopback, as typed clients written in Go ask for it."""

from __future__ import annotations

import http.client
from pathlib import Path

from apiserver_app.machinery.serializer import protobuf, protoencode
from tests.conformance.api import Api
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAPS = "/api/v1/namespaces/default/configmaps"


def frame(response: http.client.HTTPResponse) -> bytes:
    return response.read(int.from_bytes(response.read(4), "big"))


def test_typed_clients_are_answered_in_protobuf(
    cluster: Demo, kubectl: Kubectl, tmp_path: Path
) -> None:
    api = Api(cluster, tmp_path)
    body = protoencode.encode(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "proto"}, "data": {"k": "v"}}
    )
    made = api.ask("POST", MAPS, body, PROTOBUF, Accept=PROTOBUF)
    assert (made.code, made.header("Content-Type")) == (201, PROTOBUF)
    revision = protobuf.decode(made.body)["metadata"]["resourceVersion"]
    listed = protobuf.decode(api.get(MAPS, Accept=PROTOBUF).body)
    assert "proto" in [item["metadata"]["name"] for item in listed["items"]]
    refused = protobuf.decode(api.get(f"{MAPS}/none", Accept=PROTOBUF).body)
    assert (refused["kind"], refused["reason"]) == ("Status", "NotFound")

    with api.dial() as line:
        path = f"{MAPS}?watch=1&resourceVersion={revision}&fieldSelector=metadata.name=proto"
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: {PROTOBUF}\r\n\r\n".encode())
        response = http.client.HTTPResponse(line)
        response.begin()
        assert response.getheader("Content-Type") == f"{PROTOBUF};stream=watch"
        assert api.ask("DELETE", f"{MAPS}/proto").code == 200
        event = frame(response)
        assert event[:9] == b"\x0a\x07DELETED"
        assert protobuf.decode(event[event.index(b"k8s\0") :])["data"] == {"k": "v"}

    shown = kubectl("describe", "nodes", "-v=9")
    assert "Name:" in shown and "Conditions:" in shown
