"""A cluster behind a kubeconfig, asked over HTTPS."""

from __future__ import annotations

import base64
import http.client
import json
import pathlib
import ssl
import tempfile
import time
import urllib.parse
from typing import Any

import yaml

from tests.likeness.reads.asking import Read
from tests.likeness.reads.record import Answer
from tests.likeness.requests.madeup import Call, Subject

_SETTLES_SECONDS, _SETTLED_AFTER = 8.0, 0.7


class Remote:
    """The cluster of the current context, whose user has a client certificate or a token."""

    def __init__(self, kubeconfig: str) -> None:
        path = pathlib.Path(kubeconfig)
        config = yaml.safe_load(path.read_text())
        context = _named(config, "context", config.get("current-context"))
        cluster = _named(config, "cluster", context["cluster"])
        user = _named(config, "user", context["user"])
        self.headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        parts = [_file(path.parent, user, f"client-{name}") for name in ("certificate", "key")]
        if all(parts):
            with tempfile.NamedTemporaryFile() as file:
                file.write(b"\n".join(parts))
                file.flush()
                tls.load_cert_chain(file.name)
        elif not self.headers:
            raise SystemExit(f"{kubeconfig}: the user has no client certificate and no token")
        host = urllib.parse.urlsplit(cluster["server"]).netloc
        self.connection = http.client.HTTPSConnection(host, context=tls, timeout=60)

    def __call__(self, call: Call) -> tuple[int, Any]:
        body = None if call.body is None else json.dumps(call.body, separators=(",", ":")).encode()
        headers = {"Accept": call.accept, "Content-Type": call.type, **self.headers}
        try:
            self.connection.request(call.verb, call.path, body, headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as error:  # some requests make it panic
            self.connection.close()
            return 0, type(error).__name__
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def ask(self, one: Read) -> Answer:
        """Asks with the headers of a read and no others."""
        connection = self.connection
        body = one.body.encode("latin-1") or None
        try:
            connection.putrequest(one.verb, one.path, skip_accept_encoding=True)
            for name, value in {**self.headers, **one.headers}.items():
                connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            if "watch" in one.path and answer.status == 200:
                connection.close()
                return 200, answer.getheaders(), b""
            return answer.status, answer.getheaders(), answer.read()
        except (http.client.HTTPException, OSError) as error:
            connection.close()
            return 0, [], type(error).__name__.encode()

    def settle(self, subject: Subject) -> None:
        """Waits until controllers leave the object alone."""
        end, seen, since = time.monotonic() + _SETTLES_SECONDS, None, time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < _SETTLED_AFTER:
            found = self(Call("GET", subject.path, None))[1]
            if found != seen:
                seen, since = found, time.monotonic()
            time.sleep(0.1)


def _named(config: dict[str, Any], kind: str, name: str | None) -> dict[str, Any]:
    for entry in config.get(f"{kind}s") or ():
        if entry["name"] == name:
            return entry[kind]  # type: ignore[no-any-return]
    raise SystemExit(f"the kubeconfig has no {kind} {name!r}")


def _file(folder: pathlib.Path, user: dict[str, Any], name: str) -> bytes:
    """What a kubeconfig has itself, or names a file of."""
    if f"{name}-data" in user:
        return base64.b64decode(user[f"{name}-data"])
    return (folder / user[name]).read_bytes() if name in user else b""
