"""What somebody may do to a cluster that others use, each by name: floods of requests, pods with
programs, and connections that misbehave.

It happens in the namespace `student` with the rights of the cast's student, unless an attack says
who else it is.
"""

from __future__ import annotations

from lifecycle.bench.attacks import (
    bodies,
    connections,
    objects,
    programs,
    reads,
    strangers,
    workloads,
)
from lifecycle.bench.attacks.making import Attack

ATTACKS: dict[str, Attack] = {
    **reads.ATTACKS,
    **bodies.ATTACKS,
    **objects.ATTACKS,
    **workloads.ATTACKS,
    **programs.ATTACKS,
    **connections.ATTACKS,
    **strangers.ATTACKS,
}
