"""Keys, certificates and kubeconfigs: made once, kept, and fit for real clients."""

from __future__ import annotations

import base64
import ipaddress
import os
import stat
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from apiserver_app.auth import kubeconfig, pki
from tests.apiserver_app.auth.conftest import NOW

DAY = 86_400 * 1_000_000


def _certificate(identity: pki.Identity) -> x509.Certificate:
    return x509.load_pem_x509_certificate(identity.certificate)


def test_server_certificate_names_every_way_to_reach_it(keys: pki.Pki) -> None:
    certificate = _certificate(keys.server)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert set(names.get_values_for_type(x509.DNSName)) == {
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "example.org",
    }
    addresses = ("127.0.0.1", "::1")
    assert set(names.get_values_for_type(x509.IPAddress)) == {
        ipaddress.ip_address(address) for address in addresses
    }


def test_certificates_come_from_the_authority_and_name_the_cast(keys: pki.Pki) -> None:
    authority = _certificate(keys.ca)

    assert authority.subject.rfc4514_string() == "CN=kubernetes"
    for identity in (keys.server, keys.admin, *keys.clients.values()):
        _certificate(identity).verify_directly_issued_by(authority)
    assert _certificate(keys.admin).subject.rfc4514_string() == (
        "CN=kubernetes-admin,O=system:masters"
    )
    assert _certificate(keys.clients["student"]).subject.rfc4514_string() == (
        "CN=student,O=students"
    )
    assert _certificate(keys.clients["nobody"]).subject.rfc4514_string() == "CN=nobody"


def test_keys_are_their_owners_only(keys: pki.Pki) -> None:
    secret = [*(keys.directory / "pki").glob("*.key"), keys.directory / "tokens.csv"]

    assert len(secret) == 9
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}


def test_restart_uses_the_same_files(tmp_path: Path) -> None:
    first = pki.load(tmp_path, NOW)

    assert pki.load(tmp_path, NOW + DAY) == first


def test_another_process_reads_the_same_without_checking(keys: pki.Pki, tmp_path: Path) -> None:
    assert pki.read(keys.directory) == keys
    with pytest.raises(pki.PkiError, match=r"^cannot read keys and certificates in "):
        pki.read(tmp_path)


def test_new_host_renews_the_server_certificate_only(tmp_path: Path) -> None:
    first = pki.load(tmp_path, NOW)
    second = pki.load(tmp_path, NOW, ["192.168.1.7"])

    assert second.server != first.server
    assert (second.ca, second.clients) == (first.ca, first.clients)


def test_certificate_near_its_end_is_renewed(tmp_path: Path) -> None:
    first = pki.load(tmp_path, NOW)
    second = pki.load(tmp_path, NOW + 360 * DAY)

    assert second.admin != first.admin
    assert second.ca == first.ca


def test_lost_authority_renews_what_it_signed(tmp_path: Path) -> None:
    first = pki.load(tmp_path, NOW)
    (tmp_path / "pki" / "ca.crt").unlink()
    second = pki.load(tmp_path, NOW)

    _certificate(second.admin).verify_directly_issued_by(_certificate(second.ca))
    assert second.admin != first.admin


def test_directory_that_cannot_be_made_is_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(pki.PkiError) as caught:
        pki.load(tmp_path / "file", NOW)

    assert str(caught.value) == (
        f"cannot keep keys and certificates in {tmp_path}/file/pki: Not a directory"
    )


def test_damaged_key_is_one_clear_sentence(tmp_path: Path) -> None:
    pki.load(tmp_path, NOW)
    (tmp_path / "pki" / "ca.key").write_text("not a key")

    with pytest.raises(pki.PkiError, match=r"a key or certificate in .* cannot be read"):
        pki.load(tmp_path, NOW)


def test_kubeconfigs_embed_credentials_and_the_students_namespace(keys: pki.Pki) -> None:
    files = kubeconfig.write(keys, "https://127.0.0.1:6443", "/clusters/demo")
    admin, student = (yaml.safe_load(files[name].read_text()) for name in ("admin", "student"))

    assert files["admin"] == keys.directory / "kubeconfig"
    assert files["student"] == keys.directory / "kubeconfigs" / "student"
    cluster = admin["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:6443/clusters/demo"
    assert base64.b64decode(cluster["certificate-authority-data"]) == keys.ca.certificate
    user = student["users"][0]["user"]
    assert base64.b64decode(user["client-key-data"]) == keys.clients["student"].key
    assert student["contexts"][0]["context"]["namespace"] == "student"
    assert "namespace" not in admin["contexts"][0]["context"]


def test_kubeconfigs_that_are_given_away_name_another_host(keys: pki.Pki) -> None:
    url, network = "https://127.0.0.1:6443", "https://desk:6443"
    files = kubeconfig.write(keys, url, given_away=network)
    servers = {
        name: yaml.safe_load(file.read_text())["clusters"][0]["cluster"]["server"]
        for name, file in files.items()
    }

    assert servers.pop("admin") == url
    assert set(servers.values()) == {network}


def test_token_user_comes_with_the_token_of_the_file(keys: pki.Pki) -> None:
    files = kubeconfig.write(keys, "https://127.0.0.1:6443")
    user = yaml.safe_load(files["token-user"].read_text())["users"][0]["user"]

    assert keys.tokens_csv.startswith(f"{user['token']},token-user,")


def test_unchanged_kubeconfig_is_not_written_again(keys: pki.Pki) -> None:
    file = kubeconfig.write(keys, "https://127.0.0.1:6443")["admin"]
    os.utime(file, (1, 1))
    kubeconfig.write(keys, "https://127.0.0.1:6443")

    assert file.stat().st_mtime == 1
