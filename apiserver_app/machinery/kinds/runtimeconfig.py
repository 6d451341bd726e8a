"""The --runtime-config flag: which built-in group versions and resources are served.

`builtin` and `history` list what a version serves by default; here `api/all=false`,
`batch/v1=false`, `apps/v1/deployments=false` and the like are read and applied to it, the general
words first, then group versions, then single resources. Pure.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/resourceconfig/helpers.go and
staging/src/k8s.io/apiserver/pkg/server/options/api_enablement.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from apiserver_app.machinery.kinds import history
from apiserver_app.machinery.kinds.builtin import GroupVersion
from apiserver_app.machinery.releases import Release

# the flag's entries in order: ("batch/v1", "false")
RuntimeConfig = tuple[tuple[str, str], ...]

_ALL = {
    "api/all": re.compile(r""),
    "api/ga": re.compile(r"v\d+$"),
    "api/beta": re.compile(r"v\d+beta\d+$"),
    "api/alpha": re.compile(r"v\d+alpha\d+$"),
}
_TRUE = ("", "1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")


class ConfigError(ValueError):
    """An invalid flag; the message is upstream's."""


def parse(pairs: Iterable[str], version: Release) -> RuntimeConfig:
    """Parses `group/version=true` and the like; a later entry wins. Raises ConfigError."""
    entries: dict[str, str] = {}
    for pair in pairs:
        key, _, value = pair.strip().partition("=")
        entries[key.strip()] = value.strip()
    if entries == {"api/all": "false"}:
        raise ConfigError("invalid key with only api/all=false")
    groups = {group_version.group for group_version in history.EVERY}
    versions = {
        (group_version.group, group_version.version)
        for group_version in history.EVERY
        if _has(group_version, version.minor)
    }
    unknown = []
    for key in entries:
        if key in _ALL:
            continue
        parts = key.split("/")
        if len(parts) not in (2, 3):
            raise ConfigError(f"runtime-config invalid key {key}")
        if parts[0] not in groups:
            unknown.append(parts[0])
    if unknown:
        raise ConfigError(f"unknown api groups {','.join(unknown)}")
    for key, value in entries.items():
        _check(key, value, versions)
    return tuple(entries.items())


def _check(key: str, value: str, versions: set[tuple[str, str]]) -> None:
    if key in _ALL:
        if value not in ("true", "false"):
            raise ConfigError(f"invalid value {key}={value}")
        return
    group, version, *resource = key.split("/")
    if (group, version) not in versions:
        raise ConfigError(f"group version {group}/{version} that has not been registered")
    if value not in (*_TRUE, *_FALSE):
        cause = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise ConfigError(f"invalid value of {key}: {value}, err: {cause}")
    if resource and resource[0] != resource[0].lower():
        raise ConfigError(
            f"invalid key {key}: group/version/resource and resource is always lowercase plural, "
            f'not "{resource[0]}"'
        )


def served(minor: int, config: RuntimeConfig) -> dict[tuple[str, str], dict[str, bool]]:
    """The enabled group versions, each with the entries of its single resources. Contains a
    disabled group version if one of its resources is enabled."""
    entries = dict(config)
    result: dict[tuple[str, str], dict[str, bool]] = {}
    for group_version in history.EVERY:
        if not _has(group_version, minor):
            continue
        on = group_version.default
        for word, pattern in _ALL.items():
            if word in entries and pattern.match(group_version.version):
                on = entries[word] == "true"
        name = f"{group_version.group}/{group_version.version}"
        if name in entries:
            on = entries[name] in _TRUE
        single = {
            key.rsplit("/", 1)[1]: value in _TRUE
            for key, value in config
            if key.count("/") == 2 and key.startswith(name + "/")
        }
        if on:
            result[group_version.group, group_version.version] = single
        elif any(single.values()):
            result[group_version.group, group_version.version] = {"*": False, **single}
    return result


def _has(group_version: GroupVersion, minor: int) -> bool:
    return group_version.since <= minor <= group_version.until
