"""Resource requirements: names, quantities, requests against limits, QoS class.

Quantities are compared exactly, in billionths. Results are cached, since a cluster uses few
different quantities.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateResourceRequirements),
pkg/apis/core/helper/helpers.go and pkg/apis/core/helper/qos/qos.go.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.syntax import quantity as quantities
from apiserver_app.registry.validation import gosyntax

NOT_NEGATIVE = "must be greater than or equal to 0"
NOT_INTEGER = "must be an integer"
STANDARD_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_STANDARD = {
    *STANDARD_CONTAINER,
    *"requests.cpu requests.memory requests.ephemeral-storage requests.storage".split(),
    *"limits.cpu limits.memory limits.ephemeral-storage".split(),
    *"pods resourcequotas services replicationcontrollers secrets configmaps".split(),
    *"persistentvolumeclaims storage services.nodeports services.loadbalancers".split(),
}
_STANDARD_QUOTA = _STANDARD - {"storage"}
_INTEGER = frozenset(
    """
    pods services replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims
    services.nodeports services.loadbalancers
    """.split()
)
_NANO = -9
_MILLI = -3
_UNIT = 10**9  # a unit in the billionths of `nano`


@functools.lru_cache(4096)
def nano(text: str | float) -> int:
    """A quantity in billionths, rounded up. Decoding has refused invalid ones."""
    return quantities.parse(quantities.canonical(text)).scaled(_NANO)


@functools.lru_cache(4096)
def canonical(text: str | float) -> str:
    """The quantity as upstream writes it back, rounded up to thousandths."""
    written = quantities.canonical(text)
    amount = quantities.parse(written)
    if amount.scaled(_MILLI) * 10**6 != amount.scaled(_NANO):
        return str(quantities.from_milli(amount.scaled(_MILLI), amount.format))
    return written


def canonicalize(amounts: dict[str, Any]) -> None:
    for name, value in amounts.items():
        written = canonical(value)
        if written != value:
            amounts[name] = written


def validate(
    resources: Mapping[str, Any],
    path: str,
    claim_names: set[str],
    errs: list[FieldError],
    name_rule: Callable[[str, str, list[FieldError]], None] | None = None,
) -> None:
    """Limits, requests and claims of a container."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    rule = name_rule or container_name
    for name, value in limits.items():
        rule(name, f"{path}.limits[{name}]", errs)
        quantity(name, value, f"{path}.limits[{name}]", errs)
    for name, value in requests.items():
        rule(name, f"{path}.requests[{name}]", errs)
        quantity(name, value, f"{path}.requests[{name}]", errs)
        _against_limit(name, value, limits.get(name), path, errs)
    huge = any(name.startswith("hugepages-") for name in (*limits, *requests))
    if huge and not any(name in ("cpu", "memory") for name in (*limits, *requests)):
        errs.append(errors.forbidden_value(path, "HugePages require cpu or memory"))
    if resources.get("claims"):
        _claims(resources["claims"], claim_names, f"{path}.claims", errs)


def quantity(name: str, value: Any, path: str, errs: list[FieldError]) -> None:
    amount = nano(value)
    if amount < 0:
        errs.append(errors.invalid_value(path, canonical(value), NOT_NEGATIVE))
    if (name in _INTEGER or is_extended(name)) and (amount % _UNIT or _overflows(amount)):
        errs.append(errors.invalid_value(path, gosyntax.quantity(value), NOT_INTEGER))


def _overflows(amount: int) -> bool:
    """Whether the thousandths, which upstream counts in an int64 that wraps round, look broken."""
    milli = amount // 10**6
    return not -(1 << 63) <= milli < 1 << 63 and _as_int64(milli) % 1000 != 0


