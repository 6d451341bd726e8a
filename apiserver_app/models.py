"""The tables of the simulated cluster: one row a cluster, one row a revision.

Only apiserver_app.etcd.log uses them. They live in the database alias `store`, which has one
writer: the worker that owns the cluster.
"""

from __future__ import annotations

from django.db import models


class Cluster(models.Model):
    """What a cluster needs, besides its log, to continue where it stopped."""

    name = models.CharField(max_length=63, unique=True)
    seed = models.BigIntegerField()
    version = models.CharField(max_length=16)
    profile = models.CharField(max_length=63)
    epoch = models.BigIntegerField()
    revision = models.BigIntegerField(default=0)
    compacted = models.BigIntegerField(default=0)
    now = models.BigIntegerField(default=0)
    # the generator's 64-bit state, as text because SQL integers are signed
    rand = models.CharField(max_length=20, default="0")
    steps = models.BigIntegerField(default=0)
    seq = models.BigIntegerField(default=0)
    control = models.JSONField(default=dict)
    leases = models.JSONField(default=dict)
    incarnation = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.name} at {self.revision}"


class LogEntry(models.Model):
    """One revision of one key. The unique index on prev_revision is the compare-and-swap."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    revision = models.BigIntegerField()
    key = models.CharField(max_length=512)
    value = models.BinaryField()
    old_value = models.BinaryField(null=True)
    create_revision = models.BigIntegerField()
    prev_revision = models.BigIntegerField()
    version = models.BigIntegerField()
    lease = models.BigIntegerField(default=0)
    deleted = models.BooleanField(default=False)
    checksum = models.BigIntegerField(null=True)  # of the value; none was kept before

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "revision"], name="log_revision"),
            models.UniqueConstraint(fields=["cluster", "key", "prev_revision"], name="log_cas"),
        ]
        indexes = [models.Index(fields=["cluster", "key", "revision"], name="log_key_revision")]

    def __str__(self) -> str:
        return f"{self.key}@{self.revision}"


class Volume(models.Model):
    """What is in one volume of the cluster, packed; it changes with the commit that it is in."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = models.CharField(max_length=512)
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "name"], name="volume_name")]

    def __str__(self) -> str:
        return self.name


class TraceSegment(models.Model):
    """The trace records of one commit, compressed; written with the revisions they tell of."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    t = models.BigIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "last"], name="segment_last")]

    def __str__(self) -> str:
        return f"{self.first}..{self.last}"


class InputEntry(models.Model):
    """One input from outside and the kernel step at which it entered."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    n = models.BigIntegerField()
    step = models.BigIntegerField()
    t = models.BigIntegerField()
    seq = models.BigIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "n"], name="input_n")]

    def __str__(self) -> str:
        return f"input {self.n} at step {self.step}"
