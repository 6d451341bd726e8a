"""Commands that go out to the cluster's network: wget, curl, nslookup, ping.

Models busybox networking/wget.c, nslookup.c, ping.c and curl's messages.
"""

from __future__ import annotations

import re

from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.interpreter import Call
from controllers_app.shell.machine import Unreachable

TIMEOUT_SECONDS = 10.0
PINGS_MAX = 1000
_URL = re.compile(r"(?:(https?)://)?(\[[0-9a-f:]+\]|[^/:?#]+)(?::(\d{1,5}))?([/?][^#]*)?")
_REASONS = {
    200: "OK", 201: "Created", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Not Allowed", 409: "Conflict", 422: "Unprocessable Entity",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


_CURL_VALUED = frozenset(
    """
    cacert connect-timeout data data-binary max-time output request retry user-agent write-out
    resolve cert key url
    """.split()
)
_WGET_VALUED = frozenset(
    ("post-data", "timeout", "ca-certificate", "output-document", "user-agent")
)


class _NoName(Exception):
    """The name has no address."""


class _BadTls(Exception):
    """The server does not speak TLS, or is not believed."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def _headers_taken(args: list[str], valued: frozenset[str]) -> tuple[list[str], dict[str, str]]:
    """(the words without headers and with values joined to their long options, the headers)."""
    rest: list[str] = []
    headers: dict[str, str] = {}
    words = list(args)
    while words:
        word = words.pop(0)
        text = None
        if word in ("-H", "--header") and words:
            text = words.pop(0)
        elif word.startswith("--header="):
            text = word.partition("=")[2]
        elif word.startswith("--") and word[2:] in valued and words:
            word = f"{word}={words.pop(0)}"
        if text is None:
            rest.append(word)
        else:
            key, _, value = text.partition(":")
            headers[key.strip().lower()] = value.strip()
    return rest, headers


def _parsed(url: str) -> tuple[str, int, str, bool]:
    """(host, port, path, by TLS)."""
    match = _URL.fullmatch(url)
    if match is None:
        raise CommandError(f"bad address '{url[:200]}'", 1)
    tls = match[1] == "https"
    path = match[4] or "/"
    return (
        match[2].strip("[]"),
        int(match[3] or (443 if tls else 80)),
        (path if path.startswith("/") else f"/{path}"),
        tls,
    )


async def _asked(
    call: Call,
    url: str,
    method: str,
    headers: dict[str, str],
    body: bytes,
    seconds: float,
    authorities: str | None = None,
) -> tuple[str, HttpAnswer]:
    """(the address that answered, its answer). Raises _NoName, Unreachable and _BadTls.
    `authorities`: the file of certificates that the server's is checked with."""
    host, port, path, tls = _parsed(url)
    machine = call.machine
    addresses = machine.resolve(host).addresses
    if not addresses:
        raise _NoName(host)
    name = host if port in (80, 443) else f"{host}:{port}"
    request = HttpRequest(
        method, path, {"host": name, "x-forwarded-for": machine.address, **headers}, body
    )
    try:
        endpoint = machine.connect(addresses[0], port)
        if tls and not endpoint.tls:
            raise _BadTls(35, "wrong version number")
        if tls and authorities is not None and not machine.trusts(authorities):
            raise _BadTls(60, "unable to get local issuer certificate")
        if endpoint.tls and not tls:
            message = b"Client sent an HTTP request to an HTTPS server.\n"
            return addresses[0], HttpAnswer(400, {"content-type": "text/plain"}, message)
        answer = await machine.beside(call.runner, endpoint.answer(port, request))
        return addresses[0], answer
    except Unreachable as error:
        if error.timed_out:
            await call.runner.sleep(seconds)
        raise Unreachable(f"{addresses[0]}|{error}", timed_out=error.timed_out) from None


async def wget(call: Call) -> int:
    args, headers = _headers_taken(call.args, _WGET_VALUED)
    flags, urls = options(call, "qSsc", "OTtPU", args)
    if not urls:
        raise CommandError("wget: missing URL", 1)
    seconds = _seconds(flags.get("T") or flags.get("timeout"), TIMEOUT_SECONDS)
    host, port, _path, tls = _parsed(urls[0])
    body = flags.get("post-data")
    quiet = "q" in flags
    try:
        address, answer = await _asked(
            call,
            urls[0],
            "GET" if body is None else "POST",
            {"user-agent": "Wget", **headers},
            (body or "").encode(),
            seconds,
        )
    except _NoName:
        call.err(f"bad address '{host}'")
        return 1
    except _BadTls:
        call.err("got bad TLS record (len:0) while expecting handshake record")
        return 1
    except Unreachable as error:
        address, _, why = str(error).partition("|")
        if not quiet:
            call.io.err(f"Connecting to {host} ({address}:{port})\n".encode())
        call.err(
            "download timed out"
            if error.timed_out
            else f"can't connect to remote host ({address}): {why}"
        )
        return 1
    if not quiet:
        call.io.err(f"Connecting to {host} ({address}:{port})\n".encode())
    if tls and "no-check-certificate" not in flags:
        call.io.err(b"wget: note: TLS certificate validation not implemented\n")
    if answer.status >= 400:
        call.err(
            f"server returned error: HTTP/1.1 {answer.status} {_REASONS.get(answer.status, '')}"
        )
        return 1
    if "spider" in flags:
        call.io.err(b"remote file exists\n")
        return 0
    name = flags.get("O") or urls[0].rstrip("/").rpartition("/")[2]
    if "/" not in urls[0].partition("://")[2].rstrip("/") and "O" not in flags:
        name = "index.html"
    if name == "-":
        if not quiet:
            call.io.err(b"writing to stdout\n")
        call.io.out(answer.body)
    else:
        call.machine.files.write(call.path(name), answer.body, call.runner.now)
    if not quiet:
        where = "stdout" if name == "-" else f"'{name}'"
        short = (name if name != "-" else "-")[:20]
        call.io.err(
            f"{short:<20} 100% |{'*' * 32}| {len(answer.body):5d}  0:00:00 ETA\n"
            f"{'written to stdout' if name == '-' else f'{where} saved'}\n".encode()
        )
    return 0


def _seconds(text: str | None, standard: float) -> float:
    match = re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text or "")
    return float(match[0]) if match else standard


