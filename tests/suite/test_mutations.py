"""Each mutation is one place of a source file, and what comes of it can still be compiled."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.suite import mutants, mutations, seeds

SOURCE = '''"""A module."""

from __future__ import annotations


def verdict(pods: list[str], höhe: int = 3) -> list[str]:
    """Says who is let in."""
    if höhe >= 2 and "web" in pods:
        pods.append("more")
        raise ValueError(f"{höhe} and 1")
    return [pod for pod in pods if pod]
'''


def test_verdicts_lists_numbers_and_writes_are_changed_and_no_words() -> None:
    found = {
        (mutation.line, mutation.old, mutation.new) for mutation in mutations.of_python(SOURCE)
    }

    assert found == {
        (6, "3", "(4)"),
        (8, 'höhe >= 2 and "web" in pods', "(höhe >= 2 or 'web' in pods)"),
        (8, "höhe >= 2", "(höhe < 2)"),
        (8, "2", "(3)"),
        (8, '"web" in pods', "('web' not in pods)"),
        (9, 'pods.append("more")', "pass"),
        (10, 'raise ValueError(f"{höhe} and 1")', "pass"),
        (11, "[pod for pod in pods if pod]", "([pod for pod in pods])"),
    }


def test_a_mutation_changes_its_place_and_no_other() -> None:
    mutation = next(m for m in mutations.of_python(SOURCE) if m.new == "pass" and m.line == 9)

    assert mutation.applied(SOURCE).splitlines()[8].strip() == "pass"
    assert len(mutation.applied(SOURCE).splitlines()) == len(SOURCE.splitlines())


@pytest.mark.parametrize(
    "path", ["apiserver_app/pipeline.py", "controllers_app/scheduler/queue.py"]
)
def test_what_comes_of_a_mutation_is_another_module(path: str) -> None:
    text = (mutants.ROOT / path).read_text()
    found = mutations.of_python(text)
    assert len(found) > 50

    for mutation in seeds.draw(path, found, 50):
        assert ast.dump(ast.parse(mutation.applied(text))) != ast.dump(ast.parse(text)), mutation


def test_signs_of_the_page_are_changed_but_not_in_comments_or_texts() -> None:
    text = "// a && b\nconst x = a && b ? 'c && d' : e === 1;\n"

    assert [(m.line, m.old, m.new) for m in mutations.of_javascript(text)] == [
        (2, "&&", "||"),
        (2, "===", "!=="),
    ]


def test_every_room_is_there_and_gives_mutants_that_the_seed_repeats() -> None:
    for rooms in mutants.ROOMS.values():
        assert [room for room in rooms if not (mutants.ROOT / room).exists()] == []
    first, again = (mutants.drawn(mutants.ROOMS["page"], 5, 11) for _ in range(2))

    assert first == again
    assert len({(m.path, m.mutation.start) for m in first}) == 5


@pytest.mark.parametrize(
    ("path", "tests"),
    [
        ("apiserver_app/pipeline.py", "tests/apiserver_app/test_pipeline.py"),
        ("controllers_app/scheduler/queue.py", "tests/controllers_app/scheduler/test_queue.py"),
        ("apiserver_app/admission/plugins/pod/x.py", "tests/apiserver_app/admission"),
        ("lifecycle/trace/nothing.py", "tests/lifecycle/trace"),
    ],
)
def test_the_tests_beside_a_changed_file_run_first(path: str, tests: str) -> None:
    assert mutants.beside(path) == tests
    assert (mutants.ROOT / Path(tests)).exists()
