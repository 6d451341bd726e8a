"""Type-checks expressions before they are evaluated.

Reports every error, as upstream's checker does, and returns the type of the expression.

Models cel-go checker/{checker,errors}.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.cel import types
from apiserver_app.cel.errors import Issue
from apiserver_app.cel.functions import FUNCTIONS, Function, Overload
from apiserver_app.cel.functions import type_name as value_type
from apiserver_app.cel.syntax.lexer import KEYWORDS
from apiserver_app.cel.syntax.tree import (
    Bind,
    Call,
    Const,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Node,
    Select,
    Struct,
    Visitor,
)
from apiserver_app.cel.types import BOOL, DYN, ERROR, INT, Type
from apiserver_app.machinery.releases import Release

TYPE_NAMES = frozenset(
    """
    int uint double bool string bytes list map null_type type google.protobuf.Timestamp
    google.protobuf.Duration optional_type net.IP net.CIDR
    """.split()
)
_KEYWORD_FIELDS = Release(31)  # since when reserved words may name fields
_DEFAULT_FIELDS: Mapping[str, Type] = {}


class Checker(Visitor[Type]):
    """Checks one tree. `structs` are the messages that may be constructed."""

    def __init__(
        self,
        variables: Mapping[str, Type],
        version: Release,
        structs: Mapping[str, Type] = _DEFAULT_FIELDS,
    ) -> None:
        self.issues: list[Issue] = []
        self.types: dict[int, Type] = {}  # of each node, by its id
        self._scope: dict[str, Type] = dict(variables)
        self._dotted = frozenset(name for name in variables if "." in name)
        self._version = version
        self._structs = structs

    def check(self, node: Node) -> Type:
        result = self.types[id(node)] = node.accept(self)
        return result

    def visit_const(self, node: Const) -> Type:
        return Type(value_type(node.value))

    def _report(self, at: int, text: str) -> Type:
        issue = Issue(at, text)
        if issue not in self.issues:
            self.issues.append(issue)
        return ERROR

    # -- names and fields -------------------------------------------------------------------

    def visit_ident(self, node: Ident) -> Type:
        declared = self._scope.get(node.name)
        if declared is not None:
            return declared
        if node.name in TYPE_NAMES:
            return Type("type", (Type(node.name),))
        return self._report(node.at, f"undeclared reference to '{node.name}' (in container '')")

    def visit_select(self, node: Select) -> Type:
        dotted = node.qualified()
        if dotted in self._dotted:
            return self._scope[dotted]
        if dotted in TYPE_NAMES:
            return Type("type", (Type(dotted),))
        operand = self.check(node.operand)
        optional = node.optional
        if operand.name == "optional_type":
            optional = True
            operand = types.optional_item(operand)
        result = self._field(node, operand)
        if node.test:
            return BOOL
        return types.optional_of(result) if optional else result

    def _field(self, node: Select, operand: Type) -> Type:
        if operand.name in ("dyn", "*error*"):
            return DYN
        if operand.name == "map":
            return operand.params[1] if operand.params else DYN
        if operand.fields is not None:
            field_type = operand.fields.get(node.field)
            if field_type is None and node.field in KEYWORDS and self._version >= _KEYWORD_FIELDS:
                field_type = operand.fields.get(f"__{node.field}__")
                node.field = node.field if field_type is None else f"__{node.field}__"
            return field_type or self._report(node.at, f"undefined field '{node.field}'")
        return self._report(node.at, f"type '{operand}' does not support field selection")

    def visit_struct(self, node: Struct) -> Type:
        struct = self._structs.get(node.name)
        if struct is None:
            for _, _, value, _ in node.fields:
                self.check(value)
            if node.name in TYPE_NAMES:
                return self._report(node.at, f"'{node.name}' is not a message type")
            return self._report(node.at, f"undeclared reference to '{node.name}' (in container '')")
        for offset, name, value, optional in node.fields:
            actual = self.check(value)
            expected = DYN if struct.fields is None else struct.fields.get(name)
            if expected is None:
                self._report(offset, f"undefined field '{name}'")
                continue
            if optional and actual.name == "optional_type":
                actual = types.optional_item(actual)
            if not types.assignable(expected, actual, {}):
                self._report(
                    offset,
                    f"expected type of field '{name}' is '{expected}' "
                    f"but provided type is '{actual}'",
                )
        return struct

    # -- calls ------------------------------------------------------------------------------

    def visit_call(self, node: Call) -> Type:
        argument_types = [self.check(arg) for arg in node.args]
        if node.name in ("_&&_", "_||_"):
            return self._logical(node, argument_types)
        if node.target is None:
            return self._resolve(node, node.name, False, argument_types)
        whole = node.target.qualified()
        if (
            whole
            and (function := FUNCTIONS.get(f"{whole}.{node.name}"))
            and whole not in self._scope
        ):
            if any(self._served(overload) for overload in function.overloads):
                node.target, node.name = None, f"{whole}.{node.name}"
                return self._resolve(node, node.name, False, argument_types)
        return self._resolve(node, node.name, True, [self.check(node.target), *argument_types])

    def _logical(self, node: Call, argument_types: list[Type]) -> Type:
        for arg, argument_type in zip(node.args, argument_types, strict=True):
            if not types.assignable(BOOL, argument_type, {}):
                applied = f"({', '.join(map(str, argument_types[:2]))})"
                del arg
                return self._report(
                    node.at, f"found no matching overload for '{node.name}' applied to '{applied}'"
                )
        return BOOL

    def _served(self, overload: Overload) -> bool:
        return overload.since <= self._version

    def _resolve(self, node: Call, name: str, member: bool, arguments: list[Type]) -> Type:
        function: Function | None = FUNCTIONS.get(name)
        if function is None or not any(map(self._served, function.overloads)):
            return self._report(node.at, f"undeclared reference to '{name}' (in container '')")
        result: Type | None = None
        for overload in function.overloads:
            if (
                overload.member != member
                or len(overload.params) != len(arguments)
                or not self._served(overload)
            ):
                continue
            known: dict[str, Type] = {}
            if all(
                types.assignable(expected, actual, known)
                for expected, actual in zip(overload.params, arguments, strict=True)
            ):
                filled = types.filled(overload.result, known)
                result = filled if result is None else types.joined(result, filled)
        if result is not None:
            return result
        if any(argument.name == "*error*" for argument in arguments):
            return ERROR
        printed = list(map(str, arguments))
        applied = (
            f"{printed[0]}.({', '.join(printed[1:])})" if member else f"({', '.join(printed)})"
        )
        return self._report(
            node.at, f"found no matching overload for '{name}' applied to '{applied}'"
        )

    # -- collections and macros -------------------------------------------------------------

    def visit_list(self, node: ListNode) -> Type:
        item: Type | None = None
        for element, optional in node.items:
            item = self._item(element, optional, item)
        return types.list_of(item or DYN)

    def _item(self, node: Node, optional: bool, previous: Type | None) -> Type:
        """Returns the common type of the items or values of a literal; the validators check that
        they have one type."""
        actual = self.check(node)
        if optional:
            if actual.name not in ("optional_type", "dyn", "*error*"):
                expected = types.optional_of(actual)
                self._report(node.at, f"expected type '{expected}' but found '{actual}'")
            actual = types.optional_item(actual)
        return actual if previous is None else types.general(previous, actual)

    def visit_map(self, node: MapNode) -> Type:
        key: Type | None = None
        value: Type | None = None
        for its_key, its_value, optional in node.entries:
            key = self._item(its_key, False, key)
            value = self._item(its_value, optional, value)
        return types.map_of(key or DYN, value or DYN)

    def visit_fold(self, node: Fold) -> Type:
        ranged = self.check(node.range)
        first, second = self._iterated(node, ranged)
        names = node.names
        outer = {name: self._scope.get(name) for name in names}
        if len(names) == 1:
            self._scope[names[0]] = first
        else:
            self._scope[names[0]] = first if ranged.name == "map" else INT
            if ranged.name in ("dyn", "*error*"):
                self._scope[names[0]] = DYN
            self._scope[names[1]] = second
        if node.filter is not None:
            self._wants_bool(node.filter)
        result = self._folded(node)
        for name, outer_type in outer.items():
            if outer_type is None:
                self._scope.pop(name, None)
            else:
                self._scope[name] = outer_type
        if ranged.name == "map" and node.kind in ("transformMap",):
            return types.map_of(first, result.params[1])
        return result

    def _iterated(self, node: Fold, ranged: Type) -> tuple[Type, Type]:
        if ranged.name == "list":
            item = ranged.params[0] if ranged.params else DYN
            return item, item
        if ranged.name == "map":
            return ranged.params or (DYN, DYN)  # type: ignore[return-value]
        if ranged.name not in ("dyn", "*error*"):
            self._report(
                node.range.at,
                f"expression of type '{ranged}' cannot be range of a comprehension "
                "(must be list, map, or dynamic)",
            )
        return DYN, DYN

    def _folded(self, node: Fold) -> Type:
        kind = node.kind
        if kind in ("all", "exists", "existsOne"):
            self._wants_bool(node.body)
            return BOOL
        if kind == "filter":
            self._wants_bool(node.body)
            return types.list_of(self._scope[node.names[0]])
        body = self.check(node.body)
        if kind in ("map", "transformList"):
            return types.list_of(body)
        if kind == "transformMap":
            return types.map_of(DYN, body)
        return body if body.name == "map" else types.map_of(DYN, DYN)

    def _wants_bool(self, node: Node) -> None:
        actual = self.check(node)
        if not types.assignable(BOOL, actual, {}):
            self._report(node.at, f"expected type 'bool' but found '{actual}'")

    def visit_bind(self, node: Bind) -> Type:
        value = self.check(node.value)
        inner = value.params[0] if value.name == "optional_type" and value.params else DYN
        if value.name not in ("optional_type", "dyn", "*error*"):
            self._report(
                node.at, f"found no matching overload for '{node.kind}' applied to '{value}.()'"
            )
        outer = self._scope.get(node.name)
        self._scope[node.name] = inner
        body = self.check(node.body)
        if outer is None:
            del self._scope[node.name]
        else:
            self._scope[node.name] = outer
        if node.kind == "optFlatMap":
            return body
        return types.optional_of(body)
