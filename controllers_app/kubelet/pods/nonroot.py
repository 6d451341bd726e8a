"""A container that must not run as root, and would.

Models kubernetes pkg/kubelet/kuberuntime/security_context_others.go (verifyRunAsNonRoot) and
pkg/securitycontext/util.go (DetermineEffectiveSecurityContext).
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.cri.images import Image


class RunsAsRoot(Exception):
    """The container cannot be created; carries upstream's message."""


def verify(pod: Object, container: Object, image: Image) -> None:
    """Raises RunsAsRoot."""
    context = _effective(pod, container)
    if not context.get("runAsNonRoot"):
        return
    where = f'"{meta.name_of(pod)}_{meta.namespace_of(pod)}({meta.uid_of(pod)})"'
    place = f"(pod: {where}, container: {container['name']})"
    user = context.get("runAsUser")
    if user is not None:
        if user == 0:
            raise RunsAsRoot(f"container's runAsUser breaks non-root policy {place}")
    elif image.user == "0":
        raise RunsAsRoot(f"container has runAsNonRoot and image will run as root {place}")
    elif image.user and not image.user.isdecimal():
        raise RunsAsRoot(
            f"container has runAsNonRoot and image has non-numeric user ({image.user}), "
            f"cannot verify user is non-root {place}"
        )


def _effective(pod: Object, container: Object) -> Object:
    """What the container says of its security, else what its pod says."""
    own = container.get("securityContext") or {}
    return {
        **(pod["spec"].get("securityContext") or {}),
        **{key: value for key, value in own.items() if value is not None},
    }
