"""Every kubectl of this machine against one server: a table of who can do what.

kubectl supports servers one minor version away; that older ones work too is our promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance import manifests
from tests.conformance.kubectl import WAIT_SECONDS, Kubectl, Said, programs
from tests.lifecycle.hosting.running import Demo

PATIENCE = f"--timeout={WAIT_SECONDS}s"
# what is said in the table, the command, what its last line must begin with, its input
STEPS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("create", ("create", "deployment", "web", "--image=nginx"), "deployment.apps/web cr", ""),
    ("rollout", ("rollout", "status", "deploy/web"), 'deployment "web" successfully rolled', ""),
    ("get", ("get", "pods", "-l", "app=web"), "web-", ""),
    ("yaml", ("get", "deploy", "web", "-o", "yaml"), "  updatedReplicas: 1", ""),
    ("describe", ("describe", "deploy", "web"), "  Normal  ScalingReplicaSet", ""),
    ("scale", ("scale", "deploy/web", "--replicas=2"), "deployment.apps/web scaled", ""),
    ("apply", ("apply", "-f", "-"), "configmap/settings created", manifests.SETTINGS),
    ("change", ("apply", "-f", "-"), "configmap/settings configured", manifests.SETTINGS_RED),
    ("patch", ("patch", "cm", "settings", "-p", '{"data":{"a":"b"}}'), "configmap/settings pa", ""),
    ("label", ("label", "cm", "settings", "a=b"), "configmap/settings labeled", ""),
    ("explain", ("explain", "pod.spec.nodeName"), "    ", ""),
    ("can-i", ("auth", "can-i", "list", "pods"), "yes", ""),
    ("events", ("get", "events"), "", ""),
    ("wait", ("wait", "--for=condition=Available", "deploy/web", PATIENCE), "deployment.apps/", ""),
    ("delete", ("delete", "deploy/web", "cm/settings"), 'configmap "settings" deleted', ""),
)
_table: dict[str, dict[str, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def table(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(render(), end="")  # noqa: T201 -- the table is what a person runs this for


@pytest.mark.parametrize("program", programs(), ids=lambda path: str(path.name))
def test_each_kubectl_can_do_each_step(program: Path, cluster: Demo, home: Path) -> None:
    kubectl = Kubectl(program, cluster.data_dir, home)
    name = "matrix-" + program.name.replace(".", "-")
    row = _table.setdefault(program.name, {})
    with kubectl.space(name) as within:
        for step, command, wanted, given in STEPS:
            said = within.run(*command, given=given)
            row[step] = "ok" if is_right(said, wanted) else f"NO: {said.err or said.out}"
    assert {step: what for step, what in row.items() if what != "ok"} == {}


def is_right(said: Said, wanted: str) -> bool:
    lines = [line for line in said.lines if line]
    return said.code == 0 and bool(lines) and lines[-1].startswith(wanted)


def render() -> str:
    """Clients down, steps across."""
    steps = [step for step, *_ in STEPS]
    rows = [["client", *steps]]
    for client, row in _table.items():
        rows.append([client, *(row.get(step, "-")[:2] for step in steps)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    return "\n\n" + "\n".join(lines) + "\n"
