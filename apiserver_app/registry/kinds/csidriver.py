"""CSIDrivers: what a volume driver wants, where it does not say.

Models kubernetes pkg/apis/storage/v1/defaults.go (SetDefaults_CSIDriver).
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Strategy

_DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("attachRequired", True),
    ("podInfoOnMount", False),
    ("storageCapacity", False),
    ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
    ("requiresRepublish", False),
    ("seLinuxMount", False),
)


class CSIDriverStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        for field, value in _DEFAULTS:
            if spec.get(field) is None:
                spec[field] = value
        if not spec.get("volumeLifecycleModes"):
            spec["volumeLifecycleModes"] = ["Persistent"]
