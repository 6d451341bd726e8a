"""Commands on bytes: dd, gzip and its kin.

Models busybox coreutils/dd.c and archival/gzip.c, and GNU's words where they differ. What gzip
writes is real; the time of a file is left out of it.
"""

from __future__ import annotations

import re
import zlib

from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import BYTES_MAX, FileError, Folder
from controllers_app.shell.interpreter import COPIED, PIECE, Call

RATE_BYTES = 400 << 20  # that dd moves in a second
_UNITS = {
    "": 1, "c": 1, "w": 2, "b": 512, "k": 1024, "K": 1024, "kB": 1000, "M": 1 << 20,
    "MB": 1000000, "G": 1 << 30, "GB": 1000000000,
}  # fmt: skip
PACKED = 16 * 1024  # bytes that are packed, or unpacked, at once
_GZIP = 31  # zlib: its header and trailer around the data
_ENDLESS = ("/dev/zero", "/dev/urandom", "/dev/random")
_OPERANDS = tuple("if of bs ibs obs count skip seek status conv iflag oflag".split())


async def dd(call: Call) -> int:
    operands: dict[str, str] = {}
    for word in call.args:
        key, equals, text = word.partition("=")
        if not equals or key not in _OPERANDS:
            raise CommandError(f"{call.name}: unrecognized operand '{word}'", 1)
        operands[key] = text
    size = _number(call, operands.get("bs") or operands.get("ibs") or "512")
    if not size:
        raise CommandError(f"{call.name}: invalid number: '0'", 1)
    count = _number(call, operands["count"]) if "count" in operands else None
    skip = _number(call, operands.get("skip", "0")) * size
    data = await _input(call, operands.get("if", ""), skip, size, count)
    await _output(call, operands, data, size)
    await call.work(len(data) // COPIED)
    seconds = len(data) / RATE_BYTES + 0.0001
    await call.runner.sleep(seconds)
    if operands.get("status") != "none":
        whole, part = divmod(len(data), size)
        blocks = f"{whole}+{int(part > 0)}"
        call.io.err(f"{blocks} records in\n{blocks} records out\n".encode())
        if operands.get("status") != "noxfer":
            call.io.err(_summary(call, len(data), seconds).encode())
    return 0


async def _input(call: Call, path: str, skip: int, size: int, count: int | None) -> bytes:
    """What is read. An endless file without a count is read until the disk is full."""
    wanted = min(BYTES_MAX + 1, size * count if count is not None else BYTES_MAX + 1)
    full = call.path(path) if path else ""
    if full == "/dev/zero":
        return bytes(wanted)
    if full in _ENDLESS:
        return _noise(call, wanted)
    data = await call.io.stdin.all() if not path else call.machine.read(full)
    data = data[skip:]
    return data if count is None else data[: size * count]


def _noise(call: Call, size: int) -> bytes:
    """Bytes that look random, and are the container's own."""
    block = b"".join(call.machine.random().to_bytes(4, "big")[1:] for _ in range(min(size, 4096)))
    return (block * (size // len(block) + 1))[:size] if block else b""


async def _output(call: Call, operands: dict[str, str], data: bytes, size: int) -> None:
    path = operands.get("of", "")
    if not path:
        await call.write(data)
        return
    full, now = call.path(path), call.runner.now
    if full in ("/dev/null", *_ENDLESS):
        return
    if full in ("/dev/stdout", "/dev/stderr"):
        stream = call.io.out if full == "/dev/stdout" else call.io.err
        for at in range(0, len(data), PIECE):
            stream(data[at : at + PIECE])
            await call.work(PIECE // 50)
        return
    at = _number(call, operands.get("seek", "0")) * size
    keep = "notrunc" in operands.get("conv", "").split(",")
    before = b""
    if (at or keep) and call.machine.look(full) is not None:
        before = call.machine.read(full)
    if at > BYTES_MAX:
        raise CommandError(f"{call.name}: error writing '{path}': No space left on device", 1)
    call.hold(at + len(data))
    made = before[:at].ljust(at, b"\0") + data
    await call.work(len(made) // COPIED)
    try:
        call.machine.write(full, made + (before[len(made) :] if keep else b""), now)
    except FileError as error:
        raise CommandError(f"{call.name}: error writing '{path}': {error}", 1) from None


def _number(call: Call, text: str) -> int:
    match = re.fullmatch(r"(\d{1,9})([a-zA-Z]{0,2})", text)
    if match is None or match[2] not in _UNITS:
        raise CommandError(f"{call.name}: invalid number: '{text}'", 1)
    return int(match[1]) * _UNITS[match[2]]


def _summary(call: Call, size: int, seconds: float) -> str:
    rate = size / seconds
    if call.machine.is_busybox:
        return f"{size} bytes ({_short(size, 1024)}B) copied, {seconds:.6f} seconds, " + (
            f"{_short(int(rate), 1024)}B/s\n"
        )
    summary = f"{size} bytes"
    if size >= 1000:
        summary += f" ({_spaced(size, 1000)}B"
        summary += f", {_spaced(size, 1024)}iB)" if size >= 1024 else ")"
    return f"{summary} copied, {seconds:.6g} s, {_spaced(int(rate), 1000)}B/s\n"


def _short(size: int, step: int) -> str:
    """1.5M, as busybox writes sizes."""
    value, unit = float(size), ""
    for letter in "KMG":
        if value < step:
            break
        value, unit = value / step, letter
    return f"{value:.1f}{unit}" if unit else str(size)


def _spaced(size: int, step: int) -> str:
    """1.5 M, as GNU does."""
    value, unit = float(size), ""
    for letter in ("k" if step == 1000 else "K") + "MG":
        if value < step:
            break
        value, unit = value / step, letter
    return f"{value:.1f} {unit}" if unit and value < 10 else f"{value:.0f} {unit}"


async def gzip(call: Call) -> int:
    """gzip, gunzip and zcat."""
    flags, paths = options(call, "cdkfqvnt123456789")
    back = "d" in flags or call.name != "gzip"
    level = next((int(flag) for flag in flags if flag.isdigit()), 6)
    code = 0
    for path in paths or ["-"]:
        to_output = path == "-" or "c" in flags or call.name == "zcat"
        if path != "-" and not _is_file(call, path, back=back):
            code = 1
            continue
        data = await call.io.stdin.all() if path == "-" else call.machine.read(call.path(path))
        made = await (_unpacked(call, data) if back else _packed(call, data, level))
        if made is None:
            call.err(
                "invalid magic"
                if call.machine.is_busybox
                else f"{'stdin' if path == '-' else path}: not in gzip format"
            )
            code = 1
            continue
        if len(made) > BYTES_MAX:
            raise CommandError(f"{call.name}: No space left on device", 1)
        if to_output:
            await call.write(made)
            continue
        name = path.removesuffix(".gz") if back else path + ".gz"
        call.machine.write(call.path(name), made, call.runner.now)
        if "k" not in flags:
            call.machine.files.remove(call.path(path))
    return code


def _is_file(call: Call, path: str, *, back: bool) -> bool:
    file = call.machine.look(call.path(path))
    if file is None:
        call.err(f"{path}: No such file or directory")
    elif isinstance(file, Folder):
        call.err(f"{path} is a directory -- ignored")
    elif back and not path.endswith(".gz") and call.name != "zcat":
        call.err(f"{path}: unknown suffix -- ignored")
    else:
        return True
    return False


async def _packed(call: Call, data: bytes, level: int) -> bytes:
    coder = zlib.compressobj(level, wbits=_GZIP)
    made = []
    for at in range(0, len(data), PACKED):
        made.append(coder.compress(data[at : at + PACKED]))
        await call.work(PACKED // 10)
    return b"".join([*made, coder.flush()])


async def _unpacked(call: Call, data: bytes) -> bytes | None:
    """What was packed, and a little more than a disk takes at most; None: it is no such thing."""
    coder = zlib.decompressobj(_GZIP)
    made, size = [], 0
    try:
        while not coder.eof and data and size <= BYTES_MAX:
            part = coder.decompress(data, PACKED)
            data = coder.unconsumed_tail
            size += len(part)
            made.append(part)
            call.hold(len(part))
            await call.work(PACKED // 50)
    except zlib.error:
        return None
    return b"".join(made) if coder.eof or size > BYTES_MAX else None
