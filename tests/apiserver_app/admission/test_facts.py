"""What a plugin says of itself agrees with what it does."""

from __future__ import annotations

import inspect
import re
import sys

import pytest

from apiserver_app.admission import plugins
from apiserver_app.admission.plugin import Plugin

LOOKS_UP = re.compile(r"\breader\.(?:get|list)\(\s*(?:\"([\w.]+)\"|([A-Z]+))\b")
KINDS = [row.plugin for row in plugins.PLUGINS]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_plugin_names_its_upstream_file(kind: type[Plugin]) -> None:
    assert kind.source.endswith(".go")


def test_what_a_plugins_file_looks_up_in_the_caches_its_plugins_name() -> None:
    modules = {kind.__module__ for kind in KINDS}
    for name in sorted(modules):
        module = sys.modules[name]
        source = inspect.getsource(module)
        found = {
            literal or getattr(module, constant) for literal, constant in LOOKS_UP.findall(source)
        }
        told = {read for kind in KINDS if kind.__module__ == name for read in kind.reads}
        assert found <= told, name
