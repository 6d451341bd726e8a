"""Kubeconfig files: the admin's at DIR/kubeconfig, one for each of the cast in DIR/kubeconfigs.

Certificates and keys are embedded, so a file may be copied elsewhere. A file is written only when
its content changes.

Models kubernetes staging/src/k8s.io/client-go/tools/clientcmd/api/v1/types.go.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

from apiserver_app.auth import issuer, pki
from apiserver_app.auth.authn import token_file
from apiserver_app.auth.data import cast

CLUSTER_NAME = "kubernetes"


def write(keys: pki.Pki, url: str, path: str = "", *, given_away: str = "") -> dict[str, Path]:
    """Write all files for the cluster at `url` (https://host:port) below `path`
    (`/clusters/name`, empty for the default cluster). Those of the cast are given away: they name
    `given_away`, if there is one. Returns the files by user."""
    server = url.rstrip("/") + path
    elsewhere = (given_away or url).rstrip("/") + path
    out = {"admin": keys.directory / "kubeconfig"}
    files = {out["admin"]: text(keys, server, pki.ADMIN)}
    for person in cast.PEOPLE:
        out[person.name] = keys.directory / "kubeconfigs" / person.name
        files[out[person.name]] = text(keys, elsewhere, person)
    try:
        (keys.directory / "kubeconfigs").mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            if not file.exists() or file.read_bytes() != content.encode():
                pki.write_file(file, content.encode(), 0o600)
    except OSError as error:
        reason = error.strerror or str(error)
        raise pki.PkiError(f"cannot write kubeconfigs in {keys.directory}: {reason}") from error
    return out


def text(keys: pki.Pki, server: str, person: cast.Person) -> str:
    """One kubeconfig as kubectl would write it."""
    context = f"{person.name}@{CLUSTER_NAME}"
    namespace = f"    namespace: {person.namespace}\n" if person.namespace else ""
    return (
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n"
        f"    certificate-authority-data: {_data(keys.ca.certificate)}\n"
        f"    server: {json.dumps(server)}\n"
        f"  name: {CLUSTER_NAME}\n"
        "contexts:\n"
        "- context:\n"
        f"    cluster: {CLUSTER_NAME}\n"
        f"{namespace}"
        f"    user: {person.name}\n"
        f"  name: {context}\n"
        f"current-context: {context}\n"
        "kind: Config\n"
        "preferences: {}\n"
        "users:\n"
        f"- name: {person.name}\n"
        "  user:\n"
        f"{_credential(keys, person)}"
    )


def _credential(keys: pki.Pki, person: cast.Person) -> str:
    if person.uses_token:
        path = keys.directory / "tokens.csv"
        try:
            users = token_file.parse(keys.tokens_csv, str(path))
        except ValueError as error:
            raise pki.PkiError(str(error)) from error
        for token, user in users.items():
            if user.name == person.name:
                return f"    token: {json.dumps(token)}\n"
        raise pki.PkiError(f"{path} has no token of {person.name}")
    if person.uses_oidc:
        return f"    token: {json.dumps(id_token(person, keys))}\n"
    identity = keys.admin if person is pki.ADMIN else keys.clients[person.name]
    return (
        f"    client-certificate-data: {_data(identity.certificate)}\n"
        f"    client-key-data: {_data(identity.key)}\n"
    )


def id_token(person: cast.Person, keys: pki.Pki) -> str:
    """Returns the simulated issuer's token for a person. It lasts as long as the CA, so that a
    class need not log in; a real issuer's lasts for minutes."""
    since, until = pki.validity(keys.ca.certificate)
    return issuer.Issuer(keys.service_account_key).id_token(person, since, until)


def _data(pem: bytes) -> str:
    return base64.b64encode(pem).decode()
