"""The tables of a cluster: its state, its log, its trace, its inputs."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Cluster",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=63, unique=True)),
                ("seed", models.BigIntegerField()),
                ("version", models.CharField(max_length=16)),
                ("profile", models.CharField(max_length=63)),
                ("epoch", models.BigIntegerField()),
                ("revision", models.BigIntegerField(default=0)),
                ("compacted", models.BigIntegerField(default=0)),
                ("now", models.BigIntegerField(default=0)),
                ("rand", models.CharField(default="0", max_length=20)),
                ("steps", models.BigIntegerField(default=0)),
                ("seq", models.BigIntegerField(default=0)),
                ("control", models.JSONField(default=dict)),
                ("leases", models.JSONField(default=dict)),
                ("incarnation", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="InputEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("n", models.BigIntegerField()),
                ("step", models.BigIntegerField()),
                ("t", models.BigIntegerField()),
                ("seq", models.BigIntegerField()),
                ("data", models.BinaryField()),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="apiserver_app.cluster"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("cluster", "n"), name="input_n")]
            },
        ),
        migrations.CreateModel(
            name="LogEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("revision", models.BigIntegerField()),
                ("key", models.CharField(max_length=512)),
                ("value", models.BinaryField()),
                ("old_value", models.BinaryField(null=True)),
                ("create_revision", models.BigIntegerField()),
                ("prev_revision", models.BigIntegerField()),
                ("version", models.BigIntegerField()),
                ("lease", models.BigIntegerField(default=0)),
                ("deleted", models.BooleanField(default=False)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="apiserver_app.cluster"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["cluster", "key", "revision"], name="log_key_revision")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cluster", "revision"), name="log_revision"),
                    models.UniqueConstraint(
                        fields=("cluster", "key", "prev_revision"), name="log_cas"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TraceSegment",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("first", models.BigIntegerField()),
                ("last", models.BigIntegerField()),
                ("t", models.BigIntegerField()),
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
                    models.UniqueConstraint(fields=("cluster", "last"), name="segment_last")
                ]
            },
        ),
    ]
