"""df and mount: what is mounted in the container, and where. The sizes are modelled.

Models busybox coreutils/df.c and util-linux/mount.c.
"""

from __future__ import annotations

from collections.abc import Sequence

from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.interpreter import Call
from controllers_app.shell.machine import Mount

SIZES = {"overlay": 61255492, "/dev/sda1": 61255492, "tmpfs": 8388608}  # KiB; others as the disk
USED = 8250000
DEV_SIZE = 65536
_UNITS = "KMGT"


async def df(call: Call) -> int:
    parsed, paths = options(call, "hkP")
    human = "h" in parsed
    disks = call.machine.disks()
    rows = [_holding(call, disks, path) for path in paths] if paths else disks
    head = "     Size" if human else "1K-blocks"
    call.out(f"Filesystem           {head}      Used Available Use% Mounted on\n")
    for name, path, _ in rows:
        size = DEV_SIZE if path == "/dev" else SIZES.get(name, SIZES["/dev/sda1"])
        used = 0 if name == "tmpfs" else USED
        up = size // 2 if call.machine.is_busybox else size - 1
        values = [_human(amount) if human else str(amount) for amount in (size, used, size - used)]
        columns = " ".join(f"{value:>9}" for value in values)
        call.out(f"{name:<20} {columns} {(used * 100 + up) // size:3d}% {path}\n")
    return 0


def _holding(call: Call, disks: Sequence[Mount], path: str) -> Mount:
    """The disk that a path is on: the one that is mounted deepest above it."""
    whole = call.path(path)
    if call.machine.look(whole) is None:
        why = "can't find mount point" if call.machine.is_busybox else "No such file or directory"
        raise CommandError(f"df: {path}: {why}", 1)
    above = [disk for disk in disks if f"{whole}/".startswith(disk[1].rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[1]))


def _human(kib: int) -> str:
    if not kib:
        return "0"
    value, unit = float(kib), 0
    while value >= 1024:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f}{_UNITS[unit]}"


async def mount(call: Call) -> int:
    if call.args:
        raise CommandError("mount: permission denied (are you root?)", 1)
    for name, path, readonly in call.machine.disks():
        kind = name if name in ("overlay", "tmpfs") else "ext4"
        call.out(f"{name} on {path} type {kind} ({'ro' if readonly else 'rw'},relatime)\n")
    return 0
