"""What the cluster says of its make-up is all that the page needs: who adds a gate, a plugin, a
controller or a step has nothing to add to the page but words."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from apiserver_app import gates
from apiserver_app.admission import plugin as admission
from apiserver_app.admission import plugins
from apiserver_app.gates.gate import Gate
from apiserver_app.machinery import releases
from controllers_app import apiextensions, controllermanager, controllers
from controllers_app.controllers import Entry
from controllers_app.kubelet import steps
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.scheduler import component as scheduler
from controllers_app.scheduler import framework
from controllers_app.scheduler import plugins as scheduling
from lifecycle.hosting.scripted import Session, default_inputs

HERE = Path(__file__).parent
SECONDS_MAX = 120
PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"


class Stamp(admission.Plugin):
    """Puts an annotation on every pod."""

    name = "Stamp"
    concern = admission.CONSISTENCY
    handles = (admission.CREATE,)
    resources = ("pods",)
    reads = ("configmaps",)
    mutates = True
    source = "plugin/pkg/admission/stamp/admission.go"

    def admit(self, attributes: admission.Attributes) -> admission.Verdict:
        stamp = {"op": "add", "path": "/metadata/annotations", "value": {"stamped": "yes"}}
        return admission.Verdict("change", "stamped", [stamp])


class NotesController(Controller):
    """Looks at config maps."""

    resource = "configmaps"
    source = "pkg/controller/notes/notes_controller.go syncNote"
    drawn_at_rest = True

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._maps = ctx.informers.informer("configmaps")
        ctx.informers.informer("secrets")
        self._maps.handle(lambda obj, rev: self.queue.add(f"default/{_name(obj)}", rev))

    async def reconcile(self, key: str) -> Result:
        return Result("noted")


class Liking(framework.Plugin):
    """Likes every node."""

    name = "Liking"
    filters = True
    source = "pkg/scheduler/framework/plugins/liking/liking.go"


class Quarantine(Gate):
    name = refuses_as = "quarantine"
    cost = 7
    source = "pkg/quarantine/quarantine.go Hold"


SCAN = steps.Step("scan", "pkg/kubelet/scan.go")
GATE_NAMES = [gate.name for gate in gates.TOLD]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The page's model of a cluster that has one more of each."""
    file = tmp_path_factory.mktemp("facts") / "records.json"
    with pytest.MonkeyPatch.context() as patch:
        row = plugins.Row(Stamp, releases.ALWAYS, releases.ALWAYS)
        patch.setattr(plugins, "PLUGINS", (row, *plugins.PLUGINS))
        patch.setattr(gates, "TOLD", (*gates.TOLD[:6], Quarantine, *gates.TOLD[6:]))
        entries = (*controllers.CONTROLLERS, Entry("notes", "notes-controller", NotesController))
        defaults = controllermanager.ControllerManager.__init__.__kwdefaults__ or {}
        patch.setitem(defaults, "entries", entries)
        patch.setattr(scheduler, "PLUGINS", (*scheduling.PLUGINS, Liking))
        patch.setattr(steps, "STEPS", (*steps.STEPS, SCAN))
        file.write_text(json.dumps(_record()))
    return _node(HERE / "facts.mjs", file, "notes", "Stamp", "quarantine")


def test_a_gate_more_stands_in_its_place_with_its_upstream_file(model: Any) -> None:
    assert model["gates"] == [*GATE_NAMES[:6], "quarantine", *GATE_NAMES[6:]]
    assert model["gate"]["source"].endswith("pkg/quarantine/quarantine.go Hold")


def test_an_admission_plugin_more_is_asked_in_its_place(model: Any) -> None:
    assert model["plugins"][:2] == ["Stamp", "NamespaceLifecycle"]
    assert model["still"][0] == "NamespaceLifecycle"
    assert model["plugin"]["source"].endswith(Stamp.source)
    assert "configmaps" in json.dumps(model["plugin"]["tabs"])


def test_a_controller_more_has_a_lane_caches_and_an_upstream_file(model: Any) -> None:
    assert model["lanes"] == ["deployment", "replicaset", "endpointslice", "notes"]
    assert [cache["resource"] for cache in model["caches"]] == ["configmaps", "secrets"]
    assert model["controller"]["source"].endswith(NotesController.source)


def test_a_plugin_of_the_scheduler_more_is_listed_with_the_others(model: Any) -> None:
    told = json.dumps(model["cycle"]["tabs"])
    names = [*(kind.name for kind in scheduling.PLUGINS), Liking.name]
    assert [name for name in names if name not in told] == []


