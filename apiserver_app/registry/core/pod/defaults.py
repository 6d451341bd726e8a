"""Defaults of pod specs, in pods and in templates, inserted in upstream's field order.

A spec that is complete already is looked at and left alone: the same object passes here at every
write. Pods get a few defaults that templates do not.

Models kubernetes pkg/apis/core/v1/defaults.go and zz_generated.defaults.go.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources, volumesources

_FILE_MODE = 0o644
_CONTAINER_GROUPS = ("initContainers", "containers", "ephemeralContainers")


def pod_spec(spec: dict[str, Any]) -> None:
    """Sets the defaults that pods and templates share."""
    size = len(spec)
    for group in _CONTAINER_GROUPS:
        if spec.get(group):
            for container in spec[group]:
                _container(container)
    if spec.get("volumes"):
        for volume in spec["volumes"]:
            _volume(volume)
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = account
        spec["serviceAccount"] = account
    for constraint in spec.get("topologySpreadConstraints") or ():
        constraint.setdefault("maxSkew", 0)
    if len(spec) != size:
        gofields.arrange(spec, "core.v1.PodSpec")


def pod(spec: dict[str, Any]) -> None:
    """Sets the defaults of pods only; called after `pod_spec`."""
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            limits = container["resources"].get("limits")
            if limits:
                _requests_from_limits(container["resources"], limits)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
        gofields.arrange(spec, "core.v1.PodSpec")
    if spec.get("hostNetwork"):
        for group in ("containers", "initContainers"):
            for container in spec.get(group) or ():
                for port in container.get("ports") or ():
                    if not port.get("hostPort") and port.get("containerPort"):
                        port["hostPort"] = port["containerPort"]
                        gofields.arrange(port, "core.v1.ContainerPort")


def template(holder: dict[str, Any], field: str = "template") -> None:
    """Sets the defaults of a pod template, and the fields that Go always writes."""
    inside: dict[str, Any] = holder.get(field) or {}
    holder[field] = inside
    inside["metadata"] = inside.get("metadata") or {}
    spec: dict[str, Any] = inside.get("spec") or {}
    inside["spec"] = spec
    if "containers" not in spec:
        spec["containers"] = None
    pod_spec(spec)
    if next(iter(inside)) != "metadata":
        gofields.arrange(inside, "core.v1.PodTemplateSpec")


@functools.lru_cache(4096)
def pull_policy(image: str) -> str:
    """Always for the tag `latest`, explicit or implied; else IfNotPresent, as for no image name."""
    if not _is_reference(image):
        return "IfNotPresent"
    name, has_digest, _ = image.partition("@")
    last = name.rpartition("/")[2]
    _, colon, tag = last.partition(":")
    if not colon and has_digest:
        return "IfNotPresent"
    return "Always" if not colon or tag == "latest" else "IfNotPresent"


def _is_reference(image: str) -> bool:
    """Models github.com/distribution/reference regexp.go and normalize.go."""
    domain, slash, rest = image.partition("/")
    if not slash or not (
        "." in domain or ":" in domain or domain == "localhost" or domain != domain.lower()
    ):
        domain, rest = "docker.io", image
    known = _reference(f"{domain}/{rest}")
    return known is not None and names.size(known["name"]) <= 255 and not _is_identifier(image)


_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_reference = re.compile(
    rf"(?P<name>(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/{_PART}(?:/{_PART})*)"
    r"(?::\w[\w.-]{0,127})?"
    r"(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
).fullmatch
_is_identifier = re.compile(r"[a-f0-9]{64}").fullmatch


# -- inside -------------------------------------------------------------------------------------


def _container(container: dict[str, Any]) -> None:
    size = len(container)
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    amounts = container.get("resources")
    if amounts is None:
        container["resources"] = {}
    elif amounts:
        for kind in ("limits", "requests"):
            if amounts.get(kind):
                resources.canonicalize(amounts[kind])
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
            gofields.arrange(port, "core.v1.ContainerPort")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _field_ref(source.get("fieldRef"))
            if source.get("resourceFieldRef") is not None:
                source["resourceFieldRef"].setdefault("divisor", "0")
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _probe(container[name])
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for name in ("postStart", "preStop"):
            if lifecycle.get(name):
                _http_get(lifecycle[name].get("httpGet"))
    if len(container) != size:
        gofields.arrange(container, "core.v1.Container")


def _probe(probe: dict[str, Any]) -> None:
    size = len(probe)
    _http_get(probe.get("httpGet"))
    if probe.get("grpc") is not None and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""
    if not probe.get("timeoutSeconds"):
        probe["timeoutSeconds"] = 1
    if not probe.get("periodSeconds"):
        probe["periodSeconds"] = 10
    if not probe.get("successThreshold"):
        probe["successThreshold"] = 1
    if not probe.get("failureThreshold"):
        probe["failureThreshold"] = 3
    if len(probe) != size:
        gofields.arrange(probe, "core.v1.Probe")


def _http_get(action: dict[str, Any] | None) -> None:
    if action is None:
        return
    size = len(action)
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"
    if len(action) != size:
        gofields.arrange(action, "core.v1.HTTPGetAction")


def _field_ref(reference: dict[str, Any] | None) -> None:
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"
        gofields.arrange(reference, "core.v1.ObjectFieldSelector")


def _volume(volume: dict[str, Any]) -> None:
    for kind in volume:
        if kind != "name" and volume[kind] is not None:
            default = _VOLUMES.get(kind)
            if default is not None:
                default(volume[kind])
            else:
                volumesources.default(kind, volume[kind])
            return
    volume["emptyDir"] = {}


def _mode(source: dict[str, Any]) -> None:
    if source.get("defaultMode") is None:
        source["defaultMode"] = _FILE_MODE


def _projected(source: dict[str, Any]) -> None:
    _mode(source)
    for projection in source.get("sources") or ():
        token = projection.get("serviceAccountToken")
        if token is not None and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = 3600
            gofields.arrange(token, "core.v1.ServiceAccountTokenProjection")
        if projection.get("downwardAPI"):
            _downward_items(projection["downwardAPI"])


def _downward(source: dict[str, Any]) -> None:
    _mode(source)
    _downward_items(source)


def _downward_items(source: dict[str, Any]) -> None:
    for item in source.get("items") or ():
        _field_ref(item.get("fieldRef"))
        if item.get("resourceFieldRef") is not None:
            item["resourceFieldRef"].setdefault("divisor", "0")


def _image(source: dict[str, Any]) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = pull_policy(source.get("reference") or "")


def _ephemeral(source: dict[str, Any]) -> None:
    claim = source.get("volumeClaimTemplate")
    if not claim:
        return
    claim.setdefault("metadata", {})
    spec = claim.setdefault("spec", {})
    spec.setdefault("resources", {})
    if not spec.get("volumeMode"):
        spec["volumeMode"] = "Filesystem"
    gofields.arrange(claim, "core.v1.PersistentVolumeClaimTemplate")


def _requests_from_limits(amounts: dict[str, Any], limits: dict[str, Any]) -> None:
    requests = amounts.get("requests")
    if requests is None:
        amounts["requests"] = dict(limits)
        return
    for name in limits:
        if name not in requests:
            requests[name] = limits[name]


_VOLUMES = {
    "secret": _mode,
    "configMap": _mode,
    "downwardAPI": _downward,
    "projected": _projected,
    "image": _image,
    "ephemeral": _ephemeral,
}
