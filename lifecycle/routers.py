"""Which database a model lives in: the cluster's log and trace in `store`, all else in `default`.

`store` has one writer, the worker that owns the cluster; `default` is written by the edge.
"""

from __future__ import annotations

from typing import Any

STORE, DEFAULT = "store", "default"
STORE_APPS = ("apiserver_app",)


class StoreRouter:
    """Routes by app."""

    def db_for_read(self, model: type[Any], **hints: Any) -> str:
        return _alias(model._meta.app_label)

    def db_for_write(self, model: type[Any], **hints: Any) -> str:
        return _alias(model._meta.app_label)

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return _alias(first._meta.app_label) == _alias(second._meta.app_label)

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return _alias(app_label) == db


def _alias(app_label: str) -> str:
    return STORE if app_label in STORE_APPS else DEFAULT
