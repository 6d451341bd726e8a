"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import resource
import sysconfig
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "load_1m": round(os.getloadavg()[0], 2),
        "python": f"{platform.python_version()}, {_build()}",
        "system": f"{platform.system()} {platform.machine()}",
    }


def rss_mib(pid: int | None = None) -> float:
    """Resident memory of a process now; of this one without a pid."""
    try:
        text = Path(f"/proc/{pid or 'self'}/statm").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return round(peak / 1024, 1)
    pages = int(text.split()[1])
    return round(pages * resource.getpagesize() / 2**20, 1)


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _build() -> str:
    """What a build of Python has to do with how fast it is."""
    flags = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    known = {"--enable-optimizations": "PGO", "--with-lto": "LTO"}
    return " and ".join(name for flag, name in known.items() if flag in flags) or "plain"


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _memory_gib() -> float:
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
