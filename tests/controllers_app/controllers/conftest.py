"""A booted cluster for each test, restored from one that was booted once."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apiserver_app.auth import pki
from lifecycle.cluster.inputs import Inputs
from tests.controllers_app.controllers import lab as labs

EPOCH = Inputs().epoch


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    made = pki.load(tmp_path_factory.mktemp("pki"), EPOCH)
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Inputs(
        ca_pem=made.ca.certificate.decode(), ca_key=made.ca.key, service_account_key=key, nodes=0
    )


@pytest.fixture(scope="session")
def booted(inputs: Inputs) -> object:
    return labs.snapshot(inputs)


@pytest.fixture
def lab(inputs: Inputs, booted: object) -> labs.Lab:
    return labs.restored(inputs, booted)  # type: ignore[arg-type]
