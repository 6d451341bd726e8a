"""Validation by the CEL rules of a schema (`x-kubernetes-validations`).

A rule that uses oldSelf runs on updates only. A violation in an unchanged value is only a warning.
All rules of an object share a cost budget. Loaded with the first rule.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/{validation,
compilation}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from apiserver_app import cel
from apiserver_app.apiextensions.schema import fieldpaths, paths, structural
from apiserver_app.apiextensions.schema.structural import EMBEDDED, Node, Schema
from apiserver_app.cel import program as programs
from apiserver_app.cel import schema as schemas
from apiserver_app.cel import types, values
from apiserver_app.cel.cost import bounds
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release

MESSAGE_BYTES_MAX = 5 * 1024
NO_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_NO_PATH = "<nil>"
_MAKERS: dict[str, Callable[[str, Any, str], FieldError]] = {
    "FieldValueForbidden": lambda path, value, text: errors.forbidden_value(path, text),
    "FieldValueRequired": lambda path, value, text: errors.required(path, text),
    "FieldValueDuplicate": lambda path, value, text: errors.duplicate(path, value),
}


class Place(NamedTuple):
    """A value, its old value, and how the two correlate."""

    value: Any
    path: str
    old: Any = None  # the value of oldSelf; None if there is none
    correlated: bool = False  # whether `was` is the old value at the same path
    was: Any = None
    above_same: bool = False  # whether the nearest correlated value above is unchanged

    @property
    def unchanged(self) -> bool:
        return bool(self.value == self.was) if self.correlated else self.above_same


class Rule(msgspec.Struct):
    """A compiled rule; `error` is the compiler's error."""

    source: Schema
    uses_old: bool
    optional: bool
    program: programs.Program | None = None
    message: programs.Program | None = None
    error: str = ""
    message_error: str = ""
    path: str = ""


class Costs(NamedTuple):
    """The worst-case costs of a rule and of its messageExpression, and how many such values a
    request can hold if nothing else limits them."""

    rule: int
    message: int
    places: int


class Result(msgspec.Struct):
    """The errors and the warnings of all rules."""

    errs: list[FieldError]
    warnings: list[str]
    budget: int = cel.RUNTIME_BUDGET


class Rules:
    """The rules of one version, compiled node by node at first use."""

    def __init__(self, root: Node, version: Release) -> None:
        self._root = root
        self._version = version
        self._compiled: dict[int, list[Rule]] = {}
        self._with_rules: dict[int, bool] = {}

    def check(self, obj: Any, old: Any | None) -> Result:
        """Evaluates all rules for an object and its old state."""
        result = Result([], [])
        place = Place(obj, "", old, old is not None, old)
        self._check(self._root, place, result, is_root=True)
        return result

    def _check(self, node: Node, place: Place, result: Result, is_root: bool = False) -> None:
        if place.value is None or not self._has_rules(node):
            return
        if node.rules:
            self._evaluate(node, place, result, is_root)
        for child, below in _below(node, place):
            if result.budget < 0:
                return
            self._check(child, below, result)

    def _has_rules(self, node: Node) -> bool:
        known = self._with_rules.get(id(node))
        if known is None:
            known = self._with_rules[id(node)] = structural.has_rules(node)
        return known

    def _evaluate(self, node: Node, place: Place, result: Result, is_root: bool) -> None:
        compiled = self._compiled.get(id(node))
        if compiled is None:
            compiled = compile_all(node, is_root=is_root, version=self._version)
            self._compiled[id(node)] = compiled
        schema = with_type_meta(node, is_root)
        at = place.path or _NO_PATH
        if result.budget <= 0:
            result.errs.append(errors.invalid_value(at, node.type, NO_BUDGET))
            result.budget = -1
            return
        for rule in compiled:
            if rule.error:
                text = f"rule compile error: {rule.error}"
                result.errs.append(errors.invalid_value(at, node.type, text))
            elif rule.uses_old and place.old is None and not rule.optional:
                continue
            else:
                _run(rule, schema, place, node.type, at, result)
            if result.budget < 0:
                return


def compile_all(node: Node, *, is_root: bool, version: Release) -> list[Rule]:
    """Compiles the rules of a schema node; never raises."""
    schema = with_type_meta(node, is_root)
    return [_compile(rule, node, schema, version) for rule in node.rules]


def costs(rule: Rule, node: Node, *, is_root: bool, version: Release) -> Costs:
    """The estimated costs of a compiled rule; zero for one that did not compile."""
    schema = with_type_meta(node, is_root)

    def worst(program: programs.Program | None, *, optional: bool) -> int:
        if program is None:
            return 0
        variables = {"self": schema} if optional else {"self": schema, "oldSelf": schema}
        typed = {"oldSelf": types.optional_of(schemas.type_of(schema))} if optional else {}
        return programs.estimated(
            program.expression,
            typed,
            variables,
            version,
            lambda path: bounds.largest(schema, path, is_resource=is_root),
        )

    rule_cost = worst(rule.program, optional=rule.optional)
    message_cost = worst(rule.message, optional=False)
    return Costs(rule_cost, message_cost, bounds.most(schema, is_resource=is_root))


def with_type_meta(node: Node, is_root: bool) -> Schema:
    """The schema of a node; that of a resource also has apiVersion, kind and metadata."""
    return {**node.source, EMBEDDED: True} if is_root else node.source


