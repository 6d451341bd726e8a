"""ResourceClaims and their templates: which devices are asked for; what was asked for is fixed.

In the old version of the group requests are flat; they are looked at as the later ones have them.

Models kubernetes pkg/apis/resource/validation/validation.go, pkg/apis/resource/v1/defaults.go and
pkg/registry/resource/{resourceclaim,resourceclaimtemplate}/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, is_deleting, labels_of
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import persistentvolumeclaim
from apiserver_app.registry.core.pod import scheduling
from apiserver_app.registry.resource import devicenames, deviceversions
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta

Part = Mapping[str, Any]

ALTERNATIVES_MAX = 8
USERS_MAX = 256
_MODES = ("All", "ExactCount")
_ONE = "exactly one of `exactly` or `firstAvailable` is required"
_NAMED = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


_ADMIN_LABEL = "resource.kubernetes.io/admin-access"


class ResourceClaimStrategy(Strategy):
    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        if obj.get("status") is None:
            obj["status"] = {}
        default(obj["spec"], self.info.version)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {}
        _drop(obj["spec"], ctx.version)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        devices = (self._later(obj).get("spec") or {}).get("devices") or {}
        _admin(ctx, devices, errs)
        _claim(devices, "spec.devices", ctx.version, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return _fixed(obj, old, "resource.ResourceClaimSpec")

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _granted_admin(ctx, obj, old, errs)
        known = _known((self._later(obj).get("spec") or {}).get("devices") or {})
        status, before = obj.get("status") or {}, old.get("status") or {}
        users = status.get("reservedFor") or ()
        _users(users, "status.reservedFor", errs)
        allocation = status.get("allocation")
        _devices(status.get("devices") or (), allocation, errs)
        if users and allocation is None:
            text = "may not be specified when `allocated` is not set"
            errs.append(errors.forbidden_value("status.reservedFor", text))
        elif is_deleting(obj) and any(
            user not in (before.get("reservedFor") or ()) for user in users
        ):
            text = (
                "new entries may not be added while `deallocationRequested` or "
                "`deletionTimestamp` are set"
            )
            errs.append(errors.forbidden_value("status.reservedFor", text))
        then = before.get("allocation")
        if allocation is not None and then is not None:
            printed = errors.GoText("resource.AllocationResult{...}")
            objectmeta.immutable(allocation, then, "status.allocation", errs, printed)
        elif allocation is not None:
            _allocation(allocation, "status.allocation", known, errs)
        return errs

    def _later(self, obj: Object) -> Object:
        return deviceversions.newer(obj, "") if self.info.version == "v1beta1" else obj


class ResourceClaimTemplateStrategy(Strategy):
    def default(self, obj: Object) -> None:
        inside: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = {"metadata": {"creationTimestamp": None}, **inside}
        obj["spec"].setdefault("spec", {})
        default(obj["spec"]["spec"], self.info.version)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        _drop(obj["spec"]["spec"], ctx.version)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        later = deviceversions.newer(obj, "") if self.info.version == "v1beta1" else obj
        inside = later["spec"]
        persistentvolumeclaim.template_metadata(inside.get("metadata") or {}, "spec", errs)
        devices = (inside.get("spec") or {}).get("devices") or {}
        _admin(ctx, devices, errs)
        _claim(devices, "spec.spec.devices", ctx.version, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return _fixed(obj, old, "resource.ResourceClaimTemplateSpec")


def default(spec: dict[str, Any], version: str) -> None:
    """One device of a class, unless something else is said."""
    spec.setdefault("devices", {})
    for request in spec["devices"].get("requests") or ():
        options = request.get("firstAvailable") or ()
        inner = request.get("exactly")
        if version == "v1beta1" and request.get("deviceClassName"):
            inner = request
        for option in (*options, *(() if inner is None else (inner,))):
            if not option.get("allocationMode"):
                option["allocationMode"] = "ExactCount"
            if option["allocationMode"] == "ExactCount" and not option.get("count"):
                option["count"] = 1


# -- inside -------------------------------------------------------------------------------------


def _drop(spec: dict[str, Any], version: Release) -> None:
    """Fields behind gates that are off."""
    for request in (spec.get("devices") or {}).get("requests") or ():
        if not version.has("DRAPrioritizedList"):
            request.pop("firstAvailable", None)
        inner = request.get("exactly") or request
        for option in (inner, *(request.get("firstAvailable") or ())):
            if not version.has("DRAAdminAccess"):
                option.pop("adminAccess", None)
            if not version.has("DRADeviceTaints"):
                option.pop("tolerations", None)


def _admin(ctx: Context, devices: Part, errs: list[FieldError]) -> None:
    """Refuses the first request for the access of an administrator where that is not allowed."""
    asked = (
        f"spec.devices.requests[{index}].adminAccess"
        for index, request in enumerate(devices.get("requests") or ())
        if (request.get("exactly") or {}).get("adminAccess")
    )
    _allowed_admin(ctx, next(asked, ""), errs)


def _granted_admin(ctx: Context, obj: Object, old: Object, errs: list[FieldError]) -> None:
    """The same for what was allocated."""
    if not any(_as_admin(old)):
        paths = (
            f"status.allocation.devices.results[{index}].adminAccess"
            for index, granted in enumerate(_as_admin(obj))
            if granted
        )
        _allowed_admin(ctx, next(paths, ""), errs)


def _as_admin(obj: Object) -> list[Any]:
    devices = ((obj.get("status") or {}).get("allocation") or {}).get("devices") or {}
    return [result.get("adminAccess") for result in devices.get("results") or ()]


def _allowed_admin(ctx: Context, path: str, errs: list[FieldError]) -> None:
    """Models pkg/registry/resource/utils.go."""
    namespace = ctx.reader.get("namespaces", "", ctx.namespace) if path else None
    if path and (namespace is None or labels_of(namespace).get(_ADMIN_LABEL) != "true"):
        text = (
            f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing "
            "namespace"
        )
        errs.append(errors.forbidden_value(path, text))


def _fixed(obj: Object, old: Object, kind: str) -> list[FieldError]:
    errs: list[FieldError] = []
    printed = errors.GoText(f"{kind}{{...}}")
    objectmeta.immutable(obj.get("spec"), old.get("spec"), "spec", errs, printed)
    return errs


def _known(devices: Part) -> dict[str, set[str]]:
    """The names of requests, each with those of its alternatives."""
    return {
        request.get("name") or "": {
            option.get("name") for option in request.get("firstAvailable") or ()
        }
        for request in devices.get("requests") or ()
    }


def _claim(devices: Part, path: str, version: Release, errs: list[FieldError]) -> None:
    known = _known(devices)
    requests, at = devices.get("requests") or (), f"{path}.requests"
    if devicenames.within(requests, devicenames.LIST_MAX, at, errs):
        for index, request in enumerate(requests):
            _request(request, f"{at}[{index}]", version, errs)
        devicenames.distinct([request.get("name") or "" for request in requests], at, errs)
    constraints, at = devices.get("constraints") or (), f"{path}.constraints"
    if devicenames.within(constraints, devicenames.LIST_MAX, at, errs):
        for index, constraint in enumerate(constraints):
            _references(constraint, f"{at}[{index}]", known, errs)
            name, field = constraint.get("matchAttribute"), f"{at}[{index}].matchAttribute"
            if name is None:
                errs.append(errors.required(field))
            else:
                devicenames.qualified(name, field, errs, fully=True)
    configs, at = devices.get("config") or (), f"{path}.config"
    if devicenames.within(configs, devicenames.LIST_MAX, at, errs):
        for index, config in enumerate(configs):
            _references(config, f"{at}[{index}]", known, errs)
            devicenames.opaque(config, f"{at}[{index}]", errs)


def _request(request: Part, path: str, version: Release, errs: list[FieldError]) -> None:
    name, exactly = request.get("name") or "", request.get("exactly")
    checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
    options, at = request.get("firstAvailable") or (), f"{path}.firstAvailable"
    if options and exactly is not None:
        text = f"{_ONE}, but multiple fields are set"
        errs.append(errors.invalid_value(path, None, text))
    elif exactly is not None:
        _exact(exactly, f"{path}.exactly", version, errs)
    elif not options:
        errs.append(errors.required(path, _ONE))
    elif devicenames.within(options, ALTERNATIVES_MAX, at, errs):
        for index, alternative in enumerate(options):
            inner = alternative.get("name") or ""
            checks.named(inner, f"{at}[{index}].name", names.dns1123_label_errors, errs)
            _exact(alternative, f"{at}[{index}]", version, errs)
        devicenames.distinct([option.get("name") or "" for option in options], at, errs)


def _exact(request: Part, path: str, version: Release, errs: list[FieldError]) -> None:
    name = request.get("deviceClassName") or ""
    devicenames.device_class(name, f"{path}.deviceClassName", errs)
    selectors = request.get("selectors") or ()
    devicenames.selectors(selectors, f"{path}.selectors", version, errs)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode == "All" and count:
        text = "must not be specified when allocationMode is 'All'"
        errs.append(errors.invalid_value(f"{path}.count", count, text))
    elif mode == "ExactCount" and count <= 0:
        errs.append(errors.invalid_value(f"{path}.count", count, "must be greater than zero"))
    elif mode not in _MODES:
        errs.append(errors.not_supported(f"{path}.allocationMode", mode, _MODES))


def _references(
    part: Part, path: str, known: Mapping[str, set[str]], errs: list[FieldError]
) -> None:
    requests, at = part.get("requests") or (), f"{path}.requests"
    if devicenames.within(requests, devicenames.LIST_MAX, at, errs):
        for index, name in enumerate(requests):
            _reference(name, f"{at}[{index}]", known, errs)
        devicenames.distinct(requests, at, errs)


def _reference(name: str, path: str, known: Mapping[str, set[str]], errs: list[FieldError]) -> None:
    request, slash, option = name.partition("/")
    if "/" in option:
        errs.append(errors.invalid_value(path, name, _NAMED))
        return
    for part in (request, option) if slash else (request,):
        checks.named(part, path, names.dns1123_label_errors, errs)
    if request not in known or (slash and option not in known[request]):
        errs.append(errors.invalid_value(path, name, _NAMED))


def _users(users: Sequence[Part], path: str, errs: list[FieldError]) -> None:
    if not devicenames.within(users, USERS_MAX, path, errs):
        return
    for index, user in enumerate(users):
        for field in ("resource", "name", "uid"):
            if not user.get(field):
                errs.append(errors.required(f"{path}[{index}].{field}"))
    devicenames.distinct([user.get("uid") or "" for user in users], path, errs)


def _allocation(
    allocation: Part, path: str, known: Mapping[str, set[str]], errs: list[FieldError]
) -> None:
    devices = allocation.get("devices") or {}
    results, at = devices.get("results") or (), f"{path}.devices.results"
    if devicenames.within(results, devicenames.LIST_MAX, at, errs):
        for index, result in enumerate(results):
            here = f"{at}[{index}]"
            _reference(result.get("request") or "", f"{here}.request", known, errs)
            _device(result, here, errs)
    configs, at = devices.get("config") or (), f"{path}.devices.config"
    if devicenames.within(configs, 2 * devicenames.LIST_MAX, at, errs):
        for index, config in enumerate(configs):
            here, allowed = f"{at}[{index}]", ("FromClaim", "FromClass")
            checks.one_of(config.get("source"), f"{here}.source", allowed, errs)
            _references(config, here, known, errs)
            devicenames.opaque(config, here, errs)
    if allocation.get("nodeSelector") is not None:
        scheduling.node_selector(allocation["nodeSelector"], f"{path}.nodeSelector", errs)


def _device(device: Part, path: str, errs: list[FieldError]) -> None:
    """Which device it is: of a driver, in a pool, by name."""
    checks.csi_driver_name(device.get("driver") or "", f"{path}.driver", errs)
    devicenames.pool(device.get("pool") or "", f"{path}.pool", errs)
    name = device.get("device") or ""
    checks.named(name, f"{path}.device", names.dns1123_label_errors, errs)


def _devices(devices: Sequence[Part], allocation: Part | None, errs: list[FieldError]) -> None:
    """What drivers tell of the devices that were allocated."""
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    parts = ("driver", "pool", "device")
    allocated = [tuple(result.get(part) for part in parts) for result in results]
    for index, device in enumerate(devices):
        path = f"status.devices[{index}]"
        _device(device, path, errs)
        words = tuple(device.get(part) for part in parts)
        if words not in allocated:
            printed = errors.GoText("/".join(str(word or "") for word in words))
            text = "must be an allocated device in the claim"
            errs.append(errors.invalid_value(path, printed, text))
