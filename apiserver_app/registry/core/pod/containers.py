"""Validation of a pod's containers: images, ports, mounts, probes, hooks.

Init containers with restartPolicy Always (sidecars) may have the fields of regular containers;
other init containers and ephemeral containers may not.

Models kubernetes pkg/apis/core/validation/validation.go (validateContainers and below).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import containerrestarts, securitycontext, variables
from apiserver_app.registry.core.pod.volumes import Volumes
from apiserver_app.registry.validation import checks

Container = Mapping[str, Any]

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_NOT_EPHEMERAL = tuple(
    """
    ports resources resizePolicy restartPolicy livenessProbe readinessProbe startupProbe lifecycle
    """.split()
)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


class PodContext(msgspec.Struct):
    """The pod's data on which the validation of a container depends, and its errors."""

    volumes: Volumes
    claim_names: set[str]
    grace_seconds: int | None
    restart_policy: str
    host_users: bool
    release: Release
    errs: list[FieldError]


def regular(containers: Sequence[Container] | None, path: str, pod: PodContext) -> None:
    errs = pod.errs
    if not containers:
        errs.append(errors.required(path))
        return
    taken: set[str] = set()
    has_host_ports = False
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        _common(container, at, pod)
        name = container.get("name") or ""
        if name in taken:
            errs.append(errors.duplicate(f"{at}.name", name))
        taken.add(name)
        _hooks_and_probes(container, at, pod)
        if "restartPolicy" in container or "restartPolicyRules" in container:
            containerrestarts.validate(container, False, at, pod.release, errs)
        has_host_ports = has_host_ports or "ports" in container
    if has_host_ports:
        _host_ports(containers, path, errs)


def init(
    containers: Sequence[Container], regulars: Sequence[Container], path: str, pod: PodContext
) -> None:
    errs = pod.errs
    taken = {container.get("name") for container in regulars}
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        _common(container, at, pod)
        policy = container.get("restartPolicy")
        containerrestarts.validate(container, True, at, pod.release, errs)
        name = container.get("name")
        if name in taken:
            errs.append(errors.duplicate(f"{at}.name", name))
        elif name:
            taken.add(name)
        if "ports" in container:
            _host_ports([container], path, errs)
        if policy == "Always":
            _hooks_and_probes(container, at, pod)
            continue
        for field in ("lifecycle", *_PROBES):
            if container.get(field) is not None:
                errs.append(errors.forbidden_value(f"{at}.{field}", _ONLY_SIDECARS))


def ephemeral(
    containers: Sequence[Container], others: Sequence[Container], path: str, pod: PodContext
) -> None:
    errs = pod.errs
    known = {container.get("name") for container in others}
    taken = set(known)
    for index, container in enumerate(containers):
        at = f"{path}[{index}]"
        _common(container, at, pod)
        image_spaces(container, at, errs)
        name = container.get("name")
        if name in taken:
            errs.append(errors.duplicate(f"{at}.name", name))
        taken.add(name)
        target = container.get("targetContainerName")
        if target and target not in known:
            errs.append(errors.not_found_value(f"{at}.targetContainerName", target))
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                text = "cannot be set for an Ephemeral Container"
                errs.append(errors.forbidden_value(f"{at}.{field}", text))
        for mount_index, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    text = "cannot be set for an Ephemeral Container"
                    errs.append(
                        errors.forbidden_value(f"{at}.volumeMounts[{mount_index}].{field}", text)
                    )


def image_spaces(container: Container, path: str, errs: list[FieldError]) -> None:
    image = container.get("image") or ""
    if image and image != image.strip():
        text = "must not have leading or trailing whitespace"
        errs.append(errors.invalid_value(f"{path}.image", image, text))


# -- inside -------------------------------------------------------------------------------------


def _common(container: Container, path: str, pod: PodContext) -> None:
    errs = pod.errs
    get = container.get
    name = get("name") or ""
    if not name:
        errs.append(errors.required(f"{path}.name"))
    elif names.dns1123_label_errors(name):
        checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
    if not get("image"):
        errs.append(errors.required(f"{path}.image"))
    if get("terminationMessagePolicy") != "File":
        checks.one_of(
            get("terminationMessagePolicy"),
            f"{path}.terminationMessagePolicy",
            _MESSAGE_POLICIES,
            errs,
        )
    if get("ports"):
        _ports(container["ports"], f"{path}.ports", errs)
    if get("env"):
        variables.validate(container["env"], f"{path}.env", pod.release, errs)
    if get("envFrom"):
        variables.from_whole(container["envFrom"], f"{path}.envFrom", errs)
    if get("volumeMounts"):
        _mounts(container, f"{path}.volumeMounts", pod)
    if get("volumeDevices"):
        _devices(container, f"{path}.volumeDevices", pod)
    if get("imagePullPolicy") not in _PULL_POLICIES:
        checks.one_of(get("imagePullPolicy"), f"{path}.imagePullPolicy", _PULL_POLICIES, errs)
    if get("resources"):
        resources.validate(container["resources"], f"{path}.resources", pod.claim_names, errs)
    if get("resizePolicy"):
        _resize(container["resizePolicy"], f"{path}.resizePolicy", pod)
    if get("securityContext"):
        securitycontext.container(
            container["securityContext"], f"{path}.securityContext", pod.host_users, errs
        )


