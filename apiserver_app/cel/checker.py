"""What an expression says about types before it is evaluated.

Reports every finding, as upstream's checker does, and answers with the type of the whole.

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
    ("int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type",
     "google.protobuf.Timestamp", "google.protobuf.Duration", "optional_type", "net.IP",
     "net.CIDR")
)  # fmt: skip
_KEYWORD_FIELDS = Release(31)  # since when a field may be named by a reserved word
_DEFAULT_FIELDS: Mapping[str, Type] = {}


class Checker(Visitor[Type]):
    """One pass over one tree. `structs` are the messages that may be constructed."""

    def __init__(
        self,
        variables: Mapping[str, Type],
        version: Release,
        structs: Mapping[str, Type] = _DEFAULT_FIELDS,
    ) -> None:
        self.issues: list[Issue] = []
        self.types: dict[int, Type] = {}  # of each node, by its identity
        self._scope: dict[str, Type] = dict(variables)
        self._dotted = frozenset(name for name in variables if "." in name)
        self._version = version
        self._structs = structs

    def check(self, node: Node) -> Type:
        found = self.types[id(node)] = node.accept(self)
        return found

    def visit_const(self, node: Const) -> Type:
        return Type(value_type(node.value))

    def _report(self, at: int, text: str) -> Type:
        issue = Issue(at, text)
        if issue not in self.issues:
            self.issues.append(issue)
        return ERROR

    # -- names and fields -------------------------------------------------------------------

    def visit_ident(self, node: Ident) -> Type:
        found = self._scope.get(node.name)
        if found is not None:
            return found
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
            found = operand.fields.get(node.field)
            if found is None and node.field in KEYWORDS and self._version >= _KEYWORD_FIELDS:
                found = operand.fields.get(f"__{node.field}__")
                node.field = node.field if found is None else f"__{node.field}__"
            return found or self._report(node.at, f"undefined field '{node.field}'")
        return self._report(node.at, f"type '{operand}' does not support field selection")

    def visit_struct(self, node: Struct) -> Type:
        found = self._structs.get(node.name)
        if found is None:
            for _, _, value, _ in node.fields:
                self.check(value)
            if node.name in TYPE_NAMES:
                return self._report(node.at, f"'{node.name}' is not a message type")
            return self._report(node.at, f"undeclared reference to '{node.name}' (in container '')")
        for at, name, value, optional in node.fields:
            given = self.check(value)
            wanted = DYN if found.fields is None else found.fields.get(name)
            if wanted is None:
                self._report(at, f"undefined field '{name}'")
                continue
            if optional and given.name == "optional_type":
                given = types.optional_item(given)
            if not types.assignable(wanted, given, {}):
                self._report(
                    at,
                    f"expected type of field '{name}' is '{wanted}' but provided type is '{given}'",
                )
        return found

    # -- calls ------------------------------------------------------------------------------

    def visit_call(self, node: Call) -> Type:
        given = [self.check(arg) for arg in node.args]
        if node.name in ("_&&_", "_||_"):
            return self._logical(node, given)
        if node.target is None:
            return self._resolve(node, node.name, False, given)
        whole = node.target.qualified()
        if whole and (found := FUNCTIONS.get(f"{whole}.{node.name}")) and whole not in self._scope:
            if any(self._served(one) for one in found.overloads):
                node.target, node.name = None, f"{whole}.{node.name}"
                return self._resolve(node, node.name, False, given)
        return self._resolve(node, node.name, True, [self.check(node.target), *given])

    def _logical(self, node: Call, given: list[Type]) -> Type:
        for arg, one in zip(node.args, given, strict=True):
            if not types.assignable(BOOL, one, {}):
                both = f"({', '.join(map(str, given[:2]))})"
                del arg
                return self._report(
                    node.at, f"found no matching overload for '{node.name}' applied to '{both}'"
                )
        return BOOL

    def _served(self, one: Overload) -> bool:
        return one.since <= self._version

    def _resolve(self, node: Call, name: str, member: bool, given: list[Type]) -> Type:
        function: Function | None = FUNCTIONS.get(name)
        if function is None or not any(map(self._served, function.overloads)):
            return self._report(node.at, f"undeclared reference to '{name}' (in container '')")
        result: Type | None = None
        for one in function.overloads:
            if one.member != member or len(one.params) != len(given) or not self._served(one):
                continue
            known: dict[str, Type] = {}
            if all(
                types.assignable(wanted, its, known)
                for wanted, its in zip(one.params, given, strict=True)
            ):
                filled = types.filled(one.result, known)
                result = filled if result is None else types.joined(result, filled)
        if result is not None:
            return result
        if any(one.name == "*error*" for one in given):
            return ERROR
        shown = list(map(str, given))
        applied = f"{shown[0]}.({', '.join(shown[1:])})" if member else f"({', '.join(shown)})"
        return self._report(
            node.at, f"found no matching overload for '{name}' applied to '{applied}'"
        )

    # -- collections and macros -------------------------------------------------------------

    def visit_list(self, node: ListNode) -> Type:
        item: Type | None = None
        for one, optional in node.items:
            item = self._item(one, optional, item)
        return types.list_of(item or DYN)

    def _item(self, node: Node, optional: bool, before: Type | None) -> Type:
        """What the items or values of a literal have in common; that they are of one type is the
        validators' matter."""
        given = self.check(node)
        if optional:
            if given.name not in ("optional_type", "dyn", "*error*"):
                wanted = types.optional_of(given)
                self._report(node.at, f"expected type '{wanted}' but found '{given}'")
            given = types.optional_item(given)
        return given if before is None else types.general(before, given)

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
        held = {name: self._scope.get(name) for name in names}
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
        for name, one in held.items():
            if one is None:
                self._scope.pop(name, None)
            else:
                self._scope[name] = one
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
        given = self.check(node)
        if not types.assignable(BOOL, given, {}):
            self._report(node.at, f"expected type 'bool' but found '{given}'")

    def visit_bind(self, node: Bind) -> Type:
        value = self.check(node.value)
        inner = value.params[0] if value.name == "optional_type" and value.params else DYN
        if value.name not in ("optional_type", "dyn", "*error*"):
            self._report(
                node.at,
                f"found no matching overload for '{node.kind}' applied to '{value}.()'",
            )
        held = self._scope.get(node.name)
        self._scope[node.name] = inner
        body = self.check(node.body)
        if held is None:
            del self._scope[node.name]
        else:
            self._scope[node.name] = held
        if node.kind == "optFlatMap":
            return body
        return types.optional_of(body)
