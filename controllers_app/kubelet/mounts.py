"""What a container finds below /: its image's files, what the kubelet writes, its volumes.

Config maps, secrets and fields of the pod are laid out as they are now and again after a minute,
as the kubelet's sync does; tokens are asked for when a container is first looked into.

Models kubernetes pkg/volume/{configmap,secret,projected,downwardapi,emptydir,hostpath} and
pkg/kubelet/kubelet_pods.go (ensureHostsFile), pkg/kubelet/network/dns.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import environment
from controllers_app.kubelet.network import DNS_ADDRESS, DOMAIN
from controllers_app.kubelet.shell import tools
from controllers_app.kubelet.shell.files import File, Files, Folder, Link, copy, tree

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell

SYNC_SECONDS = 60
FOLDERS = (
    "/bin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/dev", "/etc", "/home", "/lib", "/opt",
    "/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/var/log", "/var/run",
)  # fmt: skip
SHORT = ("/dev", "/etc", "/proc", "/sys", "/tmp")  # of an image without a userland
LIVE = ("configMap", "secret", "downwardAPI", "projected")


def laid_out(cell: Cell) -> Files:
    """The container's tree. Tokens are empty until `tokens_of` was asked for them."""
    image, now = cell.image, cell.since
    template = cell.directory.templates.get(image.name)
    if template is None:
        template = cell.directory.templates[image.name] = _template(cell)
    files = Files(copy(template))
    for name, text in _written(cell).items():
        files.put(name, File(text.encode(), 0o644, now), now)
    files.mkdir(image.workdir, now, parents=True)
    for mount in cell.spec.get("volumeMounts") or ():
        _mount(cell, files, mount)
    return files


def _template(cell: Cell) -> Folder:
    """What the image's files are, for every container of it."""
    image, now = cell.image, cell.since
    bare = image.userland == "none"
    root = tree(image.files, SHORT if bare else FOLDERS, now)
    files = Files(root)
    if not bare:
        for name in (image.userland or tools.DEBIAN, *image.tools):
            for tool in cell.directory.tools.get(name, {}).values():
                if tool.name.isalnum() or "-" in tool.name:
                    files.put(f"{tool.folder}/{tool.name}", File(b"\x7fELF", 0o755, now), now)
    for name in ("null", "zero", "random", "urandom", "tty"):
        files.put(f"/dev/{name}", File(b"", 0o666, now), now)
    return root


def _written(cell: Cell) -> dict[str, str]:
    """The files that the kubelet writes, and a little of /proc."""
    pod = cell.pod
    spec, namespace, name = pod["spec"], meta.namespace_of(pod), environment.hostname(pod)
    hosts = [
        "# Kubernetes-managed hosts file.", "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback", "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix", "fe00::1\tip6-allnodes", "fe00::2\tip6-allrouters",
        f"{cell.address}\t{name}",
    ]  # fmt: skip
    aliases = spec.get("hostAliases") or ()
    if aliases:
        hosts += ["", "# Entries added by HostAliases."]
        hosts += ["\t".join([one["ip"], *(one.get("hostnames") or ())]) for one in aliases]
    search = f"{namespace}.svc.{DOMAIN} svc.{DOMAIN} {DOMAIN}"
    resolv = f"search {search}\nnameserver {DNS_ADDRESS}\noptions ndots:5\n"
    if spec.get("dnsPolicy") in ("Default", "None"):
        config = spec.get("dnsConfig") or {}
        servers = config.get("nameservers") or ["10.0.0.1"]
        resolv = "".join(f"nameserver {one}\n" for one in servers)
    return {
        "/etc/hosts": "\n".join([*hosts, ""]),
        "/etc/hostname": f"{name}\n",
        "/etc/resolv.conf": resolv,
        cell.spec.get("terminationMessagePath") or "/dev/termination-log": "",
        "/proc/version": "Linux version 6.1.0-simulated\n",
        "/proc/1/cmdline": "\0".join(cell.command()) + "\0",
        "/proc/meminfo": "MemTotal:        8388608 kB\nMemFree:         6183776 kB\n",
        "/proc/loadavg": "0.04 0.03 0.00 1/128 42\n",
    }


def _mount(cell: Cell, files: Files, mount: Object) -> None:
    folder = volume(cell, mount["name"])
    if folder is None:
        return
    now = cell.since
    known = cell.variables()
    sub = mount.get("subPath") or environment.expanded(mount.get("subPathExpr") or "", known)
    path = mount["mountPath"]
    if not sub:
        if mount.get("readOnly") and not folder.readonly:
            folder = Folder(folder.entries, folder.mode, folder.mtime, readonly=True)
        files.put(path, folder, now)
        return
    inside = Files(folder)
    found = inside.find("/" + sub)
    if found is None and not folder.readonly:
        inside.mkdir("/" + sub, now, parents=True)
        found = inside.find("/" + sub)
    if found is not None and not isinstance(found, Link):
        files.put(path, found, now)


