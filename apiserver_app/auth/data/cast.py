"""The cast: the people of a classroom, what groups they are in and what they may do.

`student` works in the namespace `student` and sees nothing elsewhere; `viewer` looks everywhere;
`teacher` may do everything; `nobody` is known and may do nothing. `token-user` is a student who
comes with a static token instead of a certificate, `oidc-user` one with an ID token of the
simulated issuer, who is called `oidc:oidc-user` here.
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

# ClusterRoleBindings: name -> (ClusterRole, group). Whoever reaches the simulation may read its
# metrics: there is nothing in them to protect, and a real cluster's scraper brings a credential
CLUSTER_BINDINGS: dict[str, tuple[str, str]] = {
    "teachers": ("cluster-admin", TEACHERS),
    "viewers": ("view", VIEWERS),
    "simulation-metrics": ("system:monitoring", "system:unauthenticated"),
}
# RoleBindings: (namespace, name) -> (ClusterRole, group)
BINDINGS: dict[tuple[str, str], tuple[str, str]] = {
    (STUDENT_NAMESPACE, "students"): ("edit", STUDENTS),
}
