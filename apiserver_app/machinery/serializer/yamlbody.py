"""Decodes YAML into a JSON value, as Kubernetes does.

Only the first document counts. Plain scalars resolve as in YAML 1.1 but without dates and base-60
numbers; keys become strings; aliases are expanded up to a limit. Only plain values are constructed.

Models sigs.k8s.io/yaml (YAMLToJSON, YAMLToJSONStrict) and its goyaml.v2.
"""

from __future__ import annotations

import base64
import contextlib
import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar

import yaml

from apiserver_app.machinery.syntax import goprint

NODES_MAX = 25_000  # as they stand, and after aliases were expanded
DEPTH_MAX = 250


class YamlError(Exception):
    """Invalid YAML; the message is goyaml's and begins with `yaml: `."""


def load(body: bytes, find_duplicates: bool = False) -> tuple[Any, list[str]]:
    """The first document's value, and at most one message about duplicate keys."""
    with _reading(body) as loader:
        if not loader.check_node():
            return None, []
        reader = _Reader(loader)
        value = reader.value(loader.get_node(), 0)
    if not find_duplicates or not reader.doubled:
        return value, []
    lines = "\n".join(f"  {text}" for text in reader.doubled)
    return value, [f"yaml: unmarshal errors:\n{lines}"]


def load_all(body: bytes) -> list[Any]:
    """The value of each document."""
    values = []
    with _reading(body) as loader:
        reader = _Reader(loader)
        while loader.check_node():
            values.append(reader.value(loader.get_node(), 0))
    return values


@contextlib.contextmanager
def _reading(body: bytes) -> Iterator[Any]:
    """A loader for the text; whatever goes wrong with it is a YamlError."""
    loader = None
    try:
        loader = _Loader(body.decode())
        yield loader
    except UnicodeDecodeError as error:
        raise YamlError("yaml: invalid leading UTF-8 octet") from error
    except yaml.MarkedYAMLError as error:
        alias = error.problem == "found undefined alias" and _alias(body, error)
        problem = f"unknown anchor '{alias}' referenced" if alias else error.problem
        raise YamlError(f"yaml: {'' if alias else _where(error)}{problem}") from error
    except yaml.reader.ReaderError as error:
        raise YamlError("yaml: control characters are not allowed") from error
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
        raise YamlError(f"yaml: {error}") from error
    finally:
        if loader is not None:
            loader.dispose()


def _alias(body: bytes, error: yaml.MarkedYAMLError) -> str:
    """The name of an alias that nothing is known by."""
    mark = error.problem_mark
    lines = body.decode().splitlines()
    if mark is None or mark.line >= len(lines):
        return ""
    match = re.match(r"\*([\w-]+)", lines[mark.line][mark.column :])
    return match[1] if match else ""


def _where(error: yaml.MarkedYAMLError) -> str:
    line = 0
    if error.problem_mark is not None and error.problem_mark.line:
        line = error.problem_mark.line + isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark is not None:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """libyaml where it is there, with goyaml's idea of plain words."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}
    nodes = depth = 0

    def descend_resolver(self, *_: Any) -> None:
        """Called before a node is made. libyaml's binding has no bound of its own but the stack."""
        self.nodes += 1
        if self.nodes > NODES_MAX:
            raise YamlError(f"yaml: document has more than {NODES_MAX} values")
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise YamlError("yaml: exceeded max depth")

    def ascend_resolver(self) -> None:
        self.depth -= 1


_WORDS = {
    "bool": "yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF",
    "float": r"[-+]?(?:[0-9][0-9_]*)?\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*\.?[eE][-+]?[0-9]+"
    r"|[-+]?[0-9][0-9_]*\.|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "int": r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*)",
    "null": "~|null|Null|NULL|",
    "merge": "<<",
}
_FIRST = {
    "bool": "yYnNtTfFoO",
    "float": "-+0123456789.",
    "int": "-+0123456789",
    "null": "~nN",
    "merge": "<",
}


def add_words(reader_or_writer: Any) -> None:
    """Teach a class of PyYAML which plain words are no text to goyaml."""
    for tag, pattern in _WORDS.items():
        first = [*_FIRST[tag], *([""] if tag == "null" else [])]
        reader_or_writer.add_implicit_resolver(
            f"tag:yaml.org,2002:{tag}", re.compile(f"(?:{pattern})$"), first
        )


add_words(_Loader)


_MAP_OF_YAML = ("map[string]interface {}", "map[interface {}]interface {}")


class _Reader:
    """Turns nodes into values. `doubled` collects duplicate keys."""

    def __init__(self, loader: Any) -> None:
        self.doubled: list[str] = []
        self._loader = loader
        self._nodes = 0

    def value(self, node: Any, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise YamlError("yaml: document contains excessive aliasing")
        if depth > DEPTH_MAX:
            raise YamlError("yaml: exceeded max depth")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return _scalar(node)

    def _mapping(self, node: Any, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = {**self._merged(value_node, depth), **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                shown = goprint.syntax(self.value(key_node, depth + 1)).replace(*_MAP_OF_YAML)
                raise YamlError(f"yaml: invalid map key: {shown}")
            key = _key(key_node)
            if key in out:
                line = key_node.start_mark.line + 1
                self.doubled.append(f'line {line}: key "{key}" already set in map')
            out[key] = self.value(value_node, depth + 1)
        return {**merged, **out} if merged else out

    def _merged(self, node: Any, depth: int) -> dict[str, Any]:
        """What `<<` brings in: earlier maps of a list win."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        out: dict[str, Any] = {}
        for part in parts:
            value = self.value(part, depth + 1)
            if not isinstance(value, dict):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            out = {**value, **out}
        return out


def _key(node: Any) -> str:
    value = _scalar(node)
    if value is None:
        raise YamlError("unsupported map key of type: invalid, key: <nil>, value: <nil>")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _scalar(node: Any) -> Any:
    text: str = node.value
    tag: str = node.tag.removeprefix("tag:yaml.org,2002:")
    if tag == "null":
        return None
    if tag == "bool":
        return text.lower() in ("yes", "true", "on")
    if tag == "int":
        return _integer(text.replace("_", ""))
    if tag == "float":
        number = float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        if not math.isfinite(number):
            raise YamlError(f"json: unsupported value: {text}")
        return int(number) if number.is_integer() and abs(number) < 2**53 else number
    if tag == "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except ValueError as error:
            raise YamlError("yaml: !!binary value contains invalid base64 data") from error
    return text


def _integer(text: str) -> Any:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-")
    if digits.startswith("0x"):
        number = int(digits[2:], 16)
    elif digits.startswith("0b"):
        number = int(digits[2:], 2)
    elif digits.startswith("0o"):
        number = int(digits[2:], 8)
    elif len(digits) > 1 and digits.startswith("0") and set(digits) <= set("01234567"):
        number = int(digits, 8)
    else:
        number = int(digits)
    number *= sign
    return number if -(2**63) <= number < 2**64 else float(number)
