"""The catalog's files are what the code that reads them expects."""

from __future__ import annotations

import dataclasses
import re

import pytest

from apiserver_app.machinery.net.nodeapi import STDERR, STDOUT
from controllers_app.containerruntime.servers import images as servers
from controllers_app.cri import images
from controllers_app.cri.images import Catalog, Image
from lifecycle import catalog

ENTRIES = catalog.images()
STREAMS = (STDOUT, STDERR)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_has_a_full_name_and_known_fields_of_the_right_type(name: str) -> None:
    plain = name.replace("/*", "/x:x").replace(":*", ":x")
    images.check(plain)
    assert images.normalized(plain) == plain
    entry = ENTRIES[name]
    kinds = {field.name: str(field.type) for field in dataclasses.fields(Image)}
    assert set(entry) <= {*kinds, "tags"} - {"name"}
    for key, value in entry.items():
        if key == "tags":
            assert re.compile(value)
        elif "float" in kinds[key]:
            assert isinstance(value, int | float) and value >= 0
        elif kinds[key] == "int":
            assert isinstance(value, int) and value >= 0
        elif key == "logs":
            assert all(
                isinstance(line, str) or set(line) <= {"at", "text", "stream"} for line in value
            )
            assert all(line.at >= 0 and line.stream in STREAMS for line in images.log_lines(value))
        elif key in ("tools", "entrypoint", "cmd"):
            assert value and all(isinstance(one, str) for one in value)
        elif key in ("env", "files"):
            assert all(isinstance(one, str) for pair in value.items() for one in pair)
        elif key == "ports":
            assert set(value.values()) <= {
                *(server.name for server in servers.SERVERS),
                "kube-controller-manager",
                "kube-scheduler",
                "metrics-server",
                "ingress-nginx",
                "ingress-nginx-tls",
            }
            assert all(0 < port < 65536 for port in value)
        elif key == "userland":
            assert value in ("busybox", "debian", "none")
        else:
            assert isinstance(value, str) and value


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_makes_a_behaviour(name: str) -> None:
    found = Catalog(ENTRIES).find(name.replace("/*", "/other").replace(":*", ":some-tag"))
    assert found.digest.startswith("sha256:") and len(found.digest) == 71


def test_a_tag_of_its_own_wins_over_every_other_tag() -> None:
    found = Catalog(ENTRIES)
    assert found.find("nginx").digest != found.find("nginx:1.27").digest
    assert found.find("nginx:no-such-tag").missing == "not found"


@pytest.mark.parametrize(
    "tag", ["no-such-tag", "doesnotexist", "1.161", "1.0.23449928384992872784", "123"]
)
def test_a_tag_that_is_no_version_of_the_image_is_not_found(tag: str) -> None:
    assert Catalog(ENTRIES).find(f"nginx:{tag}").missing == "not found"
    fluentd = "quay.io/fluentd_elasticsearch/fluentd:v"
    assert Catalog(ENTRIES).find(fluentd + tag).missing == "not found"
    assert Catalog(ENTRIES).find(fluentd + "2.5.2").missing == ""


@pytest.mark.parametrize(
    "tag", ["1", "1.27.5", "1.27-alpine3.21-slim", "1.27-alpine", "stable", "mainline-alpine"]
)
def test_a_tag_that_looks_like_a_version_is_there(tag: str) -> None:
    assert Catalog(ENTRIES).find(f"nginx:{tag}").missing == ""


def test_a_name_that_is_no_official_image_cannot_be_pulled_without_a_place_of_its_own() -> None:
    found = Catalog(ENTRIES)
    assert found.find("ngnix").missing.startswith("pull access denied, repository does not exist")
    for name in ("mariadb:11", "perl", "example/app:1", "registry.example.com/ngnix"):
        assert found.find(name).missing == ""
