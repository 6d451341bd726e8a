"""Which built-in group versions and resources are served, by the runtime-config flag.

What a version serves by default is in `kindtable` and `kindhistory`; here `api/all=false`,
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

# what was said, in order: ("batch/v1", "false")
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
    """The flag says what cannot be; upstream's sentence."""


def parse(pairs: Iterable[str], version: Release) -> RuntimeConfig:
    """`group/version=true` and the like; a later word about the same holds. Raises ConfigError."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, _, value = pair.strip().partition("=")
        found[key.strip()] = value.strip()
    if found == {"api/all": "false"}:
        raise ConfigError("invalid key with only api/all=false")
    groups = {one.group for one in history.EVERY}
    versions = {(one.group, one.version) for one in history.EVERY if _has(one, version.minor)}
    unknown = []
    for key in found:
        if key in _ALL:
            continue
        parts = key.split("/")
        if len(parts) not in (2, 3):
            raise ConfigError(f"runtime-config invalid key {key}")
        if parts[0] not in groups:
            unknown.append(parts[0])
    if unknown:
        raise ConfigError(f"unknown api groups {','.join(unknown)}")
    for key, value in found.items():
        _check(key, value, versions)
    return tuple(found.items())


def _check(key: str, value: str, versions: set[tuple[str, str]]) -> None:
    if key in _ALL:
        if value not in ("true", "false"):
            raise ConfigError(f"invalid value {key}={value}")
        return
    group, version, *resource = key.split("/")
    if (group, version) not in versions:
        raise ConfigError(f"group version {group}/{version} that has not been registered")
    if value not in (*_TRUE, *_FALSE):
        why = f'strconv.ParseBool: parsing "{value}": invalid syntax'
        raise ConfigError(f"invalid value of {key}: {value}, err: {why}")
    if resource and resource[0] != resource[0].lower():
        raise ConfigError(
            f"invalid key {key}: group/version/resource and resource is always lowercase plural, "
            f'not "{resource[0]}"'
        )


def served(minor: int, config: RuntimeConfig) -> dict[tuple[str, str], dict[str, bool]]:
    """The group versions that are on, and what was said about single resources of each. A group
    version that is off is there too when one of its resources was switched on."""
    said = dict(config)
    found: dict[tuple[str, str], dict[str, bool]] = {}
    for one in history.EVERY:
        if not _has(one, minor):
            continue
        on = one.default
        for word, pattern in _ALL.items():
            if word in said and pattern.match(one.version):
                on = said[word] == "true"
        name = f"{one.group}/{one.version}"
        if name in said:
            on = said[name] in _TRUE
        single = {
            key.rsplit("/", 1)[1]: value in _TRUE
            for key, value in config
            if key.count("/") == 2 and key.startswith(name + "/")
        }
        if on:
            found[one.group, one.version] = single
        elif any(single.values()):
            found[one.group, one.version] = {"*": False, **single}
    return found


def _has(one: GroupVersion, minor: int) -> bool:
    return one.since <= minor <= one.until
