"""The requests that a command of kubectl makes, as the trace of the cluster tells them.

Nobody else asks from outside meanwhile: each test process has a cluster of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.conformance.kubectl import Kubectl, Said
from tests.lifecycle.hosting.running import Demo


@dataclass(frozen=True)
class Asked:
    """One request from outside."""

    verb: str
    path: str


class Counting:
    def __init__(self, demo: Demo, kubectl: Kubectl) -> None:
        self.demo, self.kubectl = demo, kubectl

    def __call__(self, *arguments: str, given: str = "") -> list[Asked]:
        return self.run(*arguments, given=given)[1]

    def run(self, *arguments: str, given: str = "") -> tuple[Said, list[Asked]]:
        """What the command printed, and what it asked the server for."""
        printed, records = self.traced(*arguments, given=given)
        requests = [each for each in records if each["kind"] == "request" and each["outside"]]
        return printed, [Asked(each["verb"], each["path"]) for each in requests]

    def traced(self, *arguments: str, given: str = "") -> tuple[Said, list[dict[str, Any]]]:
        """What the command printed, and all that the cluster told meanwhile."""
        before = self._json("/viz/v1/clusters/demo")["seq"]
        printed = self.kubectl.run(*arguments, given=given)
        return printed, list(self._since(before + 1))

    def _since(self, first: int) -> Iterator[dict[str, Any]]:
        following: int | None = first
        while following is not None:
            page = self._json(f"/viz/v1/clusters/demo/records?from={following}")
            yield from page["records"]
            following = page["next"]

    def _json(self, path: str) -> dict[str, Any]:
        return dict(json.loads(self.demo.get(path).read()))
