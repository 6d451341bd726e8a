"""Checksums of values."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("apiserver_app", "0002_volume")]

    operations = [migrations.AddField("logentry", "checksum", models.BigIntegerField(null=True))]
