"""The environment of one policy's or webhook's expressions, and its compiled expressions.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/{compile,composition}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from apiserver_app import cel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release

if TYPE_CHECKING:
    from apiserver_app.cel.program import Program
    from apiserver_app.cel.types import Type


class Compiled(msgspec.Struct, frozen=True):
    """A compiled expression, or the error of compiling it."""

    text: str
    program: Program | None
    error: str = ""


class Environment:
    """The variables that the expressions of one policy or webhook may use, in order; with None
    there is no `variables`."""

    def __init__(
        self,
        version: Release,
        *,
        params: bool = False,
        variables: Sequence[Object] | None = None,
        patches: bool = False,
        types: Mapping[str, Type] | None = None,
    ) -> None:
        from apiserver_app.cel import admissiontypes
        from apiserver_app.cel.types import DYN, Type

        self._version = version
        self._structs = admissiontypes.PATCHES if patches else {}
        self._types = dict(admissiontypes.VARIABLES)
        if params:
            self._types["params"] = DYN
        self._types |= types or {}  # more precise types than the default
        self.variables: dict[str, Compiled] = {}
        fields: dict[str, Type] = {}
        if variables is not None:
            self._types["variables"] = Type("kubernetes.variables", (), fields)
        for variable in variables or ():
            name = variable.get("name", "")
            compiled = self.compile(variable.get("expression", ""))
            fields[name] = compiled.program.output if compiled.program else DYN
            self.variables[name] = compiled

    def compile(self, text: str, wants: Sequence[str] = (), *, authorizer: bool = True) -> Compiled:
        types = self._types
        if not authorizer:
            types = {name: kind for name, kind in types.items() if "authorizer" not in name}
        try:
            program = cel.compile(
                text,
                tuple(types),
                types=types,
                structs=self._structs,
                wants=wants,
                version=self._version,
            )
        except cel.CompileError as error:
            return Compiled(text, None, str(error))
        return Compiled(text, program)


def compile_conditions(
    conditions: Sequence[Object], environment: Environment
) -> tuple[tuple[str, Compiled], ...]:
    return tuple(
        (condition.get("name", ""), environment.compile(condition.get("expression", ""), ("bool",)))
        for condition in conditions
    )
