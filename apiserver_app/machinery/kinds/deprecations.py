"""The warnings for a client that asks for a kind upstream means to drop.

It never refuses: a deprecated kind is served like any other, with a Warning header.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/deprecation/deprecation.go and the
lifecycle tags of staging/src/k8s.io/api.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import Release

AUDIT = "k8s.io/deprecated"  # in the audit log as well

# plural, group, version -> (since which release, what to use instead)
DEPRECATED: dict[tuple[str, str, str], tuple[Release, str]] = {
    ("componentstatuses", "", "v1"): (Release(19), ""),
    ("endpoints", "", "v1"): (Release(33), "discovery.k8s.io/v1 EndpointSlice"),
}


def warnings(info: ResourceInfo, version: Release) -> Sequence[str]:
    """The sentence for a client of this version's server, if there is one."""
    if info.custom is not None:
        return info.custom.warnings
    deprecation = DEPRECATED.get((info.plural, info.group, info.version))
    if deprecation is None or version < deprecation[0]:
        return ()
    since, instead = deprecation
    warning = f"{info.api_version} {info.kind} is deprecated in v{since}+"
    return (f"{warning}; use {instead}" if instead else warning,)
