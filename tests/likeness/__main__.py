"""Compares a cluster with what Kubernetes 1.33.4 answered, or records what it answers.

Asks what is recorded below tests/likeness, requests that nobody would send and reads, and prints
each answer that differs, the recorded one first. It works in a namespace of its own, nearly always
with dry runs, and deletes what it creates; whoever asks must be allowed everything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from tests.likeness.reads import record as reads
from tests.likeness.remote import Remote
from tests.likeness.requests import madeup
from tests.likeness.requests import record as requests
from tests.likeness.requests.madeup import Call

AREAS = ("requests", "reads")


def main(arguments: Sequence[str] | None = None) -> None:
    description, _, epilog = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("make likeness", None, description, epilog)
    parser.add_argument("kubeconfig", help="its current context is asked")
    parser.add_argument("--only", choices=AREAS, help="one of the two")
    parser.add_argument("--write", action="store_true", help="record anew")
    parser.add_argument("--seed", type=int, default=1, help="other requests, with --write")
    options = parser.parse_args(arguments)
    remote = Remote(options.kubeconfig)
    requests.prepare(remote)
    for area in AREAS if options.only is None else (options.only,):
        if options.write:
            count = _write(area, remote, options.seed)
            sys.stdout.write(f"{count} {area} recorded\n")
        else:
            _compare(area, remote)
    remote(Call("DELETE", f"/api/v1/namespaces/{madeup.NAMESPACE}", None))


def _write(area: str, remote: Remote, seed: int) -> int:
    if area == "requests":
        return requests.write(remote, remote.settle, seed)
    return reads.write(remote.ask, remote.settle)


def _compare(area: str, remote: Remote) -> None:
    asked = differing = 0
    for what, known, found in _answers(area, remote):
        asked += 1
        if known != found:
            differing += 1
            sys.stdout.write(f"{what}\n  {known}\n  {found}\n")
    sys.stdout.write(f"{differing} of {asked} answers to {area} differ\n")


def _answers(area: str, remote: Remote) -> Iterator[tuple[str, Any, Any]]:
    """What was asked, the recorded answer, and the one of now."""
    if area == "requests":
        for fact, answer in requests.asked_anew(remote, remote.settle):
            yield fact.id, fact.answer, answer
        return
    known, found = reads.read(), dict(reads.facts(remote.ask, remote.settle))
    for what in known | found:
        yield what, known.get(what), found.get(what)


if __name__ == "__main__":
    main()
