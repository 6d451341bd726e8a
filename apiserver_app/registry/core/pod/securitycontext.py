"""Validation of security contexts, of a pod and of a container.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateSecurityContext,
validatePodSpecSecurityContext).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.core.pod import windows
from apiserver_app.registry.validation import checks, gosyntax

SecurityContext = Mapping[str, Any]

_SYSCTL = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_IDS = ("runAsUser", "runAsGroup")
_WINDOWS_ONLY = "windows options cannot be set for a linux pod"


def pod(spec: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    context = spec.get("securityContext")
    if not context:
        return
    at = f"{path}.securityContext"
    for field in ("fsGroup", *_IDS):
        _identity(context.get(field), f"{at}.{field}", errs)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        _identity(group, f"{at}.supplementalGroups[{index}]", errs)
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errs.append(errors.invalid_value(f"{at}.shareProcessNamespace", True, text))
    _sysctls(context, spec, f"{at}.sysctls", errs)
    _choice(context, "fsGroupChangePolicy", at, ("Always", "OnRootMismatch"), errs)
    _seccomp(context.get("seccompProfile"), f"{at}.seccompProfile", errs)
    windows.options(context.get("windowsOptions"), f"{at}.windowsOptions", errs)
    _app_armor(context.get("appArmorProfile"), f"{at}.appArmorProfile", errs)
    _choice(context, "supplementalGroupsPolicy", at, ("Merge", "Strict"), errs)
    _choice(context, "seLinuxChangePolicy", at, ("Recursive",), errs)


def container(
    context: SecurityContext, path: str, host_users: bool, errs: list[FieldError]
) -> None:
    for field in _IDS:
        _identity(context.get(field), f"{path}.{field}", errs)
    mount = context.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            allowed = ("Default", "Unmasked")
            errs.append(errors.not_supported(f"{path}.procMount", mount, allowed))
        if host_users and mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errs.append(errors.invalid_value(f"{path}.procMount", mount, text))
    _seccomp(context.get("seccompProfile"), f"{path}.seccompProfile", errs)
    if context.get("allowPrivilegeEscalation") is False:
        _no_escalation(context, path, errs)
    windows.options(context.get("windowsOptions"), f"{path}.windowsOptions", errs)
    _app_armor(context.get("appArmorProfile"), f"{path}.appArmorProfile", errs)


def operating_system(spec: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Validates spec.os and refuses fields that only the other operating system has."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        errs.append(errors.required(f"{path}.os.name", "cannot be empty"))
    elif name not in ("linux", "windows"):
        errs.append(errors.not_supported(f"{path}.os", name, ("linux", "windows")))
    elif name == "windows":
        windows.only(spec, path, errs)
    elif name == "linux":
        if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
            at = f"{path}.securityContext.windowsOptions"
            errs.append(errors.forbidden_value(at, _WINDOWS_ONLY))
        for group in ("initContainers", "containers"):
            for index, item in enumerate(spec.get(group) or ()):
                if (item.get("securityContext") or {}).get("windowsOptions") is not None:
                    at = f"{path}.{group}[{index}].securityContext.windowsOptions"
                    errs.append(errors.forbidden_value(at, _WINDOWS_ONLY))


def host_users(
    spec: Mapping[str, Any], path: str, release: Release, errs: list[FieldError]
) -> None:
    """Refuses a user namespace of the pod's own together with a host namespace or raw devices."""
    if spec.get("hostUsers") is not False:
        return
    late = release.has("HostUsersReworded")
    text = "when `hostUsers` is false" if late else "when `pod.Spec.HostUsers` is false"
    for field, printed in (
        ("hostNetwork", "hostNetwork"),
        ("hostPID", "HostPID"),
        ("hostIPC", "HostIPC"),
    ):
        if spec.get(field):
            errs.append(errors.forbidden_value(f"{path}.{printed}", text))
    for group in ("initContainers", "containers", "ephemeralContainers") if late else ():
        for index, container in enumerate(spec.get(group) or ()):
            if container.get("volumeDevices"):
                at = f"{path}.{group}[{index}].volumeDevices"
                errs.append(errors.forbidden_value(at, text))


# -- inside -------------------------------------------------------------------------------------


def _identity(value: int | None, path: str, errs: list[FieldError]) -> None:
    if value is not None and not 0 <= value <= checks.MAX_INT32:
        errs.append(errors.invalid_value(path, value, checks.ID_RANGE))