def _compile(source: Schema, node: Node, schema: Schema, version: Release) -> Rule:
    text = source.get("rule") or ""
    optional = bool(source.get("optionalOldSelf"))
    out = Rule(source, False, optional)
    variables: dict[str, Schema] = {"self": schema}
    typed: dict[str, types.Type] = {}
    if optional:
        typed["oldSelf"] = types.optional_of(schemas.type_of(schema))
    else:
        variables["oldSelf"] = schema
    names = ("self", "oldSelf")
    try:
        out.program = cel.compile(text, names, types=typed, schemas=variables, version=version)
        out.uses_old = "oldSelf" in programs.names_in(text)
        if out.program.type not in ("bool", "dyn"):
            out.program, out.error = None, "cel expression must evaluate to a bool"
    except cel.CompileError as error:
        out.error = str(error)
    expression = source.get("messageExpression")
    if out.program is not None and expression:
        plain = {"self": schema, "oldSelf": schema}
        try:
            out.message = cel.compile(expression, names, schemas=plain, version=version)
            if out.message.type not in ("string", "dyn"):
                out.message = None
                out.message_error = "messageExpression must evaluate to a string"
        except cel.CompileError as error:
            out.message_error = f"messageExpression {error}"
    if source.get("fieldPath"):
        target = fieldpaths.resolve(str(source["fieldPath"]), node)
        out.path = target.path if target.node is not None else ""
    return out


def _run(rule: Rule, schema: Schema, place: Place, kind: str, at: str, result: Result) -> None:
    assert rule.program is not None
    bindings: dict[str, Any] = {"self": place.value}
    if rule.optional:
        old = None if place.old is None else schemas.adapt(schema, place.old)
        bindings["oldSelf"] = values.Optional(old) if place.old is not None else values.NONE
    elif place.old is not None:
        bindings["oldSelf"] = place.old
    errs: list[FieldError] = []
    named = (rule.source.get("message") or rule.source.get("rule") or "").strip()
    try:
        value, cost = rule.program.run(bindings)
    except cel.CostExceeded as error:
        text = (
            f"'{error}': no further validation rules will be run due to call cost exceeds limit "
            f"for rule: {named}"
        )
        result.errs.append(errors.invalid_value(at, kind, text))
        result.budget = -1
        return
    except cel.EvaluationError as error:
        text = f"{error} evaluating rule: {named}"
        if str(error).startswith("no such overload"):
            text = (
                f"'{error}': call arguments did not match a supported operator, function or macro "
                f"signature for rule: {named}"
            )
        result.errs.append(errors.invalid_value(at, kind, text))
        return
    result.budget -= cost
    if result.budget < 0:
        result.errs.append(errors.invalid_value(at, kind, NO_BUDGET))
        return
    if value is True:
        return
    where = paths.child(place.path, rule.path) if rule.path else at
    make = _MAKERS.get(rule.source.get("reason") or "", errors.invalid_value)
    errs.append(make(where, kind, _message(rule, place, result)))
    if not rule.uses_old and place.unchanged:
        result.warnings += [str(err) for err in errs]
    else:
        result.errs += errs


def _message(rule: Rule, place: Place, result: Result) -> str:
    """The result of messageExpression, else message, else the text of the rule."""
    fallback = (rule.source.get("message") or "").strip()
    if not fallback:
        fallback = f"failed rule: {(rule.source.get('rule') or '').strip()}"
    if rule.message is None:
        return fallback
    bindings = {"self": place.value}
    if place.old is not None:
        bindings["oldSelf"] = place.old
    try:
        value, cost = rule.message.run(bindings)
    except cel.EvaluationError:
        return fallback
    result.budget -= cost
    text = value.strip() if isinstance(value, str) else ""
    if not text or "\n" in text or len(text.encode()) > MESSAGE_BYTES_MAX:
        return fallback
    return text


def _below(node: Node, place: Place) -> Iterator[tuple[Node, Place]]:
    """The child values with their schema nodes."""
    value = place.value
    above = place.unchanged
    if isinstance(value, list) and node.items is not None:
        olds = _by_key(node, place.old)
        wases = _by_key(node, place.was) if place.correlated else {}
        for index, item in enumerate(value):
            key = _key(node, item)
            was_there = place.correlated and key in wases
            yield (
                node.items,
                Place(
                    item, f"{place.path}[{index}]", olds.get(key), was_there, wases.get(key), above
                ),
            )
    elif isinstance(value, dict):
        old = place.old if isinstance(place.old, dict) else {}
        was: Mapping[str, Any] = {}
        if place.correlated and isinstance(place.was, dict) and node.map_type != "atomic":
            was = place.was
        for name in sorted(value):
            child = node.properties.get(name)
            at = paths.child(place.path, name)
            if child is None:
                child, at = node.additional, paths.key(place.path, name)
            if child is not None:
                yield (
                    child,
                    Place(value[name], at, old.get(name), name in was, was.get(name), above),
                )


def _by_key(node: Node, items: Any) -> dict[Any, Any]:
    if node.list_type != "map" or not isinstance(items, list):
        return {}
    return {_key(node, item): item for item in reversed(items)}


def _key(node: Node, item: Any) -> tuple[str, ...]:
    known = item if isinstance(item, dict) else {}
    return tuple(repr(known.get(name)) for name in node.list_keys)
