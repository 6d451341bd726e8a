"""Acting as somebody of the cast: the credential that person's own kubeconfig holds.

A certificate is read from DIR/pki and presented as if it had come with the connection; a token is
sent as a header. Nobody else can be acted as.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from apiserver_app.auth import kubeconfig, pki
from apiserver_app.auth.authn import token_file
from apiserver_app.auth.data import cast

ADMIN = "admin"


class Actor(msgspec.Struct, frozen=True):
    """What goes with each request of this person."""

    name: str
    namespace: str
    tls: list[Any] | None
    headers: tuple[tuple[str, str], ...] = ()


def names() -> tuple[str, ...]:
    """Everybody who can be acted as, the admin first."""
    return (ADMIN, *(person.name for person in cast.PEOPLE))


def shown() -> dict[str, Any]:
    """Everybody, and the namespace in which their kubectl works where that is not `default`."""
    own = {person.name: person.namespace for person in cast.PEOPLE if person.namespace}
    return {"users": list(names()), "namespaces": own}


@lru_cache(maxsize=32)
def actor(data_dir: Path, name: str) -> Actor:
    """Raises KeyError for a name that is not of the cast."""
    if name == ADMIN:
        return Actor(name, "default", _certificate(data_dir, ADMIN))
    person = {person.name: person for person in cast.PEOPLE}[name]
    namespace = person.namespace or "default"
    if person.has_certificate:
        return Actor(name, namespace, _certificate(data_dir, name))
    if person.uses_oidc:
        token = kubeconfig.id_token(person, pki.read(data_dir))
        return Actor(name, namespace, None, (("authorization", f"Bearer {token}"),))
    users = token_file.parse((data_dir / "tokens.csv").read_text(), "tokens.csv")
    token = next(token for token, user in users.items() if user.name == name)
    return Actor(name, namespace, None, (("authorization", f"Bearer {token}"),))


def _certificate(data_dir: Path, name: str) -> list[Any]:
    from cryptography import x509

    from lifecycle.hosting.edge.adapter import tls

    pem = (data_dir / "pki" / f"{name}.crt").read_bytes()
    return tls.describe([x509.load_pem_x509_certificate(pem)])
