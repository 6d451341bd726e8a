"""DenyEscalatingExec and DenyExecOnPrivileged: no exec into pods that can reach their node.

Both were removed in 1.21.

Models kubernetes plugin/pkg/admission/exec/admission.go (1.20).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CONNECT, SECURITY, Attributes, Plugin, Verdict, forbidden
from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery.meta import Object

_HOSTS = (("hostNetwork", "host network"), ("hostPID", "host pid"), ("hostIPC", "host ipc"))
_REFUSED = "cannot exec into or attach to a container using"


class DenyExecOnPrivileged(Plugin):
    name = "DenyExecOnPrivileged"
    concern = SECURITY
    handles = (CONNECT,)
    resources = ("pods/exec", "pods/attach")
    validates = True
    reads = ("pods",)
    source = "plugin/pkg/admission/exec/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        spec = _spec(attributes)
        if _is_privileged(spec):
            raise forbidden(attributes, "cannot exec into or attach to a privileged container")
        return Verdict("allow", "no container is privileged")


class DenyEscalatingExec(DenyExecOnPrivileged):
    name = "DenyEscalatingExec"

    def validate(self, attributes: Attributes) -> Verdict:
        spec = _spec(attributes)
        for field, label in _HOSTS:
            if spec.get(field):
                raise forbidden(attributes, f"{_REFUSED} {label}")
        return super().validate(attributes)


def _spec(attributes: Attributes) -> Object:
    pod = attributes.reader.get("pods", attributes.namespace, attributes.name)
    if pod is None:
        raise forbidden(attributes, f'pods "{attributes.name}" not found')
    spec: Object = pod["spec"]
    return spec


def _is_privileged(spec: Object) -> bool:
    return any(
        (container.get("securityContext") or {}).get("privileged")
        for _, container in every_container(spec, ephemeral=False)
    )
