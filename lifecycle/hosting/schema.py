"""Runs migrations only when one is missing, which the usual start learns by one query.

Compares the names of the migration files with django_migrations and runs Django's own `migrate` if
one is not there.
"""

from __future__ import annotations

from pathlib import Path

from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.utils import DatabaseError, OperationalError, ProgrammingError


def migrate_if_needed() -> bool:
    """Migrates the store if necessary; returns whether it was. Raises ValueError."""
    wanted, applied = _wanted(), _applied()
    ours = {app for app, _ in wanted}
    newer = sorted(name for app, name in applied - wanted if app in ours)
    if newer:
        raise ValueError(
            f"the data directory was last used by a newer version (it has {newer[-1]}); use that "
            "one, or choose another --data-dir"
        )
    missing = wanted - applied
    if missing:
        call_command("migrate", verbosity=0, interactive=False)
    return bool(missing)


def is_unreadable(error: Exception) -> bool:
    """Reports whether it is the database that failed."""
    return isinstance(error, DatabaseError)


def close() -> None:
    """Closes the store; the last one who does leaves no log beside the database."""
    connection.close()


def _wanted() -> set[tuple[str, str]]:
    return {
        (app.label, file.stem)
        for app in apps.get_app_configs()
        for file in (Path(app.path) / "migrations").glob("[0-9]*.py")
    }


def _applied() -> set[tuple[str, str]]:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT app, name FROM django_migrations")
            return {(app, name) for app, name in cursor.fetchall()}
    except (OperationalError, ProgrammingError):
        return set()  # a new database
    except DatabaseError as error:
        raise ValueError(f"{connection.settings_dict['NAME']}: {error}") from error
