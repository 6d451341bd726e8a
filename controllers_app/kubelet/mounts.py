"""What a container finds below /: its image's files, what the kubelet writes, its volumes.

Config maps, secrets and fields of the pod are laid out as they are now and again after a minute,
as the kubelet's sync does; tokens are asked for when a container is first looked into, and again
when four fifths of their life, or a day, are over.

Models kubernetes pkg/volume/{configmap,secret,projected,downwardapi,emptydir,hostpath} and
pkg/kubelet/kubelet_pods.go (ensureHostsFile), pkg/kubelet/network/dns,
pkg/kubelet/token/token_manager.go (requiresRefresh).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import clocktext, environment
from controllers_app.kubelet.network import DOMAIN
from controllers_app.kubelet.shell import tools
from controllers_app.kubelet.shell.files import File, Files, Folder, Link, Node, copy, mounted, tree
from controllers_app.kubelet.volumes import NotMountable

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell

SYNC_SECONDS = 60
MODE = 0o644
TOKEN_SECONDS, TOKEN_SECONDS_MAX = 3600, 24 * 3600
FOLDERS = (
    "/bin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/dev", "/etc", "/home", "/lib", "/opt",
    "/proc", "/root", "/run", "/sbin", "/sys", "/tmp", "/var/log", "/var/run",
)  # fmt: skip
SHORT = ("/dev", "/etc", "/proc", "/sys", "/tmp")  # of an image without a userland
DISK = "/dev/sda1"  # the node's
MEMORY = ("secret", "downwardAPI", "projected")  # kept there, unlike config maps
LIVE = ("configMap", "secret", "downwardAPI", "projected")


def laid_out(cell: Cell) -> Files:
    """The container's tree. Tokens are empty until `tokens_of` was asked for them."""
    image, now = cell.image, cell.since
    template = cell.directory.templates.get(image.name)
    if template is None:
        template = cell.directory.templates[image.name] = _template(cell)
    root = copy(template)
    files = Files(root)
    files.owner, files.groups = owner_of(cell), groups_of(cell)
    path = message_path(cell.spec)
    for name, text in _written(cell).items():
        mode = 0o666 if name == path else 0o644
        files.put(name, File(text.encode(), mode, now), now)
    files.put(image.workdir, files.find(image.workdir) or Folder(mtime=now), now)
    context = cell.spec.get("securityContext") or {}
    root.readonly = bool(context.get("readOnlyRootFilesystem"))
    for mount in cell.spec.get("volumeMounts") or ():
        _mount(cell, files, mount)
    return files


def message_path(spec: Object) -> str:
    """Where the container may say why it ended."""
    return spec.get("terminationMessagePath") or "/dev/termination-log"


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
    for name in ("/tmp", "/var/tmp"):
        found = files.find(name)
        if isinstance(found, Folder):
            found.mode = 0o1777
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
    resolv = f"search {search}\nnameserver {cell.directory.network.dns_address}\noptions ndots:5\n"
    if spec.get("dnsPolicy") in ("Default", "None"):
        config = spec.get("dnsConfig") or {}
        servers = config.get("nameservers") or ["10.0.0.1"]
        resolv = "".join(f"nameserver {one}\n" for one in servers)
    return {
        "/etc/hosts": "\n".join([*hosts, ""]),
        "/etc/hostname": f"{name}\n",
        "/etc/resolv.conf": resolv,
        message_path(cell.spec): "",
        "/proc/version": "Linux version 6.1.0-simulated\n",
        "/proc/1/cmdline": "\0".join(cell.command()) + "\0",
        "/proc/meminfo": "MemTotal:        8388608 kB\nMemFree:         6183776 kB\n",
        "/proc/loadavg": "0.04 0.03 0.00 1/128 42\n",
    }


def owner_of(cell: Cell) -> tuple[int, int]:
    """uid and gid of the container's processes."""
    own, pod = cell.spec.get("securityContext") or {}, pod_context(cell)
    user, group = (
        own.get(key) if own.get(key) is not None else pod.get(key) or 0
        for key in ("runAsUser", "runAsGroup")
    )
    return int(user or 0), int(group or 0)


def groups_of(cell: Cell) -> tuple[int, ...]:
    context = pod_context(cell)
    more = context.get("supplementalGroups") or ()
    group = context.get("fsGroup")
    return (*more, *(() if group is None else (group,)))


def pod_context(cell: Cell) -> Object:
    found: Object = cell.pod["spec"].get("securityContext") or {}
    return found


