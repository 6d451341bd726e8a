"""Prepares what `manage.py demo` serves with: sockets, data directory, certificates, the worker.

Every mistake that a user can make is reported in one sentence (StartError) before anything is
served. The worker starts here, before the server's imports, so that both happen at the same time.
"""

from __future__ import annotations

import dataclasses
import fcntl
import ipaddress
import json
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from lifecycle.hosting import child, interfaces, options
from lifecycle.hosting.board import Board
from lifecycle.hosting.edge import access

if TYPE_CHECKING:
    from apiserver_app.auth import pki

# the files and folders of a data directory
OWN = tuple(
    """
    *.mark *.sqlite3* bookmarks.json endpoints.json kubeconfig kubeconfigs kubeconfigs/* lock
    page-tokens.json pki pki/* quarantine.json secret-key traces traces/* worker.log*
    """.split()
)
TOKENS = "page-tokens.json"  # by role
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")  # stands in a link
ANYWHERE = ("0.0.0.0", "::")  # hosts that stand for all addresses
LOCK_WAIT_SECONDS = 3.0  # enough for the worker of a killed edge to commit and end


class StartError(Exception):
    """The demo cannot start, in one sentence."""


class Prepared(msgspec.Struct, frozen=True):
    """What a running demo serves with."""

    options: options.Options
    http: socket.socket
    https: socket.socket
    http_url: str
    https_url: str
    network_url: str  # with TLS, for other machines
    on_loopback: bool
    lock: int
    keys: pki.Pki
    tokens: dict[str, str]
    client_authorities: list[str]
    board: Board
    worker: child.Child | None
    more: tuple[str, ...] = ()  # where others reach it, too, in place of the host of `network_url`

    def page(self, role: str, base: str) -> str:
        """Returns the link that lets its reader in with a role."""
        return f"{base}/?token={self.tokens[role]}" if self.tokens else f"{base}/"

    def links(self) -> str:
        """Returns what the terminal shows. On a network there are two links, both with TLS."""
        if self.on_loopback:
            return f"  page        {self.page(access.DRIVER, self.http_url)}\n"
        return (
            f"  page        {self.page(access.DRIVER, self.network_url)}\n"
            "              whoever has this link drives the cluster\n"
            f"  to watch    {self.page(access.VIEWER, self.network_url)}\n"
            "              whoever has this link may look at everything and change nothing\n"
            f"{self._more()}"
            f"  WARNING     {self.http_url} is not encrypted: whoever shares the network can\n"
            "              read what is sent there, tokens too. Give away the links above only\n"
        )

    def _more(self) -> str:
        if not self.more:
            return ""
        host = urlsplit(self.network_url).hostname or ""
        first = f"[{host}]" if ":" in host else host
        return (
            f"  or at       {', '.join(self.more)}\n"
            f"              in place of {first}, where that does not lead here\n"
        )

    @property
    def kubeconfig(self) -> Path:
        return self.options.data_dir / "kubeconfig"

    @property
    def endpoints(self) -> Path:
        return self.options.data_dir / "endpoints.json"


def prepare(given: options.Options) -> Prepared:
    """Does everything that may fail through a mistake of the user. Raises StartError."""
    http = bind(given.host, given.port)
    https = bind(given.host, given.tls_port)
    ports = [bound.getsockname()[1] for bound in (http, https)]
    given = dataclasses.replace(given, port=ports[0], tls_port=ports[1])
    names = _server_names(given.host, https)
    network_url = f"https://{_authority(https, names[0])}"
    urls = f"http://{_authority(http)}", f"https://{_authority(https)}", network_url
    on_loopback = ipaddress.ip_address(http.getsockname()[0]).is_loopback
    if not given.auth and not on_loopback:
        raise StartError(
            f"--no-auth is for loopback: whoever reaches {given.host} would drive the cluster; "
            "leave it out, or use --host 127.0.0.1"
        )
    os.umask(0o077)
    lock = take_data_dir(given.data_dir)
    _make_private(given.data_dir)
    os.environ.update(child.environment(given))
    os.environ["AUTOBAHN_USE_NVX"] = "0"  # compiling its parser costs more than it saves
    keys = make_identities(given, urls[1], network_url, names)
    tokens = make_tokens(given) if given.auth else {}
    authorities = client_authorities(given)
    board = Board()
    worker = None if given.single_process else child.spawn(given, (lock,), board.descriptor)
    return Prepared(
        given,
        http,
        https,
        *urls,
        on_loopback,
        lock,
        keys,
        tokens,
        authorities,
        board,
        worker,
        tuple(f"[{name}]" if ":" in name else name for name in names[1:]),
    )


def bind(host: str, port: int) -> socket.socket:
    """Returns a listening socket; the server accepts connections later."""
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise StartError(f"the host {host!r} is unknown: {error.strerror or error}") from error
    family, kind, protocol, _, address = min(entries, key=lambda entry: entry[0] != socket.AF_INET)
    bound = socket.socket(family, kind, protocol)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setblocking(False)
    try:
        bound.bind(address)
        bound.listen(1024)  # Linux lets two sockets bind one port; only one can listen
    except OSError as error:
        bound.close()
        raise StartError(
            f"cannot listen on {host} port {port}: {os.strerror(error.errno or 0)}; "
            "choose another port, 0 picks a free one"
        ) from error
    return bound


