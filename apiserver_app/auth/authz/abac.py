"""ABAC: policies from a file, one JSON object per line; the first match allows.

Never denies. Lines without apiVersion and kind have the oldest format, whose empty fields match
everything; an invalid policy is a start-up error that names its line.

Models kubernetes pkg/auth/authorizer/abac/abac.go and pkg/apis/abac/{v0,v1beta1}/conversion.go.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from apiserver_app.authprotocols import Attributes, Rules, Try
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object, User

SOURCE = "pkg/auth/authorizer/abac/abac.go"
API_VERSION = "abac.authorization.kubernetes.io/v1beta1"
AUTHENTICATED = "system:authenticated"
_READS = ("get", "list", "watch")
_TEXTS = ("user", "group", "apiGroup", "resource", "namespace", "nonResourcePath")


class Policy(msgspec.Struct, frozen=True):
    """One line of the file. `text` is the raw line."""

    line: int
    text: str
    user: str = ""
    group: str = ""
    readonly: bool = False
    api_group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""
    answer: Try = msgspec.field(default_factory=lambda: Try("ABAC", "allow"))


class Abac:
    name = "ABAC"

    def __init__(self, text: str, path: str) -> None:
        """Raises ValueError with upstream's message when a line is no valid policy."""
        self.policies = parse(text, path)
        why = f"no policy of {len(self.policies)} matches"
        self._no = Try(self.name, "noop", why, source=SOURCE, reason="No policy matched.")

    def authorize(self, attributes: Attributes) -> Try:
        for policy in self.policies:
            if _matches(policy, attributes):
                return policy.answer
        return self._no

    def rules_for(self, user: User, namespace: str) -> Rules:
        resources: list[Object] = []
        paths: list[Object] = []
        for policy in self.policies:
            if not _is_subject(policy, user) or policy.namespace not in ("*", namespace):
                continue
            verbs = list(_READS) if policy.readonly else ["*"]
            if policy.resource:
                resources.append(
                    {
                        "verbs": verbs,
                        "apiGroups": [policy.api_group],
                        "resources": [policy.resource],
                    }
                )
            if policy.path:
                paths.append({"verbs": verbs, "nonResourceURLs": [policy.path]})
        return Rules(resources, paths)


def parse(text: str, path: str) -> tuple[Policy, ...]:
    """Returns the policies of a file in order."""
    policies: list[Policy] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            policies.append(_policy(number, line))
        except ValueError as error:
            raise ValueError(
                f"error reading policy file {path}, line {number}: {line}: {error}"
            ) from error
    return tuple(policies)


def _policy(number: int, line: str) -> Policy:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            "couldn't get version/kind; json parse error: " + _go_error(error, line)
        ) from error
    if not isinstance(data, dict):
        raise ValueError(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{_go_kind(data)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    version, kind = data.get("apiVersion") or "", data.get("kind") or ""
    if kind == "Policy" and version == API_VERSION:
        return _build_policy(number, line, _spec(data.get("spec") or {}))
    return _build_policy(number, line, _oldest(data))


def _spec(spec: Any) -> dict[str, Any]:
    if not isinstance(spec, dict):
        raise ValueError(
            f"json: cannot unmarshal {_go_kind(spec)} into Go struct field Policy.spec of type "
            "v1beta1.PolicySpec"
        )
    _check(spec, "PolicySpec.spec", _TEXTS)
    return _everybody(dict(spec))


def _everybody(spec: dict[str, Any]) -> dict[str, Any]:
    """`*` as user or as group means every authenticated user."""
    if "*" in (spec.get("user"), spec.get("group")):
        spec["user"], spec["group"] = "", AUTHENTICATED
    return spec


def _oldest(data: dict[str, Any]) -> dict[str, Any]:
    """Converts the unversioned form, whose missing fields match every user or resource."""
    _check(data, "Policy", ("user", "group", "resource", "namespace"))
    spec: dict[str, Any] = {
        "user": data.get("user") or "",
        "group": data.get("group") or "",
        "readonly": bool(data.get("readonly")),
        "namespace": data.get("namespace") or "*",
        "resource": data.get("resource") or "*",
        "apiGroup": "*",
    }
    if not spec["user"] and not spec["group"]:
        spec["group"] = AUTHENTICATED
    if not data.get("namespace") and not data.get("resource"):
        spec["nonResourcePath"] = "*"
    return _everybody(spec)


def _check(spec: dict[str, Any], where: str, names: tuple[str, ...]) -> None:
    for name in names:
        value = spec.get(name)
        if value is not None and not isinstance(value, str):
            raise ValueError(
                f"json: cannot unmarshal {_go_kind(value)} into Go struct field "
                f"{where}.{name} of type string"
            )
    readonly = spec.get("readonly")
    if readonly is not None and not isinstance(readonly, bool):
        raise ValueError(
            f"json: cannot unmarshal {_go_kind(readonly)} into Go struct field "
            f"{where}.readonly of type bool"
        )


def _build_policy(number: int, line: str, spec: dict[str, Any]) -> Policy:
    why = f"line {number} of the policy file allows it"
    detail = {"line": number, "policy": spec}
    return Policy(
        number,
        line,
        spec.get("user") or "",
        spec.get("group") or "",
        bool(spec.get("readonly")),
        spec.get("apiGroup") or "",
        spec.get("resource") or "",
        spec.get("namespace") or "",
        spec.get("nonResourcePath") or "",
        Try("ABAC", "allow", why, detail=detail, source=SOURCE),
    )


def _matches(policy: Policy, attributes: Attributes) -> bool:
    if not _is_subject(policy, attributes.user):
        return False
    if policy.readonly and attributes.verb not in _READS:
        return False
    if attributes.is_resource:
        return (
            policy.namespace in ("*", attributes.namespace)
            and policy.resource in ("*", attributes.resource)
            and policy.api_group in ("*", attributes.group)
        )
    path = policy.path
    if path in ("*", attributes.path):
        return True
    return path.endswith("*") and attributes.path.startswith(path.rstrip("*"))


def _is_subject(policy: Policy, user: User) -> bool:
    if policy.user and policy.user not in ("*", user.name):
        return False
    if policy.group and policy.group != "*" and policy.group not in user.groups:
        return False
    return bool(policy.user or policy.group)


def _go_error(error: json.JSONDecodeError, line: str) -> str:
    """Words a decoding error as Go's decoder does."""
    if error.pos >= len(line.rstrip()):
        return "unexpected end of JSON input"
    return f"invalid character {go_char(line[error.pos])} {_go_context(error.msg)}"


def _go_context(message: str) -> str:
    if message.startswith("Expecting property name"):
        return "looking for beginning of object key string"
    if message.startswith("Expecting ':'"):
        return "after object key"
    if message.startswith("Expecting ','"):
        return "after object key:value pair"
    if message.startswith("Extra data"):
        return "after top-level value"
    return "looking for beginning of value"


def go_char(char: str) -> str:
    """Quotes a character as Go does in a syntax error."""
    if char == "'":
        return "'\\''"
    if char == '"':
        return "'\"'"
    return "'" + go_value(char)[1:-1] + "'"


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, dict) else "null"
