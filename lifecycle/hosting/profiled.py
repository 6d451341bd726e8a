"""The inputs of a cluster that come from its profile (lifecycle/catalog/profiles)."""

from __future__ import annotations

from typing import Any

from apiserver_app import flags
from apiserver_app.etcd import wal
from apiserver_app.machinery.releases import Release
from controllers_app.kubelet.pods.staticpods import Manifests
from lifecycle import catalog
from lifecycle.cluster import staticpods
from lifecycle.cluster.inputs import Machine, pod_range
from lifecycle.cluster.rates import rates

_KUBELETS = ("container-runtime", "pull-bytes-per-second")


def machines(profile: dict[str, Any]) -> tuple[Machine, ...]:
    """Those that the profile names, the control plane's first."""
    return tuple(Machine(*pair) for pair in (profile.get("machines") or {}).items())


def options(profile: dict[str, Any]) -> dict[str, Any]:
    """Those of a cluster's inputs."""
    kubelet = {name.replace("-", "_"): profile[name] for name in _KUBELETS if name in profile}
    return {
        "kubelet": {"images": catalog.images(), **kubelet},
        "objects": catalog.objects(profile),
        "disk_sync": int(profile.get("disk-sync-microseconds", wal.SYNC)),
        "taint": bool(profile.get("control-plane-taint")),
    }


def static_pods(
    version: Release,
    given: flags.Flags,
    nodes: int,
    profile: dict[str, Any],
    scheduler: tuple[str, ...] = (),
) -> dict[str, Manifests]:
    """The manifests on the disk of each machine that has some."""
    named = machines(profile)
    node = named[0].name if named else staticpods.NODE
    found = staticpods.manifests(
        version, given, pods=pod_range(nodes), rates=rates(nodes), node=node, scheduler=scheduler
    )
    return {node: found}


def session(name: str) -> dict[str, Any]:
    """The inputs of a whole cluster of a profile, as `scripted.default_inputs` takes them."""
    profile = catalog.profile(name)
    version = Release.parse(profile["kubernetes"])
    given = flags.parse(profile["apiserver-args"], str, version)
    nodes = len(profile["machines"])
    return {
        "version": str(version),
        "profile": name,
        "nodes": nodes,
        "machines": machines(profile),
        "flags": given,
        "options": {
            **options(profile),
            "kubeadm": True,
            "manifests": static_pods(version, given, nodes, profile),
        },
    }
