"""For which names a CA may sign: the name constraints of its certificate, in crypto/x509's words.

Models Go's crypto/x509 verify.go (checkNameConstraints and the match functions).
"""

from __future__ import annotations

import ipaddress
import urllib.parse
from typing import Any

from cryptography import x509

from apiserver_app.machinery.errors import go_value

# what Go matches; any other type in a critical extension makes it an unhandled one
_TYPES: dict[type[x509.GeneralName], str] = {
    x509.RFC822Name: "email address",
    x509.DNSName: "DNS name",
    x509.UniformResourceIdentifier: "URI",
    x509.IPAddress: "IP address",
}


def are_handled(constraints: x509.NameConstraints) -> bool:
    """Whether every subtree is of a type that Go matches."""
    every = (*(constraints.permitted_subtrees or ()), *(constraints.excluded_subtrees or ()))
    return all(type(names) in _TYPES for names in every)


def has_known(names: x509.SubjectAlternativeName) -> bool:
    """Whether Go reads any of these names."""
    return any(type(name) in _TYPES for name in names)


def violation(constraints: x509.NameConstraints, names: x509.SubjectAlternativeName) -> str:
    """Why the first name that the CA may not sign for is refused; "" when it may sign for all."""
    for name in names:
        kind = _TYPES.get(type(name))
        if kind is None:
            continue
        shown = f"{kind} {go_value(str(name.value))}"
        excluded = _of_type(constraints.excluded_subtrees, type(name))
        for constraint in excluded:
            if _matches(name, constraint):
                return f"{shown} is excluded by constraint {go_value(str(constraint))}"
        permitted = _of_type(constraints.permitted_subtrees, type(name))
        if permitted and not any(_matches(name, constraint) for constraint in permitted):
            return f"{shown} is not permitted by any constraint"
    return ""


def _of_type(trees: list[x509.GeneralName] | None, kind: type[x509.GeneralName]) -> list[Any]:
    return [tree.value for tree in trees or () if type(tree) is kind]


def _matches(name: x509.GeneralName, constraint: Any) -> bool:
    if isinstance(name, x509.IPAddress):
        address = ipaddress.ip_network(name.value)
        return bool(address.version == constraint.version and address.subnet_of(constraint))
    text = str(name.value)
    if isinstance(name, x509.RFC822Name):
        local, _, domain = text.rpartition("@")
        if "@" in constraint:
            wanted, _, host = constraint.rpartition("@")
            return bool(local == wanted and domain.lower() == host.lower())
        return _is_in_domain(domain, constraint)
    if isinstance(name, x509.UniformResourceIdentifier):
        return _is_in_domain(urllib.parse.urlsplit(text).hostname or "", constraint)
    return _is_in_domain(text, constraint)


def _is_in_domain(domain: str, constraint: str) -> bool:
    """An empty constraint matches everything; one with a leading dot only what is below it."""
    if not constraint:
        return True
    below = constraint.startswith(".")
    wanted = constraint.lower().removeprefix(".").split(".")
    labels = domain.lower().split(".")
    if len(labels) < len(wanted) + below:
        return False
    return labels[-len(wanted) :] == wanted
