"""Static bearer tokens from a CSV file: token,user,uid,"group1,group2".

Read once at start-up. Never shows a token.

Models kubernetes staging/src/k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from apiserver_app.authprotocols import Try
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go"


class TokenFile:
    """`text` is the file's content; `path` is only used in messages."""

    name = "TokenFile"
    audience_agnostic = True

    def __init__(self, text: str, path: str = "tokens.csv") -> None:
        self._users = parse(text, path)
        self._unknown = Try(self.name, "skip", "the token is not in the file", source=SOURCE)

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Try:
        user = self._users.get(token)
        if user is None:
            return self._unknown
        return Try(self.name, "allow", f'static token of "{user.name}"', user=user, source=SOURCE)


def parse(text: str, path: str) -> dict[str, User]:
    """Returns users by token. Raises ValueError with the line."""
    users: dict[str, User] = {}
    for line, record in rows(text, f"token file '{path}'"):
        if len(record) < 3:
            raise ValueError(
                f"token file '{path}' must have at least 3 columns "
                f"(token, user name, user uid), found {len(record)} on line {line}"
            )
        token, name, uid = record[:3]
        if token:
            groups = tuple(record[3].split(",")) if len(record) > 3 and record[3] else ()
            users[token] = User(name, groups, uid)
    return users


def rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the records that are not empty, with their lines. Raises ValueError with the line."""
    reader = csv.reader(io.StringIO(text))
    try:
        yield from ((reader.line_num, record) for record in reader if record)
    except csv.Error as error:
        raise ValueError(f"{name}, line {reader.line_num}: {error}") from error
