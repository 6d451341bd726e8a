"""Migrations: they say what the models say, and each table lives in its database."""

from __future__ import annotations

from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from lifecycle import routers


def test_every_change_of_a_model_has_its_migration() -> None:
    loader = MigrationLoader(None)
    found = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    assert found.changes(graph=loader.graph) == {}


def test_the_log_lives_in_the_store_and_all_else_in_the_default_database() -> None:
    router = routers.StoreRouter()
    for model in apps.get_models():
        alias = router.db_for_write(model)
        label = model._meta.app_label
        assert alias == ("store" if label == "apiserver_app" else "default")
        assert router.db_for_read(model) == alias
        assert [db for db in ("default", "store") if router.allow_migrate(db, label)] == [alias]
