"""Compiled expressions.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/{compile,condition}.go.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import apiserver_app.cel.library  # noqa: F401  declares the functions
from apiserver_app.cel import schema, stepping
from apiserver_app.cel.checker import Checker
from apiserver_app.cel.errors import (
    CompileError,
    CostExceeded,
    EvaluationError,
    InstantiationError,
    Issue,
    ResultTypeError,
)
from apiserver_app.cel.evaluator import Env, Planner, Step
from apiserver_app.cel.syntax import parser
from apiserver_app.cel.syntax.tree import Ident, Node, walk
from apiserver_app.cel.types import DYN, Type
from apiserver_app.cel.validators import literal_issues
from apiserver_app.cel.values import plain
from apiserver_app.machinery.releases import Release

PER_CALL_LIMIT = 1_000_000
# types whose declared name differs from the one in error messages
_DECLARED = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


class Program:
    """A compiled expression. `type` is its value's type, as upstream writes it."""

    __slots__ = ("_adapters", "_step", "expression", "output", "type")

    def __init__(
        self,
        expression: str,
        step: Step,
        output: Type,
        adapters: Mapping[str, Callable[[Any], Any]],
    ) -> None:
        self.expression = expression
        self.output = output
        self.type = str(output)
        self._step = step
        self._adapters = adapters

    def __call__(self, bindings: Mapping[str, Any]) -> Any:
        """Returns the value as plain Python. Raises EvaluationError."""
        return plain(self.run(bindings)[0])

    def run(self, bindings: Mapping[str, Any], budget: int = PER_CALL_LIMIT) -> tuple[Any, int]:
        """Returns (value, cost) with a CEL value. Raises EvaluationError, which has the cost,
        too."""
        names = dict(bindings)
        for name, adapt in self._adapters.items():
            if name in names:
                names[name] = adapt(names[name])
        env = Env(names, min(budget, PER_CALL_LIMIT))
        try:
            value = self._step(env)
        except EvaluationError as error:
            error.cost = env.cost
            raise
        except RecursionError:
            raise EvaluationError(parser.TOO_DEEP) from None
        if env.cost > env.limit:
            raise CostExceeded
        return value, env.cost


def compiled(
    expression: str,
    variables: Sequence[str],
    types: Mapping[str, Type],
    schemas: Mapping[str, Mapping[str, Any]],
    structs: Mapping[str, Type],
    wants: Sequence[str],
    version: Release,
) -> Program:
    """Parses, checks and plans an expression. Raises CompileError."""
    declared = {name: types.get(name, DYN) for name in variables}
    adapters: dict[str, Callable[[Any], Any]] = {}
    for name, variable_schema in schemas.items():
        declared[name] = schema.type_of(variable_schema)
        if schema.adapts(variable_schema):
            adapters[name] = functools.partial(schema.adapt, variable_schema)
    try:
        step, output = _planned(expression, declared, structs, version)
    except RecursionError:
        raise CompileError(expression, [Issue(-1, parser.TOO_DEEP)]) from None
    if wants and str(output) not in wants:
        expected = [_DECLARED.get(want, want) for want in wants]
        actual = _DECLARED.get(str(output), str(output))
        if len(expected) == 1:
            raise ResultTypeError(f"must evaluate to {expected[0]} but got {actual}")
        raise ResultTypeError(f"must evaluate to one of [{' '.join(expected)}] but got {actual}")
    return Program(expression, step, output, adapters)


def estimated(
    expression: str,
    types: Mapping[str, Type],
    schemas: Mapping[str, Mapping[str, Any]],
    version: Release,
    size_at: Callable[[tuple[str, ...]], int | None],
) -> int:
    """Returns the maximal cost of a compilable expression; `size_at` returns the maximal size at a
    path below a variable."""
    from apiserver_app.cel.cost.estimate import Coster  # only needed to validate rules

    declared = {
        **types,
        **{name: schema.type_of(variable_schema) for name, variable_schema in schemas.items()},
    }

    def cost() -> int:
        tree, checker = _checked(expression, declared, {}, version)
        return int(tree.accept(Coster(checker.types, size_at)).most)

    return stepping.take(expression, "cost", cost)


def names_in(expression: str) -> set[str]:
    """Returns the variables that a compilable expression uses."""
    return {node.name for node in walk(parser.parse(expression)) if isinstance(node, Ident)}


def _planned(
    expression: str, declared: Mapping[str, Type], structs: Mapping[str, Type], version: Release
) -> tuple[Step, Type]:
    tree, checker = _checked(expression, declared, structs, version)
    issues = checker.issues or literal_issues(tree, checker.types, version)
    if issues:
        raise CompileError(expression, issues)
    try:
        step = tree.accept(Planner(declared))
    except EvaluationError as error:  # of a conversion of a literal
        raise InstantiationError(str(error)) from error
    return step, checker.types[id(tree)]


def _checked(
    expression: str, declared: Mapping[str, Type], structs: Mapping[str, Type], version: Release
) -> tuple[Node, Checker]:
    tree = parser.parse(expression)
    checker = Checker(declared, version, structs)
    checker.check(tree)
    return tree, checker
