"""Validation of a definition's schema, node by node: unsupported fields, list and map types,
defaults, and CEL rules.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go (ValidateCustomResourceDefinitionOpenAPISchema) and pkg/apiserver/schema/defaulting/
validation.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

from apiserver_app.apiextensions import customtype
from apiserver_app.apiextensions.definition import listrules, structuralrules
from apiserver_app.apiextensions.schema import (
    fieldpaths,
    govalues,
    paths,
    pruning,
    structural,
    validation,
)
from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.cel.cost import intervals
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release

Schema = Mapping[str, Any]
Errors = list[FieldError]

# limits of the estimated cost of one expression, and of all expressions of a version
COST_MAX, TOTAL_COST_MAX = 10_000_000, 100_000_000
_CONTRIBUTED = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = ("metadata", "kind", "apiVersion")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
# fields allowed at the root beside a status subresource: upstream's names, and ours
_AT_ROOT = tuple(
    """
    Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties
    ExternalDocs Example XPreserveUnknownFields XValidations
    """.split()
)
_AT_ROOT_JSON = frozenset(
    [name[0].lower() + name[1:] for name in _AT_ROOT]
    + [structural.PRESERVE, structural.VALIDATIONS]
)


class _Within(msgspec.Struct, frozen=True):
    """What a schema node inherits from the nodes above it."""

    version: Release  # of Kubernetes
    no_defaults: str = ""  # why defaults are forbidden
    in_meta: bool = False
    uncorrelated: str = ""  # path of the first node above that has no old value
    # how many such values an object can hold; None if no schema above limits it
    cardinality: int | None = 1


def validate(
    schema: Schema, path: str, *, has_status: bool, version: Release, unchanged: bool = False
) -> list[FieldError]:
    """All errors of the schema of one version, at `path`. The rules of an `unchanged` schema may
    exceed the cost limit."""
    errs: Errors = []
    at = f"{path}.openAPIV3Schema"
    if has_status:
        _root_of_status(schema, at, errs)
    if schema.get("nullable"):
        errs.append(errors.forbidden_value(f"{at}.nullable", "nullable cannot be true at the root"))
    node: Node | None = None
    broken = ""
    try:
        node = structural.build(schema)
    except structural.NotStructural as error:
        broken = str(error)
    compiles = False
    if node is not None:
        message = structuralrules.validate(schema, at)
        message = message or _defaults(structural.as_root(node), at)
        compiles = not message
        errs += message
    schema_errs: Errors = []
    rule_errs: Errors = []
    walk = _Walk(schema_errs, rule_errs, compiles, not unchanged)
    walk.place(schema, node, at, _Within(version), root=True)
    errs += schema_errs + rule_errs
    _total_cost(walk, at, errs)
    if broken and not errs:
        errs.append(errors.invalid_value(at, "", broken))
    return errs


def _total_cost(walk: _Walk, at: str, errs: Errors) -> None:
    """Refuses a version whose rules together exceed their cost limit."""
    total = min(sum(cost for cost, _ in walk.costs), intervals.MOST)
    if total <= TOTAL_COST_MAX:
        return
    expensive = [entry for entry in walk.costs if entry[0] >= TOTAL_COST_MAX // 100]
    for _, where in sorted(expensive, key=lambda entry: -entry[0])[:4]:
        errs.append(errors.forbidden_value(where, _CONTRIBUTED))
    text = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    errs.append(errors.forbidden_value(at, _exceeds(text, total, TOTAL_COST_MAX)))


def _exceeds(what: str, cost: int, limit: int) -> str:
    from apiserver_app.cel.cost import estimate

    return (
        f"{what} exceeds budget by factor of {estimate.shown_factor(cost, limit)} (try simplifying "
        "the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and "
        "strings are declared)"
    )


def _cardinality(schema: Schema, within: _Within) -> int | None:
    """How many elements of a value an object can hold."""
    if within.cardinality is None:
        return None
    kind, most = schema.get("type"), None
    if kind == "array":
        most = schema.get("maxItems")
    elif kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    else:
        most = 1
    return None if most is None else min(within.cardinality * max(0, int(most)), intervals.MOST)


def _root_of_status(schema: Schema, at: str, errs: Errors) -> None:
    """Refuses root fields that validation of the status alone would ignore."""
    type_ = schema.get("type") or ""
    if type_ and type_ != "object":
        text = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        errs.append(errors.invalid_value(f"{at}.type", type_, text))
        return
    if any(_is_set(key, value) and key not in _AT_ROOT_JSON for key, value in schema.items()):
        text = (
            f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the "
            "status subresource is enabled"
        )
        printed = errors.GoText("apiextensions.JSONSchemaProps{...}")
        errs.append(errors.invalid_value(at, printed, text))


def _is_set(key: str, value: Any) -> bool:
    """Whether the Go field has another value than its zero value."""
    if key == "default":
        return value is not None
    return value is not None and value is not False and value != ""


def _uncorrelated(within: _Within, at: str) -> _Within:
    """Marks the nodes below as having no old value, unless a node further up did."""
    return within if within.uncorrelated else msgspec.structs.replace(within, uncorrelated=at)


class _Walk:
    """Walks a schema from the root; compiles the rules if the schema is valid."""

    def __init__(self, errs: Errors, rules: Errors, compiles: bool, counts: bool) -> None:
        self.costs: list[tuple[int, str]] = []  # cost and path of each expression
        self._counts = counts  # whether the cost of a single expression is limited
        self._errs = errs
        self._rules = rules
        self._compiles = compiles

    def place(
        self, schema: Schema, node: Node | None, at: str, within: _Within, root: bool = False
    ) -> None:
        before = len(self._errs)
        self._supported(schema, at, within)
        inside = msgspec.structs.replace(within, cardinality=_cardinality(schema, within))
        self._fields(schema, node, at, inside, root)
        self._junctors(schema, at, within)
        self._items(schema, node, at, inside)
        self._named(schema, "dependencies", at, within)
        if schema.get(structural.PRESERVE) is False:
            text = "must be true or undefined"
            self._errs.append(errors.invalid_value(f"{at}.{structural.PRESERVE}", False, text))
        listrules.validate(schema, at, self._errs)
        if schema.get(structural.VALIDATIONS):
            self._written_rules(schema, at)
            if self._compiles and node is not None and len(self._errs) == before:
                self._compiled_rules(node, at, within, root)

    def _fields(
        self, schema: Schema, node: Node | None, at: str, within: _Within, root: bool
    ) -> None:
        additional = schema.get("additionalProperties")
        properties = schema.get("properties") or {}
        if additional is not None and properties and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            self._errs.append(errors.forbidden_value(f"{at}.additionalProperties", text))
        if isinstance(additional, dict):
            below = within
            if within.in_meta:
                message = "inside additionalProperties applying to object metadata"
                below = msgspec.structs.replace(within, no_defaults=message)
            child = node.additional if node is not None else None
            self.place(additional, child, f"{at}.additionalProperties", below)
        if schema.get(structural.MAP_TYPE) not in (None, "granular"):
            within = _uncorrelated(within, at)
        for name in sorted(properties):
            below = within
            if (root or schema.get(structural.EMBEDDED)) and name in _META:
                below = msgspec.structs.replace(within, in_meta=True)
                if root:
                    below = msgspec.structs.replace(below, no_defaults=f"in top-level {name}")
            child = node.properties.get(name) if node is not None else None
            self.place(properties[name], child, paths.key(f"{at}.properties", name), below)

    def _junctors(self, schema: Schema, at: str, within: _Within) -> None:
        if isinstance(schema.get("not"), dict):
            self.place(schema["not"], None, f"{at}.not", within)
        for keyword in ("allOf", "oneOf", "anyOf"):
            for index, branch in enumerate(schema.get(keyword) or ()):
                self.place(branch, None, f"{at}.{keyword}[{index}]", within)
        self._named(schema, "definitions", at, within)

    def _items(self, schema: Schema, node: Node | None, at: str, within: _Within) -> None:
        items = schema.get("items")
        if schema.get(structural.LIST_TYPE) != "map":
            within = _uncorrelated(within, at)
        if isinstance(items, dict):
            self.place(items, node.items if node is not None else None, f"{at}.items", within)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            self.place(item, None, f"{at}.items[{index}]", within)

    def _named(self, schema: Schema, word: str, at: str, within: _Within) -> None:
        """Walks schemas that are unsupported but validated nevertheless."""
        parts = schema.get(word) or {}
        for name in sorted(parts):
            if isinstance(parts[name], dict):
                self.place(parts[name], None, paths.key(f"{at}.{word}", name), within)

    def _supported(self, schema: Schema, at: str, within: _Within) -> None:
        errs = self._errs
        type_ = schema.get("type") or ""
        if type_ and type_ not in _TYPES:
            errs.append(errors.not_supported(f"{at}.type", type_, _TYPES))
        if schema.get("default") is not None and within.no_defaults:
            text = f"must not be set {within.no_defaults}"
            errs.append(errors.forbidden_value(f"{at}.default", text))
        for name in _UNSUPPORTED:
            if schema.get(name):
                errs.append(errors.forbidden_value(f"{at}.{name}", f"{name} is not supported"))
        if type_ == "null":
            text = "type cannot be set to null, use nullable as an alternative"
            errs.append(errors.forbidden_value(f"{at}.type", text))
        if isinstance(schema.get("items"), list):
            text = "items must be a schema object and not an array"
            errs.append(errors.forbidden_value(f"{at}.items", text))
        if within.in_meta and schema.get(structural.EMBEDDED):
            text = "must not be used inside of resource meta"
            errs.append(errors.forbidden_value(f"{at}.{structural.EMBEDDED}", text))
        if schema.get("uniqueItems"):
            text = (
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            )
            errs.append(errors.forbidden_value(f"{at}.uniqueItems", text))

    # -- rules ----------------------------------------------------------------------------------

    def _written_rules(self, schema: Schema, at: str) -> None:
        """Validates the fields of the rules without compiling them."""
        errs = self._errs
        for index, rule in enumerate(schema[structural.VALIDATIONS]):
            where = f"{at}.{structural.VALIDATIONS}[{index}]"
            text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
            if not text:
                errs.append(errors.required(f"{where}.rule", "rule is not specified"))
            elif message and not message.strip():
                reason = "message must be non-empty if specified"
                errs.append(errors.invalid_value(f"{where}.message", message, reason))
            elif _has_newline(message.strip()):
                reason = "message must not contain line breaks"
                errs.append(errors.invalid_value(f"{where}.message", message, reason))
            elif _has_newline(text) and not message.strip():
                reason = "message must be specified if rule contains line breaks"
                errs.append(errors.required(f"{where}.message", reason))
            expression = rule.get("messageExpression") or ""
            if expression and not expression.strip():
                reason = "messageExpression must be non-empty if specified"
                errs.append(errors.required(f"{where}.messageExpression", reason))
            if rule.get("reason") is not None and rule["reason"] not in _REASONS:
                at_ = f"{where}.reason"
                errs.append(errors.not_supported(at_, rule["reason"], _REASONS))
            self._field_path(schema, rule.get("fieldPath") or "", f"{where}.fieldPath")

    def _field_path(self, schema: Schema, path: str, at: str) -> None:
        if not path:
            return
        errs = self._errs
        if not path.strip():
            message = "fieldPath must be non-empty if specified"
            errs.append(errors.invalid_value(at, path, message))
        if _has_newline(path):
            message = "fieldPath must not contain line breaks"
            errs.append(errors.invalid_value(at, path, message))
        try:
            node = structural.build(schema)
        except structural.NotStructural:
            return
        if fieldpaths.resolve(path, node).node is None:
            errs.append(errors.invalid_value(at, path, "fieldPath must be a valid path"))

    def _compiled_rules(self, node: Node, at: str, within: _Within, root: bool) -> None:
        from apiserver_app.apiextensions.schema import rules

        is_root = root or node.embedded
        compiled = rules.compile_all(node, is_root=is_root, version=within.version)
        for index, rule in enumerate(compiled):
            where = f"{at}.{structural.VALIDATIONS}[{index}]"
            printed = _go_rule(rule.source)
            if not rule.error:
                costs = rules.costs(rule, node, is_root=is_root, version=within.version)
                places = costs.places if within.cardinality is None else within.cardinality
                self._cost(f"{where}.rule", "rule", costs.rule * places)
                if rule.message is not None:
                    self._cost(f"{where}.messageExpression", "messageExpression", costs.message)
            if rule.error:
                self._rules.append(errors.invalid_value(f"{where}.rule", printed, rule.error))
            if rule.message_error:
                at_ = f"{where}.messageExpression"
                self._rules.append(errors.invalid_value(at_, printed, rule.message_error))
            if rule.uses_old and within.uncorrelated:
                message = (
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    f"{within.uncorrelated}"
                )
                text = rule.source.get("rule") or ""
                self._rules.append(errors.invalid_value(f"{where}.rule", text, message))
            elif not rule.uses_old and rule.source.get("optionalOldSelf") is not None:
                message = "may not be set if oldSelf is not used in rule"
                value = bool(rule.source["optionalOldSelf"])
                self._rules.append(errors.invalid_value(f"{where}.optionalOldSelf", value, message))

    def _cost(self, where: str, what: str, cost: int) -> None:
        cost = min(cost, intervals.MOST)
        if self._counts and cost > COST_MAX:
            text = _exceeds(f"estimated {what} cost", cost, COST_MAX)
            self._rules.append(errors.forbidden_value(where, text))
        self.costs.append((cost, where))


def _defaults(node: Node, at: str) -> Errors:
    """Validates that defaults are pruned and valid under their own schema."""
    errs: Errors = []
    if node.has_default:
        value = customtype.copied(node.default)
        if pruning.prune(value, structural.as_root(node) if node.embedded else node):
            text = "must not have unknown fields"
            errs.append(errors.invalid_value(f"{at}.default", govalues.printed(node.default), text))
        errs += validation.validate(
            node.default, node.source, prefix=f"{at}.default", every_format=True
        )
    if node.items is not None:
        errs += _defaults(node.items, f"{at}.items")
    for name, child in node.properties.items():
        errs += _defaults(child, paths.key(f"{at}.properties", name))
    return errs


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def _go_rule(rule: Schema) -> errors.GoText:
    """A rule as Go prints its struct."""
    words = ", ".join(
        f"{name[0].upper()}{name[1:]}:{json.dumps(rule.get(name) or '', ensure_ascii=False)}"
        for name in ("rule", "message", "messageExpression")
    )
    path = json.dumps(rule.get("fieldPath") or "", ensure_ascii=False)
    return errors.GoText(
        f"apiextensions.ValidationRule{{{words}, "
        f"Reason:{_pointer('apiextensions.FieldValueErrorReason', rule.get('reason'))}, "
        f"FieldPath:{path}, OptionalOldSelf:{_pointer('bool', rule.get('optionalOldSelf'))}}}"
    )


def _pointer(kind: str, value: Any) -> str:
    return f"(*{kind})({'nil' if value is None else '0xc000000000'})"
