"""Compiles checked expressions to Python closures that track their cost.

Every step adds to the cost as upstream's tracker does, and evaluation stops at the limit, so no
expression runs for long. `&&`, `||`, `all` and `exists` absorb errors as upstream's do.

Models cel-go interpreter/{planner,interpretable,runtimecost}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from apiserver_app.cel import operators
from apiserver_app.cel.checker import TYPE_NAMES
from apiserver_app.cel.comprehensions import FOLDS, decided
from apiserver_app.cel.errors import CostExceeded, EvaluationError
from apiserver_app.cel.functions import FUNCTIONS, NO_OVERLOAD, Function
from apiserver_app.cel.library import regex
from apiserver_app.cel.syntax.tree import (
    Bind,
    Call,
    Const,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Select,
    Struct,
    Visitor,
)
from apiserver_app.cel.values import Message, Optional, TypeValue, UInt

_NO_LIMIT = 1 << 63
_SCALARS = (str, int, float, bool, UInt)
# functions evaluated at compile time when their argument is constant
_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40


class Env:
    """One evaluation: its variables, cost and cost limit."""

    __slots__ = ("cost", "limit", "names")

    def __init__(self, names: dict[str, Any], limit: int) -> None:
        self.names = names
        self.limit = limit
        self.cost = 0

    def spend(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


Step = Callable[[Env], Any]


class Planner(Visitor[Step]):
    """Builds the closures. `dotted` are declared variables with a dot in their name."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._variables = variables
        self._bound: list[str] = []
        self._constants: dict[Step, Any] = {}  # constant values

    def visit_const(self, node: Const) -> Step:
        return self._constant(node.value)

    def _constant(self, value: Any) -> Step:
        def constant(env: Env) -> Any:
            return value

        self._constants[constant] = value
        return constant

    def _folded(self, step: Step, parts: Iterable[Step]) -> Step:
        """Evaluates a step whose parts are all constant. Raises EvaluationError."""
        if all(part in self._constants for part in parts):
            return self._constant(step(Env({}, _NO_LIMIT)))
        return step

    def visit_ident(self, node: Ident) -> Step:
        return self._named(node.name)

    def _named(self, name: str) -> Step:
        if name not in self._variables and name not in self._bound and name in TYPE_NAMES:
            value = TypeValue(name)
            return lambda env: value

        def ident(env: Env) -> Any:
            env.cost += 1
            try:
                return env.names[name]
            except KeyError:
                raise EvaluationError(f"no such attribute(s): {name}") from None

        return ident

    def visit_select(self, node: Select) -> Step:
        dotted = node.qualified()
        if "." in dotted and dotted in self._variables:
            return self._named(dotted)
        if dotted in TYPE_NAMES:
            return self._named(dotted)
        operand, name = node.operand.accept(self), node.field
        if node.test:
            return lambda env: operators.has_field(operand(env), name)
        if node.optional:
            return _optional_field(operand, name)
        get = operators.field

        def select(env: Env) -> Any:
            container = operand(env)
            env.cost += 1
            if type(container) is dict and name in container:
                return container[name]
            return get(container, name)

        return select

    # -- calls ------------------------------------------------------------------------------

    def visit_call(self, node: Call) -> Step:
        name = node.name
        args = [arg.accept(self) for arg in node.args]
        if name == "_&&_":
            return _logical(args, False)
        if name == "_||_":
            return _logical(args, True)
        if name == "_?_:_":
            return _conditional(*args)
        if name in ("or", "orValue") and node.target is not None and len(args) == 1:
            return _otherwise(node.target.accept(self), args[0], name)
        if node.target is None and name in operators.DIRECT:
            if name == "@in" and _is_set(self._constants.get(args[1])):
                return _member(args[0], self._constants[args[1]])
            return _direct(name, args, by_name=isinstance(node.args[-1], Ident))
        if node.target is not None:
            args.insert(0, node.target.accept(self))
        if name in ("find", "findAll") and type(self._constants.get(args[1])) is str:
            regex.compiled(self._constants[args[1]])
        call = _function(FUNCTIONS[name], node.target is not None, args)
        return self._folded(call, args) if name in _CONVERSIONS else call

    def visit_list(self, node: ListNode) -> Step:
        items = [(item.accept(self), optional) for item, optional in node.items]

        def build(env: Env) -> list[Any]:
            out: list[Any] = []
            for item, optional in items:
                _put(out, item(env), optional)
            env.spend(LIST_COST)
            return out

        return self._folded(build, [item for item, _ in items])

    def visit_map(self, node: MapNode) -> Step:
        entries = [
            (key.accept(self), value.accept(self), optional)
            for key, value, optional in node.entries
        ]

        def build(env: Env) -> dict[Any, Any]:
            out: dict[Any, Any] = {}
            for get_key, get_value, optional in entries:
                key, value = get_key(env), get_value(env)
                if not isinstance(key, (str, int)):
                    raise EvaluationError("unsupported key type")
                if optional:
                    if not isinstance(value, Optional):
                        raise EvaluationError(
                            f"cannot initialize optional entry '{key}' from non-optional value"
                        )
                    if not value.has:
                        continue
                    value = value.value
                if key in out:
                    raise EvaluationError(f"Failed with repeated key {key}")
                out[key] = value
            env.spend(MAP_COST)
            return out

        return self._folded(build, [part for key, value, _ in entries for part in (key, value)])

    def visit_struct(self, node: Struct) -> Step:
        fields = [(name, value.accept(self), optional) for _, name, value, optional in node.fields]
        type_name = node.name

        def build(env: Env) -> Message:
            out = Message(type_name)
            for name, get, optional in fields:
                value = get(env)
                if optional:
                    if not value.has:
                        continue
                    value = value.value
                out[name] = value
            env.spend(STRUCT_COST)
            return out

        return build

    # -- macros -----------------------------------------------------------------------------

    def visit_fold(self, node: Fold) -> Step:
        ranged = node.range.accept(self)
        self._bound += node.names
        body = node.body.accept(self)
        keep = node.filter.accept(self) if node.filter is not None else None
        del self._bound[-len(node.names) :]
        run = FOLDS[node.kind]
        names = tuple(node.names)

        def fold(env: Env) -> Any:
            over, outer = ranged(env), env.names
            env.names = dict(outer)
            try:
                return run(env, over, names, keep, body)
            finally:
                env.names = outer

        return fold

    def visit_bind(self, node: Bind) -> Step:
        value = node.value.accept(self)
        self._bound.append(node.name)
        body = node.body.accept(self)
        self._bound.pop()
        name, flat = node.name, node.kind == "optFlatMap"

        def bind(env: Env) -> Any:
            before = env.cost
            optional = value(env)
            read_cost = env.cost - before  # upstream checks for a value, then reads it
            if not isinstance(optional, Optional):
                raise EvaluationError(NO_OVERLOAD)
            env.cost += 1
            if not optional.has:
                return optional
            env.spend(read_cost + (1 if flat else 2))
            names = env.names
            env.names = {**names, name: optional.value}
            try:
                result = body(env)
            finally:
                env.names = names
            return result if flat else Optional(result)

        return bind


