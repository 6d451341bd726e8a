"""Records what a cluster answers to made-up requests, and compares with what was recorded.

    python -m tests.likeness.requests.record KUBECONFIG           # prints what differs
    python -m tests.likeness.requests.record KUBECONFIG --write   # records anew

It works in a namespace of its own, nearly always with dry runs, and deletes what it creates.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import lzma
import pathlib
import random
import ssl
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import yaml

from tests.likeness.requests import comparing, madeup
from tests.likeness.requests.madeup import Call, Subject

FILE = pathlib.Path(__file__).parent / "v1.33.4.jsonl.xz"
Ask = Callable[[Call], tuple[int, Any]]
_SETTLES_SECONDS, _SETTLED_AFTER = 8.0, 0.7


class Fact(NamedTuple):
    """A request and its recorded answer."""

    id: str
    call: Call
    answer: dict[str, Any]


def read() -> dict[str, list[Fact]]:
    """The recorded facts of each kind."""
    found: dict[str, list[Fact]] = {}
    for line in lzma.decompress(FILE.read_bytes()).splitlines():
        id_, call, answer = json.loads(line)
        found.setdefault(id_.partition("/")[0], []).append(Fact(id_, Call(*call), answer))
    return found


def replay(
    subject: Subject, facts: Iterable[Fact], ask: Ask, settle: Callable[[Subject], None]
) -> Iterator[tuple[Fact, dict[str, Any]]]:
    """Each fact with the answer that is given now."""
    uid = madeup.UID
    for fact in facts:
        call = fact.call
        if call.body is not None and uid != madeup.UID:
            body = json.loads(json.dumps(call.body).replace(madeup.UID, uid))
            call = call._replace(body=body)
        yield fact, comparing.answer(*ask(call))
        if fact.id.endswith("/base"):
            settle(subject)
            uid = ask(Call("GET", subject.path, None))[1]["metadata"]["uid"]
    remove(subject, ask)


def remove(subject: Subject, ask: Ask) -> None:
    if subject.is_stored:
        ask(Call("DELETE", subject.path, {"gracePeriodSeconds": 0}))


def record(subject: Subject, ask: Ask, settle: Callable[[Subject], None], seed: int) -> list[Fact]:
    rng = random.Random(f"{seed} {subject.key}")
    out: list[Fact] = []

    def note(call: Call, name: str = "") -> None:
        id_ = f"{subject.key}/{name or len(out)}"
        out.append(Fact(id_, call, comparing.answer(*ask(_sent(call)))))

    def _sent(call: Call) -> Call:
        return call._replace(body=json.loads(json.dumps(call.body).replace(madeup.UID, uid)))

    uid = madeup.UID
    for call in madeup.creates(subject, rng):
        note(call)
    if not subject.is_stored:
        return out
    note(madeup.base(subject), "base")
    settle(subject)
    stored = ask(Call("GET", subject.path, None))[1]
    uid = stored["metadata"]["uid"]
    for call in madeup.changes(subject, comparing.sendable(stored), rng):
        note(call)
    remove(subject, ask)
    return out


class Remote:
    """A cluster behind a kubeconfig with a client certificate or a token."""

    def __init__(self, kubeconfig: str) -> None:
        config = yaml.safe_load(pathlib.Path(kubeconfig).read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as file:
                for part in ("client-certificate-data", "client-key-data"):
                    file.write(base64.b64decode(user[part]) + b"\n")
                file.flush()
                context.load_cert_chain(file.name)
        host = urllib.parse.urlsplit(cluster["server"]).netloc
        self._connection = http.client.HTTPSConnection(host, context=context, timeout=60)

    def __call__(self, call: Call) -> tuple[int, Any]:
        body = None if call.body is None else json.dumps(call.body, separators=(",", ":")).encode()
        headers = {"Accept": "application/json", "Content-Type": call.type, **self._headers}
        try:
            self._connection.request(call.verb, call.path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as error:  # some requests make it panic
            self._connection.close()
            return 0, type(error).__name__
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def settle(self, subject: Subject) -> None:
        """Waits until controllers leave the object alone."""
        end, seen, since = time.monotonic() + _SETTLES_SECONDS, None, time.monotonic()
        while time.monotonic() < end and time.monotonic() - since < _SETTLED_AFTER:
            found = self(Call("GET", subject.path, None))[1]
            if found != seen:
                seen, since = found, time.monotonic()
            time.sleep(0.1)


def prepare(ask: Ask) -> None:
    """The namespace, and the account that pods in it need."""
    spaces = "/api/v1/namespaces"
    ask(Call("POST", spaces, {"metadata": {"name": madeup.NAMESPACE}}))
    account = {"metadata": {"name": "default"}}
    ask(Call("POST", f"{spaces}/{madeup.NAMESPACE}/serviceaccounts", account))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kubeconfig")
    parser.add_argument("--write", action="store_true", help="record anew")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    remote = Remote(options.kubeconfig)
    prepare(remote)
    if options.write:
        facts = [
            fact
            for subject in madeup.subjects()
            for fact in record(subject, remote, remote.settle, options.seed)
        ]
        lines = "\n".join(json.dumps(fact, separators=(",", ":")) for fact in facts)
        FILE.write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))
        sys.stdout.write(f"{len(facts)} facts, {FILE.stat().st_size} bytes\n")
    else:
        known, asked, differing = read(), 0, 0
        for subject in madeup.subjects():
            for fact, answer in replay(subject, known[subject.key], remote, remote.settle):
                asked += 1
                if answer != fact.answer:
                    differing += 1
                    sys.stdout.write(f"{fact.id}\n  {fact.answer}\n  {answer}\n")
        sys.stdout.write(f"{differing} of {asked} answers differ\n")
    remote(Call("DELETE", f"/api/v1/namespaces/{madeup.NAMESPACE}", None))


if __name__ == "__main__":
    main()
