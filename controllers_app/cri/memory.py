"""How much memory a container uses, as far as somebody says so: the catalog, its pod's annotations,
or the arguments of the program `stress`. Pure.

Models the limit of Linux cgroups (memory.max) and what pkg/kubelet/kuberuntime makes of it: a
container that takes more is killed, and its end is told as OOMKilled.
"""

from __future__ import annotations

import itertools
import re

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from controllers_app.cri.images import Image

OOM_KILLED, OOM_CODE = "OOMKilled", 137
OOM_SECONDS = 0.5  # from the start until it has taken too much
_SIZE = re.compile(r"(\d{1,12})([bkmg]?)", re.ASCII | re.IGNORECASE)
_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30}


def used(spec: Object, image: Image) -> float | None:
    """Bytes that a container uses whatever it asks for; None where nobody says."""
    if image.used_memory_bytes is not None:
        return image.used_memory_bytes
    words = [*(spec.get("command") or image.entrypoint), *(spec.get("args") or ())]
    if not words or words[0].rpartition("/")[2] != "stress":
        return None
    given: dict[str, str] = dict(itertools.pairwise(words))
    workers = _SIZE.fullmatch(given.get("--vm", given.get("-m", "")))
    size = _SIZE.fullmatch(given.get("--vm-bytes", "256M"))
    if workers is None or size is None:
        return None
    return float(int(workers[1]) * int(size[1]) << _UNITS[size[2].lower()])


def is_too_much(spec: Object, image: Image) -> bool:
    """Whether a container takes more than its limit."""
    limit = ((spec.get("resources") or {}).get("limits") or {}).get("memory")
    wanted = used(spec, image)
    return limit is not None and wanted is not None and wanted > quantity.value(limit)


def reason_of_end(spec: Object, image: Image, code: int) -> str:
    """The runtime's reason where its code alone does not say it."""
    return OOM_KILLED if code == OOM_CODE and is_too_much(spec, image) else ""
