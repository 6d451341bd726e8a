"""Devices of resource.k8s.io/v1beta1, whose requests and devices were flat or wrapped otherwise.

Later versions wrap a request for one class of devices into `exactly`, and do not wrap what a
device has into `basic`. An object is copied, never changed.

Models kubernetes pkg/apis/resource/v1beta1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.machinery.meta import Object

Change = Callable[[dict[str, Any]], dict[str, Any]]
OLD = "resource.k8s.io/v1beta1"
_KEPT = ("name", "firstAvailable")


def newer(obj: Object, api_version: str) -> Object:
    """An object of v1beta1 in a later version."""
    return _changed(obj, api_version, _wrap_request, _unwrap_device)


def older(obj: Object) -> Object:
    """An object of a later version in v1beta1."""
    return _changed(obj, OLD, _unwrap_request, _wrap_device)


def _changed(obj: Object, api_version: str, request: Change, device: Change) -> Object:
    out = {**obj, "apiVersion": api_version}
    spec = obj.get("spec")
    if not spec:
        return out
    if obj["kind"] == "ResourceClaim":
        out["spec"] = _claim(spec, request)
    elif obj["kind"] == "ResourceClaimTemplate" and spec.get("spec"):
        out["spec"] = {**spec, "spec": _claim(spec["spec"], request)}
    elif obj["kind"] == "ResourceSlice" and spec.get("devices"):
        out["spec"] = {**spec, "devices": [device(item) for item in spec["devices"]]}
    return out


def _claim(spec: dict[str, Any], change: Change) -> dict[str, Any]:
    requests = (spec.get("devices") or {}).get("requests")
    if not requests:
        return spec
    return {
        **spec,
        "devices": {**spec["devices"], "requests": [change(request) for request in requests]},
    }


def _wrap_request(request: dict[str, Any]) -> dict[str, Any]:
    inner = {name: value for name, value in request.items() if name not in _KEPT}
    kept = {name: value for name, value in request.items() if name in _KEPT}
    if any(value not in ("", 0, None) for value in inner.values()):
        kept = {"name": request.get("name") or "", "exactly": inner, **kept}
    return kept


def _unwrap_request(request: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in request.items() if name != "exactly"}
    name, inner = kept.pop("name", ""), request.get("exactly") or {}
    # the class is written even when there is none
    return {"name": name, "deviceClassName": "", **inner, **kept}


def _wrap_device(device: dict[str, Any]) -> dict[str, Any]:
    inner = {name: value for name, value in device.items() if name != "name"}
    return {"name": device.get("name") or "", "basic": inner}


def _unwrap_device(device: dict[str, Any]) -> dict[str, Any]:
    return {"name": device.get("name") or "", **(device.get("basic") or {})}
