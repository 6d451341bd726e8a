"""ServiceAccounts: of a reference to a secret its name is kept; nothing else is decided.

Models kubernetes pkg/registry/core/serviceaccount/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from apiserver_app.registry.strategy import Context, Strategy

_POD_SCOPED_TOKENS = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(Strategy):
    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        _clean(obj)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        _clean(obj)

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        annotations = obj["metadata"].get("annotations") or {}
        if old is None and _POD_SCOPED_TOKENS in annotations:
            return [
                f"metadata.annotations[{_POD_SCOPED_TOKENS}]: deprecated in v1.32+; "
                "prefer separate namespaces to isolate access to mounted secrets"
            ]
        return []


def _clean(obj: Object) -> None:
    if obj.get("secrets"):
        obj["secrets"] = [
            {"name": reference["name"]} if "name" in reference else {}
            for reference in obj["secrets"]
        ]
