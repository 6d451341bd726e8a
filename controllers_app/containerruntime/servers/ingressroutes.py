"""Which Service a request goes to, by the Ingresses of a class. Pure.

Models kubernetes/ingress-nginx internal/ingress/controller/{controller,location,endpointslices}.go
and the locations that rootfs/etc/nginx/template/nginx.tmpl makes of them, without regular
expressions and annotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

CONTROLLER = "k8s.io/ingress-nginx"
CLASS_ANNOTATION = "kubernetes.io/ingress.class"
OWN_ANNOTATIONS = "nginx.ingress.kubernetes.io/"
ANY_HOST = "_"
_WILDCARD = re.compile(r"[\w-]+\.(.+)")


class Backend(NamedTuple):
    """A port of a Service that an Ingress names, by number or name."""

    namespace: str
    ingress: str
    service: str
    port: int | str

    @property
    def upstream(self) -> str:
        """What nginx calls it."""
        return f"{self.namespace}-{self.service}-{self.port}"


class Location(NamedTuple):
    """A path of a host: exactly that one, or all that begin with it."""

    path: str
    is_exact: bool
    backend: Backend
    is_made: bool = False  # of a prefix, unless somebody asks for exactly this path


class Site(NamedTuple):
    """What is known of a host."""

    locations: list[Location]
    tls: list[str]  # namespace/name of the secrets for it


Sites = Mapping[str, Site]


def chosen(
    classes: Iterable[Object], ingresses: Iterable[Object], controller: str, name: str
) -> list[Object]:
    """The Ingresses of the classes that the controller serves, or of the annotation with its name,
    the oldest first."""
    own = {
        meta.name_of(each)
        for each in classes
        if (each.get("spec") or {}).get("controller") == controller
    }

    def is_own(ingress: Object) -> bool:
        given = (ingress.get("spec") or {}).get("ingressClassName")
        if given:
            return given in own
        return bool(meta.annotations_of(ingress).get(CLASS_ANNOTATION) == name)

    return sorted(filter(is_own, ingresses), key=_age)


def sites(ingresses: Sequence[Object]) -> Sites:
    """Host -> what is served there. Of two that say the same the older one counts."""
    made: dict[str, Site] = {ANY_HOST: Site([], [])}
    defaults: dict[str, Backend] = {}
    for ingress in ingresses:
        spec = ingress["spec"]
        rules = spec.get("rules") or ()
        default = _backend(ingress, spec.get("defaultBackend"))
        for rule in rules:
            host = rule.get("host") or ANY_HOST
            if default is not None and host not in made:
                defaults.setdefault(host, default)
            site = made.setdefault(host, Site([], []))
            for path in (rule.get("http") or {}).get("paths") or ():
                _place(site.locations, ingress, path)
        if default is not None and not rules:
            defaults.setdefault(ANY_HOST, default)
        for part in spec.get("tls") or ():
            for host in part.get("hosts") or ():
                secret = f"{meta.namespace_of(ingress)}/{part.get('secretName', '')}"
                made.setdefault(host, Site([], [])).tls.append(secret)
    for host, backend in defaults.items():
        if not any(each.path == "/" for each in made[host].locations):
            made[host].locations.append(Location("/", False, backend))
    return made


def site_of(known: Sites, host: str) -> Site:
    """What serves a Host header."""
    host = host.lower().partition(":")[0]
    wildcard = _WILDCARD.fullmatch(host)
    if host not in known and wildcard:
        host = f"*.{wildcard[1]}"
    return known[host] if host in known else known[ANY_HOST]


def location_of(site: Site, path: str) -> Location | None:
    """The location that serves a path: an exact one first, then the longest."""
    fitting = [
        each
        for each in site.locations
        if (path == each.path if each.is_exact else path.startswith(each.path))
    ]
    return max(fitting, key=lambda each: (each.is_exact, len(each.path)), default=None)


def endpoints(service: Object, slices: Iterable[Object], port: int | str) -> list[tuple[str, int]]:
    """The ready endpoints of a Service's port."""
    ports = (service.get("spec") or {}).get("ports") or ()
    found = next((each for each in ports if port in (each.get("port"), each.get("name"))), None)
    if found is None or found.get("protocol", "TCP") != "TCP":
        return []
    name = found.get("name") or ""
    addresses = {
        (address, each["port"]): None
        for part in sorted(slices, key=meta.name_of)
        for each in part.get("ports") or ()
        if (each.get("name") or "") == name and each.get("port")
        for endpoint in part.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
        for address in endpoint.get("addresses") or ()
    }
    return list(addresses)


def _age(ingress: Object) -> tuple[str, str, str]:
    created = ingress["metadata"].get("creationTimestamp") or ""
    return created, meta.namespace_of(ingress), meta.name_of(ingress)


def _backend(ingress: Object, backend: Object | None) -> Backend | None:
    service = (backend or {}).get("service")
    if not service:
        return None
    port = service.get("port") or {}
    number_or_name = port.get("number") or port.get("name") or 0
    namespace, name = meta.namespace_of(ingress), meta.name_of(ingress)
    return Backend(namespace, name, service["name"], number_or_name)


def _place(locations: list[Location], ingress: Object, path: Object) -> None:
    backend = _backend(ingress, path.get("backend"))
    if backend is None:
        return
    for made in _locations(path.get("path") or "/", path.get("pathType"), backend):
        same = next((each for each in locations if each[:2] == made[:2]), None)
        if same is not None and same.is_made and not made.is_made:
            locations.remove(same)
        elif same is not None:
            continue
        locations.append(made)


def _locations(path: str, kind: str | None, backend: Backend) -> Iterator[Location]:
    if kind == "Prefix" and path != "/":
        # by whole elements: the path itself, and what is below it
        whole = path.rstrip("/")
        yield Location(f"{whole}/", False, backend)
        yield Location(whole, True, backend, is_made=True)
    else:
        yield Location(path, kind == "Exact", backend)
