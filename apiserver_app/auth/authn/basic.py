"""User names with passwords from a CSV file: password,user,uid,"group1,group2". Removed in 1.19.

Read once at start-up. Never shows a password.

Models kubernetes v1.18 plugin/pkg/auth/authenticator/password/passwordfile and
request/basicauth/basicauth.go.
"""

from __future__ import annotations

import base64
import binascii
import hmac

from apiserver_app.auth.authn import token_file
from apiserver_app.authprotocols import Try
from apiserver_app.machinery.meta import Credential, User

SOURCE = (
    "staging/src/k8s.io/apiserver/plugin/pkg/authenticator/password/passwordfile/passwordfile.go"
)


class BasicAuth:
    """`text` is the content of --basic-auth-file."""

    name = "BasicAuth"

    def __init__(self, text: str) -> None:
        self._users = parse(text)
        self._nothing = Try(self.name, "skip", "no user name with a password", source=SOURCE)
        self._refused = Try(self.name, "deny", "invalid username/password combination")

    def authenticate(self, credential: Credential, now: int) -> Try:
        if not credential.basic:
            return self._nothing
        try:
            name, colon, password = base64.b64decode(credential.basic).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return self._nothing
        known = self._users.get(name)
        if not colon or known is None or not hmac.compare_digest(known[0], password.encode()):
            return self._refused
        user = known[1]
        return Try(self.name, "allow", f'password of "{user.name}"', user=user, source=SOURCE)


def parse(text: str) -> dict[str, tuple[bytes, User]]:
    """Returns password and user by name. Raises ValueError with the line."""
    users: dict[str, tuple[bytes, User]] = {}
    for line, record in token_file.rows(text, "password file"):
        if len(record) < 3:
            raise ValueError(
                "password file must have at least 3 columns "
                f"(password, user name, user uid), found {len(record)} on line {line}"
            )
        password, name, uid = record[:3]
        groups = tuple(record[3].split(",")) if len(record) > 3 and record[3] else ()
        users[name] = (password.encode(), User(name, groups, uid))
    return users