def volume(cell: Cell, name: str) -> Folder | None:
    """What is mounted as the pod's volume of that name; containers of a pod share it."""
    spec = next((one for one in cell.pod["spec"].get("volumes") or () if one["name"] == name), None)
    if spec is None:
        return None
    station, uid = cell.station, meta.uid_of(cell.pod)
    if "hostPath" in spec:
        path = spec["hostPath"]["path"]
        found = station.disk.find(path)
        if found is None:
            station.disk.mkdir(path, cell.since, parents=True)
            found = station.disk.find(path)
        return found if isinstance(found, Folder) else None
    if "persistentVolumeClaim" in spec:
        key = (meta.namespace_of(cell.pod), spec["persistentVolumeClaim"]["claimName"])
        return cell.directory.claims.setdefault(key, Folder(mtime=cell.since))
    folder = station.volumes.setdefault(uid, {}).get(name)
    if folder is None:
        live = any(kind in spec for kind in LIVE)
        folder = Folder({}, 0o777, cell.since, readonly=live)
        station.volumes[uid][name] = folder
        if live:
            _fill(cell, spec, folder)
    return folder


def refresh(cell: Cell) -> None:
    """Lay out anew what others may have changed, a minute after the last time."""
    for spec in cell.pod["spec"].get("volumes") or ():
        folder = cell.station.volumes.get(meta.uid_of(cell.pod), {}).get(spec["name"])
        if folder is None or not folder.readonly:
            continue
        if cell.now - folder.mtime >= SYNC_SECONDS * SECOND:
            _fill(cell, spec, folder)


def _fill(cell: Cell, spec: Object, folder: Folder) -> None:
    tokens = {
        path: node for path, node in folder.entries.items()
        if isinstance(node, File) and path in token_paths(spec)
    }  # fmt: skip
    made = tree({}, (), cell.now)
    files = Files(made)
    for path, data in _content(cell, spec):
        files.put("/" + path, File(data, 0o644, cell.now), cell.now)
    if not made.entries and folder.entries and "projected" not in spec:
        folder.mtime = cell.now
        return  # what it named is gone: what was mounted stays
    folder.entries = {**made.entries, **tokens}
    folder.mtime = cell.now


def _content(cell: Cell, spec: Object) -> Iterator[tuple[str, bytes]]:
    """(path, data) of everything in a volume that is made from objects."""
    namespace, lookup = meta.namespace_of(cell.pod), cell.directory.lookup
    for resource, kind, field in (("configmaps", "configMap", "name"), ("secrets", "secret", "")):
        if kind in spec:
            source = spec[kind]
            name = source.get(field or "secretName") or source.get("name") or ""
            yield from _keys(resource, lookup(resource, namespace, name), source)
    for one in (spec.get("downwardAPI") or {}).get("items") or ():
        if "fieldRef" in one:
            text = environment.field_of(
                cell.pod, one["fieldRef"]["fieldPath"], cell.station.address
            )
        else:
            text = environment.resource_of(cell.pod, cell.spec, one["resourceFieldRef"])
        yield one["path"], text.encode()
    for source in (spec.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            yield source["serviceAccountToken"]["path"], b""
        else:
            yield from _content(cell, source)


def _keys(resource: str, found: Object | None, source: Object) -> Iterator[tuple[str, bytes]]:
    if found is None:
        return
    values: dict[str, bytes] = {}
    for key, text in (found.get("data") or {}).items():
        values[key] = base64.b64decode(text) if resource == "secrets" else text.encode()
    for key, text in (found.get("binaryData") or {}).items():
        values[key] = base64.b64decode(text)
    items = source.get("items")
    if items:
        yield from ((one["path"], values[one["key"]]) for one in items if one["key"] in values)
    else:
        yield from sorted(values.items())


def token_paths(spec: Object) -> dict[str, Object]:
    """path -> what is asked for, of the tokens in a projected volume."""
    sources = (spec.get("projected") or {}).get("sources") or ()
    wanted = [one["serviceAccountToken"] for one in sources if "serviceAccountToken" in one]
    return {one["path"]: one for one in wanted}


async def tokens_of(cell: Cell) -> None:
    """Ask for the tokens of the pod's mounted volumes that nobody read so far."""
    kubelet = cell.station.kubelet
    mounted = {one["name"] for one in cell.spec.get("volumeMounts") or ()}
    for spec in cell.pod["spec"].get("volumes") or ():
        folder = cell.station.volumes.get(meta.uid_of(cell.pod), {}).get(spec["name"])
        if folder is None or spec["name"] not in mounted or kubelet is None:
            continue
        for path, wanted in token_paths(spec).items():
            found = Files(folder).find("/" + path)
            if isinstance(found, File) and not found.data:
                token = await kubelet.volumes.token(cell.pod, wanted)
                Files(folder).put("/" + path, File(token.encode(), 0o600, cell.now), cell.now)