def _ports(ports: Sequence[Container], path: str, errs: list[FieldError]) -> None:
    taken: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        name = port.get("name")
        if name:
            messages = checks.port_name_errors(name)
            for text in messages:
                errs.append(errors.invalid_value(f"{at}.name", name, text))
            if not messages:
                if name in taken:
                    errs.append(errors.duplicate(f"{at}.name", name))
                taken.add(name)
        number = port.get("containerPort") or 0
        if not number:
            errs.append(errors.required(f"{at}.containerPort"))
        else:
            checks.port_number(number, f"{at}.containerPort", errs)
        if port.get("hostPort"):
            checks.port_number(port["hostPort"], f"{at}.hostPort", errs)
        if port.get("protocol") not in _PROTOCOLS:
            checks.one_of(port.get("protocol"), f"{at}.protocol", _PROTOCOLS, errs)


def _host_ports(containers: Sequence[Container], path: str, errs: list[FieldError]) -> None:
    taken: set[str] = set()
    for position, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol')}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if key in taken:
                errs.append(errors.duplicate(f"{path}[{position}].ports[{index}].hostPort", key))
            taken.add(key)


def _mounts(container: Container, path: str, pod: PodContext) -> None:
    errs = pod.errs
    taken: set[str] = set()
    devices = container.get("volumeDevices") or ()
    for index, mount in enumerate(container["volumeMounts"]):
        name, point = mount.get("name") or "", mount.get("mountPath") or ""
        if name and point and point not in taken and name in pod.volumes:
            taken.add(point)
            if not devices and len(mount) <= 3 and not mount.keys() - _PLAIN_MOUNT:
                continue
        else:
            _mount_place(name, point, taken, f"{path}[{index}]", pod)
            taken.add(point)
        _mount_devices(name, point, devices, f"{path}[{index}]", errs)
        _mount_rest(mount, container, path, index, pod)


_PLAIN_MOUNT = {"name", "mountPath", "readOnly"}


def _mount_place(name: str, point: str, taken: set[str], path: str, pod: PodContext) -> None:
    if not name:
        pod.errs.append(errors.required(f"{path}.name"))
    if name not in pod.volumes:
        pod.errs.append(errors.not_found_value(f"{path}.name", name))
    if not point:
        pod.errs.append(errors.required(f"{path}.mountPath"))
    if point in taken:
        pod.errs.append(errors.invalid_value(f"{path}.mountPath", point, "must be unique"))


def _mount_devices(
    name: str, point: str, devices: Sequence[Container], path: str, errs: list[FieldError]
) -> None:
    if any(device.get("name") == name for device in devices):
        text = "must not already exist in volumeDevices"
        errs.append(errors.invalid_value(f"{path}.name", name, text))
    if any(device.get("devicePath") == point for device in devices):
        text = "must not already exist as a path in volumeDevices"
        errs.append(errors.invalid_value(f"{path}.mountPath", point, text))


def _mount_rest(
    mount: Container, container: Container, path: str, index: int, pod: PodContext
) -> None:
    errs = pod.errs
    part, expression = mount.get("subPath"), mount.get("subPathExpr")
    if part:
        checks.local_path(part, f"{path}.subPath", errs)
    if expression:
        if part:
            text = "subPathExpr and subPath are mutually exclusive"
            errs.append(errors.invalid_value(f"{path}[{index}].subPathExpr", expression, text))
        checks.local_path(expression, f"{path}.subPathExpr", errs)
    mode = mount.get("mountPropagation")
    if mode is not None:
        if mode not in _PROPAGATIONS:
            errs.append(errors.not_supported(f"{path}.mountPropagation", mode, _PROPAGATIONS))
        privileged = (container.get("securityContext") or {}).get("privileged")
        if mode == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errs.append(errors.forbidden_value(f"{path}.mountPropagation", text))
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible") and not mount.get("readOnly"):
        text = "may only be specified when readOnly is true"
        errs.append(errors.forbidden_value(f"{path}.recursiveReadOnly", text))