def _choice(
    context: SecurityContext,
    field: str,
    path: str,
    allowed: tuple[str, ...],
    errs: list[FieldError],
) -> None:
    value = context.get(field)
    if value is not None and value not in allowed:
        errs.append(errors.not_supported(f"{path}.{field}", value, allowed))


def _seccomp(profile: SecurityContext | None, path: str, errs: list[FieldError]) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        text = "type is required when seccompProfile is set"
        errs.append(errors.required(f"{path}.type", text))
    elif kind not in _PROFILES:
        errs.append(errors.not_supported(f"{path}.type", kind, _PROFILES))
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            errs.append(errors.required(f"{path}.localhostProfile", text))
        else:
            checks.local_path(local, f"{path}.localhostProfile", errs)
    elif local is not None:
        printed = errors.GoText(
            f"core.SeccompProfile{{Type:{errors.go_value(kind)}, "
            f"LocalhostProfile:{gosyntax.pointer('string', local)}}}"
        )
        text = "can only be set when seccomp type is Localhost"
        errs.append(errors.invalid_value(f"{path}.localhostProfile", printed, text))


def _app_armor(profile: SecurityContext | None, path: str, errs: list[FieldError]) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        if not local:
            text = "must be set when AppArmor type is Localhost"
            errs.append(errors.required(at, text))
        elif local != local.strip():
            text = "must not be padded with whitespace"
            errs.append(errors.invalid_value(at, local, text))
    elif kind in ("RuntimeDefault", "Unconfined"):
        if local is not None:
            text = "can only be set when AppArmor type is Localhost"
            errs.append(errors.invalid_value(at, local, text))
    elif not kind:
        text = "type is required when appArmorProfile is set"
        errs.append(errors.required(f"{path}.type", text))
    else:
        errs.append(errors.not_supported(f"{path}.type", kind, _PROFILES))


def _no_escalation(context: SecurityContext, path: str, errs: list[FieldError]) -> None:
    printed = errors.GoText(
        "core.SecurityContext{Capabilities:"
        f"{gosyntax.pointer('core.Capabilities', context.get('capabilities'))}, "
        f"Privileged:{gosyntax.pointer('bool', context.get('privileged'))}, "
        "SELinuxOptions:(*core.SELinuxOptions)(nil), "
        "WindowsOptions:(*core.WindowsSecurityContextOptions)(nil), "
        f"RunAsUser:{gosyntax.pointer('int64', context.get('runAsUser'))}, "
        f"RunAsGroup:{gosyntax.pointer('int64', context.get('runAsGroup'))}, "
        f"RunAsNonRoot:{gosyntax.pointer('bool', context.get('runAsNonRoot'))}, "
        "ReadOnlyRootFilesystem:"
        f"{gosyntax.pointer('bool', context.get('readOnlyRootFilesystem'))}, "
        f"AllowPrivilegeEscalation:{gosyntax.pointer('bool', False)}, "
        f"ProcMount:{gosyntax.pointer('core.ProcMountType', context.get('procMount'))}, "
        f"SeccompProfile:{gosyntax.pointer('core.SeccompProfile', context.get('seccompProfile'))}, "
        "AppArmorProfile:"
        f"{gosyntax.pointer('core.AppArmorProfile', context.get('appArmorProfile'))}}}"
    )
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errs.append(errors.invalid_value(path, printed, text))
    if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
        text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
        errs.append(errors.invalid_value(path, printed, text))


def _sysctls(
    context: SecurityContext, spec: Mapping[str, Any], path: str, errs: list[FieldError]
) -> None:
    seen: set[str] = set()
    for index, sysctl in enumerate(context.get("sysctls") or ()):
        at, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            errs.append(errors.required(at))
        elif len(name) > 253 or not _is_sysctl(name):
            text = f"must have at most 253 characters and match regex ^{_SYSCTL}$"
            errs.append(errors.invalid_value(at, name, text))
        elif name in seen:
            errs.append(errors.duplicate(at, name))
        seen.add(name)
        plain = name.replace("/", ".")
        if spec.get("hostNetwork") and plain.startswith("net."):
            text = "may not be specified when 'hostNetwork' is true"
            errs.append(errors.invalid_value(at, name, text))
        elif spec.get("hostIPC") and plain.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")):
            text = "may not be specified when 'hostIPC' is true"
            errs.append(errors.invalid_value(at, name, text))