def take_data_dir(data_dir: Path) -> int:
    """Creates and locks the data directory; returns the descriptor of the lock."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        probe = data_dir / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
        lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StartError(
            f"the data directory {data_dir} cannot be written: {error.strerror}"
        ) from error
    deadline = time.monotonic() + LOCK_WAIT_SECONDS
    while not _locked(lock):
        holder = os.pread(lock, 20, 0).decode()
        if _is_running(holder) or time.monotonic() > deadline:
            os.close(lock)
            raise StartError(
                f"the data directory {data_dir} is in use by another demo (pid {holder}); "
                "stop that one or choose another with --data-dir"
            )
        time.sleep(0.02)
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    (data_dir / "endpoints.json").unlink(missing_ok=True)
    return lock


def _make_private(data_dir: Path) -> None:
    """What an earlier version made for everybody to read is for its owner only from now on."""
    files = [path for pattern in OWN for path in data_dir.glob(pattern)]
    if (data_dir / "store.sqlite3").exists():
        files.append(data_dir)
    for path in files:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077 and not path.is_symlink() and path.suffix not in (".crt", ".pub"):
            path.chmod(mode & 0o700)


def _locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_running(pid: str) -> bool:
    """Reports whether the edge that took the lock runs; if not, its worker is about to end."""
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def make_identities(
    given: options.Options, url: str, network_url: str, names: Sequence[str]
) -> pki.Pki:
    """Certificates, for a server of these names and addresses, and kubeconfigs: those of the cast
    lead here from other machines."""
    from apiserver_app.auth import kubeconfig, pki
    from lifecycle.hosting import apiserver

    hosts = [apiserver.service_address(given), *names]
    try:
        keys = pki.load(given.data_dir, time.time_ns() // 1000, hosts)
        kubeconfig.write(keys, url, given_away=network_url)
    except (pki.PkiError, OSError) as error:
        raise StartError(str(error)) from error
    return keys


def make_tokens(given: options.Options) -> dict[str, str]:
    """Returns the page's tokens by role; those that are missing are made and kept."""
    from apiserver_app.auth import pki

    path = given.data_dir / TOKENS
    made = {role: secrets.token_urlsafe(32) for role in access.ROLES if role}
    try:
        kept = {} if given.new_tokens or not path.exists() else _read_tokens(path)
        tokens = {**made, **kept}
        if tokens != kept:
            pki.write_file(path, json.dumps(tokens, indent=2).encode() + b"\n", 0o600)
    except OSError as error:
        raise StartError(str(error)) from error
    return tokens


def _read_tokens(path: Path) -> dict[str, str]:
    """Raises StartError with file and line."""
    from apiserver_app.auth import pki

    advice = "; delete the file to have new tokens made"
    try:
        tokens = json.loads(pki.read_text(path))
    except json.JSONDecodeError as error:
        raise StartError(f"{path}, line {error.lineno}: {error.msg}{advice}") from error
    except ValueError as error:
        raise StartError(f"{error}{advice}") from error
    if not isinstance(tokens, dict):
        raise StartError(f"{path}, line 1: tokens by role are expected{advice}")
    for role, token in tokens.items():
        if role not in access.ROLES or not role:
            raise StartError(f"{path}: there is no role {role!r}{advice}")
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            form = "16 or more letters, digits, - and _"
            raise StartError(f"{path}: the token of the {role} must be {form}{advice}")
    if len(set(tokens.values())) < len(tokens):
        raise StartError(f"{path}: two roles have the same token{advice}")
    return tokens


def client_authorities(given: options.Options) -> list[str]:
    """Returns the authorities of client certificates that the API server's flags name."""
    from lifecycle.hosting import apiserver

    try:
        return apiserver.client_authorities(apiserver.parse(given))
    except ValueError as error:
        raise StartError(f"the cluster cannot be started: {error}") from error


def _server_names(host: str, bound: socket.socket) -> list[str]:
    """Returns where others reach it, first where most likely: on a network of laptops an address
    leads there, while the machine's name need not."""
    if host not in ANYWHERE:
        return [host]
    families = [socket.AF_INET] if bound.family == socket.AF_INET else [socket.AF_INET6]
    if bound.family == socket.AF_INET6 and not bound.getsockopt(
        socket.IPPROTO_IPV6, socket.IPV6_V6ONLY
    ):
        families.insert(0, socket.AF_INET)
    found = [address for family in families for address in interfaces.addresses(family)]
    return [*found, socket.gethostname()]


def _authority(bound: socket.socket, anywhere: str = "") -> str:
    """Returns host:port at which a client on this machine reaches the socket; `anywhere` names the
    host of one that listens on all addresses."""
    host, port = bound.getsockname()[:2]
    if host in ANYWHERE:
        host = anywhere or ("127.0.0.1" if host == "0.0.0.0" else "::1")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
