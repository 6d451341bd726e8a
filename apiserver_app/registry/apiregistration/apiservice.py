"""APIServices: which server answers for a group and version.

Models kubernetes staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/validation and
pkg/registry/apiservice/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of, rfc3339
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta

_STATUSES = ("True", "False", "Unknown")


class APIServiceStrategy(Strategy):
    unconditional_update = False
    name_rule = staticmethod(objectmeta.path_segment)

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        service = obj["spec"].get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {}
        if obj["spec"].get("service") is None:
            local = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": rfc3339(ctx.now),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [local]}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        group, version = spec.get("group") or "", spec.get("version") or ""
        required = f"{version}.{group}"
        name = name_of(obj)
        if name and name != required and not objectmeta.path_segment(name, False):
            text = f'must be `spec.version+"."+spec.group`: {errors.quoted(required)}'
            errs.append(errors.invalid_value("metadata.name", name, text))
        if group:
            checks.named(group, "spec.group", names.dns1123_subdomain_errors, errs)
        elif version != "v1":
            text = "only v1 may have an empty group and it better be legacy kube"
            errs.append(errors.required("spec.group", text))
        checks.named(version, "spec.version", names.dns1035_label_errors, errs)
        for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
            value = spec.get(field) or 0
            if not 0 < value <= most:
                text = f"must be positive and less than {most}"
                errs.append(errors.invalid_value(f"spec.{field}", value, text))
        service = spec.get("service")
        if service is None:
            if spec.get("caBundle"):
                text = "local APIServices may not have a caBundle"
                printed = f"{_decoded_size(spec['caBundle'])} bytes"
                errs.append(errors.invalid_value("spec.caBundle", printed, text))
            if spec.get("insecureSkipTLSVerify"):
                text = "local APIServices may not have insecureSkipTLSVerify"
                errs.append(errors.invalid_value("spec.insecureSkipTLSVerify", True, text))
            return errs
        for field in ("namespace", "name"):
            if not service.get(field):
                errs.append(errors.required(f"spec.service.{field}"))
        port = service.get("port") or 0
        if not 1 <= port <= 65535:
            text = f"port is not valid: {checks.PORT_RANGE}"
            errs.append(errors.invalid_value("spec.service.port", port, text))
        if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
            text = "may not be true if caBundle is present"
            errs.append(errors.invalid_value("spec.insecureSkipTLSVerify", True, text))
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
            status = condition.get("status") or ""
            if status not in _STATUSES:
                path = f"status.conditions[{index}].status"
                errs.append(errors.not_supported(path, status, _STATUSES))
        return errs


def _decoded_size(encoded: str) -> int:
    return len(encoded) * 3 // 4 - encoded[-2:].count("=")
