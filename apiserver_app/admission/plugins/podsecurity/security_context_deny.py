"""SecurityContextDeny: forbids users, groups and SELinux options of pods. Removed in 1.30.

Models kubernetes plugin/pkg/admission/securitycontext/scdeny/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import SECURITY, SKIP, Attributes, Plugin, Verdict, forbidden
from apiserver_app.apis.podresources import every_container

_POD_FIELDS = ("supplementalGroups", "seLinuxOptions", "runAsUser", "fsGroup")
_CONTAINER_FIELDS = ("seLinuxOptions", "runAsUser")


class SecurityContextDeny(Plugin):
    name = "SecurityContextDeny"
    concern = SECURITY
    resources = ("pods",)
    validates = True
    source = "plugin/pkg/admission/securitycontext/scdeny/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        spec = attributes.obj["spec"]
        context = spec.get("securityContext") or {}
        for field in _POD_FIELDS:
            if context.get(field) is not None:
                reason = f"pod.Spec.SecurityContext.{_go(field)} is forbidden"
                raise forbidden(attributes, reason)
        for _, container in every_container(spec):
            context = container.get("securityContext") or {}
            for field in _CONTAINER_FIELDS:
                if context.get(field) is not None:
                    raise forbidden(attributes, f"SecurityContext.{_go(field)} is forbidden")
        return Verdict("allow", "the pod does not say as whom it runs")


def _go(field: str) -> str:
    """Returns the field's name in Go."""
    return {"seLinuxOptions": "SELinuxOptions", "fsGroup": "FSGroup"}.get(
        field, field[0].upper() + field[1:]
    )
