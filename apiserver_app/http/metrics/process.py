"""What the process uses that runs the cluster, as far as its operating system tells.

Models prometheus/client_golang prometheus/process_collector.go.
"""

from __future__ import annotations

import os
import pathlib
import resource

from apiserver_app.http.metrics.exposition import Page

_PROC = pathlib.Path("/proc/self")
_UNLIMITED = 2.0**64
# in /proc/self/stat, counted from behind the name
_USER_TICKS, _SYSTEM_TICKS, _VIRTUAL_BYTES, _RESIDENT_PAGES = 11, 12, 20, 21


def render(page: Page, started: int) -> None:
    """`started` is in virtual time, as all times on the page."""
    page.gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        [({}, started)],
    )
    try:
        stat = (_PROC / "stat").read_text().rpartition(")")[2].split()
        network = (_PROC / "net" / "netstat").read_text().splitlines()
        files = len(os.listdir(_PROC / "fd"))
    except OSError:  # there is no procfs
        return
    ticks = int(stat[_USER_TICKS]) + int(stat[_SYSTEM_TICKS])
    page.counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        [({}, ticks / os.sysconf("SC_CLK_TCK"))],
    )
    pages, octets = int(stat[_RESIDENT_PAGES]), _octets(network)
    for name, text, value in (
        ("max_fds", "Maximum number of open file descriptors.", _limit(resource.RLIMIT_NOFILE)),
        ("open_fds", "Number of open file descriptors.", files),
        ("resident_memory_bytes", "Resident memory size in bytes.", pages * resource.getpagesize()),
        ("virtual_memory_bytes", "Virtual memory size in bytes.", int(stat[_VIRTUAL_BYTES])),
        (
            "virtual_memory_max_bytes",
            "Maximum amount of virtual memory available in bytes.",
            _limit(resource.RLIMIT_AS),
        ),
    ):
        page.gauge(f"process_{name}", text, [({}, value)])
    for name, text, field in (
        ("receive", "Number of bytes received by the process over the network.", "InOctets"),
        ("transmit", "Number of bytes sent by the process over the network.", "OutOctets"),
    ):
        page.counter(f"process_network_{name}_bytes_total", text, [({}, octets.get(field, 0))])


def _limit(which: int) -> float:
    soft = resource.getrlimit(which)[0]
    return _UNLIMITED if soft == resource.RLIM_INFINITY else soft


def _octets(lines: list[str]) -> dict[str, int]:
    """The counts of IP, which stand in two lines: names, and values."""
    names, values = (line.split()[1:] for line in lines if line.startswith("IpExt:"))
    return dict(zip(names, map(int, values), strict=True))
