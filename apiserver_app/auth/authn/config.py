"""An AuthenticationConfiguration: issuers with their mappings and rules, and who may be anonymous.

`load` reads the text, `issuers` judges what stands in it and compiles its expressions. What cannot
be used is a ValueError with upstream's sentence: a start-up error.

Models kubernetes pkg/kubeapiserver/options/authentication.go (loadAuthenticationConfig) and
staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from apiserver_app import cel
from apiserver_app.auth import jws
from apiserver_app.auth.authn.claims import ClaimMappings, Evaluate, Rule
from apiserver_app.auth.authn.oidc import Settings
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.serializer import yamlbody
from apiserver_app.machinery.syntax import names

if TYPE_CHECKING:
    from apiserver_app.cel.types import Type

JWT_MAX = 64
# the release that first reads a version of the file
SINCE = {"v1alpha1": Release(29), "v1beta1": Release(30), "v1": Release(34)}
_GROUP = "apiserver.config.k8s.io"
_CLAIM = {"claim": str, "expression": str}
_PREFIXED = {**_CLAIM, "prefix": str}
_SHAPE: Mapping[str, Any] = {
    "apiVersion": str,
    "kind": str,
    "jwt": [{
        "issuer": {
            "url": str, "discoveryURL": str, "certificateAuthority": str, "audiences": [str],
            "audienceMatchPolicy": str,
        },
        "claimValidationRules": [{**_CLAIM, "requiredValue": str, "message": str}],
        "claimMappings": {
            "username": _PREFIXED, "groups": _PREFIXED, "uid": _CLAIM,
            "extra": [{"key": str, "valueExpression": str}],
        },
        "userValidationRules": [{"expression": str, "message": str}],
    }],
    "anonymous": {"enabled": bool, "conditions": [{"path": str}]},
}  # fmt: skip
_WORDS = {
    str: "string",
    bool: "bool",
    list: "array",
    dict: "object",
    int: "number",
    float: "number",
}
_NOT_BOTH = "claim and expression can't both be set"
_PREFIX = (
    "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
)
_VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when "
    "claims.email is used in claimMappings.username.expression"
)
INVALID = "invalid authentication configuration: "
_RESERVED = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def load(text: str, version: Release) -> Object:
    """The file's object. Raises ValueError."""
    if not text:
        raise ValueError("empty config data")
    try:
        found, doubled = yamlbody.load(text.encode(), find_duplicates=True)
    except yamlbody.YamlError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(found, dict) or not found.get("kind"):
        raise ValueError(f"Object 'Kind' is missing in '{text}'")
    api, kind = str(found.get("apiVersion") or ""), found["kind"]
    group, _, served = api.partition("/")
    since = SINCE.get(served) if group == _GROUP else None
    if kind != "AuthenticationConfiguration" or since is None or version < since:
        raise ValueError(
            f'no kind "{kind}" is registered for version "{api}" in scheme '
            '"k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go:787"'
        )
    problems = [*doubled, *_misshapen(found, _SHAPE, "")]
    if problems:
        raise ValueError(f"strict decoding error: {', '.join(problems)}")
    return found


def _misshapen(value: Any, shape: Any, path: str) -> list[str]:
    if value is None:
        return []
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [_wrong(value, "object", path)]
        found: list[str] = []
        for name, part in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name in shape:
                found += _misshapen(part, shape[name], where)
            else:
                found.append(f'unknown field "{where}"')
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [_wrong(value, "array", path)]
        parts = (_misshapen(one, shape[0], f"{path}[{at}]") for at, one in enumerate(value))
        return [text for part in parts for text in part]
    return [] if isinstance(value, shape) else [_wrong(value, _WORDS[shape], path)]


def _wrong(value: Any, wanted: str, path: str) -> str:
    given = _WORDS.get(type(value), "object")
    return f"json: cannot unmarshal {given} into Go struct field {path} of type {wanted}"


