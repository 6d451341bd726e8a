"""What the node authorizer remembers of pods."""

from __future__ import annotations

from typing import Any

from apiserver_app.auth.authz import node
from apiserver_app.auth.authz.node import NodeAuthorizer


class Pods:
    """A reader of pods that come and go."""

    def __init__(self) -> None:
        self.there: dict[str, dict[str, Any]] = {}

    def get(self, resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        return self.there.get(name)


def test_pods_that_are_gone_are_forgotten() -> None:
    pods = Pods()
    authorizer = NodeAuthorizer(pods)  # type: ignore[arg-type]
    stays = {"metadata": {"name": "stays", "namespace": "a"}, "spec": {"containers": []}}
    pods.there["stays"] = stays
    kept = authorizer.refs_of(stays)
    for number in range(10 * node.REFS_MIN):
        name = f"p{number}"
        pod = {"metadata": {"name": name, "namespace": "a"}, "spec": {"containers": []}}
        pods.there[name] = pod
        authorizer.refs_of(pod)
        del pods.there[name]
    assert len(authorizer.refs) <= node.REFS_MIN + 1
    assert authorizer.refs_of(stays) is kept
