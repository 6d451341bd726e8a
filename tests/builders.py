"""Objects that tests of every package send: a pod, a Deployment, a Job.

What all share stands here; a package that always wants something more (its labels, its container's
name) says so in one line of its own.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def pod(name: str, image: str = "nginx", *, container: str = "c", **rest: Any) -> Object:
    """A pod of one container; `labels`, `annotations` and `namespace` go to its metadata, the
    rest to its spec."""
    return _object("v1", "Pod", name, rest, containers=[{"name": container, "image": image}])


def deployment(name: str, image: str = "nginx", *, container: str = "c", **rest: Any) -> Object:
    """A Deployment of pods labelled app=name; what is given besides goes where a pod's would."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("", image, container=container)["spec"]}
    return _object(
        "apps/v1", "Deployment", name, rest, selector={"matchLabels": labels}, template=template
    )


def job(name: str, image: str = "nginx", *, container: str = "c", **rest: Any) -> Object:
    """A Job whose pods are not restarted in place."""
    spec = pod("", image, container=container, restartPolicy="Never")["spec"]
    return _object("batch/v1", "Job", name, rest, template={"spec": spec})


def _object(api_version: str, kind: str, name: str, rest: Object, **spec: Any) -> Object:
    metadata: Object = {"name": name}
    for key in ("namespace", "labels", "annotations"):
        if key in rest:
            metadata[key] = rest.pop(key)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {**spec, **rest}}