def _as_int64(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def positive(value: Any, path: str, errs: list[FieldError]) -> None:
    if nano(value) <= 0:
        text = "must be greater than zero"
        errs.append(errors.invalid_value(path, canonical(value), text))


def basic(value: Any, path: str, errs: list[FieldError]) -> None:
    """Validates that an amount is not negative, with upstream's message for volumes."""
    amount = _as_int64(-(-nano(value) // _UNIT))
    if amount < 0:
        text = "must be a valid resource quantity"
        errs.append(errors.invalid_value(path, amount, text))


def fraction_warning(amounts: Mapping[str, Any], name: str, path: str, warnings: list[str]) -> None:
    """Warns of an amount of bytes that is not a whole number."""
    value = amounts.get(name)
    if value is not None and nano(value) % 10**9:
        text = f'fractional byte value "{canonical(value)}" is invalid, must be an integer'
        warnings.append(f"{path}[{name}]: {text}")


def resource_name(name: str, path: str, errs: list[FieldError]) -> None:
    messages = names.qualified_name_errors(name)
    for text in messages:
        errs.append(errors.invalid_value(path, errors.GoText(name), text))
    if not messages and "/" not in name and name not in _STANDARD and not _is_prefixed(name):
        text = "must be a standard resource type or fully qualified"
        errs.append(errors.invalid_value(path, errors.GoText(name), text))


def container_name(name: str, path: str, errs: list[FieldError]) -> None:
    if name in STANDARD_CONTAINER:
        return
    resource_name(name, path, errs)
    if "/" not in name:
        if not name.startswith("hugepages-"):
            text = "must be a standard resource for containers"
            errs.append(errors.invalid_value(path, errors.GoText(name), text))
    elif not _is_native(name) and not is_extended(name):
        text = "doesn't follow extended resource name standard"
        errs.append(errors.invalid_value(path, errors.GoText(name), text))


def quota_name(name: str, path: str, errs: list[FieldError]) -> None:
    resource_name(name, path, errs)
    if "/" not in name and name not in _STANDARD_QUOTA and not _is_prefixed(name):
        text = "must be a standard resource for quota"
        errs.append(errors.invalid_value(path, errors.GoText(name), text))


def is_standard_quota(name: str) -> bool:
    return name in _STANDARD_QUOTA or _is_prefixed(name)


def is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name_errors(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith("hugepages-")


def qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort, from the whole pod's cpu and memory if it says so, else
    from every container's."""
    guaranteed = True
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    for resources in _amounts_of(spec):
        if not resources:
            guaranteed = False
            continue
        _gather(resources.get("requests"), requests)
        limited = _gather(resources.get("limits"), limits)
        if len(limited) != 2:
            guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and requests == limits and len(limits) == len(requests):
        return "Guaranteed"
    return "Burstable"


# -- inside -------------------------------------------------------------------------------------


def _amounts_of(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any] | None]:
    if spec.get("resources") is not None:
        yield spec["resources"]
        return
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            yield container.get("resources")


def _gather(amounts: Mapping[str, Any] | None, into: dict[str, int]) -> set[str]:
    seen = set()
    for name in ("cpu", "memory"):
        if amounts and name in amounts:
            amount = nano(amounts[name])
            if amount > 0:
                seen.add(name)
                into[name] = into.get(name, 0) + amount
    return seen


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_prefixed(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-", "limits.hugepages-"))


def _against_limit(name: str, value: Any, limit: Any, path: str, errs: list[FieldError]) -> None:
    if limit is None:
        if not may_overcommit(name):
            text = "Limit must be set for non overcommitable resources"
            errs.append(errors.required(f"{path}.limits", text))
        return
    if value == limit:
        return
    requested, allowed = nano(value), nano(limit)
    if requested != allowed and not may_overcommit(name):
        text = f"must be equal to {name} limit of {canonical(limit)}"
        errs.append(errors.invalid_value(f"{path}.requests", canonical(value), text))
    elif requested > allowed:
        text = f"must be less than or equal to {name} limit of {canonical(limit)}"
        errs.append(errors.invalid_value(f"{path}.requests", canonical(value), text))


def _claims(
    claims: Sequence[Mapping[str, Any]], claim_names: set[str], path: str, errs: list[FieldError]
) -> None:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name = claim.get("name") or ""
        if not name:
            errs.append(errors.required(f"{path}[{index}]"))
            continue
        if name in seen:
            errs.append(errors.duplicate(f"{path}[{index}]", name))
        seen.add(name)
        if name not in claim_names:
            detail = "must be one of the names in pod.spec.resourceClaims"
            known = ", ".join(sorted(claim_names))
            detail += f": {known}" if known else " which is empty"
            errs.append(FieldError("FieldValueNotFound", f"{path}[{index}]", name, detail))
