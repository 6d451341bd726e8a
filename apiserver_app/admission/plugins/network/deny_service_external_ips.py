"""DenyServiceExternalIPs: no service gets a new external address.

Models kubernetes plugin/pkg/admission/network/denyserviceexternalips/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import SECURITY, SKIP, Attributes, Plugin, Verdict, forbidden


class DenyServiceExternalIPs(Plugin):
    name = "DenyServiceExternalIPs"
    concern = SECURITY
    resources = ("services",)
    validates = True
    source = "plugin/pkg/admission/network/denyserviceexternalips/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        new = set((attributes.obj.get("spec") or {}).get("externalIPs") or ())
        old = set(((attributes.old or {}).get("spec") or {}).get("externalIPs") or ())
        if new - old:
            raise forbidden(attributes, "Use of external IPs is denied by admission control")
        return Verdict("allow", "no new external address")
