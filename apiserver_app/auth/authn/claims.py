"""From the claims of a token that is believed to a user: by the claims themselves, or by
expressions about them; and the rules that claims and user have to meet.

Expressions come compiled; nothing of their language is loaded here.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/oidc/oidc.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import User

CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
NOT_STRINGS = "expression must return a string or a list of strings"
# the value of an expression about `claims` or `user`; ValueError says why there is none
Evaluate = Callable[[Any], Any]


class OidcError(Exception):
    """The token is refused; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What has to be true."""

    expression: str
    message: str
    holds: Evaluate


@dataclass(frozen=True, slots=True)
class ClaimMappings:
    """Where the parts of a user come from. An expression goes before a claim."""

    username_claim: str = "sub"
    username_prefix: str = ""
    username: Evaluate | None = None
    groups_claim: str = ""
    groups_prefix: str = ""
    groups: Evaluate | None = None
    uid_claim: str = ""
    uid: Evaluate | None = None
    extra: tuple[tuple[str, str, Evaluate], ...] = ()  # key, expression, value
    required: Mapping[str, str] = field(default_factory=dict)
    claim_rules: tuple[Rule, ...] = ()
    user_rules: tuple[Rule, ...] = ()


def user_of(claims: dict[str, Any], mapping: ClaimMappings) -> User:
    """The user; OidcError when there is none, or when a rule is against it."""
    name = _username(claims, mapping)
    groups = _groups(claims, mapping)
    uid = _uid(claims, mapping)
    extra = _extra(claims, mapping)
    _check_required(claims, mapping.required)
    said = "oidc: error evaluating claim validation expression: "
    for rule in mapping.claim_rules:
        _check(rule, claims, said)
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
    found = claims.get(claim) if claim else None
    if found is not None:
        if isinstance(found, str):
            found = [found]
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            why = _not_a("string", found)
            raise OidcError(f"oidc: parse groups claim {go_value(claim)}: {why}")
        return tuple(mapping.groups_prefix + one for one in found)
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
        found = _strings(value, f"extra claim expression: {expression}")
        if found:
            extra[key] = found
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


def _check(rule: Rule, about: Any, said: str) -> None:
    try:
        value = rule.holds(about)
    except ValueError as error:
        raise OidcError(f"{said}{error}") from error
    if not isinstance(value, bool):
        raise OidcError(f"{said}validation expression must return a boolean")
    if not value:
        raise OidcError(f"{said}validation expression '{rule.expression}' failed: {rule.message}")


def _value(evaluate: Evaluate, claims: dict[str, Any], what: str) -> Any:
    try:
        return evaluate(claims)
    except ValueError as error:
        raise OidcError(f"oidc: error evaluating {what} expression: {error}") from error


def _strings(value: Any, what: str) -> tuple[str, ...]:
    """A string, or a list of them; what is empty is left out."""
    if value is None:
        return ()
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise OidcError(f"oidc: error evaluating {what}: {NOT_STRINGS}")
    return tuple(one for one in found if one)


def _text(claims: dict[str, Any], claim: str, what: str) -> str:
    value = claims.get(claim)
    if isinstance(value, str):
        return value
    why = "claim not present" if value is None else _not_a("string", value)
    raise OidcError(f"oidc: parse {what} {go_value(claim)}: {why}")


def _info(user: User) -> dict[str, Any]:
    """The user as rules see it: what is empty is absent."""
    info = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {name: value for name, value in info.items() if value}


def _not_a(wanted: str, value: Any) -> str:
    kinds = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    kind = kinds.get(type(value), "object")
    return f"json: cannot unmarshal {kind} into Go value of type {wanted}"
