"""Syntax of names, labels and qualified names, with upstream's error messages.

Every function returns a list of messages, empty for a valid value. Never raises.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go.
"""

from __future__ import annotations

import re

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253

LABEL_FORMAT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN_FORMAT = rf"{LABEL_FORMAT}(\.{LABEL_FORMAT})*"
LABEL_1035_FORMAT = "[a-z]([-a-z0-9]*[a-z0-9])?"
QUALIFIED_FORMAT = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_is_label = re.compile(LABEL_FORMAT).fullmatch
_is_subdomain = re.compile(SUBDOMAIN_FORMAT).fullmatch
_is_search_domain = re.compile(
    r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*"
).fullmatch
_is_label_1035 = re.compile(LABEL_1035_FORMAT).fullmatch
_is_qualified = re.compile(QUALIFIED_FORMAT).fullmatch


def is_number(text: str) -> bool:
    """Whether the text is digits only, and few enough for 64 bits."""
    return text.isascii() and text.isdigit() and len(text) < 19


def dns1123_label_errors(value: str) -> list[str]:
    """A DNS label of RFC 1123: what container and namespace names are."""
    if len(value) <= LABEL_LENGTH and _is_label(value):
        return []
    messages = [too_long(LABEL_LENGTH)] if size(value) > LABEL_LENGTH else []
    if not _is_label(value):
        if _is_subdomain(value):
            messages.append("must not contain dots")
        else:
            messages.append(_LABEL_TEXT)
    return messages


def dns1123_subdomain_errors(value: str) -> list[str]:
    """A DNS subdomain of RFC 1123: what most objects' names are."""
    if len(value) <= SUBDOMAIN_LENGTH and _is_subdomain(value):
        return []
    messages = [too_long(SUBDOMAIN_LENGTH)] if size(value) > SUBDOMAIN_LENGTH else []
    if not _is_subdomain(value):
        messages.append(_SUBDOMAIN_TEXT)
    return messages


def fully_qualified_error(name: str) -> str:
    """What keeps a name from being fully qualified, as `hook.example.com`; empty when it is."""
    messages = dns1123_subdomain_errors(name)
    if messages:
        return ",".join(messages)
    few = name.count(".") < 2
    return "should be a domain with at least three segments separated by dots" if few else ""


def search_domain_errors(value: str) -> list[str]:
    """A subdomain whose labels may begin with an underscore and have some inside."""
    messages = [too_long(SUBDOMAIN_LENGTH)] if size(value) > SUBDOMAIN_LENGTH else []
    if not _is_search_domain(value):
        messages.append(_SEARCH_DOMAIN_TEXT)
    return messages


def dns1035_label_errors(value: str) -> list[str]:
    """A DNS label of RFC 1035, which begins with a letter: what service names are."""
    if len(value) <= LABEL_LENGTH and _is_label_1035(value):
        return []
    messages = [too_long(LABEL_LENGTH)] if size(value) > LABEL_LENGTH else []
    if not _is_label_1035(value):
        messages.append(_LABEL_1035_TEXT)
    return messages


def qualified_name_errors(value: str) -> list[str]:
    """`name` or `prefix/name`: what label keys, finalizers and resource names are."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [f"a qualified name {_QUALIFIED_TEXT}{_PREFIX_HINT}"]
    messages: list[str] = []
    if slash:
        if not prefix:
            messages.append("prefix part must be non-empty")
        else:
            messages += [f"prefix part {text}" for text in dns1123_subdomain_errors(prefix)]
    if not name:
        messages.append("name part must be non-empty")
    elif len(name) > LABEL_LENGTH:
        messages.append(f"name part {too_long(LABEL_LENGTH)}")
    if not _is_qualified(name):
        messages.append(f"name part {_QUALIFIED_TEXT}")
    return messages


def label_value_errors(value: str) -> list[str]:
    if not value or (len(value) <= LABEL_LENGTH and _is_qualified(value)):
        return []
    messages = [too_long(LABEL_LENGTH)] if size(value) > LABEL_LENGTH else []
    if not _is_qualified(value):
        messages.append(_LABEL_VALUE_TEXT)
    return messages


def too_long(limit: int) -> str:
    return f"must be no more than {limit} characters"


def size(value: str) -> int:
    """The length as Go counts it: in bytes of UTF-8."""
    return len(value) if value.isascii() else len(value.encode())


def pattern_text(rule: str, pattern: str, *examples: str) -> str:
    """The message of a violated pattern, with examples (RegexError)."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    quoted = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {quoted}regex used for validation is '{pattern}')"


_QUALIFIED_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_TEXT = pattern_text(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    LABEL_FORMAT,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TEXT = pattern_text(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'-' or '.', and must start and end with an alphanumeric character",
    SUBDOMAIN_FORMAT,
    "example.com",
)
_SEARCH_DOMAIN_TEXT = pattern_text(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    "'_', '-' or '.', and must start and end with an alphanumeric character",
    SUBDOMAIN_FORMAT,
    "example.com",
)
_LABEL_1035_TEXT = pattern_text(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character",
    LABEL_1035_FORMAT,
    "my-name",
    "abc-123",
)
_QUALIFIED_TEXT = pattern_text(_QUALIFIED_RULE, QUALIFIED_FORMAT, "MyName", "my.name", "123-abc")
_PREFIX_HINT = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
_LABEL_VALUE_TEXT = pattern_text(
    f"a valid label must be an empty string or {_QUALIFIED_RULE.removeprefix('must ')}",
    f"({QUALIFIED_FORMAT})?",
    "MyValue",
    "my_value",
    "12345",
)