def _mount(cell: Cell, files: Files, mount: Object) -> None:
    folder = volume(cell, mount["name"])
    if folder is None:
        return
    now = cell.since
    known = cell.variables()
    sub = mount.get("subPath") or environment.expanded(mount.get("subPathExpr") or "", known)
    path = mount["mountPath"]
    readonly = bool(mount.get("readOnly")) or folder.readonly
    found: Node | None = folder
    if sub:
        inside = Files(folder)
        found = inside.find("/" + sub)
        if found is None and not folder.readonly:
            inside.mkdir("/" + sub, now, parents=True)
            found = inside.find("/" + sub)
    if isinstance(found, Folder):
        made = mounted(found, readonly=readonly)
        made.keeper = folder.keeper
        files.put(path, made, now)
    elif isinstance(found, File):
        files.put(path, found, now)


def disks_of(cell: Cell) -> list[tuple[str, str, bool]]:
    """What is mounted, where, and whether it is only read: the root and the node's disk first."""
    context = cell.spec.get("securityContext") or {}
    found = [
        ("overlay", "/", bool(context.get("readOnlyRootFilesystem"))), ("tmpfs", "/dev", False),
        (DISK, "/etc/hosts", False), (DISK, "/etc/resolv.conf", False),
    ]  # fmt: skip
    volumes = {one["name"]: one for one in cell.pod["spec"].get("volumes") or ()}
    for mount in cell.spec.get("volumeMounts") or ():
        spec = volumes.get(mount["name"], {})
        readonly = bool(mount.get("readOnly")) or any(kind in spec for kind in LIVE)
        found.append((_device(spec), mount["mountPath"], readonly))
    return found


def _device(spec: Object) -> str:
    if "nfs" in spec:
        return f"{spec['nfs']['server']}:{spec['nfs']['path']}"
    in_memory = (spec.get("emptyDir") or {}).get("medium") == "Memory"
    return "tmpfs" if in_memory or any(kind in spec for kind in MEMORY) else DISK


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
    group = pod_context(cell).get("fsGroup")
    if "persistentVolumeClaim" in spec:
        claim = _claimed(cell, spec["persistentVolumeClaim"]["claimName"])
        if group is not None:
            claim.owner, claim.mode = (claim.owner[0], group), claim.mode | 0o2070
        return claim
    folder = station.volumes.setdefault(uid, {}).get(name)
    if folder is None:
        live = any(kind in spec for kind in LIVE)
        folder = Folder({}, 0o777, cell.since, readonly=live, owner=(0, group or 0))
        if group is not None:
            folder.mode = 0o2777
        station.volumes[uid][name] = folder
        if live:
            _fill(cell, spec, folder)
    return folder


def _claimed(cell: Cell, name: str) -> Folder:
    """What is in the volume that the claim is bound to."""
    found = cell.directory.lookup("persistentvolumeclaims", meta.namespace_of(cell.pod), name) or {}
    bound = (found.get("spec") or {}).get("volumeName") or f"{meta.namespace_of(cell.pod)}/{name}"
    return cell.directory.claims.folder(bound, cell.since)


def refresh(cell: Cell) -> None:
    """Lay out anew what others may have changed, a minute after the last time."""
    for spec in cell.pod["spec"].get("volumes") or ():
        folder = cell.station.volumes.get(meta.uid_of(cell.pod), {}).get(spec["name"])
        if folder is None or not folder.readonly:
            continue
        if cell.now - folder.mtime >= SYNC_SECONDS * SECOND:
            _fill(cell, spec, folder)
            kubelet = cell.station.kubelet
            if kubelet is not None and any(_is_due(cell, *one) for one in _tokens(spec, folder)):
                kubelet.kernel.spawn(f"{kubelet.lane}/tokens", tokens_of(cell), background=True)


def _fill(cell: Cell, spec: Object, folder: Folder) -> None:
    """Write what the volume is made of, all at once: the files are in a folder named by the time,
    `..data` leads there and the names that one reads lead through it."""
    old = _data_of(folder)
    folder.mtime = cell.now
    tokens = token_paths(spec)
    payload = Folder(mtime=cell.now)
    files = Files(payload)
    group = pod_context(cell).get("fsGroup")
    for path, data, mode in _content(cell, spec):
        written = cell.now
        if path in tokens:
            kept = Files(old).find("/" + path) if old is not None else None
            if isinstance(kept, File):
                data, written = kept.data, kept.mtime
            mode = 0o600 if group is not None or owner_of(cell)[0] else mode
        mode |= 0o440 if group is not None else 0
        owner = (owner_of(cell)[0] if path in tokens else 0, group or 0)
        files.put("/" + path, File(data, mode, written, owner), cell.now)
    if old is not None and (not payload.entries and "projected" not in spec):
        return  # what it named is gone: what was mounted stays
    if old is not None and _same(old, payload):
        return
    name = clocktext.of(cell.now, "..%Y_%m_%d_%H_%M_%S.") + f"{cell.now % SECOND * 1000:09d}"
    folder.entries.clear()
    folder.entries[name] = payload
    folder.entries["..data"] = Link(name)
    for one in payload.entries:
        folder.entries[one] = Link(f"..data/{one}")