def issuers(
    config: Object, own: Sequence[str], version: Release, anonymous: tuple[Any] | None = None
) -> list[Settings]:
    """The issuers in their order; `own` are those of service account tokens. `anonymous` is what
    the file has to say of it still, when it is read again. Raises ValueError."""
    found: list[FieldError] = []
    listed = config.get("jwt") or []
    out: list[Settings] = []
    if len(listed) > JWT_MAX:
        found.append(errors.too_many("jwt", len(listed), JWT_MAX))
        listed = []
    urls: list[str] = []
    discovered: list[str] = []
    for index, one in enumerate(listed):
        path = f"jwt[{index}]"
        out.append(_Reader(one, path, found, version).settings(own))
        issuer = one.get("issuer") or {}
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        if url in urls:
            found.append(errors.duplicate(f"{path}.issuer.url", url))
        urls.append(url)
        if discovery and discovery in discovered:
            found.append(errors.duplicate(f"{path}.issuer.discoveryURL", discovery))
        discovered.append(discovery)
    said_of = config.get("anonymous")
    if said_of is not None and not version.has("AnonymousAuthConfigurableEndpoints"):
        text = "anonymous is not supported when AnonymousAuthConfigurableEnpoints feature gate is disabled"  # noqa: E501
        found.append(errors.forbidden_value("anonymous", text))
    if said_of and said_of.get("conditions") and not said_of.get("enabled"):
        text = "enabled should be set to true when conditions are defined"
        found.append(errors.invalid_value("anonymous.conditions", said_of["conditions"], text))
    if anonymous is not None and anonymous[0] != said_of:
        text = "changed from initial configuration file"
        found.append(errors.forbidden_value("anonymous", text))
    if found:
        said = errors.aggregate([str(one) for one in found])
        raise ValueError(INVALID + said)
    return out


