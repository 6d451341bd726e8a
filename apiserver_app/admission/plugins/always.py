"""AlwaysAdmit and AlwaysDeny: the first and the last plugin, neither of real use.

Models kubernetes plugin/pkg/admission/{admit,deny}/admission.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import EVERY, SECURITY, Attributes, Plugin, Verdict, forbidden

_ADMITTED = Verdict("allow", "always admits")


class AlwaysAdmit(Plugin):
    name = "AlwaysAdmit"
    concern = SECURITY
    handles = EVERY
    mutates = True
    validates = True
    source = "plugin/pkg/admission/admit/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        return _ADMITTED

    def validate(self, attributes: Attributes) -> Verdict:
        return _ADMITTED


class AlwaysDeny(Plugin):
    name = "AlwaysDeny"
    concern = SECURITY
    handles = EVERY
    mutates = True
    validates = True
    source = "plugin/pkg/admission/deny/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        raise forbidden(attributes, "admission control is denying all modifications")

    def validate(self, attributes: Attributes) -> Verdict:
        raise forbidden(attributes, "admission control is denying all modifications")