def test_a_step_of_the_kubelet_more_is_a_stop_on_the_way_up(model: Any) -> None:
    assert model["steps"] == [*(step.name for step in steps.STEPS if step.starts), "scan"]


def test_a_kind_without_any_object_is_known_by_its_name(model: Any) -> None:
    assert model["kind"] == "HorizontalPodAutoscaler"


def test_a_trace_that_begins_later_shows_the_names_that_are_in_its_records(tmp_path: Path) -> None:
    records = [record for record in _record() if record["kind"] != "component"]
    file = tmp_path / "records.json"
    file.write_text(json.dumps(_renumbered(records)))

    model = _node(HERE / "facts.mjs", file, "deployment", "Priority", "etcd")

    assert set(model["gates"]) == set(GATE_NAMES)
    assert {"ServiceAccount", "Priority"} <= set(model["plugins"])
    assert model["lanes"]
    assert model["caches"] == []


@pytest.mark.parametrize("language", ["ENGLISH", "CHINESE"])
def test_everything_that_is_told_has_its_words(language: str) -> None:
    keys = set(_node(HERE / "words.mjs", language))
    wanted = {
        *(f"gate.{name}{end}" for name in GATE_NAMES for end in ("", ".ask", ".what")),
        *(f"plugin.{row.plugin.name}.what" for row in plugins.PLUGINS),
        *(f"work.{entry.name}.why" for entry in controllers.CONTROLLERS),
        *(f"work.{name}.why" for name, _ in apiextensions.CONTROLLERS),
        *(f"cycle.plugin.{kind.name}" for kind in scheduling.PLUGINS),
        *(f"cycle.way.{kind.name}" for kind in scheduling.PLUGINS if kind.remedy),
        *(
            f"step.{step.name}{end}"
            for step in steps.STEPS
            for end in ("", ".what", ".begin", ".end", ".fail")
        ),
    }
    assert wanted <= keys, sorted(wanted - keys)


def test_everything_that_a_plugin_says_has_its_chinese() -> None:
    """By the verdicts in the source of admission; what is put together elsewhere is data."""
    folder = Path(gates.__file__).parents[1] / "admission"
    told = {
        shape
        for file in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Verdict")
        for argument in node.args[1:2]
        for shape in _shapes(argument)
    }
    assert len(told) > 80
    known = [re.sub(r"\{\d\}", "{}", one) for one in _node(HERE / "words.mjs", "DETAILS")]
    assert sorted(one for one in told if not _fits(one, known)) == []


def _shapes(sentence: ast.expr) -> list[str]:
    """The sentences of an expression, with {} where data stands."""
    if isinstance(sentence, ast.Constant):
        return [str(sentence.value)]
    if isinstance(sentence, ast.JoinedStr):
        parts = (p.value if isinstance(p, ast.Constant) else "{}" for p in sentence.values)
        return ["".join(map(str, parts))]
    if isinstance(sentence, ast.IfExp):
        return [*_shapes(sentence.body), *_shapes(sentence.orelse)]
    return []


def _fits(shape: str, known: list[str]) -> bool:
    """What stands where data does may be one of a few words, each with a sentence of its own."""
    pattern = re.escape(shape).replace(re.escape("{}"), ".+")
    return any(re.fullmatch(pattern, one) for one in known)


def _record() -> list[dict[str, Any]]:
    """A config map, then a pod, until it runs."""
    session = Session(default_inputs(seed=7))
    note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}}
    assert session.request("POST", MAPS, note).status == 201
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    }
    assert session.request("POST", PODS, pod).status == 201
    session.wait(30)
    return session.records()


def _renumbered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without gaps, as a trace is."""
    number = {one["seq"]: at for at, one in enumerate(records, 1)}
    number[0] = 0
    return [
        {
            **record,
            "seq": number[record["seq"]],
            "span": number.get(record["span"], 0),
            **({"parent": number.get(record["parent"], 0)} if "parent" in record else {}),
        }
        for record in records
    ]


def _name(obj: dict[str, Any]) -> str:
    return str(obj["metadata"]["name"])


def _node(script: Path, *arguments: object) -> Any:
    node = shutil.which("node")
    assert node, "node is not here; the page's model is tested with it (Debian: nodejs)"
    ran = subprocess.run(
        [node, str(script), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)
