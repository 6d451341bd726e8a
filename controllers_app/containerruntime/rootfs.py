"""What a container finds below /: its image's files, a few that the kubelet writes, its volumes.

Models kubernetes pkg/kubelet/kubelet_pods.go (ensureHostsFile) and containerd's snapshots of
images.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from controllers_app.containerruntime.instances import Instance
from controllers_app.cri import dns, environment
from controllers_app.cri.services import LIVE
from controllers_app.shell import resolver, tools
from controllers_app.shell.filesystem import Disk, File, Files, Folder, Node, copy, mounted, tree

FOLDERS = tuple(
    """
    /bin /usr/bin /usr/sbin /usr/local/bin /dev /etc /home /lib /opt /proc /root /run /sbin /sys
    /tmp /var/log /var/run
    """.split()
)
SHORT = ("/dev", "/etc", "/proc", "/sys", "/tmp")  # of an image without a userland
DISK = "/dev/sda1"  # the node's
MEMORY = ("secret", "downwardAPI", "projected")  # kept there, unlike config maps


def laid_out(container: Instance) -> Files:
    """The container's tree. Tokens are empty until `tokens_of` was asked for them."""
    image, now = container.image, container.since
    template = container.environment.templates.get(image.name)
    if template is None:
        template = container.environment.templates[image.name] = _template(container)
    root = copy(template)
    files = Files(root, Disk(above=container.host.storage))
    files.owner, files.groups = container.owner, groups_of(container)
    path = environment.termination_message_path(container.spec)
    for name, text in _written(container).items():
        mode = 0o666 if name == path else 0o644
        files.put(name, File(text.encode(), mode, now), now)
    files.put(image.workdir, files.find(image.workdir) or Folder(mtime=now), now)
    context = container.spec.get("securityContext") or {}
    root.readonly = bool(context.get("readOnlyRootFilesystem"))
    for mount in container.spec.get("volumeMounts") or ():
        _mount(container, files, mount)
    return files


def _template(container: Instance) -> Folder:
    """What the image's files are, for every container of it."""
    image, now = container.image, container.since
    bare = image.userland == "none"
    root = tree(image.files, SHORT if bare else FOLDERS, now)
    files = Files(root)
    if not bare:
        for name in (image.userland or tools.DEBIAN, *image.tools):
            for tool in container.environment.tools.get(name, {}).values():
                if tool.name.isalnum() or "-" in tool.name:
                    files.put(f"{tool.folder}/{tool.name}", File(b"\x7fELF", 0o755, now), now)
    for name in ("/tmp", "/var/tmp"):
        file = files.find(name)
        if isinstance(file, Folder):
            file.mode = 0o1777
    for name in ("null", "zero", "random", "urandom", "tty"):
        files.put(f"/dev/{name}", File(b"", 0o666, now), now)
    return root


def _written(container: Instance) -> dict[str, str]:
    """The files that the kubelet writes, and a little of /proc."""
    pod = container.pod
    spec, name = pod["spec"], environment.hostname(pod)
    hosts = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
        f"{container.address}\t{name}",
    ]
    aliases = spec.get("hostAliases") or ()
    if aliases:
        hosts += ["", "# Entries added by HostAliases."]
        hosts += ["\t".join([alias["ip"], *(alias.get("hostnames") or ())]) for alias in aliases]
    return {
        "/etc/hosts": "\n".join([*hosts, ""]),
        "/etc/hostname": f"{name}\n",
        resolver.PATH: dns.resolv_conf(pod, container.environment.dns_address),
        environment.termination_message_path(container.spec): "",
        "/proc/version": "Linux version 6.1.0-simulated\n",
        "/proc/1/cmdline": "\0".join(container.command()) + "\0",
        "/proc/meminfo": "MemTotal:        8388608 kB\nMemFree:         6183776 kB\n",
        "/proc/loadavg": "0.04 0.03 0.00 1/128 42\n",
    }


def groups_of(container: Instance) -> tuple[int, ...]:
    context = container.pod_context
    more = context.get("supplementalGroups") or ()
    group = context.get("fsGroup")
    return (*more, *(() if group is None else (group,)))


def _mount(container: Instance, files: Files, mount: Object) -> None:
    folder = container.environment.volumes.folder(container, mount["name"])
    if folder is None:
        return
    now = container.since
    known = container.variables()
    sub = mount.get("subPath") or environment.expanded(mount.get("subPathExpr") or "", known)
    path = mount["mountPath"]
    readonly = bool(mount.get("readOnly")) or folder.readonly
    target: Node | None = folder
    if sub:
        inside = Files(folder)
        target = inside.find("/" + sub)
        if target is None and not folder.readonly:
            inside.mkdir("/" + sub, now, parents=True)
            target = inside.find("/" + sub)
    if isinstance(target, Folder):
        made = mounted(target, readonly=readonly)
        made.keeper = folder.keeper
        files.put(path, made, now)
    elif isinstance(target, File):
        files.put(path, target, now)


def disks_of(container: Instance) -> list[tuple[str, str, bool]]:
    """What is mounted, where, and whether it is only read: the root and the node's disk first."""
    context = container.spec.get("securityContext") or {}
    disks = [
        ("overlay", "/", bool(context.get("readOnlyRootFilesystem"))),
        ("tmpfs", "/dev", False),
        (DISK, "/etc/hosts", False),
        (DISK, resolver.PATH, False),
    ]
    volumes = {volume["name"]: volume for volume in container.pod["spec"].get("volumes") or ()}
    for mount in container.spec.get("volumeMounts") or ():
        spec = volumes.get(mount["name"], {})
        readonly = bool(mount.get("readOnly")) or any(kind in spec for kind in LIVE)
        disks.append((_device(spec), mount["mountPath"], readonly))
    return disks


def _device(spec: Object) -> str:
    if "nfs" in spec:
        return f"{spec['nfs']['server']}:{spec['nfs']['path']}"
    in_memory = (spec.get("emptyDir") or {}).get("medium") == "Memory"
    return "tmpfs" if in_memory or any(kind in spec for kind in MEMORY) else DISK
