"""`make demo` in an environment of its own, with the runtime dependencies and nothing else.

A package that only the tests bring along would be missed nowhere but here. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

START_SECONDS_MAX = 300  # installs the dependencies
RUNNING_SECONDS_MAX = 60
STOP_SECONDS_MAX = 20


def main(scratch: Path) -> int:
    data = scratch / "data"
    options = f"--port 0 --tls-port 0 --no-browser --speed max --data-dir {data}"
    demo = subprocess.Popen(
        ["make", "--no-print-directory", "demo", f"VENV={scratch / 'venv'}", f"ARGS={options}"],
        start_new_session=True,
    )
    try:
        endpoints = until("the demo is up", START_SECONDS_MAX, demo, lambda: read(data))
        kubectl(data, "create", "deployment", "web", "--image=nginx", "--replicas=2")
        until("its pods run", RUNNING_SECONDS_MAX, demo, lambda: running(data) == 2)
        page(endpoints)
        os.kill(endpoints["pid"], signal.SIGTERM)
        print(f"stopped with exit code {demo.wait(STOP_SECONDS_MAX)}", flush=True)
    finally:
        if demo.poll() is None:
            os.killpg(demo.pid, signal.SIGKILL)
    return 0


def until(what: str, seconds: float, demo: subprocess.Popen[bytes], ask: Any) -> Any:
    """What `ask` answers once that is true."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if demo.poll() is not None:
            sys.exit(f"the demo ended with exit code {demo.returncode} before {what}")
        if answer := ask():
            print(f"{what} ({time.monotonic() - began:.1f} s)", flush=True)
            return answer
        time.sleep(0.2)
    sys.exit(f"after {seconds:g} s still waiting until {what}")


def read(data: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads((data / "endpoints.json").read_text()))
    except (OSError, ValueError):
        return None


def running(data: Path) -> int:
    pods = json.loads(kubectl(data, "get", "pods", "-l", "app=web", "-o", "json"))["items"]
    return sum(pod["status"].get("phase") == "Running" for pod in pods)


def page(endpoints: dict[str, Any]) -> None:
    """The page's link, the API without TLS, the product API and its schema answer."""
    link = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with link.open(endpoints["page"], timeout=20) as answer:
        print(f"the link led to {answer.url}: {answer.status}", flush=True)
    for path in ("/readyz", "/version", "/viz/v1/traces", "/viz/v1/schema"):
        asked = urllib.request.Request(endpoints["http"] + path)
        if path.startswith("/viz"):
            asked.add_header("Authorization", f"Bearer {endpoints['token']}")
        with urllib.request.urlopen(asked, timeout=20) as answer:
            print(f"GET {path}: {answer.status}", flush=True)


def kubectl(data: Path, *arguments: str) -> str:
    ran = subprocess.run(
        ["kubectl", f"--kubeconfig={data / 'kubeconfig'}", *arguments],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if ran.returncode:
        sys.exit(f"kubectl {' '.join(arguments)}: {ran.stdout}{ran.stderr}")
    return ran.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
