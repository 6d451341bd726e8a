"""Maps the claims of a verified token to a user, by claim names or CEL expressions, and checks the
validation rules for claims and user.

Expressions are passed in compiled; CEL is not loaded here.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import User

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
NOT_STRINGS = "expression must return a string or a list of strings"
# evaluates an expression about `claims` or `user`; raises ValueError on failure
Evaluate = Callable[[Any], Any]


class OidcError(Exception):
    """The token is refused; the message is upstream's."""


class Rule(msgspec.Struct, frozen=True):
    """A validation rule that must hold."""

    expression: str
    message: str
    holds: Evaluate


class ClaimMappings(msgspec.Struct, frozen=True):
    """The sources of each user attribute. An expression wins over a claim."""

    username_claim: str = "sub"
    username_prefix: str = ""
    username: Evaluate | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    groups: Evaluate | None = None
    uid_claim: str = ""
    uid: Evaluate | None = None
    extra: tuple[tuple[str, str, Evaluate], ...] = ()  # key, expression, value
    required: Mapping[str, str] = msgspec.field(default_factory=dict)
    claim_rules: tuple[Rule, ...] = ()
    user_rules: tuple[Rule, ...] = ()


def user_of(claims: dict[str, Any], mapping: ClaimMappings) -> User:
    """Returns the user; raises OidcError when a mapping or a rule fails."""
    name = _username(claims, mapping)
    groups = _groups(claims, mapping)
    uid = _uid(claims, mapping)
    extra = _extra(claims, mapping)
    _check_required(claims, mapping.required)
    prefix = "oidc: error evaluating claim validation expression: "
    for rule in mapping.claim_rules:
        _check(rule, claims, prefix)
    user = User(name, groups, uid, extra)
    for rule in mapping.user_rules:
        _check(rule, _info(user), "oidc: error evaluating user info validation rule: ")
    return user


def _username(claims: dict[str, Any], mapping: ClaimMappings) -> str:
    if mapping.username is not None:
        value = _value(mapping.username, claims, "username claim")
        if not isinstance(value, str):
            raise OidcError(
                "oidc: error evaluating username claim expression: username claim expression must "
                "return a string"
            )
        if not value:
            raise OidcError("oidc: empty username via CEL expression is not allowed")
        return value
    name = _text(claims, mapping.username_claim, "username claims")
    if mapping.username_claim == "email" and "email_verified" in claims:
        verified = claims["email_verified"]
        if not isinstance(verified, bool):
            raise OidcError(f"oidc: parse 'email_verified' claim: {_not_a('bool', verified)}")
        if not verified:
            raise OidcError("oidc: email not verified")
    return mapping.username_prefix + name


def _groups(claims: dict[str, Any], mapping: ClaimMappings) -> tuple[str, ...]:
    claim = mapping.groups_claim
    groups = claims.get(claim) if claim else None
    if groups is not None:
        if isinstance(groups, str):
            groups = [groups]
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            problem = _not_a("string", groups)
            raise OidcError(f"oidc: parse groups claim {go_value(claim)}: {problem}")
        return tuple(mapping.groups_prefix + group for group in groups)
    if mapping.groups is None:
        return ()
    return _strings(_value(mapping.groups, claims, "group claim"), "group claim expression")


def _uid(claims: dict[str, Any], mapping: ClaimMappings) -> str:
    if mapping.uid_claim:
        return _text(claims, mapping.uid_claim, "uid claim")
    if mapping.uid is None:
        return ""
    value = _value(mapping.uid, claims, "uid claim")
    if not isinstance(value, str):
        raise OidcError(
            "oidc: error evaluating uid claim expression: uid claim expression must return a string"
        )
    return value


def _extra(claims: dict[str, Any], mapping: ClaimMappings) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    if isinstance(claims.get("jti"), str) and claims["jti"]:
        extra[CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
    for key, expression, evaluate in mapping.extra:
        try:
            value = evaluate(claims)
        except ValueError as error:
            raise OidcError(str(error)) from error
        values = _strings(value, f"extra claim expression: {expression}")
        if values:
            extra[key] = values
    return extra


def _check_required(claims: dict[str, Any], required: Mapping[str, str]) -> None:
    for claim, value in required.items():
        if claim not in claims:
            raise OidcError(f"oidc: required claim {claim} not present in ID token")
        if not isinstance(claims[claim], str):
            raise OidcError(f"oidc: parse claim {claim}: {_not_a('string', claims[claim])}")
        if claims[claim] != value:
            raise OidcError(
                f"oidc: required claim {claim} value does not match. Got = {claims[claim]}, "
                f"want = {value}"
            )


def _check(rule: Rule, subject: Any, prefix: str) -> None:
    try:
        value = rule.holds(subject)
    except ValueError as error:
        raise OidcError(f"{prefix}{error}") from error
    if not isinstance(value, bool):
        raise OidcError(f"{prefix}validation expression must return a boolean")
    if not value:
        raise OidcError(f"{prefix}validation expression '{rule.expression}' failed: {rule.message}")


def _value(evaluate: Evaluate, claims: dict[str, Any], label: str) -> Any:
    try:
        return evaluate(claims)
    except ValueError as error:
        raise OidcError(f"oidc: error evaluating {label} expression: {error}") from error


def _strings(value: Any, label: str) -> tuple[str, ...]:
    """Returns the non-empty strings of a string or a list of strings."""
    if value is None:
        return ()
    strings = [value] if isinstance(value, str) else value
    if not isinstance(strings, list) or not all(isinstance(text, str) for text in strings):
        raise OidcError(f"oidc: error evaluating {label}: {NOT_STRINGS}")
    return tuple(text for text in strings if text)


def _text(claims: dict[str, Any], claim: str, label: str) -> str:
    value = claims.get(claim)
    if isinstance(value, str):
        return value
    problem = "claim not present" if value is None else _not_a("string", value)
    raise OidcError(f"oidc: parse {label} {go_value(claim)}: {problem}")


def _info(user: User) -> dict[str, Any]:
    """Returns the user as validation rules see it: empty fields are absent."""
    info = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in info.items() if value}


def _not_a(expected: str, value: Any) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    kind = kinds.get(type(value), "object")
    return f"json: cannot unmarshal {kind} into Go value of type {expected}"