class _Reader:
    """One entry of `jwt`. Findings go into `found`."""

    def __init__(self, given: Object, path: str, found: list[FieldError], version: Release) -> None:
        self._given = given
        self._path = path
        self._found = found
        self._version = version
        self._verifies = False  # some expression looks at claims.email_verified

    def settings(self, own: Sequence[str]) -> Settings:
        issuer = self._given.get("issuer") or {}
        self._issuer(issuer, own)
        rules, required = self._claim_rules()
        mappings = self._mappings()
        mappings.update(required=required, claim_rules=rules, user_rules=self._user_rules())
        return Settings(
            issuer.get("url") or "",
            tuple(issuer.get("audiences") or ()),
            ClaimMappings(**mappings),
            tuple(jws.ALGORITHMS),
            issuer.get("certificateAuthority") or "",
            issuer.get("discoveryURL") or "",
        )

    # -- the issuer -----------------------------------------------------------------------------

    def _issuer(self, issuer: Object, own: Sequence[str]) -> None:
        path, found = f"{self._path}.issuer", self._found
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        if not url:
            found.append(errors.required(f"{path}.url", "URL is required"))
        else:
            self._url(url, f"{path}.url", own)
        if discovery:
            where = f"{path}.discoveryURL"
            if url and url.rstrip("/") == discovery.rstrip("/"):
                text = "discoveryURL must be different from URL"
                found.append(errors.invalid_value(where, discovery, text))
            self._url(discovery, where, ())
        self._audiences(issuer, path)
        authority = issuer.get("certificateAuthority") or ""
        if authority and "-----BEGIN CERTIFICATE-----" not in authority:
            text = "data does not contain any valid RSA or ECDSA certificates"
            where = f"{path}.certificateAuthority"
            found.append(errors.invalid_value(where, "<omitted>", text))

    def _url(self, url: str, path: str, own: Sequence[str]) -> None:
        def wrong(text: str) -> None:
            self._found.append(errors.invalid_value(path, url, text))

        if url in own:
            wrong(f"URL must not overlap with disallowed issuers: [{' '.join(sorted(own))}]")
        try:
            parts = urllib.parse.urlsplit(url)
        except ValueError as error:
            wrong(f"parse {errors.go_value(url)}: {error}")
            return
        if parts.scheme != "https":
            wrong("URL scheme must be https")
        if "@" in parts.netloc:
            wrong("URL must not contain a username or password")
        if parts.query:
            wrong("URL must not contain a query")
        if parts.fragment:
            wrong("URL must not contain a fragment")

    def _audiences(self, issuer: Object, path: str) -> None:
        audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy") or ""
        found = self._found
        if not audiences:
            where = f"{path}.audiences"
            found.append(errors.required(where, f"at least one {where} is required"))
            return
        for index, one in enumerate(audiences):
            where = f"{path}.audiences[{index}]"
            if not one:
                found.append(errors.required(where, "audience can't be empty"))
            if one in audiences[:index]:
                found.append(errors.duplicate(where, one))
        where = f"{path}.audienceMatchPolicy"
        if len(audiences) > 1 and policy != "MatchAny":
            text = "audienceMatchPolicy must be MatchAny for multiple audiences"
            found.append(errors.invalid_value(where, policy, text))
        if len(audiences) == 1 and policy not in ("", "MatchAny"):
            text = "audienceMatchPolicy must be empty or MatchAny for single audience"
            found.append(errors.invalid_value(where, policy, text))

    # -- rules ----------------------------------------------------------------------------------

    def _claim_rules(self) -> tuple[tuple[Rule, ...], dict[str, str]]:
        rules: list[Rule] = []
        required: dict[str, str] = {}
        seen: list[str] = []
        for index, one in enumerate(self._given.get("claimValidationRules") or ()):
            path = f"{self._path}.claimValidationRules[{index}]"
            claim, expression = one.get("claim") or "", one.get("expression") or ""
            message, wanted = one.get("message") or "", one.get("requiredValue") or ""
            if claim and expression:
                self._found.append(errors.invalid_value(path, claim, _NOT_BOTH))
            elif not claim and not expression:
                text = "claim or expression is required"
                self._found.append(errors.required(path, text))
            elif claim:
                if message:
                    text = "message can't be set when claim is set"
                    self._found.append(errors.invalid_value(f"{path}.message", message, text))
                if claim in required:
                    self._found.append(errors.duplicate(f"{path}.claim", claim))
                required[claim] = wanted
            else:
                where = f"{path}.expression"
                if wanted:
                    text = "requiredValue can't be set when expression is set"
                    self._found.append(errors.invalid_value(f"{path}.requiredValue", wanted, text))
                rules += self._rule(expression, message, where, seen, "claims")
        return tuple(rules), required

    def _user_rules(self) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        seen: list[str] = []
        for index, one in enumerate(self._given.get("userValidationRules") or ()):
            where = f"{self._path}.userValidationRules[{index}].expression"
            expression = one.get("expression") or ""
            if not expression:
                self._found.append(errors.required(where, "expression is required"))
            else:
                rules += self._rule(expression, one.get("message") or "", where, seen, "user")
        return tuple(rules)

    def _rule(
        self, expression: str, message: str, where: str, seen: list[str], variable: str
    ) -> list[Rule]:
        if expression in seen:
            self._found.append(errors.duplicate(where, expression))
            return []
        seen.append(expression)
        holds = self._compile(expression, where, variable, ("bool",))
        return [] if holds is None else [Rule(expression, message, holds)]

    # -- mappings -------------------------------------------------------------------------------

    def _mappings(self) -> dict[str, Any]:
        given = self._given.get("claimMappings") or {}
        path = f"{self._path}.claimMappings"
        out: dict[str, Any] = {"username_claim": ""}
        for name in ("username", "groups"):
            one = given.get(name) or {}
            out[name] = self._prefixed(one, f"{path}.{name}", needed=name == "username")
            out[f"{name}_claim"] = one.get("claim") or ""
            out[f"{name}_prefix"] = one.get("prefix") or ""
        uid = given.get("uid") or {}
        if uid.get("claim") and uid.get("expression"):
            self._found.append(errors.invalid_value(f"{path}.uid", "", _NOT_BOTH))
        elif uid.get("expression"):
            out["uid"] = self._compile(uid["expression"], f"{path}.uid.expression", "claims")
        out["uid_claim"] = uid.get("claim") or ""
        out["extra"] = self._extra(given.get("extra") or (), path)
        expression = (given.get("username") or {}).get("expression") or ""
        if out["username"] is not None and _looks_at(expression, "email"):
            if not self._verifies:
                where = f"{path}.username.expression"
                self._found.append(errors.invalid_value(where, expression, _VERIFIED))
        return out

    def _prefixed(self, one: Object, path: str, *, needed: bool) -> Evaluate | None:
        claim, expression = one.get("claim") or "", one.get("expression") or ""
        if claim and expression:
            self._found.append(errors.invalid_value(path, "", _NOT_BOTH))
        elif expression:
            if one.get("prefix") is not None:
                text = "prefix can't be set when expression is set"
                self._found.append(errors.invalid_value(f"{path}.prefix", one["prefix"], text))
            return self._compile(expression, f"{path}.expression", "claims")
        elif claim:
            if one.get("prefix") is None:
                self._found.append(errors.required(f"{path}.prefix", _PREFIX))
        elif needed:
            self._found.append(errors.required(path, "claim or expression is required"))
        return None

    def _extra(self, listed: Sequence[Object], path: str) -> tuple[tuple[str, str, Evaluate], ...]:
        out: list[tuple[str, str, Evaluate]] = []
        seen: list[str] = []
        for index, one in enumerate(listed):
            where = f"{path}.extra[{index}]"
            key, expression = one.get("key") or "", one.get("valueExpression") or ""
            self._found += _key_errors(key, f"{where}.key")
            if key in seen:
                self._found.append(errors.duplicate(f"{where}.key", key))
                continue
            seen.append(key)
            if not expression:
                text = "valueExpression is required"
                self._found.append(errors.required(f"{where}.valueExpression", text))
                continue
            value = self._compile(expression, f"{where}.valueExpression", "claims")
            if value is not None:
                out.append((key, expression, value))
        return tuple(out)

    def _compile(
        self, expression: str, path: str, variable: str, wants: tuple[str, ...] = ()
    ) -> Evaluate | None:
        try:
            program = cel.compile(
                expression, (variable,), types={variable: _type_of(variable)}, wants=wants,
                version=self._version,
            )  # fmt: skip
        except cel.ResultTypeError as error:
            text = str(error).partition(" but got ")[0]
            self._found.append(errors.invalid_value(path, expression, text))
            return None
        except cel.CompileError as error:
            self._found.append(errors.invalid_value(path, expression, str(error)))
            return None
        if not path.endswith((".groups.expression", ".uid.expression")):
            self._verifies = self._verifies or _looks_at(expression, "email_verified")
        return _evaluator(program, expression, variable)


