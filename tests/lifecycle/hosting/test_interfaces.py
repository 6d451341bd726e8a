"""A demo on all addresses says at which of them other machines reach it, and its certificate names
each of them."""

from __future__ import annotations

import http.client
import ipaddress
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lifecycle.hosting import interfaces, preparation
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo
from tests.security.test_links import TOKENS

OF_IPV4 = interfaces.addresses(socket.AF_INET)


@pytest.mark.skipif(not OF_IPV4, reason="this machine is on no network")
def test_on_all_addresses_the_links_have_one_that_leads_here(tmp_path: Path) -> None:
    with Demo(tmp_path, "--host", "0.0.0.0") as demo:
        port = urlsplit(demo.endpoints["https"]).port
        assert demo.endpoints["network"] == f"https://{OF_IPV4[0]}:{port}"
        assert f"page        {demo.endpoints['network']}/?token=" in demo.said
        assert f"or at       {', '.join([*OF_IPV4[1:], socket.gethostname()])}\n" in demo.said
        cast = (tmp_path / "kubeconfigs" / "student").read_text()
        assert f'server: "{demo.endpoints["network"]}"\n' in cast
        for address in OF_IPV4:  # each by its certificate
            connection = http.client.HTTPSConnection(
                address, port, timeout=WAIT_SECONDS, context=demo.tls()
            )
            connection.request("GET", "/api")
            assert connection.getresponse().status == 200


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_addresses_are_those_that_other_machines_may_reach(family: socket.AddressFamily) -> None:
    found = interfaces.addresses(family)
    assert len(set(found)) == len(found) <= interfaces.ADDRESSES_MAX
    for address in found:
        parsed = ipaddress.ip_address(address)
        assert not (parsed.is_loopback or parsed.is_link_local)
        with socket.socket(family, socket.SOCK_STREAM) as bound:
            bound.bind((address, 0))  # it is this machine's


def test_other_addresses_stand_below_the_links() -> None:
    known: dict[str, Any] = dict.fromkeys(preparation.Prepared.__struct_fields__)
    known.update(
        on_loopback=False,
        tokens=TOKENS,
        http_url="http://127.0.0.1:8000",
        network_url="https://10.0.0.5:6443",
        more=("10.1.0.5", "[fd00::2]", "lectern"),
    )
    said = preparation.Prepared(**known).links()
    assert "  or at       10.1.0.5, [fd00::2], lectern\n" in said
    assert "in place of 10.0.0.5, where that does not lead here\n" in said
