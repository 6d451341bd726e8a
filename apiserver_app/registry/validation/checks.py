"""Small checks that many kinds share: numbers, ports, addresses, keys, choices.

Each appends its field errors to a list, or returns a list of messages. A valid value costs a
comparison or one compiled pattern.

Models kubernetes pkg/apis/core/validation/validation.go and
staging/src/k8s.io/apimachinery/pkg/util/validation/{validation,ip}.go.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names

NOT_NEGATIVE = "must be greater than or equal to 0"
PORT_RANGE = "must be between 1 and 65535, inclusive"
ID_RANGE = "must be between 0 and 2147483647, inclusive"
MAX_INT32 = 2**31 - 1

_is_port_name = re.compile("[-a-z0-9]+").fullmatch
_is_good_config_key = re.compile(r"(?!\.\.|\.$)[-._a-zA-Z0-9]{1,253}").fullmatch
_is_config_key = re.compile("[-._a-zA-Z0-9]+").fullmatch
_is_percent = re.compile("[0-9]+%").fullmatch
_is_header = re.compile("[-A-Za-z0-9]+").fullmatch
_is_http_path = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+").fullmatch
_is_letter = re.compile("[a-z]").search
_is_relaxed_env = re.compile(r"[ -<>-~]+").fullmatch

DRIVER_NAME_LENGTH_MAX = 63
_CONFIG_KEY_TEXT = names.pattern_text(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "[-._a-zA-Z0-9]+",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_PERCENT_TEXT = names.pattern_text(
    "a valid percent string must be a numeric string followed by an ending '%'",
    "[0-9]+%",
    "1%",
    "93%",
)
_HEADER_TEXT = names.pattern_text(
    "a valid HTTP header must consist of alphanumeric characters or '-'",
    "[-A-Za-z0-9]+",
    "X-Header-Name",
)


def not_negative(value: int | None, path: str, errs: list[FieldError]) -> None:
    if value is not None and value < 0:
        errs.append(errors.invalid_value(path, value, NOT_NEGATIVE))


def not_negatives(
    obj: dict[str, Any], path: str, fields: Sequence[str], errs: list[FieldError]
) -> None:
    """Checks several fields of an object."""
    for field in fields:
        value = obj.get(field)
        if value is not None and value < 0:
            errs.append(errors.invalid_value(f"{path}.{field}", value, NOT_NEGATIVE))


def one_of(value: Any, path: str, allowed: Sequence[str], errs: list[FieldError]) -> None:
    """Requires one of the allowed values, which are in upstream's order."""
    if value in allowed:
        return
    if not value:
        errs.append(errors.required(path))
    else:
        errs.append(errors.not_supported(path, value, allowed))


def named(value: str, path: str, rule: Callable[[str], list[str]], errs: list[FieldError]) -> None:
    """Appends the messages of `rule`, a function of machinery.syntax.names."""
    for text in rule(value):
        errs.append(errors.invalid_value(path, value, text))


def label_name(value: str, path: str, errs: list[FieldError]) -> None:
    """Requires a DNS label."""
    if not value:
        errs.append(errors.required(path))
    else:
        named(value, path, names.dns1123_label_errors, errs)


def port_number(value: Any, path: str, errs: list[FieldError]) -> None:
    if not isinstance(value, int) or not 1 <= value <= 65535:
        errs.append(errors.invalid_value(path, value or 0, PORT_RANGE))


def port_name_errors(value: str) -> list[str]:
    """An IANA service name."""
    messages = []
    if names.size(value) > 15:
        messages.append(names.too_long(15))
    if not _is_port_name(value):
        messages.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _is_letter(value):
        messages.append("must contain at least one letter (a-z)")
    if "--" in value:
        messages.append("must not contain consecutive hyphens")
    if value and "-" in (value[0], value[-1]):
        messages.append("must not begin or end with a hyphen")
    return messages


def port(value: Any, path: str, errs: list[FieldError]) -> None:
    """A port's number or its name. A missing one is the number 0."""
    if isinstance(value, str):
        named(value, path, port_name_errors, errs)
    else:
        port_number(value or 0, path, errs)


def config_key(key: str, path: str, errs: list[FieldError]) -> None:
    """Checks a key of the map at `path`, of which there may be a hundred thousand."""
    if not _is_good_config_key(key):
        named(key, f"{path}[{key}]", config_key_errors, errs)


def config_key_errors(value: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    messages = []
    if names.size(value) > names.SUBDOMAIN_LENGTH:
        messages.append(names.too_long(names.SUBDOMAIN_LENGTH))
    if not _is_config_key(value):
        messages.append(_CONFIG_KEY_TEXT)
    if value in (".", ".."):
        messages.append(f"must not be '{value}'")
    elif value.startswith(".."):
        messages.append("must not start with '..'")
    return messages


def env_name_errors(value: str) -> list[str]:
    """An environment variable's name, as relaxed since 1.32."""
    if _is_relaxed_env(value):
        return []
    if not value:
        return ["environment variable name must be non-empty"]
    return [
        "a valid environment variable name must consist only of "
        "printable ASCII characters other than '='"
    ]


def header_errors(value: str) -> list[str]:
    return [] if _is_header(value) else [_HEADER_TEXT]


def int_or_percent(value: Any, path: str, errs: list[FieldError]) -> None:
    if isinstance(value, str):
        if not _is_percent(value):
            errs.append(errors.invalid_value(path, int_or_string_text(value), _PERCENT_TEXT))
    elif value is not None and value < 0:
        errs.append(errors.invalid_value(path, value, NOT_NEGATIVE))


def not_above_100_percent(value: Any, path: str, errs: list[FieldError]) -> None:
    if isinstance(value, str) and _is_percent(value) and int(value[:-1]) > 100:
        errs.append(
            errors.invalid_value(path, int_or_string_text(value), "must not be greater than 100%")
        )


def int_or_percent_value(value: Any) -> int:
    """The number, without its percent sign."""
    if isinstance(value, str):
        if _is_percent(value):
            return int(value[:-1])
        return int(value) if names.is_number(value) else 0
    return int(value or 0)


def int_or_string_text(value: Any) -> errors.GoText:
    """An intstr.IntOrString as upstream prints it in a field error: its Go struct."""
    if isinstance(value, str):
        return errors.GoText(
            f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{errors.go_value(value)}}}"
        )
    return errors.GoText(f'intstr.IntOrString{{Type:0, IntVal:{value or 0}, StrVal:""}}')