def _evaluator(program: Callable[[Mapping[str, Any]], Any], text: str, variable: str) -> Evaluate:
    def evaluate(value: Any) -> Any:
        try:
            return program({variable: value})
        except cel.EvaluationError as error:
            raise ValueError(f"expression '{text}' resulted in error: {error}") from error

    return evaluate


def _type_of(variable: str) -> Type:
    from apiserver_app.cel import admissiontypes, types

    return admissiontypes.USER if variable == "user" else types.map_of(types.STRING, types.DYN)


def _looks_at(expression: str, claim: str) -> bool:
    """Whether it selects that claim of `claims`."""
    from apiserver_app.cel.syntax import parser, tree

    return any(
        isinstance(node, tree.Select)
        and node.field == claim
        and isinstance(node.operand, tree.Ident)
        and node.operand.name == "claims"
        for node in tree.walk(parser.parse(expression))
    )


def _key_errors(key: str, path: str) -> list[FieldError]:
    domain, slash, rest = key.partition("/")
    if not key:
        found = [errors.required(path)]
    elif not (domain and slash and rest):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        found = [errors.invalid_value(path, key, text)]
    else:
        wrong = names.dns1123_subdomain_errors(domain)
        found = [errors.invalid_value(path, domain, text) for text in wrong]
        if not re.fullmatch(_PATH, rest):
            text = names.pattern_text("Invalid path", _PATH)
            found.append(errors.invalid_value(path, rest, text))
    if key != key.lower():
        found.append(errors.invalid_value(path, key, "key must be lowercase"))
    if slash and re.fullmatch(r"(.*\.)?(kubernetes\.io|k8s\.io)", domain):
        found.append(errors.invalid_value(path, key, _RESERVED))
    return found
