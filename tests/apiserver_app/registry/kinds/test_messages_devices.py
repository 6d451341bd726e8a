"""What claims, classes and slices of devices are refused for, word for word.

The rows are facts of kubernetes pkg/apis/resource/validation/validation.go.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.machinery.kinds import kinds as resources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry import kinds
from apiserver_app.registry.strategy import Strategy
from apiserver_app.registry.validation import objectmeta
from tests.apiserver_app.registry.kinds import strategies

VERSION = Release(34)
_INFOS = {info.plural: info for info in resources.resources(VERSION) if "resource" in info.group}
_STRATEGIES = kinds.strategies(list(_INFOS.values()))
CLASS = {"deviceClassName": "gpu.example.com"}
REQUEST = {"name": "gpu", "exactly": CLASS}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
ONE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
NAMED = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


def of(plural: str) -> Strategy:
    return _STRATEGIES["resource.k8s.io", "v1", plural]


def obj(plural: str, **spec: object) -> Object:
    strategy = of(plural)
    out = strategies.named(
        strategy.info.kind,
        "resource.k8s.io/v1",
        spec=copy.deepcopy(spec),
        namespace="default" if strategy.info.namespaced else None,
    )
    strategy.default(out)
    ctx = strategies.context()
    ctx.version = VERSION
    strategy.prepare_for_create(ctx, out)
    return out


def said(plural: str, **spec: object) -> list[str]:
    ctx, strategy, out = strategies.context(), of(plural), obj(plural, **spec)
    ctx.version = VERSION
    found = objectmeta.validate_object_meta(out, strategy.info.namespaced, strategy.name_rule)
    return [str(error) for error in [*found, *strategy.validate(ctx, out)]]


def selecting(expression: str) -> dict[str, Any]:
    return {**CLASS, "selectors": [{"cel": {"expression": expression}}]}


AT = "spec.devices.requests[0]"
CLAIMS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"requests": [REQUEST]}, []),
    (
        {"requests": [{"name": "gpu"}]},
        [f"{AT}: Required value: exactly one of `exactly` or `firstAvailable` is required"],
    ),
    (
        {"requests": [{**REQUEST, "firstAvailable": [{"name": "a", **CLASS}]}]},
        [f'{AT}: Invalid value: "null": exactly one of `exactly` or `firstAvailable` is required, '
         "but multiple fields are set"],
    ),
    (
        {"requests": [REQUEST, REQUEST]},
        ['spec.devices.requests[1]: Duplicate value: "gpu"'],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": {}}]},
        [f"{AT}.exactly.deviceClassName: Required value"],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": {**CLASS, "allocationMode": "All", "count": 2}}]},
        [f"{AT}.exactly.count: Invalid value: 2: "
         "must not be specified when allocationMode is 'All'"],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": {**CLASS, "allocationMode": "Some"}}]},
        [f'{AT}.exactly.allocationMode: Unsupported value: "Some": '
         'supported values: "All", "ExactCount"'],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": {**CLASS, "count": -1}}]},
        [f"{AT}.exactly.count: Invalid value: -1: must be greater than zero"],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": selecting('device.driver == "a"')}]},
        [],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": selecting(
            'device.attributes["a.example.com"].model == "x" && '
            'device.capacity["a.example.com"].memory.isGreaterThan(quantity("1Gi"))')}]},
        [],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": selecting("device.driver")}]},
        [f'{AT}.exactly.selectors[0].cel.expression: Invalid value: "device.driver": '
         "must evaluate to bool or the unknown type, not string"],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": selecting("devices")}]},
        [f'{AT}.exactly.selectors[0].cel.expression: Invalid value: "devices": compilation '
         "failed: ERROR: <input>:1:1: undeclared reference to 'devices' (in container '')\n"
         " | devices\n | ^"],
    ),
    (
        {"requests": [{"name": "gpu", "exactly": {**CLASS, "selectors": [{}]}}]},
        [f"{AT}.exactly.selectors[0].cel: Required value"],
    ),
    (
        {"requests": [{"name": "gpu", "firstAvailable": [
            {"name": "a", **CLASS}, {"name": "a", **CLASS}]}]},
        [f'{AT}.firstAvailable[1]: Duplicate value: "a"'],
    ),
    (
        {"requests": [REQUEST], "constraints": [
            {"requests": ["cpu", "gpu/a/b"], "matchAttribute": "model"}, {}]},
        [f'spec.devices.constraints[0].requests[0]: Invalid value: "cpu": {NAMED}',
         f'spec.devices.constraints[0].requests[1]: Invalid value: "gpu/a/b": {NAMED}',
         'spec.devices.constraints[0].matchAttribute: Invalid value: "model": '
         "a fully qualified name must be a domain and a name separated by a slash",
         "spec.devices.constraints[1].matchAttribute: Required value"],
    ),
    (
        {"requests": [REQUEST], "config": [
            {}, {"opaque": {"driver": "a", "parameters": [1]}}, {"opaque": {"driver": "a"}}]},
        ["spec.devices.config[0].opaque: Required value",
         'spec.devices.config[1].opaque.parameters: Invalid value: "<value omitted>": '
         "must be a valid JSON object",
         "spec.devices.config[2].opaque.parameters: Required value"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("devices", "messages"), CLAIMS)
def test_a_claim_of_devices_is_told_what_is_wrong(
    devices: dict[str, Any], messages: list[str]
) -> None:
    assert said("resourceclaims", devices=devices) == messages
    deep = [text.replace("spec.devices", "spec.spec.devices") for text in messages]
    assert said("resourceclaimtemplates", spec={"devices": devices}) == deep


def test_a_request_is_for_one_device_unless_it_says_more() -> None:
    made = obj("resourceclaims", devices={"requests": [REQUEST]})

    [request] = made["spec"]["devices"]["requests"]
    assert request["exactly"] == {**CLASS, "allocationMode": "ExactCount", "count": 1}


def test_what_was_asked_for_is_fixed() -> None:
    ctx = strategies.context()
    old = obj("resourceclaims", devices={"requests": [REQUEST]})
    new = copy.deepcopy(old)
    new["spec"]["devices"]["requests"][0]["name"] = "cpu"

    assert [str(error) for error in of("resourceclaims").validate_update(ctx, new, old)] == [
        "spec: Invalid value: resource.ResourceClaimSpec{...}: field is immutable"
    ]


def test_a_claim_is_reserved_once_it_has_devices() -> None:
    ctx = strategies.context(subresource="status")
    old = obj("resourceclaims", devices={"requests": [REQUEST]})
    user = {"resource": "pods", "name": "web", "uid": "u"}
    result = {"request": "gpu", "driver": "a", "pool": "p", "device": "gpu-0"}
    held = {**old, "status": {"allocation": {"devices": {"results": [result]}}}}

    def told(status: dict[str, Any], before: Object = old) -> list[str]:
        found = of("resourceclaims").validate_status_update(ctx, {**old, "status": status}, before)
        return [str(error) for error in found]

    assert told({"reservedFor": [user]}) == [
        "status.reservedFor: Forbidden: may not be specified when `allocated` is not set"
    ]
    assert told({**held["status"], "reservedFor": [user, user, {}]}) == [
        "status.reservedFor[2].resource: Required value",
        "status.reservedFor[2].name: Required value",
        "status.reservedFor[2].uid: Required value",
        'status.reservedFor[1]: Duplicate value: "u"',
    ]
    other = {"allocation": {"devices": {"results": [{**result, "request": "cpu"}]}}}
    assert told(other) == [
        f'status.allocation.devices.results[0].request: Invalid value: "cpu": {NAMED}'
    ]
    assert told(other, held) == [
        "status.allocation: Invalid value: resource.AllocationResult{...}: field is immutable"
    ]
    strange = {"driver": "a", "pool": "p", "device": "gpu-1"}
    assert told({**held["status"], "devices": [strange]}, held) == [
        "status.devices[0]: Invalid value: a/p/gpu-1: must be an allocated device in the claim"
    ]


SLICES: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"nodeName": "node-1"}, []),
    ({"allNodes": True}, []),
    ({}, [f"spec: Required value: {ONE}"]),
    (
        {"nodeName": "node-1", "allNodes": True},
        [f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {ONE}, '
         "but multiple fields are set"],
    ),
    (
        {"nodeName": "node-1", "pool": {"name": "", "generation": -1}},
        ["spec.pool.name: Required value",
         "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
         "spec.pool.generation: Invalid value: -1: must be greater than or equal to zero"],
    ),
    (
        {"nodeName": "node-1", "devices": [{"name": "a"}, {"name": "a"}]},
        ['spec.devices[1]: Duplicate value: "a"'],
    ),
    (
        {"nodeName": "node-1", "devices": [{"name": "a", "attributes": {
            "version": {"version": "1.2"}, "/x": {"int": 1}, "two": {"int": 1, "bool": True},
            "none": {}}}]},
        ['spec.devices[0].attributes[version].version: Invalid value: "1.2": '
         "must be a string compatible with semver.org spec 2.0.0",
         'spec.devices[0].attributes: Invalid value: "": the domain must not be empty',
         "spec.devices[0].attributes[two]: Invalid value: resource.DeviceAttribute{...}: "
         "exactly one value must be specified",
         'spec.devices[0].attributes[none]: Invalid value: "": '
         "exactly one value must be specified"],
    ),
    (
        {"nodeName": "node-1", "devices": [{"name": "a", "capacity": {
            f"c{number}": {"value": "1"} for number in range(33)}}]},
        ["spec.devices[0]: Invalid value: 33: "
         "the total number of attributes and capacities must not exceed 32"],
    ),
    (
        {"nodeName": "node-1", "devices": [{"name": f"d{number}"} for number in range(129)]},
        ["spec.devices: Too many: 129: must have at most 128 items"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), SLICES)
def test_a_slice_of_devices_is_told_what_is_wrong(
    spec: dict[str, Any], messages: list[str]
) -> None:
    assert said("resourceslices", **{"driver": "a.example.com", "pool": POOL, **spec}) == messages


def test_a_slice_is_selected_by_node_and_driver() -> None:
    strategy = of("resourceslices")

    assert [strategy.field_refusal(path) for path in ("spec.nodeName", "spec.driver")] == ["", ""]
    assert strategy.field_refusal("spec.pool") == (
        "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool"
    )


def test_a_class_of_devices_selects_and_configures() -> None:
    assert said("deviceclasses", selectors=[{"cel": {"expression": "1"}}], config=[{}]) == [
        'spec.selectors[0].cel.expression: Invalid value: "1": '
        "must evaluate to bool or the unknown type, not int",
        "spec.config[0].opaque: Required value",
    ]
