"""What the functions of Kubernetes' libraries cost, by name.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/cost.go (EstimateCallCost).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Protocol

from apiserver_app.cel.cost.intervals import MOST, ONE, ZERO, Interval
from apiserver_app.cel.syntax.tree import Call, Const, Node
from apiserver_app.cel.types import Type

TRAVERSAL, REGEX = 0.1, 0.25
_CHECK = Interval(350_000, 350_000)  # two are allowed in an expression
_FORMAT_MAX, _NAME_REGEX_MAX = 64, 128
# of a selector: the list, how many requirements a character may be, and what one takes
_SELECTOR, _REQUIREMENTS, _A_REQUIREMENT = Interval(10, 10), 0.5, 50.0
_ADDRESS = Interval(4, 16)  # bytes of one
_EQUAL_AT_ONCE = frozenset(
    """
    net.IP net.CIDR kubernetes.Quantity kubernetes.Semver kubernetes.authorization.Authorizer
    kubernetes.authorization.PathCheck kubernetes.authorization.GroupCheck
    kubernetes.authorization.ResourceCheck kubernetes.authorization.Decision
    """.split()
)


class CallCost(NamedTuple):
    """The cost of a call without its arguments', and the size of its result where that is known."""

    cost: Interval
    size: Interval | None = None


class Sizes(Protocol):
    def size(self, node: Node) -> Interval: ...

    def item(self, node: Node) -> tuple[Type, Interval] | None: ...

    def type_of(self, node: Node) -> Type: ...


NOMINAL = CallCost(ONE)


def known_cost(sizes: Sizes, node: Call) -> CallCost | None:
    """None when the function is one of the language itself."""
    if node.name == "_==_" and len(node.args) == 2:
        return _equal(sizes, node)
    find = _FUNCTIONS.get(node.name)
    return find(sizes, node) if find is not None else None


def _equal(sizes: Sizes, node: Call) -> CallCost | None:
    left, right = map(sizes.type_of, node.args)
    if left != right:
        return None
    if left.name in _EQUAL_AT_ONCE:
        return NOMINAL
    if left.name == "kubernetes.NamedFormat":
        return CallCost(Interval(1, _FORMAT_MAX).times(TRAVERSAL))
    return None


def _nominal(sizes: Sizes, node: Call) -> CallCost:
    return NOMINAL


def _check(sizes: Sizes, node: Call) -> CallCost:
    return CallCost(_CHECK)


def _read(factor: float, *, keeps: bool = False) -> Callable[[Sizes, Call], CallCost | None]:
    """The text that is the argument is read."""

    def cost(sizes: Sizes, node: Call) -> CallCost | None:
        if not node.args:
            return None
        size = sizes.size(node.args[0])
        return CallCost(size.times(factor), size if keeps else None)

    return cost


def _rewritten(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None:
        return None
    size = sizes.size(node.target)
    return CallCost(size.times(TRAVERSAL), size)


def _of_list(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None:
        return None
    size, item = sizes.size(node.target), sizes.item(node.target)
    if item is None:  # a text has indexOf, too
        return CallCost(size.times(TRAVERSAL))
    each = ONE
    if item[0].name in ("string", "bytes"):
        each += item[1].times(TRAVERSAL)
    return CallCost(size.by(each))


def _replace(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None or len(node.args) < 2:
        return None
    text, old, new = (sizes.size(operand) for operand in (node.target, *node.args[:2]))
    count_most = count_least = kept_most = kept_least = 0
    if old.least == 0:
        count_most, kept_most = min(text.most + 1, MOST), text.most
    elif new.most <= old.least:
        kept_most = text.most
    else:
        count_most = math.ceil(text.most / old.least)
    if old.most == 0:
        count_least, kept_least = min(text.least + 1, MOST), text.least
    elif old.most <= new.least:
        kept_least = text.least
    else:
        count_least = math.ceil(text.least / old.most)
    size = Interval(count_least, count_most).by(new) + Interval(kept_least, kept_most)
    return CallCost(text.times(2 * TRAVERSAL), size)


def _split(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None:
        return None
    size = sizes.size(node.target)
    most = size.most
    if len(node.args) > 1 and isinstance(node.args[1], Const):
        most = int(node.args[1].value) % (MOST + 1)
    return CallCost(size.times(2 * TRAVERSAL), Interval(0, most))


def _join(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None:
        return None
    count, item = sizes.size(node.target), sizes.item(node.target)
    size = count.by(item[1]) if item is not None else ZERO
    if node.args:
        between = Interval(max(0, count.least - 1), max(0, count.most - 1))
        size += sizes.size(node.args[0]).by(between)
    return CallCost(size.times(TRAVERSAL), size)


def _find(sizes: Sizes, node: Call) -> CallCost | None:
    if node.target is None or not node.args:
        return None
    text = sizes.size(node.target)
    regex = sizes.size(node.args[0]).times(REGEX)
    return CallCost((text + ONE).times(TRAVERSAL).by(regex), Interval(0, text.most))


def _ip(sizes: Sizes, node: Call) -> CallCost | None:
    return CallCost(sizes.size(node.args[0]).times(TRAVERSAL)) if node.args else NOMINAL


def _contains(sizes: Sizes, node: Call, *, masked: bool) -> CallCost | None:
    if not node.args:
        return None
    cost = (_ADDRESS + _ADDRESS).times(TRAVERSAL)
    if masked:
        cost += _ADDRESS.times(TRAVERSAL) + ONE
    if sizes.type_of(node.args[0]).name in ("string", "dyn"):
        cost += sizes.size(node.args[0]).times(TRAVERSAL)
    return CallCost(cost)


def _selector(sizes: Sizes, node: Call) -> CallCost | None:
    if len(node.args) != 1:
        return None
    size = sizes.size(node.args[0])
    requirements = size.times(_REQUIREMENTS).times(_A_REQUIREMENT)
    return CallCost(_SELECTOR + size.times(TRAVERSAL) + requirements)


def _validate(sizes: Sizes, node: Call) -> CallCost | None:
    if not node.args:
        return None
    size = sizes.size(node.args[0])
    return CallCost(size.times(TRAVERSAL).times(_NAME_REGEX_MAX * REGEX))


_BUILDERS = tuple(
    """
    serviceAccount path group resource subresource namespace name allowed reason error errored
    """.split()
)
_ACCESSORS = tuple(
    """
    masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast
    isGlobalUnicast format.named sign asInteger isInteger asApproximateFloat isGreaterThan
    isLessThan compareTo add sub major minor patch getScheme getHostname getHost getPort
    getEscapedPath getQuery
    """.split()
)
_FUNCTIONS: dict[str, Callable[[Sizes, Call], CallCost | None]] = {
    "check": _check,
    **dict.fromkeys((*_BUILDERS, *_ACCESSORS), _nominal),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _of_list),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _read(TRAVERSAL, keeps=True)),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _rewritten),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _read(TRAVERSAL)),
    "ip": _ip,
    "ip.isCanonical": _read(2 * TRAVERSAL),
    "containsIP": lambda sizes, node: _contains(sizes, node, masked=False),
    "containsCIDR": lambda sizes, node: _contains(sizes, node, masked=True),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _read(TRAVERSAL)),
    "validate": _validate,
}
