"""How often an update's errors are reported: upstream validates metadata and specs several times.

Every update validates the metadata as of a new object and as of a change. Then comes the kind's
own ValidateUpdate, whose parts stand here in upstream's order: `V` the metadata as of a new object,
`U` the metadata as of a change (`v`, `u`: without the rule for words of finalizers), `X` what the
strategy's `validate_update` validates, `S` what a create validates (`s`: X validates it, too). A
cause is reported each time it is detected; the message has it once.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/update.go, pkg/registry/*/*/
strategy.go and pkg/apis/*/validation/validation.go.
"""

from __future__ import annotations

from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta

_PARTS = {
    "UXVS": ("configmaps", "secrets", "ingressclasses.networking.k8s.io"),
    "UVX": (
        "endpoints", "serviceaccounts", "services", "controllerrevisions.apps",
        "ingresses.networking.k8s.io", "pods",
    ),
    "uX": (
        "customresourcedefinitions.apiextensions.k8s.io", "leases.coordination.k8s.io",
        "leasecandidates.coordination.k8s.io",
    ),
    "vSuX": ("runtimeclasses.node.k8s.io",),
    "UX": (
        "podtemplates", "resourcequotas", "deployments.apps", "statefulsets.apps",
        "cronjobs.batch", "horizontalpodautoscalers.autoscaling",
        "servicecidrs.networking.k8s.io", "priorityclasses.scheduling.k8s.io",
        "csidrivers.storage.k8s.io", "resourceslices.resource.k8s.io",
    ),
    "VSUX": (
        "namespaces", "nodes", "jobs.batch", "ipaddresses.networking.k8s.io",
        "certificatesigningrequests.certificates.k8s.io", "storageclasses.storage.k8s.io",
        "volumeattributesclasses.storage.k8s.io", "csistoragecapacities.storage.k8s.io",
    ),
    "VSUXS": ("resourceclaims.resource.k8s.io", "resourceclaimtemplates.resource.k8s.io"),
    "VsUX": ("daemonsets.apps", "replicasets.apps", "deviceclasses.resource.k8s.io"),
    "VX": (
        "limitranges", "endpointslices.discovery.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    ),
    "VXVX": ("initializerconfigurations.admissionregistration.k8s.io",),
    "VXUX": ("replicationcontrollers", "networkpolicies.networking.k8s.io"),
    "VsVX": ("persistentvolumes", "csinodes.storage.k8s.io"),
    "VVX": ("volumeattachments.storage.k8s.io",),
    "VsUVX": ("persistentvolumeclaims",),
    "VsVXU": ("roles.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io"),
    "VSVSUX": (
        "rolebindings.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io",
    ),
    "VUX": ("clustertrustbundles.certificates.k8s.io",),
    "XU": ("events.events.k8s.io",),
    "uvX": ("apiservices.apiregistration.k8s.io",),
    "vX": (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
}  # fmt: skip
_ORDER = {key: parts for parts, keys in _PARTS.items() for key in keys}
# what is validated once since 1.36: the kind's own part has the rules of a create, too
_ONCE = {"VXUX": "UX", "VsUX": "UX", "VsUVX": "UVX", "VVX": "VX", "VsVXU": "VXU", "VSVSUX": "VSUX"}


def limits_finalizers(info: ResourceInfo) -> bool:
    """Whether a finalizer must be a known word or have a domain: a rule of the core group's
    validation, which some kinds do without."""
    return info.custom is None and not {"u", "v"} & set(_ORDER.get(info.key, ""))


def errors_of(strategy: Strategy, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
    """The errors of an update, each as often as upstream reports it."""
    order = "UX" if ctx.subresource else _ORDER.get(strategy.info.key, "X")
    if ctx.version.has("UpdatesValidatedOnce"):
        order = _ONCE.get(order, order)
    errs = {"X": strategy.validate_update(ctx, obj, old)}
    if "S" in order:
        errs["S"] = strategy.validate(ctx, obj)
    generate = obj["metadata"].get("generateName") or ""
    if generate == old["metadata"].get("generateName"):
        generate = ""  # it was good when the object was made
    if not (
        any(errs.values())
        or objectmeta.validate_object_meta_update(obj, old)
        or objectmeta.generate_name_errors(generate, strategy.names(ctx.version))
    ):
        return []
    errs |= {"v": [], "u": [], "words": []}
    objectmeta.fresh(obj["metadata"], errs["v"])
    objectmeta.changes(obj["metadata"], old["metadata"], errs["u"])
    objectmeta.finalizer_words(obj["metadata"], errs["words"])
    named = objectmeta.generate_name_errors(generate, strategy.names(ctx.version))
    fresh = errs["v"]
    errs["v"] = named + fresh
    errs["V"], errs["U"] = errs["v"] + errs["words"], errs["u"] + errs["words"]
    if "s" in order:
        errs["s"] = strategy.validate(ctx, obj)
    first = objectmeta.generate_name_errors(generate, objectmeta.path_segment)
    return first + fresh + errs["u"] + [err for part in order for err in errs[part]]