def _data_of(folder: Folder) -> Folder | None:
    found = Files(folder).find("/..data")
    return found if isinstance(found, Folder) else None


def _same(one: Folder, other: Folder) -> bool:
    left, right = ([(path, node) for path, node in Files(each).walk("/")] for each in (one, other))
    return [_told(*each) for each in left] == [_told(*each) for each in right]


def _told(path: str, node: Node) -> tuple[str, bytes, int]:
    return (path, node.data, node.mode) if isinstance(node, File) else (path, b"", 0)


def _content(
    cell: Cell, spec: Object, standard: int | None = None
) -> Iterator[tuple[str, bytes, int]]:
    """(path, data, mode) of everything in a volume that is made from objects."""
    namespace, lookup = meta.namespace_of(cell.pod), cell.directory.lookup
    for resource, kind, field in (("configmaps", "configMap", "name"), ("secrets", "secret", "")):
        if kind in spec:
            source = spec[kind]
            name = source.get(field or "secretName") or source.get("name") or ""
            mode = standard if standard is not None else source.get("defaultMode", MODE)
            yield from _keys(resource, lookup(resource, namespace, name), source, mode)
    downward = spec.get("downwardAPI") or {}
    for one in downward.get("items") or ():
        if "fieldRef" in one:
            text = environment.field_of(
                cell.pod, one["fieldRef"]["fieldPath"], cell.station.address
            )
        else:
            text = environment.resource_of(cell.pod, cell.spec, one["resourceFieldRef"])
        mode = standard if standard is not None else downward.get("defaultMode", MODE)
        yield one["path"], text.encode(), one.get("mode", mode)
    projected = spec.get("projected") or {}
    mode = projected.get("defaultMode", MODE)
    for source in projected.get("sources") or ():
        if "serviceAccountToken" in source:
            yield source["serviceAccountToken"]["path"], b"", mode
        else:
            yield from _content(cell, source, mode)


def _keys(
    resource: str, found: Object | None, source: Object, mode: int
) -> Iterator[tuple[str, bytes, int]]:
    if found is None:
        return
    values: dict[str, bytes] = {}
    for key, text in (found.get("data") or {}).items():
        values[key] = base64.b64decode(text) if resource == "secrets" else text.encode()
    for key, text in (found.get("binaryData") or {}).items():
        values[key] = base64.b64decode(text)
    items = source.get("items")
    if items:
        for one in items:
            if one["key"] in values:
                yield one["path"], values[one["key"]], one.get("mode", mode)
    else:
        yield from ((key, data, mode) for key, data in sorted(values.items()))


def token_paths(spec: Object) -> dict[str, Object]:
    """path -> what is asked for, of the tokens in a projected volume."""
    sources = (spec.get("projected") or {}).get("sources") or ()
    wanted = [one["serviceAccountToken"] for one in sources if "serviceAccountToken" in one]
    return {one["path"]: one for one in wanted}


async def tokens_of(cell: Cell) -> None:
    """Ask for the tokens of the pod's mounted volumes that nobody read so far, and again for
    those whose life is mostly over. While no new one can be had, the old one stays."""
    cell.lay_out()
    kubelet = cell.station.kubelet
    mounted = {one["name"] for one in cell.spec.get("volumeMounts") or ()}
    for spec in cell.pod["spec"].get("volumes") or ():
        folder = cell.station.volumes.get(meta.uid_of(cell.pod), {}).get(spec["name"])
        if folder is None or spec["name"] not in mounted or kubelet is None:
            continue
        for found, wanted in list(_tokens(spec, folder)):
            if not _is_due(cell, found, wanted):
                continue
            try:
                token = await kubelet.volumes.token(cell.pod, wanted)
            except NotMountable:
                continue
            written = File(token.encode(), found.mode, cell.now, found.owner)
            data = _data_of(folder)
            if data is not None:
                Files(data).put("/" + wanted["path"], written, cell.now)


def _tokens(spec: Object, folder: Folder) -> Iterator[tuple[File, Object]]:
    """The files of a volume that hold tokens, and what is asked for each."""
    for path, wanted in token_paths(spec).items():
        found = Files(folder).find("/" + path)
        if isinstance(found, File):
            yield found, wanted


def _is_due(cell: Cell, found: File, wanted: Object) -> bool:
    """Whether a token is missing, or has lived four fifths of its life, or a day."""
    lives = min(wanted.get("expirationSeconds", TOKEN_SECONDS) * 0.8, TOKEN_SECONDS_MAX)
    return not found.data or cell.now - found.mtime >= lives * SECOND
