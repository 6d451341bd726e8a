"""The variables of a container's processes, as the kubelet and the runtime set them. Pure.

Models kubernetes pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables, getServiceEnvVarMap),
pkg/kubelet/envvars/envvars.go, pkg/fieldpath and third_party/forked/golang/expansion.
"""

from __future__ import annotations

import base64
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity

DOMAIN = "cluster.local"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
LETTERS_MAX, VARIABLES_MAX = 1 << 20, 10_000  # of all variables, or words, of a process
_REFERENCE = re.compile(r"\$(\$|\(([^()]*)\))")
Lookup = Callable[[str, str, str], Object | None]


def variables(
    pod: Object,
    spec: Object,
    *,
    image: Mapping[str, str],
    services: Sequence[Object],
    lookup: Lookup,
    host_ip: str,
    since: int,
) -> dict[str, str]:
    """Returns the environment in the order in which `env` prints it."""
    out = {"PATH": PATH, "HOSTNAME": hostname(pod), **image}
    links = service_variables(pod, services, since)
    mine: dict[str, str] = {}
    known, room = ChainMap(mine, links), LETTERS_MAX
    namespace = meta.namespace_of(pod)
    for source in spec.get("envFrom") or ():
        for key, text in _taken(source, namespace, lookup):
            if len(mine) >= VARIABLES_MAX or len(text) > room:
                break
            room -= len(text)
            mine[source.get("prefix", "") + key] = text
    for variable in spec.get("env") or ():
        if "valueFrom" in variable:
            taken = _from(variable["valueFrom"], pod, spec, lookup, host_ip)
            if taken is None:
                continue
            text = taken
        else:
            text = expanded(variable.get("value") or "", known, room)
        room -= min(room, len(text))
        mine[variable["name"]] = text
    out.update(mine)
    out.update((key, text) for key, text in links.items() if key not in mine)
    out.setdefault("HOME", "/root")
    return out


def expanded(text: str, values: Mapping[str, str], room: int = LETTERS_MAX) -> str:
    """Expands $(NAME) to the variable's value and $$ to $; leaves unknown names unchanged, and a
    text for whose values there is no room."""

    def replace(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return values.get(match[2], match[0])

    size = len(text)
    for match in _REFERENCE.finditer(text):
        size += len(replace(match))
        if size > max(room, len(text)):
            return text
    return _REFERENCE.sub(replace, text)


def all_expanded(texts: Sequence[str], values: Mapping[str, str]) -> list[str]:
    """The words of a command, together no longer than a process may be given."""
    out: list[str] = []
    room = LETTERS_MAX
    for text in texts:
        out.append(expanded(text, values, room))
        room -= min(room, len(out[-1]))
    return out


def hostname(pod: Object) -> str:
    spec = pod["spec"]
    if spec.get("hostNetwork"):
        return str(spec.get("nodeName", ""))
    return str(spec.get("hostname") or meta.name_of(pod))[:63]


def termination_message_path(spec: Object) -> str:
    """Path of the file in which the container may write its termination message."""
    return spec.get("terminationMessagePath") or "/dev/termination-log"


def service_variables(pod: Object, services: Sequence[Object], since: int) -> dict[str, str]:
    """Variables of the services that existed when the container started: those of the namespace
    (unless enableServiceLinks is false) and the API server's."""
    out: dict[str, str] = {}
    wants = pod["spec"].get("enableServiceLinks", True)
    for service in services:
        own = meta.namespace_of(service) == meta.namespace_of(pod) and wants
        name = meta.name_of(service)
        master = name == "kubernetes" and meta.namespace_of(service) == "default"
        address = service["spec"].get("clusterIP")
        if not (own or master) or not address or address == "None":
            continue
        if meta.parse_time(service["metadata"]["creationTimestamp"]) > since:
            continue
        out.update(_links(name.upper().replace("-", "_"), address, service["spec"]["ports"]))
    return out


def _links(name: str, address: str, ports: Sequence[Object]) -> Iterator[tuple[str, str]]:
    yield f"{name}_SERVICE_HOST", address
    yield f"{name}_SERVICE_PORT", str(ports[0]["port"])
    for entry in ports:
        if entry.get("name"):
            yield (
                f"{name}_SERVICE_PORT_{entry['name'].upper().replace('-', '_')}",
                str(entry["port"]),
            )
    for index, entry in enumerate(ports):
        protocol, port = entry.get("protocol", "TCP"), entry["port"]
        url = f"{protocol.lower()}://{address}:{port}"
        prefix = f"{name}_PORT_{port}_{protocol}"
        if index == 0:
            yield f"{name}_PORT", url
        yield prefix, url
        yield f"{prefix}_PROTO", protocol.lower()
        yield f"{prefix}_PORT", str(port)
        yield f"{prefix}_ADDR", address


def _taken(source: Object, namespace: str, lookup: Lookup) -> Iterator[tuple[str, str]]:
    for resource, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
        if field in source:
            obj = lookup(resource, namespace, source[field].get("name", "")) or {}
            for key in sorted(obj.get("data") or ()):
                yield key, text_of(resource, obj["data"][key])


def text_of(resource: str, value: str) -> str:
    if resource != "secrets":
        return value
    return base64.b64decode(value).decode("utf-8", "replace")


def _from(source: Object, pod: Object, spec: Object, lookup: Lookup, host_ip: str) -> str | None:
    """Resolves `valueFrom`; None when an optional source is missing."""
    namespace = meta.namespace_of(pod)
    for resource, field in (("configmaps", "configMapKeyRef"), ("secrets", "secretKeyRef")):
        if field in source:
            reference = source[field]
            obj = lookup(resource, namespace, reference.get("name", "")) or {}
            value = (obj.get("data") or {}).get(reference["key"])
            return None if value is None else text_of(resource, value)
    if "fieldRef" in source:
        return field_of(pod, source["fieldRef"]["fieldPath"], host_ip)
    if "resourceFieldRef" in source:
        return resource_of(pod, spec, source["resourceFieldRef"])
    return None


def field_of(pod: Object, path: str, host_ip: str) -> str:
    """A field of the downward API."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    match = re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path)
    if match:
        return str((metadata.get(match[1]) or {}).get(match[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        values = metadata.get(path.partition(".")[2]) or {}
        return "\n".join(f'{key}="{values[key]}"' for key in sorted(values))
    fields = {
        "metadata.name": meta.name_of(pod),
        "metadata.namespace": meta.namespace_of(pod),
        "metadata.uid": meta.uid_of(pod),
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", ""),
        "status.hostIP": host_ip,
        "status.hostIPs": host_ip,
        "status.podIP": status.get("podIP", ""),
        "status.podIPs": status.get("podIP", ""),
    }
    return str(fields.get(path, ""))


def resource_of(pod: Object, spec: Object, selector: Object) -> str:
    """requests.cpu and the like, in units of the divisor, rounded up."""
    name = selector.get("containerName")
    if name:
        spec = next(
            (container for container in pod["spec"]["containers"] if container["name"] == name),
            spec,
        )
    kind, _, resource = selector["resource"].partition(".")
    resources = spec.get("resources") or {}
    amount = (resources.get(kind) or {}).get(resource)
    if amount is None:
        amount = {"cpu": "4", "memory": "8286616Ki"}.get(resource, "0") if kind == "limits" else "0"
    divisor = str(selector.get("divisor") or "1")
    divisor = "1" if divisor == "0" else divisor
    if resource == "cpu":
        return str(-(-quantity.milli_value(amount) // max(1, quantity.milli_value(divisor))))
    return str(-(-quantity.value(amount) // max(1, quantity.value(divisor))))