async def curl(call: Call) -> int:
    args, given = _headers_taken(call.args, _CURL_VALUED)
    flags, urls = options(call, "sSiIvkLfgGO", "XdomwuAT", args)
    for long, short in _CURL_SHORT.items():
        if long in flags:
            flags[short] = flags[long]
    if not urls:
        raise CommandError("curl: try 'curl --help' or 'curl --manual' for more information", 2)
    seconds = _seconds(
        flags.get("m") or flags.get("max-time") or flags.get("connect-timeout"), 130.0
    )
    data = flags.get("d")
    method = flags.get("X") or ("HEAD" if "I" in flags else "GET" if data is None else "POST")
    headers = {"user-agent": flags.get("A", "curl/7.88.1"), "accept": "*/*"}
    if data is not None:
        headers["content-type"] = "application/x-www-form-urlencoded"
        if data.startswith("@"):
            data = call.machine.read(call.path(data[1:])).decode("utf-8", "surrogateescape")
    headers.update(given)
    authorities = flags.get("cacert", _CURL_CA)
    if "cacert" in flags and call.machine.look(call.path(authorities)) is None:
        why = "error setting certificate verify locations:  "
        return _curled(call, 77, f"{why}CAfile: {authorities} CApath: none", False)
    silent = ("s" in flags or "silent" in flags) and "S" not in flags
    host, port, path, _ = _parsed(urls[0])
    try:
        address, answer = await _asked(
            call,
            urls[0],
            method,
            headers,
            (data or "").encode(),
            seconds,
            None if "k" in flags else call.path(authorities),
        )
    except _NoName:
        return _curled(call, 6, f"Could not resolve host: {host}", silent)
    except _BadTls as error:
        if error.code == 35:
            why = f"OpenSSL/3.0.15: error:0A00010B:SSL routines::{error}"
            return _curled(call, 35, why, silent)
        code = _curled(call, 60, f"SSL certificate problem: {error}", silent)
        if not silent:
            call.io.err(_UNTRUSTED)
        return code
    except Unreachable as error:
        if error.timed_out:
            why = f"Connection timed out after {int(seconds * 1000)} milliseconds"
            return _curled(call, 28, why, silent)
        why = f"Failed to connect to {host} port {port} after 0 ms: Couldn't connect to server"
        return _curled(call, 7, why, silent)
    url = f"{host}:{port} {path}"
    return _curl_shows(call, flags, answer, (method, url, address), silent=silent)


