"""IngressClasses: where their parameters are, unless they say.

Models kubernetes pkg/apis/networking/v1/defaults.go.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Strategy


class IngressClassStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        parameters = (obj.get("spec") or {}).get("parameters")
        if parameters is not None and parameters.get("scope") is None:
            parameters["scope"] = "Cluster"
