"""Go's order of fields, and values in Go's %#v syntax: what makes answers equal byte by byte.

Defaults add keys; upstream prints a struct's fields in the order of its declaration. `arrange`
puts a dict back into that order. Up to 1.33 a field error prints a struct in Go syntax.

Models kubernetes staging/src/k8s.io/api/{core,apps,batch}/v1/types.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors

CONTAINER = (
    "name", "image", "command", "args", "workingDir", "ports", "envFrom", "env", "resources",
    "resizePolicy", "restartPolicy", "restartPolicyRules", "volumeMounts", "volumeDevices",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "terminationMessagePath",
    "terminationMessagePolicy", "imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty",
    "targetContainerName",
)  # fmt: skip
POD_SPEC = (
    "volumes", "initContainers", "containers", "ephemeralContainers", "restartPolicy",
    "terminationGracePeriodSeconds", "activeDeadlineSeconds", "dnsPolicy", "nodeSelector",
    "serviceAccountName", "serviceAccount", "automountServiceAccountToken", "nodeName",
    "hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "securityContext",
    "imagePullSecrets", "hostname", "subdomain", "affinity", "schedulerName", "tolerations",
    "hostAliases", "priorityClassName", "priority", "dnsConfig", "readinessGates",
    "runtimeClassName", "enableServiceLinks", "preemptionPolicy", "overhead",
    "topologySpreadConstraints", "setHostnameAsFQDN", "os", "hostUsers", "schedulingGates",
    "resourceClaims", "resources",
)  # fmt: skip
PROBE = (
    "exec", "httpGet", "tcpSocket", "grpc", "initialDelaySeconds", "timeoutSeconds",
    "periodSeconds", "successThreshold", "failureThreshold", "terminationGracePeriodSeconds",
)  # fmt: skip
CONTAINER_PORT = ("name", "hostPort", "containerPort", "protocol", "hostIP")
HTTP_GET = ("path", "port", "host", "scheme", "httpHeaders")
METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
SERVICE_SPEC = (
    "ports", "selector", "clusterIP", "clusterIPs", "type", "externalIPs", "sessionAffinity",
    "loadBalancerIP", "loadBalancerSourceRanges", "externalName", "externalTrafficPolicy",
    "healthCheckNodePort", "publishNotReadyAddresses", "sessionAffinityConfig", "ipFamilies",
    "ipFamilyPolicy", "allocateLoadBalancerNodePorts", "loadBalancerClass",
    "internalTrafficPolicy", "trafficDistribution",
)  # fmt: skip
SERVICE_PORT = ("name", "protocol", "appProtocol", "port", "targetPort", "nodePort")
WORKLOAD_SPEC = {
    "Deployment": (
        "replicas", "selector", "template", "strategy", "minReadySeconds",
        "revisionHistoryLimit", "paused", "progressDeadlineSeconds",
    ),
    "ReplicaSet": ("replicas", "minReadySeconds", "selector", "template"),
    "ReplicationController": ("replicas", "minReadySeconds", "selector", "template"),
    "StatefulSet": (
        "replicas", "selector", "template", "volumeClaimTemplates", "serviceName",
        "podManagementPolicy", "updateStrategy", "revisionHistoryLimit", "minReadySeconds",
        "persistentVolumeClaimRetentionPolicy", "ordinals",
    ),
    "DaemonSet": (
        "selector", "template", "updateStrategy", "minReadySeconds", "revisionHistoryLimit",
    ),
    "Job": (
        "parallelism", "completions", "activeDeadlineSeconds", "podFailurePolicy",
        "successPolicy", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes", "selector",
        "manualSelector", "template", "ttlSecondsAfterFinished", "completionMode", "suspend",
        "podReplacementPolicy", "managedBy",
    ),
    "CronJob": (
        "schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend",
        "jobTemplate", "successfulJobsHistoryLimit", "failedJobsHistoryLimit",
    ),
}  # fmt: skip
TOP = ("kind", "apiVersion", "metadata", "spec", "status")


def arrange(obj: dict[str, Any], order: Sequence[str]) -> None:
    """Put the keys into `order`; keys it does not name follow as they were."""
    known = {key: obj[key] for key in order if key in obj}
    if len(known) != len(obj):
        known.update(obj)
    obj.clear()
    obj.update(known)


def string_map(value: Mapping[str, str] | None) -> Any:
    """A map[string]string as a bad value; one that was left out is a nil map."""
    return errors.GoText("map[string]string(nil)") if value is None else dict(value)


def label_selector(value: Mapping[str, Any] | None) -> errors.GoText:
    """A *metav1.LabelSelector as a bad value."""
    if value is None:
        return errors.GoText('"null"')
    labels = errors.go_value(string_map(value.get("matchLabels")))
    expressions = value.get("matchExpressions")
    if not expressions:
        shown = "[]v1.LabelSelectorRequirement(nil)"
    else:
        shown = f"[]v1.LabelSelectorRequirement{{{', '.join(map(_requirement, expressions))}}}"
    return errors.GoText(f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{shown}}}")


def strings(value: Sequence[str] | None) -> Any:
    """A []string as a bad value."""
    return errors.GoText("[]string(nil)") if value is None else list(value)


def of_words(
    kind: str, value: Mapping[str, Any], fields: Sequence[tuple[str, str]]
) -> errors.GoText:
    """A struct of strings as a bad value; `fields` are pairs of Go's name and JSON's."""
    words = ", ".join(f"{go}:{errors.go_value(value.get(name) or '')}" for go, name in fields)
    return errors.GoText(f"{kind}{{{words}}}")


def pointer(text: str, value: Any) -> str:
    """A pointer field inside a struct: Go prints its address, of which there is none here."""
    return f"(*{text})(nil)" if value is None else f"(*{text})(0xc000000000)"


def _requirement(value: Mapping[str, Any]) -> str:
    key, operator = (errors.go_value(value.get(name) or "") for name in ("key", "operator"))
    values = errors.go_value(strings(value.get("values")))
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
