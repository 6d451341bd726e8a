"""Syntax of names, labels and qualified names, in upstream's words."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.syntax import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("web-1", []),
        ("1", []),
        ("a" * 63, []),
        ("a" * 64, ["must be no more than 63 characters"]),
        ("a.b", ["must not contain dots"]),
        ("", [LABEL]),
        ("Web", [LABEL]),
        ("-a", [LABEL]),
        ("a\n", [LABEL]),
    ],
)
def test_dns_label(value: str, found: list[str]) -> None:
    assert names.dns1123_label_errors(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("example.com", []),
        ("a" * 253, []),
        ("a" * 254, ["must be no more than 253 characters"]),
        ("a..b", [SUBDOMAIN]),
        ("a_b", [SUBDOMAIN]),
        ("", [SUBDOMAIN]),
    ],
)
def test_dns_subdomain(value: str, found: list[str]) -> None:
    assert names.dns1123_subdomain_errors(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [("web-1", []), ("1web", [LABEL_1035]), ("a.b", [LABEL_1035]), ("", [LABEL_1035])],
)
def test_dns_label_of_services(value: str, found: list[str]) -> None:
    assert names.dns1035_label_errors(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("app", []),
        ("example.com/App_1.x", []),
        ("", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        ("/app", ["prefix part must be non-empty"]),
        ("Example/app", [f"prefix part {SUBDOMAIN}"]),
        ("a" * 64, ["name part must be no more than 63 characters"]),
        ("a_", [f"name part {QUALIFIED}"]),
        (
            "a/b/c",
            [
                f"a qualified name {QUALIFIED} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_qualified_name(value: str, found: list[str]) -> None:
    assert names.qualified_name_errors(value) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("", []),
        ("v1.2_x", []),
        ("a" * 64, ["must be no more than 63 characters"]),
        ("no spaces", [VALUE]),
        ("_x", [VALUE]),
    ],
)
def test_label_value(value: str, found: list[str]) -> None:
    assert names.label_value_errors(value) == found
