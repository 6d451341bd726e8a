"""Going back: by key, by drag and by the tape, to the objects as they were, and live again."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.sight import Look, Sight
from tests.lifecycle.hosting.running import Demo

DEMO = ("--speed", "max")


@pytest.fixture(scope="module")
def demo_with_nginx(demo: Demo) -> Demo:
    """Three pods ran; the time of the cluster stands still since."""
    run_nginx(demo)
    return demo


def run_nginx(demo: Demo) -> None:
    """Make the page's own deployment beside the page, and wait until its pods are ready."""
    manifest = (
        b'{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "nginx"}, "spec":'
        b'{"replicas": 3, "selector": {"matchLabels": {"app": "nginx"}}, "template": {"metadata":'
        b'{"labels": {"app": "nginx"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}}}'
    )
    demo.ask("POST", "/viz/v1/clusters/demo/apply", manifest).read()
    key = "/registry/deployments/default/nginx"
    while objects(demo, key)[key].get("status", {}).get("readyReplicas") != 3:
        pass


def objects(demo: Demo, prefix: str) -> dict[str, Any]:
    answer = demo.get(f"/viz/v1/clusters/demo/objects?prefix={prefix}")
    return dict(json.loads(answer.read())["objects"])
