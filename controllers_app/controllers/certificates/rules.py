"""What the controllers of certificate requests have in common: conditions and signers' rules.

Models kubernetes pkg/controller/certificates/certificate_controller_utils.go and
pkg/apis/certificates/helpers.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.apis.certificates import Request
from apiserver_app.machinery.meta import Object

RESOURCE = "certificatesigningrequests.certificates.k8s.io"
CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"
SIGNERS = (CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY)


def has(csr: Object, kind: str) -> bool:
    """Whether a condition is there; Failed counts only when it is true."""
    for condition in (csr.get("status") or {}).get("conditions") or ():
        if condition["type"] == kind:
            return kind != "Failed" or condition.get("status") == "True"
    return False


def refusal(request: Request, usages: Sequence[str], signer: str) -> str:
    """Why the signer must not sign this; "" when it may."""
    if signer == CLIENT:
        return _client(usages)
    if signer == KUBELET_CLIENT:
        return kubelet_client(request, usages)
    if signer == KUBELET_SERVING:
        return _kubelet_serving(request, usages)
    return ""


def kubelet_client(request: Request, usages: Sequence[str]) -> str:
    """Why this is no client certificate of a kubelet; "" when it is."""
    if request.organizations != ("system:nodes",):
        return "subject organization is not system:nodes"
    for names, kind in (
        (request.dns_names, "DNS"),
        (request.emails, "Email"),
        (request.addresses, "IP"),
        (request.uris, "URI"),
    ):
        if names:
            return f"{kind} subjectAltNames are not allowed"
    if not request.common_name.startswith("system:node:"):
        return "subject common name does not begin with system:node:"
    return _usages(usages, "client auth")


def _kubelet_serving(request: Request, usages: Sequence[str]) -> str:
    if request.organizations != ("system:nodes",):
        return "subject organization is not system:nodes"
    if not request.dns_names and not request.addresses:
        return "DNS or IP subjectAltName is required"
    if request.emails:
        return "Email subjectAltNames are not allowed"
    if request.uris:
        return "URI subjectAltNames are not allowed"
    wrong = _usages(usages, "server auth")
    if wrong or request.common_name.startswith("system:node:"):
        return wrong
    return "subject common name does not begin with system:node:"


def _usages(usages: Sequence[str], auth: str) -> str:
    wanted = {"digital signature", auth}
    if set(usages) in (wanted, {*wanted, "key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted({*wanted, 'key encipherment'}))}]"


def _client(usages: Sequence[str]) -> str:
    for usage in usages:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            return f"invalid usage for client certificate: {usage}"
    if "client auth" not in usages:
        return "missing required usage for client certificate: client auth"
    return ""
