"""Every module says what it is; names say what a thing is; no text tells how it came about."""

from __future__ import annotations

import ast
import codecs
import re

from tests.tidy import sources

DOCSTRING = re.compile(r'(#.*\n|\n)*r?"""')
# upstream's own words are no choice of ours
VAGUE = re.compile(r"(manager|helper|util)s?$")
UPSTREAM_NAMES = {"controllermanager.py", "managers.py"}

# rot13, so that the lists do not find themselves: tools are not credited, one machine's paths and
# one package index are nobody else's business
_TOOLS = codecs.decode(
    "pynhqr naguebcvp bcranv pungtcg tcg yyz pbcvybg fhontrag pungobg", "rot13"
).split()
_PLACES = codecs.decode("/jbex/ /gzc/j/ /ebbg/ clcv.bet clgubaubfgrq", "rot13").split()
UNSAID = re.compile(
    rf"\b({'|'.join(_TOOLS)})s?\b|{'|'.join(map(re.escape, _PLACES))}", re.IGNORECASE
)


def test_every_module_opens_with_a_docstring() -> None:
    silent = [
        sources.name(path)
        for path in sources.python()
        if "/migrations/" not in sources.name(path) and not DOCSTRING.match(sources.text(path))
    ]
    assert silent == []


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in sources.python()} - {sources.ROOT}
    bare = [sources.name(folder) for folder in folders if not (folder / "__init__.py").exists()]
    assert sorted(bare) == []


def test_no_module_or_class_is_named_manager_helper_or_utils() -> None:
    vague = [
        sources.name(path)
        for path in sources.product()
        if VAGUE.search(path.stem) and path.name not in UPSTREAM_NAMES
    ]
    vague += [
        f"{sources.name(path)}:{node.lineno} {node.name}"
        for path in sources.product()
        for node in sources.nodes(path)
        if isinstance(node, ast.ClassDef)
        and VAGUE.search(node.name.lower())
        and path.name not in UPSTREAM_NAMES
    ]
    assert vague == []


def test_no_text_speaks_of_its_making_or_of_one_machine() -> None:
    said = [
        f"{sources.name(path)}:{number} {found[0]!r}"
        for path in sources.texts()
        for number, line in enumerate(sources.text(path).splitlines(), 1)
        if (found := UNSAID.search(line))
    ]
    assert said == []
