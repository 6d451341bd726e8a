"""CEL, the Common Expression Language, as Kubernetes has it.

    program = cel.compile("object.spec.replicas <= params.max", ["object", "params"])
    program({"object": deployment, "params": limits})

Nothing of the language is loaded before the first expression is compiled. Evaluation is bounded by
upstream's cost limits; regular expressions are RE2's. Values are plain JSON, unless a `schema`
gives them types.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel and github.com/google/cel-go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver_app.cel import stepping
from apiserver_app.cel.errors import CompileError, CostExceeded, EvaluationError, ResultTypeError
from apiserver_app.machinery import releases
from apiserver_app.machinery.releases import Release

if TYPE_CHECKING:
    from apiserver_app.cel.program import Program
    from apiserver_app.cel.types import Type

# total of all expressions of one binding or one custom resource
RUNTIME_BUDGET = 10_000_000
MATCH_CONDITIONS_BUDGET = 2_500_000


def compile(
    expression: str,
    variables: Sequence[str],
    *,
    types: Mapping[str, Type] | None = None,
    schemas: Mapping[str, Mapping[str, Any]] | None = None,
    structs: Mapping[str, Type] | None = None,
    wants: Sequence[str] = (),
    version: Release = releases.DEFAULT,
) -> Program:
    """A program, or CompileError.

    `types` tells the type of a variable (dyn otherwise), `schemas` its OpenAPI schema, by which
    its values are taken too; `structs` are the messages that may be constructed; `wants` are the
    types of which the value has to be one (`bool`, `string`), dyn passing none but `dyn`.
    """
    from apiserver_app.cel.program import compiled

    return stepping.take(
        expression,
        (*variables, *wants),
        lambda: compiled(
            expression,
            variables,
            types or {},
            schemas or {},
            {} if structs is None else structs,
            wants,
            version,
        ),
    )


__all__ = [
    "MATCH_CONDITIONS_BUDGET",
    "RUNTIME_BUDGET",
    "CompileError",
    "CostExceeded",
    "EvaluationError",
    "ResultTypeError",
    "compile",
]
