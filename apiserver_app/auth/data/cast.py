"""The people of a classroom, their groups and permissions.

`student` works in the namespace `student` and sees nothing elsewhere; `viewer` reads everywhere;
`teacher` may do everything; `nobody` may do nothing. `token-user` is a student with a static token
instead of a certificate, `oidc-user` one with an ID token of the simulated issuer, whose user name
is `oidc:oidc-user`.
"""

from __future__ import annotations

from typing import NamedTuple


class Person(NamedTuple):
    name: str
    groups: tuple[str, ...]
    namespace: str = ""  # default namespace of the kubeconfig
    uses_token: bool = False
    uses_oidc: bool = False

    @property
    def has_certificate(self) -> bool:
        return not self.uses_token and not self.uses_oidc


STUDENT_NAMESPACE = "student"
STUDENTS, VIEWERS, TEACHERS = "students", "viewers", "teachers"

PEOPLE: tuple[Person, ...] = (
    Person("teacher", (TEACHERS,)),
    Person("student", (STUDENTS,), STUDENT_NAMESPACE),
    Person("viewer", (VIEWERS,)),
    Person("token-user", (STUDENTS,), STUDENT_NAMESPACE, uses_token=True),
    Person("oidc-user", (STUDENTS,), STUDENT_NAMESPACE, uses_oidc=True),
    Person("nobody", ()),
)

# ClusterRoleBindings: name -> (ClusterRole, group). Everybody may read the metrics: they hold
# nothing secret, and a real cluster's scraper sends a credential
CLUSTER_BINDINGS: dict[str, tuple[str, str]] = {
    "teachers": ("cluster-admin", TEACHERS),
    "viewers": ("view", VIEWERS),
    "simulation-metrics": ("system:monitoring", "system:unauthenticated"),
}
# RoleBindings: (namespace, name) -> (ClusterRole, group)
BINDINGS: dict[tuple[str, str], tuple[str, str]] = {
    (STUDENT_NAMESPACE, "students"): ("edit", STUDENTS)
}
