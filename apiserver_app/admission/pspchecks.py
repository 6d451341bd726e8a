"""What one PodSecurityPolicy fills into a pod and what it has against it.

Models kubernetes pkg/security/podsecuritypolicy/{provider.go,user,group,capabilities,selinux}
(1.19).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError, GoText
from apiserver_app.machinery.meta import Object

MUST, NON_ROOT, MAY = "MustRunAs", "MustRunAsNonRoot", "MayRunAs"
_HOSTS = (("hostNetwork", "network"), ("hostPID", "PID"), ("hostIPC", "IPC"))


def fill(policy: Object, pod: Object) -> None:
    """Set what the policy has a default for and the pod leaves out. Changes the pod."""
    spec = pod["spec"]
    context = dict(spec.get("securityContext") or {})
    group = policy.get("fsGroup") or {}
    if group.get("rule") == MUST and context.get("fsGroup") is None and group.get("ranges"):
        context["fsGroup"] = group["ranges"][0]["min"]
    groups = policy.get("supplementalGroups") or {}
    if groups.get("rule") == MUST and not context.get("supplementalGroups"):
        if groups.get("ranges"):
            context["supplementalGroups"] = [groups["ranges"][0]["min"]]
    linux = policy.get("seLinux") or {}
    if linux.get("rule") == MUST and context.get("seLinuxOptions") is None:
        if linux.get("seLinuxOptions"):
            context["seLinuxOptions"] = linux["seLinuxOptions"]
    if context:
        spec["securityContext"] = context
    for _, container in every_container(spec, ephemeral=False):
        _fill_container(policy, context, container)


def _fill_container(policy: Object, pod_context: Object, container: Object) -> None:
    own = dict(container.get("securityContext") or {})
    user = policy.get("runAsUser") or {}
    as_user = own.get("runAsUser", pod_context.get("runAsUser"))
    if user.get("rule") == MUST and as_user is None and user.get("ranges"):
        own["runAsUser"] = user["ranges"][0]["min"]
    non_root = own.get("runAsNonRoot", pod_context.get("runAsNonRoot"))
    if user.get("rule") == NON_ROOT and as_user is None and non_root is None:
        own["runAsNonRoot"] = True
    if policy.get("readOnlyRootFilesystem") and "readOnlyRootFilesystem" not in own:
        own["readOnlyRootFilesystem"] = True
    if "allowPrivilegeEscalation" not in own:
        default = policy.get("defaultAllowPrivilegeEscalation")
        if default is None and policy.get("allowPrivilegeEscalation") is False:
            default = False
        if default is not None:
            own["allowPrivilegeEscalation"] = default
    added = policy.get("defaultAddCapabilities") or ()
    dropped = policy.get("requiredDropCapabilities") or ()
    if added or dropped:
        have = dict(own.get("capabilities") or {})
        for field, names in (("add", added), ("drop", dropped)):
            kept = list(have.get(field) or ())
            kept += sorted(name for name in names if name not in kept)
            if kept:
                have[field] = kept
        own["capabilities"] = have
    if own:
        container["securityContext"] = own


def check(policy: Object, pod: Object) -> list[FieldError]:
    """Everything the policy has against the pod."""
    spec = pod["spec"]
    context = spec.get("securityContext") or {}
    found: list[FieldError] = []
    for field, rule in (("fsGroup", "fsGroup"), ("supplementalGroups", "supplementalGroups")):
        value = context.get(field)
        groups = [value] if isinstance(value, int) else list(value or ())
        found += _groups(policy.get(rule) or {}, f"spec.securityContext.{field}", groups)
    for field, word in _HOSTS:
        if spec.get(field) and not policy.get(field):
            path, why = f"spec.securityContext.{field}", f"Host {word} is not allowed to be used"
            found.append(errors.invalid_value(path, True, why))
    found += _volumes(policy, spec.get("volumes") or ())
    for place, container in every_container(spec, ephemeral=False):
        field, index = place.split("/")
        found += _container(policy, context, f"spec.{field}[{index}]", container)
    return found


def _volumes(policy: Object, volumes: Sequence[Object]) -> list[FieldError]:
    allowed = policy.get("volumes") or ()
    prefixes = policy.get("allowedHostPaths") or ()
    found: list[FieldError] = []
    for index, volume in enumerate(volumes):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        if "*" not in allowed and kind not in allowed:
            why = f"{kind} volumes are not allowed to be used"
            found.append(errors.invalid_value(f"spec.volumes[{index}]", kind, why))
            continue
        path = (volume.get("hostPath") or {}).get("path", "")
        if kind == "hostPath" and prefixes and not any(
            _is_below(path, one.get("pathPrefix", "")) for one in prefixes
        ):  # fmt: skip
            at = f"spec.volumes[{index}].hostPath.pathPrefix"
            found.append(errors.invalid_value(at, path, "is not allowed to be used"))
    return found


def _is_below(path: str, prefix: str) -> bool:
    prefix = prefix.rstrip("/")
    return path.rstrip("/") == prefix or path.startswith(f"{prefix}/")


def _container(
    policy: Object, pod_context: Object, path: str, container: Object
) -> list[FieldError]:
    own = container.get("securityContext") or {}
    at = f"{path}.securityContext"
    found = _user(policy.get("runAsUser") or {}, at, pod_context, own)
    if own.get("privileged") and not policy.get("privileged"):
        why = "Privileged containers are not allowed"
        found.append(errors.invalid_value(f"{at}.privileged", True, why))
    found += _capabilities(policy, at, own.get("capabilities") or {})
    for port in container.get("ports") or ():
        number = port.get("hostPort") or 0
        ranges = policy.get("hostPorts") or ()
        if number and not any(one["min"] <= number <= one["max"] for one in ranges):
            allowed = ",".join(
                f"{one['min']}-{one['max']}" if one["min"] != one["max"] else str(one["min"])
                for one in ranges
            )
            why = f"Host port {number} is not allowed to be used. Allowed ports: [{allowed}]"
            found.append(errors.invalid_value(f"{path}.hostPort", number, why))
    if policy.get("readOnlyRootFilesystem") and not own.get("readOnlyRootFilesystem"):
        value = own.get("readOnlyRootFilesystem")
        why = "ReadOnlyRootFilesystem must be set to true"
        if value is None:
            why = "ReadOnlyRootFilesystem may not be nil and must be set to true"
        found.append(errors.invalid_value(f"{at}.readOnlyRootFilesystem", value, why))
    if policy.get("allowPrivilegeEscalation") is False:
        if own.get("allowPrivilegeEscalation") is not False:
            why = "Allowing privilege escalation for containers is not allowed"
            value = own.get("allowPrivilegeEscalation")
            found.append(errors.invalid_value(f"{at}.allowPrivilegeEscalation", value, why))
    return found


def _capabilities(policy: Object, at: str, have: Object) -> list[FieldError]:
    known = {
        *(policy.get("allowedCapabilities") or ()),
        *(policy.get("defaultAddCapabilities") or ()),
    }
    found: list[FieldError] = []
    for name in have.get("add") or ():
        if "*" not in known and name not in known:
            path = f"{at}.capabilities.add"
            found.append(errors.invalid_value(path, name, "capability may not be added"))
    for name in policy.get("requiredDropCapabilities") or ():
        if name not in (have.get("drop") or ()):
            why = f"{name} is required to be dropped but was not found"
            dropped = list(have.get("drop") or ())
            found.append(errors.invalid_value(f"{at}.capabilities.drop", dropped, why))
    return found


def _user(rule: Object, at: str, pod_context: Object, own: Object) -> list[FieldError]:
    user = own.get("runAsUser", pod_context.get("runAsUser"))
    if rule.get("rule") == MUST:
        if user is None:
            return [errors.required(f"{at}.runAsUser")]
        return _in_ranges(rule, f"{at}.runAsUser", user, "must be in the ranges")
    if rule.get("rule") == NON_ROOT:
        non_root = own.get("runAsNonRoot", pod_context.get("runAsNonRoot"))
        if non_root is None and user is None:
            return [errors.required(f"{at}.runAsNonRoot", "must be true")]
        if non_root is False:
            return [errors.invalid_value(f"{at}.runAsNonRoot", False, "must be true")]
        if user == 0:
            why = "running with the root UID is forbidden"
            return [errors.invalid_value(f"{at}.runAsUser", 0, why)]
    return []


def _groups(rule: Object, at: str, groups: Sequence[int]) -> list[FieldError]:
    if rule.get("rule") not in (MUST, MAY):
        return []
    if rule["rule"] == MUST and not groups:
        why = "unable to validate empty groups against required ranges"
        return [errors.invalid_value(at, GoText("[]int64(nil)"), why)]
    shown: Any = GoText(f"[]int64{{{', '.join(map(str, groups))}}}")
    return [
        one
        for group in groups
        for one in _in_ranges(rule, at, group, f"group {group} must be in the ranges", shown)
    ]


def _in_ranges(rule: Object, at: str, value: int, why: str, shown: Any = None) -> list[FieldError]:
    ranges = rule.get("ranges") or ()
    if any(one["min"] <= value <= one["max"] for one in ranges):
        return []
    texts = " ".join(f"{{{one['min']} {one['max']}}}" for one in ranges)
    return [errors.invalid_value(at, value if shown is None else shown, f"{why}: [{texts}]")]