def _optional_field(operand: Step, name: str) -> Step:
    def select(env: Env) -> Any:
        result = operators.field_optional(operand(env), name)
        env.cost += result.has
        return result

    return select


def _put(out: list[Any], value: Any, optional: bool) -> None:
    if not optional:
        out.append(value)
    elif not isinstance(value, Optional):
        raise EvaluationError("cannot initialize optional list element from non-optional value")
    elif value.has:
        out.append(value.value)


def _logical(terms: list[Step], decisive: bool) -> Step:
    """Builds `||` when `decisive` is true, `&&` when it is false: that value wins over any
    error."""
    return lambda env: decided(env, terms, decisive)


def _conditional(test: Step, yes: Step, no: Step) -> Step:
    def conditional(env: Env) -> Any:
        value = test(env)
        if type(value) is not bool:
            raise EvaluationError(NO_OVERLOAD)
        return yes(env) if value else no(env)

    return conditional


def _otherwise(target: Step, other: Step, name: str) -> Step:
    """Builds `opt.or(opt)` and `opt.orValue(value)`, which evaluate the alternative only when
    needed."""

    def otherwise(env: Env) -> Any:
        optional = target(env)
        if not isinstance(optional, Optional):
            raise EvaluationError(NO_OVERLOAD)
        if optional.has:
            return optional.value if name == "orValue" else optional
        return other(env)

    return otherwise


def _is_set(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) in _SCALARS for item in value)


def _member(item: Step, among: list[Any]) -> Step:
    """Builds `in` of a literal list, whose lookup is free."""
    return lambda env: operators.is_in(item(env), among)


def _direct(name: str, args: list[Step], *, by_name: bool) -> Step:
    """Builds an operator's call. `by_name`: the last argument is a variable, which is free as an
    index."""
    run = operators.DIRECT[name]
    if by_name and name in ("_[_]", "_[?_]"):
        container, key_step = args
        return lambda env: run(container(env), key_step(env))
    cost = operators.COSTS.get(name)
    if len(args) == 1:
        (operand,) = args

        def unary(env: Env) -> Any:
            env.cost += 1
            return run(operand(env))

        return unary
    left, right = args
    if cost is None:

        def plain(env: Env) -> Any:
            env.cost += 1
            return run(left(env), right(env))

        return plain

    def binary(env: Env) -> Any:
        first, second = left(env), right(env)
        if type(first) is int:
            env.cost += 1 if name != "@in" else cost(first, second, None)
        else:
            env.spend(cost(first, second, None))
        return run(first, second)

    return binary


def _function(function: Function, member: bool, args: list[Step]) -> Step:
    resolve = function.resolve

    def call(env: Env) -> Any:
        values = [arg(env) for arg in args]
        overload = resolve(member, values)
        if overload.cost is None:
            env.spend(1)
        else:
            env.spend(overload.cost(*values))
        return overload.impl(*values)

    return call
