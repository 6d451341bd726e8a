"""Rules of the sources that pods and persistent volumes share, one kind of storage each.

A persistent volume has no claim's namespace to find its secrets in, so it names more
(`persistent`). Nothing here knows in which order sources are looked at.

Models kubernetes pkg/apis/core/validation/validation.go (validate*VolumeSource) and
pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

Source = Mapping[str, Any]
Check = Callable[[Source, str, list[FieldError]], None]

HOST_PATH_TYPES = (
    "",
    *"BlockDevice CharDevice Directory DirectoryOrCreate File FileOrCreate Socket".split(),
)
_REQUIRED = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
# where upstream calls the source otherwise than its field
_PATHS = {"gcePersistentDisk": "persistentDisk"}
_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_BYTE = "must be between 0 and 255, inclusive"
_BAD_FORMAT = "must be valid format"
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_MANAGED = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/"
    "disks/{disk-id}"
)
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_is_host_port = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch
_INITIATORS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+:[^,;*&$|\t\n\f\r ]+\Z"),
    "eui": re.compile(r"\Aeui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"\Anaa.[A-Za-z0-9]{32}\Z"),
}


def check(kind: str, source: Source, path: str, errs: list[FieldError]) -> None:
    """`path` is that of what contains the source."""
    at = f"{path}.{_PATHS.get(kind, kind)}"
    for field in _REQUIRED.get(kind, ()):
        if not source.get(field):
            errs.append(errors.required(f"{at}.{field}"))
    rule = _CHECKS.get(kind)
    if rule is not None:
        rule(source, at, errs)


def check_persistent(
    kind: str, source: Source, name: str, path: str, errs: list[FieldError]
) -> None:
    """The same of a persistent volume called `name`."""
    at = f"{path}.{kind}"
    if kind == "csi":
        _persistent_csi(source, at, errs)
        return
    if kind == "iscsi":
        portal = source.get("targetPortal") or ""
        if source.get("initiatorName") is not None and names.size(f"{name}:{portal}") > 64:
            text = (
                "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
                "if iscsi.initiatorName is specified."
            )
            errs.append(errors.invalid_value(f"{at}.targetportal", portal, text))
    check(kind, source, path, errs)
    secret = source.get("secretRef")
    if secret is not None and kind in ("cinder", "storageos") and not secret.get("namespace"):
        errs.append(errors.required(f"{at}.secretRef.namespace"))
    if kind == "iscsi" and secret is not None and not secret.get("name"):
        errs.append(errors.required(f"{at}.secretRef.name"))
    if kind == "azureFile" and source.get("secretNamespace") == "":
        errs.append(errors.required(f"{at}.secretNamespace"))
    if kind == "glusterfs" and source.get("endpointsNamespace") is not None:
        _endpoints_namespace(source["endpointsNamespace"], f"{at}.endpointsNamespace", errs)


def default(kind: str, source: dict[str, Any]) -> None:
    """What is filled in where nothing was said."""
    for field, value in _DEFAULTS.get(kind, ()):
        if source.get(field) is None or (value and source[field] == ""):
            source[field] = value


# -- inside -------------------------------------------------------------------------------------

_DEFAULTS: Mapping[str, tuple[tuple[str, Any], ...]] = {
    "hostPath": (("type", ""),),
    "iscsi": (("iscsiInterface", "default"),),
    "rbd": (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")),
    "azureDisk": (
        ("cachingMode", "ReadWrite"),
        ("kind", "Shared"),
        ("fsType", "ext4"),
        ("readOnly", False),
    ),
    "scaleIO": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
}


def _host_path(source: Source, path: str, errs: list[FieldError]) -> None:
    if not source.get("path"):
        errs.append(errors.required(f"{path}.path"))
        return
    checks.no_backsteps(source["path"], f"{path}.path", errs)
    kind = source.get("type")
    if kind is not None and kind not in HOST_PATH_TYPES:
        errs.append(errors.not_supported(f"{path}.type", kind, HOST_PATH_TYPES))


def _local(source: Source, path: str, errs: list[FieldError]) -> None:
    if not source.get("path"):
        errs.append(errors.required(f"{path}.path"))
    else:
        checks.no_backsteps(source["path"], f"{path}.path", errs)


def _git_repo(source: Source, path: str, errs: list[FieldError]) -> None:
    checks.local_path(source.get("directory") or "", f"{path}.directory", errs)


def _disk(source: Source, path: str, errs: list[FieldError]) -> None:
    partition = source.get("partition") or 0
    if not 0 <= partition <= 255:
        text = "must be between 1 and 255, inclusive"
        errs.append(errors.invalid_value(f"{path}.partition", partition, text))


def _nfs(source: Source, path: str, errs: list[FieldError]) -> None:
    if not (source.get("path") or "").startswith("/"):
        text = "must be an absolute path"
        errs.append(errors.invalid_value(f"{path}.path", source.get("path") or "", text))


def _iscsi(source: Source, path: str, errs: list[FieldError]) -> None:
    if source.get("iqn"):
        _initiator(source["iqn"], f"{path}.iqn", errs)
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errs.append(errors.invalid_value(f"{path}.lun", lun, _BYTE))
    asks = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if asks and source.get("secretRef") is None:
        errs.append(errors.required(f"{path}.secretRef"))
    if source.get("initiatorName") is not None:
        _initiator(source["initiatorName"], f"{path}.initiatorname", errs)


def _initiator(value: str, path: str, errs: list[FieldError]) -> None:
    pattern = _INITIATORS.get(value[:3])
    if pattern is None:
        text = f"{_BAD_FORMAT} starting with iqn, eui, or naa"
        errs.append(errors.invalid_value(path, value, text))
    elif not pattern.search(value):
        errs.append(errors.invalid_value(path, value, _BAD_FORMAT))


def _fibre(source: Source, path: str, errs: list[FieldError]) -> None:
    targets, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not targets and not ids:
        text = "must specify either targetWWNs or wwids, but not both"
        errs.append(errors.required(f"{path}.targetWWNs", text))
    if targets and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errs.append(errors.invalid_value(f"{path}.targetWWNs", list(targets), text))
    if targets and lun is None:
        text = "lun is required if targetWWNs is specified"
        errs.append(errors.required(f"{path}.lun", text))
    elif targets and lun is not None and not 0 <= lun <= 255:
        errs.append(errors.invalid_value(f"{path}.lun", lun, _BYTE))


def _quobyte(source: Source, path: str, errs: list[FieldError]) -> None:
    registry = source.get("registry") or ""
    if not registry:
        errs.append(errors.required(f"{path}.registry", _HOST_PORTS))
    elif names.size(source.get("tenant") or "") >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errs.append(errors.required(f"{path}.tenant", text))
    else:
        for pair in registry.split(","):
            if not _is_host_port(pair):
                errs.append(errors.invalid_value(f"{path}.registry", registry, _HOST_PORTS))
    if not source.get("volume"):
        errs.append(errors.required(f"{path}.volume"))


def _flocker(source: Source, path: str, errs: list[FieldError]) -> None:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        errs.append(errors.required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errs.append(errors.invalid_value(path, "resource", text))
    if "/" in name:
        errs.append(errors.invalid_value(f"{path}.datasetName", name, "must not contain '/'"))


def _flex(source: Source, path: str, errs: list[FieldError]) -> None:
    for key in source.get("options") or ():
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errs.append(errors.invalid_value(f"{path}.options[{key}]", key, text))


def _azure_disk(source: Source, path: str, errs: list[FieldError]) -> None:
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    modes, kinds = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
    if caching is not None and caching not in modes:
        errs.append(errors.not_supported(f"{path}.cachingMode", caching, modes))
    if kind is not None and kind not in kinds:
        errs.append(errors.not_supported(f"{path}.kind", kind, kinds))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errs.append(errors.not_supported(f"{path}.diskURI", uri, (_MANAGED,)))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        errs.append(errors.not_supported(f"{path}.diskURI", uri, (_BLOB,)))


def _secret_name(source: Source, path: str, errs: list[FieldError]) -> None:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        errs.append(errors.required(f"{path}.secretRef.name"))


def _storage_os(source: Source, path: str, errs: list[FieldError]) -> None:
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            checks.named(source[field], f"{path}.{field}", names.dns1123_label_errors, errs)
    _secret_name(source, path, errs)


def _csi(source: Source, path: str, errs: list[FieldError]) -> None:
    checks.csi_driver_name(source.get("driver") or "", f"{path}.driver", errs)
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    if not secret.get("name"):
        errs.append(errors.required(f"{path}.nodePublishSecretRef.name"))
    else:
        checks.named(secret["name"], f"{path}.name", names.dns1123_subdomain_errors, errs)


def _persistent_csi(source: Source, path: str, errs: list[FieldError]) -> None:
    checks.csi_driver_name(source.get("driver") or "", f"{path}.driver", errs)
    if not source.get("volumeHandle"):
        errs.append(errors.required(f"{path}.volumeHandle"))
    rules = (("name", names.dns1123_subdomain_errors), ("namespace", names.dns1123_label_errors))
    for field in _SECRETS:
        secret = source.get(field)
        if secret is None:
            continue
        for part, rule in rules:
            at = f"{path}.{field}.{part}"
            if not secret.get(part):
                errs.append(errors.required(at))
            else:
                checks.named(secret[part], at, rule, errs)


def _endpoints_namespace(value: str, path: str, errs: list[FieldError]) -> None:
    if not value:
        text = "if the endpointnamespace is set, it must be a valid namespace name"
        errs.append(errors.invalid_value(path, value, text))
    else:
        checks.named(value, path, names.dns1123_label_errors, errs)


_CHECKS: Mapping[str, Check] = {
    "awsElasticBlockStore": _disk,
    "azureDisk": _azure_disk,
    "cinder": _secret_name,
    "csi": _csi,
    "fc": _fibre,
    "flexVolume": _flex,
    "flocker": _flocker,
    "gcePersistentDisk": _disk,
    "gitRepo": _git_repo,
    "hostPath": _host_path,
    "iscsi": _iscsi,
    "local": _local,
    "nfs": _nfs,
    "quobyte": _quobyte,
    "storageos": _storage_os,
}