def ip(value: str, path: str, errs: list[FieldError]) -> None:
    if parse_ip(value) is None:
        errs.append(
            errors.invalid_value(
                path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            )
        )


def cidr(value: str, path: str, errs: list[FieldError]) -> None:
    if not is_cidr(value):
        errs.append(
            errors.invalid_value(
                path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            )
        )


def is_cidr(value: str) -> bool:
    try:
        ipaddress.ip_network(_plain(value), strict=False)
    except ValueError:
        return False
    return "/" in value


def strict_subnet(part: str, whole: str) -> bool:
    """Whether one valid CIDR lies within another, and is smaller."""
    inner = ipaddress.ip_network(_plain(part), strict=False)
    outer = ipaddress.ip_network(_plain(whole), strict=False)
    return (
        inner.version == outer.version
        and inner.network_address in outer
        and outer.prefixlen < inner.prefixlen
    )


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an address; allows leading zeros, as upstream's sloppy parser does."""
    try:
        return ipaddress.ip_address(_plain(value))
    except ValueError:
        return None


def special_ip(value: str, path: str, errs: list[FieldError]) -> None:
    """Refuses addresses that cannot be an endpoint."""
    address = parse_ip(value)
    if address is None:
        errs.append(errors.invalid_value(path, value, "must be a valid IP address"))
        return
    if address.is_unspecified:
        text = f"may not be unspecified ({value})"
        errs.append(errors.invalid_value(path, value, text))
    if address.is_loopback:
        text = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        errs.append(errors.invalid_value(path, value, text))
    if address.is_link_local:
        text = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errs.append(errors.invalid_value(path, value, text))
    if address in _LINK_LOCAL_MULTICAST[address.version]:
        text = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errs.append(errors.invalid_value(path, value, text))


def ip_list(
    values: Sequence[str], path: str, what: str, printed: Any, errs: list[FieldError]
) -> None:
    """Allows at most one of each family and no duplicates; `what` is `IP` or `CIDR`."""
    if len(values) < 2:
        return
    families = {6 if ":" in value else 4 for value in values}
    if len(families) != 2 or len(values) > 2:
        text = f"may specify no more than one {what} for each IP family"
        errs.append(errors.invalid_value(path, printed, text))


def local_path(value: str, path: str, errs: list[FieldError]) -> None:
    """Requires a relative path without `..`."""
    if value.startswith("/"):
        errs.append(errors.invalid_value(path, value, "must be a relative path"))
    no_backsteps(value, path, errs)


def no_backsteps(value: str, path: str, errs: list[FieldError]) -> None:
    if ".." in value and ".." in value.split("/"):
        errs.append(errors.invalid_value(path, value, "must not contain '..'"))


def local_unreserved_path(value: str, path: str, errs: list[FieldError]) -> None:
    local_path(value, path, errs)
    if value.startswith("..") and not value.startswith("../"):
        errs.append(errors.invalid_value(path, value, "must not start with '..'"))


def csi_driver_name(value: str, path: str, errs: list[FieldError]) -> None:
    """The name of a CSI driver, or of a driver of devices."""
    if not value:
        errs.append(errors.required(path))
    if names.size(value) > DRIVER_NAME_LENGTH_MAX:
        errs.append(errors.too_long(path, "", DRIVER_NAME_LENGTH_MAX))
    for text in names.dns1123_subdomain_errors(value.lower()):
        errs.append(errors.invalid_value(path, value, text))


def domain_prefixed_path(value: str, path: str, errs: list[FieldError]) -> None:
    """Requires a path with a domain prefix, such as `acme.io/foo`."""
    if not value:
        errs.append(errors.required(path))
        return
    host, _, rest = value.partition("/")
    if not host or not rest:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errs.append(errors.invalid_value(path, value, text))
        return
    named(host, path, names.dns1123_subdomain_errors, errs)
    if not _is_http_path(rest):
        text = names.pattern_text("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
        errs.append(errors.invalid_value(path, rest, text))


# -- inside -------------------------------------------------------------------------------------

_LINK_LOCAL_MULTICAST: dict[int, Any] = {
    4: ipaddress.ip_network("224.0.0.0/24"),
    6: ipaddress.ip_network("ff02::/16"),
}


def _plain(value: str) -> str:
    if ":" in value or (not value.startswith("0") and ".0" not in value):
        return value
    address, slash, bits = value.partition("/")
    parts = [part.lstrip("0") or "0" for part in address.split(".")]
    return f"{'.'.join(parts)}{slash}{bits}"