def _curl_shows(
    call: Call,
    flags: dict[str, str],
    answer: HttpAnswer,
    asked: tuple[str, str, str],
    *,
    silent: bool,
) -> int:
    """What it writes of an answer; the exit code."""
    method, url, address = asked
    where, _, path = url.partition(" ")
    host, _, port = where.rpartition(":")
    reason = _REASONS.get(answer.status, "")
    if "v" in flags:
        call.io.err(
            f"*   Trying {address}:{port}...\n* Connected to {host} ({address}) port {port} (#0)\n"
            f"> {method} {path} HTTP/1.1\n> Host: {host}\n> User-Agent: curl/7.88.1\n"
            f"> Accept: */*\n> \n< HTTP/1.1 {answer.status} {reason}\n".encode()
        )
    if ("f" in flags or "fail" in flags) and answer.status >= 400:
        return _curled(call, 22, f"The requested URL returned error: {answer.status}", silent)
    out = b""
    if "i" in flags or "I" in flags:
        head = {**answer.headers, "content-length": str(len(answer.body))}
        lines = [
            f"HTTP/1.1 {answer.status} {reason}",
            *(f"{k.title()}: {v}" for k, v in head.items()),
        ]
        out = "\r\n".join([*lines, "", ""]).encode()
    out += b"" if method == "HEAD" else answer.body
    if "o" in flags:
        call.machine.write(call.path(flags["o"]), out, call.runner.now)
    else:
        call.io.out(out)
    form = flags.get("w", "").replace("\\n", "\n")
    call.out(
        form.replace("%{http_code}", str(answer.status)).replace(
            "%{response_code}", str(answer.status)
        )
    )
    return 0


_CURL_CA = "/etc/ssl/certs/ca-certificates.crt"
_CURL_SHORT = {
    "insecure": "k", "data": "d", "data-binary": "d", "request": "X", "max-time": "m",
    "output": "o", "write-out": "w", "user-agent": "A", "silent": "s", "include": "i",
    "head": "I", "verbose": "v", "fail": "f", "show-error": "S",
}  # fmt: skip
_UNTRUSTED = b"""More details here: https://curl.se/docs/sslcerts.html

curl failed to verify the legitimacy of the server and therefore could not
establish a secure connection to it. To learn more about this situation and
how to fix it, please visit the web page mentioned above.
"""


def _curled(call: Call, code: int, why: str, silent: bool) -> int:
    if not silent:
        call.io.err(f"curl: ({code}) {why}\n".encode())
    return code


async def nslookup(call: Call) -> int:
    names = [argument for argument in call.args if not argument.startswith("-")]
    if not names:
        raise CommandError("nslookup: usage: nslookup [HOST]", 1)
    found = call.machine.resolve(names[0])
    if found.fault:
        if found.fault != "timed out":
            call.err(f"write to '{found.server}': {found.fault}")
        call.out(";; connection timed out; no servers could be reached\n\n")
        return 1
    server = found.server or call.machine.dns_address
    call.out(f"Server:\t\t{server}\nAddress:\t{server}:53\n\n")
    if not found.addresses:
        call.out(f"** server can't find {found.name}: NXDOMAIN\n\n")
        return 1
    for record in found.answer.records if found.answer else ():
        if record.type == "CNAME":
            call.out(f"{record.name}\tcanonical name = {record.data}\n")
    for address in found.addresses:
        call.out(f"Name:\t{found.name}\nAddress: {address}\n")
    call.out("\n")
    return 0


async def getent(call: Call) -> int:
    if len(call.args) < 2 or call.args[0] not in ("hosts", "ahosts"):
        return 2
    addresses = call.machine.resolve(call.args[1]).addresses
    for address in addresses:
        call.out(f"{address:<15} {call.args[1]}\n")
    return 0 if addresses else 2


async def ping(call: Call) -> int:
    flags, args = options(call, "qn46", "cwWi")
    if not args:
        raise CommandError("ping: missing host operand", 1)
    addresses = call.machine.resolve(args[0]).addresses
    if not addresses:
        call.err(f"bad address '{args[0]}'")
        return 1
    pings = flags.get("c", "")
    count = min(int(pings[:6]), PINGS_MAX) if pings.isdigit() else PINGS_MAX
    address = addresses[0]
    call.out(f"PING {args[0]} ({address}): 56 data bytes\n")
    alive = call.machine.is_there(address)
    for number in range(count):
        if number:
            await call.runner.sleep(1.0)
        if alive:
            call.out(f"64 bytes from {address}: seq={number} ttl=64 time=0.0{80 + number % 9} ms\n")
    got = count if alive else 0
    lost = 0 if alive else 100
    call.out(
        f"\n--- {args[0]} ping statistics ---\n{count} packets transmitted, "
        f"{got} packets received, {lost}% packet loss\n"
    )
    if alive:
        call.out("round-trip min/avg/max = 0.080/0.083/0.088 ms\n")
    return int(not alive)
