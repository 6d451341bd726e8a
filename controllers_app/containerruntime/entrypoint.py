"""What a container runs: its image's own program, which the catalog describes, or commands that
the pod gives and that are run here. Pure.

Models kubernetes pkg/kubelet/container/helpers.go (ExpandContainerCommandAndArgs) and how
containerd joins that with the image's configuration.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.machinery.meta import Object
from controllers_app.cri import environment
from controllers_app.cri.images import Image
from controllers_app.shell import tools

SHELLS = ("sh", "bash", "ash")
_PASSING = ("docker-entrypoint.sh",)  # scripts that run what they are given
Sets = Mapping[str, Mapping[str, tools.Tool]]


def argv(spec: Object, image: Image, known: Mapping[str, str]) -> list[str]:
    """The words of the main process, of the pod where it says them, else of the image."""
    given = environment.all_expanded(spec.get("command") or (), known)
    args = environment.all_expanded(spec.get("args") or (), known)
    command = given or [
        part for part in image.entrypoint if part.rpartition("/")[2] not in _PASSING
    ]
    if not given and not args:
        args = list(image.cmd)
    return [*command, *args]


def own_program(image: Image) -> str:
    """The name of the program that the image runs by itself."""
    words = argv({}, image, {})
    return words[0].rpartition("/")[2] if words else ""


def is_run_here(spec: Object, image: Image, sets: Sets) -> bool:
    """Whether the container's commands are really run."""
    if image.userland == "none":
        return False
    words = argv(spec, image, {})
    if not words:
        return False
    name = words[0].rpartition("/")[2]
    is_named = bool(spec.get("command") or spec.get("args"))
    if not is_named:
        return name in SHELLS and bool(spec.get("stdin"))
    if name == own_program(image) and name not in SHELLS:
        return False
    return tools.find(sets, image.userland, image.tools, words[0]) is not None


def missing(spec: Object, image: Image, sets: Sets) -> str:
    """The program that the pod wants and the image has not; empty when it has. Only images that
    are a userland and nothing else are known well enough to say so."""
    words = argv(spec, image, {})
    if not image.userland or own_program(image) not in SHELLS or not spec.get("command"):
        return ""
    if image.userland == "none" or tools.find(sets, image.userland, image.tools, words[0]):
        return ""
    return words[0]


def why_missing(program: str) -> str:
    """The runtime's words when a container's program is not there."""
    why = "executable file not found in $PATH"
    if "/" in program:
        why = f"stat {program}: no such file or directory"
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
        "runc create failed: unable to start container process: error during container init: "
        f'exec: "{program}": {why}: unknown'
    )
