"""Validation of Windows pods: their options, host processes, and no Linux-only fields.

Models kubernetes pkg/apis/core/validation/validation.go (validateWindows,
validateWindowsSecurityContextOptions, validateWindowsHostProcessPod).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names

Spec = Mapping[str, Any]

CREDENTIAL_KIB = 64
DOMAIN_SIZE, USER_SIZE = 256, 104
_NOT_HERE = "cannot be set for a windows pod"
# Linux-only fields of the pod's security context and of the pod, in upstream's order
_POD_FIELDS = (
    ("securityContext.appArmorProfile", True), ("securityContext.seLinuxOptions", True),
    ("hostUsers", True), ("hostPID", False), ("hostIPC", False),
    ("securityContext.seccompProfile", True), ("securityContext.fsGroup", True),
    ("securityContext.fsGroupChangePolicy", True), ("securityContext.sysctls", False),
    ("shareProcessNamespace", True), ("securityContext.runAsUser", True),
    ("securityContext.runAsGroup", True), ("securityContext.supplementalGroups", True),
)  # fmt: skip
_CONTAINER_FIELDS = tuple(
    """
    appArmorProfile seLinuxOptions seccompProfile capabilities readOnlyRootFilesystem privileged
    allowPrivilegeEscalation procMount runAsUser runAsGroup
    """.split()
)
_GROUPS = ("initContainers", "containers", "ephemeralContainers")
_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_is_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_has_forbidden = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_is_blank = re.compile(r"[. ]+").fullmatch


def options(value: Spec | None, path: str, errs: list[FieldError]) -> None:
    """Validates `windowsOptions` of a pod or of a container."""
    if value is None:
        return
    name = value.get("gmsaCredentialSpecName")
    for text in names.dns1123_subdomain_errors(name) if name is not None else ():
        errs.append(errors.invalid_value(f"{path}.gmsaCredentialSpecName", name, text))
    spec, at = value.get("gmsaCredentialSpec"), f"{path}.gmsaCredentialSpec"
    if spec == "":
        text = "gmsaCredentialSpec cannot be an empty string"
        errs.append(errors.invalid_value(at, spec, text))
    elif spec is not None and names.size(spec) > CREDENTIAL_KIB * 1024:
        text = f"gmsaCredentialSpec size must be under {CREDENTIAL_KIB} KiB"
        errs.append(errors.invalid_value(at, spec, text))
    user = value.get("runAsUserName")
    for text in _user_errors(user) if user is not None else ():
        text = f"runAsUserName{text}"
        errs.append(errors.invalid_value(f"{path}.runAsUserName", user, text))


def host_process(spec: Spec, path: str, errs: list[FieldError]) -> None:
    """Either all containers are host processes or none; host processes need the host's network."""
    pod_setting = _host_process(spec.get("securityContext"))
    if pod_setting is None and not any(
        item.get("securityContext") for group in _GROUPS for item in spec.get(group) or ()
    ):
        return
    kinds = []
    for container, at in _containers(spec, path):
        own = _host_process(container.get("securityContext"))
        if pod_setting is not None and own is not None and pod_setting != own:
            text = "pod hostProcess value must be identical if both are specified, was "
            option_path = f"{at}.securityContext.windowsOptions.hostProcess"
            errs.append(errors.invalid_value(option_path, own, text + str(pod_setting).lower()))
        kinds.append(pod_setting if own is None else own)
    if not any(kinds):
        return
    if not all(kinds):
        text = (
            "If pod contains any hostProcess containers then all containers must be "
            "HostProcess containers"
        )
        errs.append(errors.invalid_value(path, "", text))
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        errs.append(errors.invalid_value(f"{path}.hostNetwork", False, text))


def only(spec: Spec, path: str, errs: list[FieldError]) -> None:
    """Refuses Linux-only fields in a pod whose spec.os is windows."""
    context = spec.get("securityContext")
    for name, even_false in _POD_FIELDS if context is not None else ():
        first, _, second = name.partition(".")
        value = (context or {}).get(second) if second else spec.get(first)
        if value or (even_false and value is not None):
            errs.append(errors.forbidden_value(f"{path}.{name}", _NOT_HERE))
    for container, at in _containers(spec, path):
        inner = container.get("securityContext") or {}
        for field in _CONTAINER_FIELDS:
            if inner.get(field) is not None:
                errs.append(errors.forbidden_value(f"{at}.securityContext.{field}", _NOT_HERE))


# -- inside -------------------------------------------------------------------------------------


def _containers(spec: Spec, path: str) -> Iterator[tuple[Spec, str]]:
    for group in _GROUPS:
        for index, container in enumerate(spec.get(group) or ()):
            yield container, f"{path}.{group}[{index}]"


def _host_process(context: Spec | None) -> bool | None:
    value = ((context or {}).get("windowsOptions") or {}).get("hostProcess")
    return None if value is None else bool(value)


def _user_errors(name: str) -> list[str]:
    """The errors of `user` or `domain/user`, each without the field's name that begins it."""
    if not name:
        return [" cannot be an empty string"]
    if _has_control(name):
        return [" cannot contain control characters"]
    parts = name.split("\\")
    if len(parts) > 2:
        return [" cannot contain more than one backslash"]
    domain, user = parts if len(parts) == 2 else ("", name)
    messages = []
    if names.size(domain) >= DOMAIN_SIZE:
        messages.append(f"'s Domain length must be under {DOMAIN_SIZE} characters")
    if len(parts) == 2 and not _is_net_bios(domain) and not _is_dns(domain):
        messages.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        messages.append("'s User cannot be empty")
    elif names.size(user) > USER_SIZE:
        messages.append(f"'s User length must not be longer than {USER_SIZE} characters")
    if _is_blank(user):
        messages.append("'s User cannot contain only periods or spaces")
    if _has_forbidden(user):
        messages.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return messages
