"""The page keeps no copy of what the cluster says of its make-up."""

from __future__ import annotations

import re
from pathlib import Path

from apiserver_app.admission.plugins import PLUGINS
from apiserver_app.gates import TOLD
from controllers_app.controllers import CONTROLLERS
from controllers_app.kubelet.steps import STEPS
from controllers_app.scheduler import plugins as scheduling
from tests.tidy import sources

NAMES = {
    "gates": [gate.name for gate in TOLD],
    "admission plugins": [row.plugin.name for row in PLUGINS],
    "controllers": [entry.name for entry in CONTROLLERS],
    "scheduler plugins": [kind.name for kind in scheduling.PLUGINS],
    "kubelet steps": [step.name for step in STEPS],
}
MEMBERS = 3  # so many names of one sort side by side are a list of them
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
LITERAL = re.compile(r"\[[^\[\]]*\]|\{[^{}]*\}", re.S)
# 'name' as a member, or name: followed by data rather than by code
MEMBER = re.compile(r"['\"]([\w-]+)['\"](?=\s*[,\]:}])|\b([\w-]+):\s*(?=['\"`\[])")


def lists(text: str) -> list[tuple[str, str]]:
    """(sort, literal) of each literal that lists names of one sort."""
    found = []
    for literal in LITERAL.findall(COMMENT.sub("", text)):
        members = {quoted or bare for quoted, bare in MEMBER.findall(literal)}
        found += [
            (sort, literal) for sort, names in NAMES.items() if len(members & {*names}) >= MEMBERS
        ]
    return found


def test_a_list_of_names_is_found() -> None:
    assert lists("const GATES = ['audit', 'routing', 'etcd'];")
    assert lists("const CACHES = { job: ['pods'], rootca: ['x'], namespace: ['y'] };")
    assert not lists("return ['audit', 'routing'];")


def test_no_list_of_gates_plugins_controllers_or_steps_stands_in_the_page() -> None:
    pages = [path for path in sources.scripts() if _is_page(path)]
    assert len(pages) > 40
    found = {sources.name(path): lists(path.read_text()) for path in pages}
    assert {name: one for name, one in found.items() if one} == {}


def _is_page(path: Path) -> bool:
    name = sources.name(path)
    return name.startswith("static/js/") and "/i18n/" not in name
