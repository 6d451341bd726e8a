"""Containers that must not run as root."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers_app.podlab import cluster, create, events, get, pod, state


@pytest.mark.parametrize(
    ("image", "context", "words"),
    [
        ("nginx", {}, "container has runAsNonRoot and image will run as root {}"),
        ("nginx", {"runAsUser": 0}, "container's runAsUser breaks non-root policy {}"),
        ("nginx", {"runAsUser": 101}, ""),
        ("nginx", {"runAsNonRoot": False}, ""),
        (
            "memcached",
            {},
            "container has runAsNonRoot and image has non-numeric user (memcache), "
            "cannot verify user is non-root {}",
        ),
        ("registry.k8s.io/pause:3.10", {}, ""),
        ("example.org/known-to-nobody:1", {}, ""),
    ],
)
def test_a_container_that_must_not_run_as_root_is_not_created_as_root(
    image: str, context: dict[str, Any], words: str
) -> None:
    session = cluster(nodes=1)
    body = pod(image=image, container={"securityContext": context})
    body["spec"]["securityContext"] = {"runAsNonRoot": True}
    create(session, body)
    if not words:
        assert "running" in state(session)["state"]
        return
    uid = get(session)["metadata"]["uid"]
    message = words.format(f'(pod: "web_default({uid})", container: c)')
    waiting = {"reason": "CreateContainerConfigError", "message": message}
    assert state(session)["state"]["waiting"] == waiting
    assert ("Warning", "Failed", f"Error: {message}") in events(session)
