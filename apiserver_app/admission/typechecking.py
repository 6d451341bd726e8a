"""Type-checks a validating policy's expressions for its status.

Each expression is compiled against the kinds that the policy's rules name, ten at most; wildcards
are ignored. The result does not alter the policy's effect.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/
typechecking.go and staging/src/k8s.io/apiserver/pkg/cel/common/schemas.go (SchemaDeclType).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from apiserver_app.cel import stepping
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types.schema import Field, Schema
from apiserver_app.machinery.types.scheme import Types

if TYPE_CHECKING:
    from apiserver_app.cel.environment import Environment
    from apiserver_app.cel.types import Type

TYPES_MAX = 10


class TypeChecker:
    """Checks policies against the resources of one API server."""

    def __init__(
        self,
        version: Release,
        resources: Resources,
        types: Types,
        pause: Callable[[], Awaitable[None]],
    ) -> None:
        self._version = version
        self._resources = resources
        self._types = types
        self._pause = pause

    async def check(self, policy: Object) -> list[Object]:
        """Returns the warnings about its validations, as in its status."""
        return await stepping.in_steps(self._pause, lambda: self._check(policy))

    def _check(self, policy: Object) -> list[Object]:
        known = self._environments(policy)
        warnings: list[Object] = []
        for index, validation in enumerate(policy["spec"].get("validations") or ()):
            for field in ("expression", "messageExpression"):
                text = validation.get(field)
                warning = _warning(text, known) if text else ""
                if warning:
                    where = f"spec.validations[{index}].{field}"
                    warnings.append({"fieldRef": where, "warning": warning})
        return warnings

    def _environments(self, policy: Object) -> list[tuple[ResourceInfo, Environment]]:
        """What the expressions may use with objects of each kind."""
        from apiserver_app.cel.environment import Environment

        spec = policy["spec"]
        params = self._params(spec.get("paramKind"))
        environments = []
        for info in self._kinds(policy):
            known = self._type(info)
            types = {"object": known, "oldObject": known}
            if params is not None:
                types["params"] = params
            environment = Environment(
                self._version,
                params=spec.get("paramKind") is not None,
                variables=spec.get("variables") or (),
                types=types,
            )
            environments.append((info, environment))
        return environments

    def _params(self, kind: Object | None) -> Type | None:
        if not kind:
            return None
        group, _, version = str(kind.get("apiVersion", "")).rpartition("/")
        info = self._resources.by_gvk(group, version, str(kind.get("kind", "")))
        return None if info is None else self._type(info)

    def _kinds(self, policy: Object) -> list[ResourceInfo]:
        """Returns the kinds that the rules name, sorted."""
        kinds: dict[tuple[str, str, str], ResourceInfo] = {}
        rules = (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ()
        for rule in rules:
            for info in self._named(rule):
                kinds[info.group, info.version, info.kind] = info
                if len(kinds) == TYPES_MAX:
                    return [kinds[key] for key in sorted(kinds)]
        return [kinds[key] for key in sorted(kinds)]

    def _named(self, rule: Object) -> Iterator[ResourceInfo]:
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in name for name in (*groups, *versions)):
            return
        for group in sorted(groups):
            for version in sorted(versions):
                for plural in sorted(rule.get("resources") or ()):
                    info = self._resources.find(group, version, plural)
                    if info is not None and self._types.knows(info.definition):
                        yield info

    def _type(self, info: ResourceInfo) -> Type:
        return _struct(self._types.schema(info.definition))


def _warning(text: str, environments: list[tuple[ResourceInfo, Environment]]) -> str:
    """Returns one message for each kind for which the expression does not compile."""
    messages = []
    for info, environment in environments:
        error = environment.compile(text).error
        if error:
            issues = error.removeprefix("compilation failed: ")
            messages.append(f"{_gvk_text(info)}: {issues}\n")
    return "\n".join(messages)


class _Fields(Mapping[str, "Type"]):
    """The fields of a struct; types are built when read, since structs may be recursive."""

    def __init__(self, schema: Schema) -> None:
        from apiserver_app.cel.schema import escaped

        self._fields = {
            name: field for key, field in schema.fields.items() if (name := escaped(key))
        }

    def __getitem__(self, name: str) -> Type:
        return _type(self._fields[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def _struct(schema: Schema) -> Type:
    from apiserver_app.cel.types import DYN, Type

    return DYN if schema.open else Type("object", (), _Fields(schema))


def _type(field: Field) -> Type:
    from apiserver_app.cel import types

    if field.kind == "struct":
        return _struct(field.schema) if field.schema is not None else types.DYN
    if field.kind in ("list", "map"):
        item = types.DYN if field.item is None else _type(field.item)
        return types.list_of(item) if field.kind == "list" else types.map_of(types.STRING, item)
    simple = {
        "boolean": types.BOOL,
        "integer": types.INT,
        "number": types.DOUBLE,
        "string": types.STRING,
        "quantity": types.STRING,
        "bytes": types.BYTES,
        "time": types.TIMESTAMP,
        "microtime": types.TIMESTAMP,
    }
    return simple.get(field.kind, types.DYN)


def _gvk_text(info: ResourceInfo) -> str:
    """Formats a group, version and kind."""
    return f"{info.group}/{info.version}, Kind={info.kind}"
