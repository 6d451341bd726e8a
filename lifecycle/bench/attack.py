"""How long somebody else waits for a plain GET while a student attacks, and how the cluster is
ten seconds later.

Each attack of `attacks.py` meets a demo of its own, at the speed of real time and with the limits
it has by default, from a process of its own.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import ssl
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from lifecycle.bench import attacker, attacks, machine
from lifecycle.bench.api_load import percentile
from lifecycle.bench.attacks import making
from lifecycle.bench.demo_start import Demo

SECONDS = 4.0  # of one attack
GAP_SECONDS = 0.02  # between the answer to a GET and the next
WELL_SECONDS = 10.0
P99_MS, RSS_MIB = 500.0, 600.0
TIMEOUT_SECONDS = 60
_GET = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
_PODS = "/api/v1/namespaces/default/pods"


def run(names: list[str], results: str = "") -> dict[str, Any]:
    """All attacks, or those of these names. Each is reported when it is over, and kept in the file
    of `results`; what stands there already is not measured again."""
    wanted = names or list(attacks.ATTACKS)
    if unknown := [name for name in wanted if name not in attacks.ATTACKS]:
        known = ", ".join(attacks.ATTACKS)
        raise CommandError(f"there is no attack {', '.join(unknown)}; there are: {known}")
    kept = Results(Path(results) if results else None)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        for number, name in enumerate(wanted, 1):
            again = "" if name not in kept.results else " (measured before)"
            if not again:
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                    kept.add(name, _one(pool, name, Path(folder)))
            result = kept.results[name]
            verdict = "holds" if _holds(result) else "MISSES"
            sys.stderr.write(
                f"[{number}/{len(wanted)}] {name}: {verdict}{again} {json.dumps(result)}\n"
            )
            sys.stderr.flush()
    kept_figures = {name: kept.results[name] for name in wanted}
    missed = [name for name, result in kept_figures.items() if not _holds(result)]
    return {
        "bench": "attack",
        "attacks": len(kept_figures),
        "missed": missed,
        "get_p99_ms": max(result["get_p99_ms"] for result in kept_figures.values()),
        "rss_mib": max(result["rss_mib"] for result in kept_figures.values()),
        "of_each": kept_figures,
        "machine": machine.describe(),
    }


class Results:
    """What was found of each attack, kept in a file of JSON lines if there is one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.results: dict[str, dict[str, Any]] = {}
        if file is not None and file.exists():
            for line in file.read_text().splitlines():
                self.results |= json.loads(line)

    def add(self, name: str, result: dict[str, Any]) -> None:
        self.results[name] = result
        if self._file is not None:
            with self._file.open("a") as out:
                out.write(json.dumps({name: result}) + "\n")


def _holds(result: dict[str, Any]) -> bool:
    return bool(result["well"] and result["get_p99_ms"] <= P99_MS and result["rss_mib"] <= RSS_MIB)


def _one(pool: ProcessPoolExecutor, name: str, folder: Path) -> dict[str, Any]:
    demo = Demo(folder, speed="1", limits={})
    try:
        bystander = Bystander(demo)
        bystander.get()
        with _watched(demo) as peak:
            attack = pool.submit(attacker.attack, name, str(folder), SECONDS)
            times, failures = _meanwhile(bystander, attack)
            well = _is_well(bystander)
        return {
            "get_p99_ms": percentile(times, 99),
            "get_max_ms": percentile(times, 100),
            "gets": len(times),
            "failed": failures,
            "well": well,
            "rss_mib": round(max(peak), 1),
            "answers": attack.result(),
        }
    finally:
        demo.stop()


def _meanwhile(bystander: Bystander, attack: Future[Any]) -> tuple[list[float], int]:
    """Seconds of each GET while the attack lasts, and how many had no answer."""
    times, failures = [], 0
    while not attack.done():
        began = time.perf_counter()
        try:
            bystander.get()
        except (OSError, http.client.HTTPException):
            failures += 1
        times.append(time.perf_counter() - began)
        time.sleep(GAP_SECONDS)
    return times, failures


def _is_well(bystander: Bystander) -> bool:
    """Whether, within WELL_SECONDS, a pod comes to run and reads are fast. The pod uses the image
    of the attack's pods if it is there: on a node one pull waits for another, as upstream."""
    end = time.monotonic() + WELL_SECONDS
    created = False
    while time.monotonic() < end:
        try:
            created = created or bystander.create("well")
            began = time.monotonic()
            runs = bystander.runs("well")
            if runs and time.monotonic() - began < P99_MS / 1000:
                return True
        except (OSError, http.client.HTTPException):
            pass
        time.sleep(0.1)
    return False


@contextlib.contextmanager
def _watched(demo: Demo) -> Any:
    """The memory of both processes, in MiB, from time to time."""
    seen = [sum(demo.memory())]
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            with contextlib.suppress(OSError):
                seen.append(sum(demo.memory()))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


class Bystander:
    """The teacher, on one connection."""

    def __init__(self, demo: Demo) -> None:
        pki = demo.folder / "pki"
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "teacher.crt", pki / "teacher.key")
        host, _, port = demo.https.partition(":")
        self._address = host, int(port)
        self._connection: http.client.HTTPSConnection | None = None

    def get(self) -> None:
        self._ask("GET", _GET)

    def create(self, name: str) -> bool:
        pod = making.pod(name)
        pod["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent"
        self._ask("POST", _PODS, pod)
        return True

    def runs(self, name: str) -> bool:
        return bool(self._ask("GET", f"{_PODS}/{name}")["status"].get("phase") == "Running")

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = self._connection or http.client.HTTPSConnection(
            *self._address, timeout=TIMEOUT_SECONDS, context=self._tls
        )
        self._connection = None
        data = json.dumps(body) if body is not None else None
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        self._connection = connection
        if answer.status not in (200, 201, 409):
            raise http.client.HTTPException(f"{answer.status}: {text!r}")
        return json.loads(text)