def _devices(container: Container, path: str, pod: PodContext) -> None:
    errs = pod.errs
    taken_names: set[str] = set()
    taken_paths: set[str] = set()
    mounts = container.get("volumeMounts") or ()
    for index, device in enumerate(container["volumeDevices"]):
        at = f"{path}[{index}]"
        name, point = device.get("name") or "", device.get("devicePath") or ""
        if not name:
            errs.append(errors.required(f"{at}.name"))
        if name in taken_names:
            errs.append(errors.invalid_value(f"{at}.name", name, "must be unique"))
        volume = pod.volumes.get(name)
        if volume is None:
            errs.append(errors.not_found_value(f"{at}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            text = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral "
                "for block mode"
            )
            errs.append(errors.invalid_value(f"{at}.name", name, text))
        if not point:
            errs.append(errors.required(f"{at}.devicePath"))
        if point in taken_paths:
            errs.append(errors.invalid_value(f"{at}.devicePath", point, "must be unique"))
        if ".." in point.split("/"):
            text = "can not contain backsteps ('..')"
            errs.append(errors.invalid_value(f"{at}.devicePath", point, text))
        if any(mount.get("name") == name for mount in mounts):
            text = "must not already exist in volumeMounts"
            errs.append(errors.invalid_value(f"{at}.name", name, text))
        taken_names.add(name)
        taken_paths.add(point)


def _resize(policies: Sequence[Container], path: str, pod: PodContext) -> None:
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            pod.errs.append(errors.duplicate(f"{path}[{index}]", name))
        seen.add(name)
        checks.one_of(errors.GoText(name), path, ("cpu", "memory"), pod.errs)
        checks.one_of(restart, path, ("NotRequired", "RestartContainer"), pod.errs)
        if pod.restart_policy == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            pod.errs.append(errors.invalid_value(path, restart, text))


def _hooks_and_probes(container: Container, path: str, pod: PodContext) -> None:
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                _handler(lifecycle[hook], f"{path}.lifecycle.{hook}", pod)
    for kind in _PROBES:
        if kind in container and container[kind] is not None:
            _probe(container[kind], kind, f"{path}.{kind}", pod)


def _probe(probe: Container, kind: str, path: str, pod: PodContext) -> None:
    errs = pod.errs
    _handler(probe, path, pod)
    checks.not_negatives(probe, path, _PROBE_NUMBERS, errs)  # type: ignore[arg-type]
    grace = probe.get("terminationGracePeriodSeconds")
    at = f"{path}.terminationGracePeriodSeconds"
    if grace is not None and grace <= 0:
        errs.append(errors.invalid_value(at, grace, "must be greater than 0"))
    if kind == "readinessProbe":
        if grace is not None:
            errs.append(errors.invalid_value(at, grace, "must not be set for readinessProbes"))
    elif probe.get("successThreshold") != 1:
        value = probe.get("successThreshold") or 0
        errs.append(errors.invalid_value(f"{path}.successThreshold", value, "must be 1"))


def _handler(handler: Container, path: str, pod: PodContext) -> None:
    errs = pod.errs
    kinds = [kind for kind in _HANDLERS if handler.get(kind) is not None]
    if not kinds:
        errs.append(errors.required(path, "must specify a handler type"))
        return
    for kind in kinds[1:]:
        text = "may not specify more than 1 handler type"
        errs.append(errors.forbidden_value(f"{path}.{kind}", text))
    kind = kinds[0]
    action, at = handler[kind], f"{path}.{kind}"
    if kind == "exec":
        if not action.get("command"):
            errs.append(errors.required(f"{at}.command"))
    elif kind == "httpGet":
        _http_get(action, at, errs)
    elif kind in ("tcpSocket", "grpc"):
        checks.port(action.get("port"), f"{at}.port", errs)
    else:
        _sleep(action, at, pod)


def _http_get(action: Container, path: str, errs: list[FieldError]) -> None:
    if not action.get("path"):
        errs.append(errors.required(f"{path}.path"))
    checks.port(action.get("port"), f"{path}.port", errs)
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        scheme = action.get("scheme") or ""
        errs.append(errors.not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        checks.named(name, f"{path}.httpHeaders", checks.header_errors, errs)


def _sleep(action: Container, path: str, pod: PodContext) -> None:
    seconds, grace = action.get("seconds") or 0, pod.grace_seconds
    least = 0 if pod.release.has("PodLifecycleSleepActionAllowZero") else 1
    if grace is not None and not least <= seconds <= grace:
        sign = "greater than 0" if least else "non-negative"
        text = f"must be {sign} and less than terminationGracePeriodSeconds ({grace})"
        if least:
            text += ". Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        pod.errs.append(errors.invalid_value(path, seconds, text))
