"""What the expressions of one policy or webhook may name, and what was compiled of them.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/{compile,composition}.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apiserver_app import cel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release

if TYPE_CHECKING:
    from apiserver_app.cel.program import Program
    from apiserver_app.cel.types import Type


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression that was compiled, or why it could not be."""

    text: str
    program: Program | None
    error: str = ""


class Environment:
    """What the expressions of one policy or webhook may name. Variables come in their order; with
    None there is no `variables` at all."""

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
        self._types |= types or {}  # where more is known of something than usual
        self.variables: dict[str, Compiled] = {}
        fields: dict[str, Type] = {}
        if variables is not None:
            self._types["variables"] = Type("kubernetes.variables", (), fields)
        for variable in variables or ():
            name = variable.get("name", "")
            made = self.compile(variable.get("expression", ""))
            fields[name] = made.program.output if made.program else DYN
            self.variables[name] = made

    def compile(self, text: str, wants: Sequence[str] = (), *, authorizer: bool = True) -> Compiled:
        types = self._types
        if not authorizer:
            types = {name: one for name, one in types.items() if "authorizer" not in name}
        try:
            program = cel.compile(
                text, tuple(types), types=types, structs=self._structs, wants=wants,
                version=self._version,
            )  # fmt: skip
        except cel.CompileError as error:
            return Compiled(text, None, str(error))
        return Compiled(text, program)


def compile_conditions(
    conditions: Sequence[Object], environment: Environment
) -> tuple[tuple[str, Compiled], ...]:
    return tuple(
        (one.get("name", ""), environment.compile(one.get("expression", ""), ("bool",)))
        for one in conditions
    )
