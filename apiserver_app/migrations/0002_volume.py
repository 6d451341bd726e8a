"""What is in the volumes of a cluster."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("apiserver_app", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Volume",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=512)),
                ("data", models.BinaryField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="apiserver_app.cluster"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "name"), name="volume_name")
                ]
            },
        )
    ]
