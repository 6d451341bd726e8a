"""How a program finds the addresses of a name: what resolv.conf says, and one question after
another until one is answered. Pure.

Models glibc resolv/res_init.c and resolv/res_query.c (__res_context_search).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

import msgspec

PATH = "/etc/resolv.conf"
NAME_MAX = 253  # characters
LABEL_MAX = 63
SERVERS_MAX, DOMAINS_MAX, NDOTS_MAX = 3, 32, 15
FILE_MAX = 16_384  # bytes of resolv.conf that are read
_ALONE = "127.0.0.1"  # is asked where no server is named
_NAME = re.compile(r"[a-z0-9_]([-a-z0-9_.]*[a-z0-9_])?\.?", re.IGNORECASE)
NOERROR, NXDOMAIN = "NOERROR", "NXDOMAIN"


class Config(msgspec.Struct, frozen=True):
    """What resolv.conf says."""

    servers: tuple[str, ...] = (_ALONE,)
    domains: tuple[str, ...] = ()  # of `search`
    ndots: int = 1


class Record(msgspec.Struct, frozen=True):
    """A line of an answer."""

    name: str
    type: str  # A or CNAME
    data: str


class Reply(msgspec.Struct, frozen=True):
    """What a server says of one full name. `why` is a word for what decided it, `about` the object
    that did."""

    code: str
    why: str = ""
    about: str = ""
    records: tuple[Record, ...] = ()

    @property
    def addresses(self) -> list[str]:
        return [record.data for record in self.records if record.type == "A"]


class Tried(msgspec.Struct, frozen=True):
    """One full name that was asked for. `domain`: of the search list; empty: as it was given."""

    name: str
    domain: str
    reply: Reply


class Endpoint(msgspec.Struct, frozen=True):
    """Who answers behind a server's address."""

    address: str
    port: int
    pod: str  # namespace/name
    node: str


class Resolved(msgspec.Struct, frozen=True):
    """What became of a name. `source` is who knew it: `address`, it is one; `hosts`, /etc/hosts;
    `dns`, a server was to be asked; nobody, it is no name. `endpoint` is who answered behind the
    server's address; a `fault` says why nobody did."""

    name: str  # the full one that was answered, or of which it is said that there is none
    addresses: list[str]
    source: str = "dns"
    server: str = ""
    endpoint: Endpoint | None = None
    fault: str = ""
    tried: tuple[Tried, ...] = ()

    @property
    def answer(self) -> Reply | None:
        """The one that had addresses."""
        last = self.tried[-1].reply if self.tried else None
        return last if last is not None and last.addresses else None


def parsed(text: str) -> Config:
    """Reads resolv.conf; of two lines of `search` the last counts, as of two options."""
    servers: list[str] = []
    domains: tuple[str, ...] = ()
    ndots = 1
    for line in text.splitlines():
        match line.split():
            case ["nameserver", address, *_] if is_address(address):
                servers.append(address)
            case ["search" | "domain", *given]:
                domains = tuple(domain.rstrip(".") for domain in given[:DOMAINS_MAX])
            case ["options", *options]:
                for option in options:
                    word, _, number = option.partition(":")
                    if word == "ndots" and number.isascii() and number[:2].isdigit():
                        ndots = min(int(number[:2]), NDOTS_MAX)
    return Config(tuple(servers[:SERVERS_MAX]) or (_ALONE,), domains, ndots)


def searched(name: str, config: Config) -> Iterator[tuple[str, str]]:
    """Yields (full name, domain of the search list) in the order in which they are asked for."""
    bare = name.removesuffix(".")
    if name.endswith("."):
        yield bare, ""
        return
    first = bare.count(".") >= config.ndots
    if first:
        yield bare, ""
    for domain in config.domains:
        if domain:
            yield f"{bare}.{domain}", domain
    if not first:
        yield bare, ""


def search(name: str, config: Config, ask: Callable[[str], Reply]) -> tuple[Tried, ...]:
    """Asks for one full name after another until one has addresses."""
    tried = []
    for full, domain in searched(name.lower(), config):
        reply = ask(full) if len(full) <= NAME_MAX else Reply("", "too-long")
        tried.append(Tried(full, domain, reply))
        if reply.addresses:
            break
    return tuple(tried)


def is_name(text: str) -> bool:
    """Whether a server can be asked for it."""
    bare = text.removesuffix(".")
    return (
        len(bare) <= NAME_MAX
        and _NAME.fullmatch(text) is not None
        and all(0 < len(label) <= LABEL_MAX for label in bare.split("."))
    )


def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
