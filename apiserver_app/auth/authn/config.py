"""Reads an AuthenticationConfiguration: issuers with mappings and rules, and anonymous access.

`load` parses the text, `issuers` validates it and compiles its expressions. Invalid configuration
raises a ValueError with upstream's message: a start-up error.

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
_JSON_TYPES = {
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
    """Parses and decodes the file. Raises ValueError."""
    if not text:
        raise ValueError("empty config data")
    try:
        config, doubled = yamlbody.load(text.encode(), find_duplicates=True)
    except yamlbody.YamlError as error:
        raise ValueError(f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(config, dict) or not config.get("kind"):
        raise ValueError(f"Object 'Kind' is missing in '{text}'")
    api, kind = str(config.get("apiVersion") or ""), config["kind"]
    group, _, served = api.partition("/")
    since = SINCE.get(served) if group == _GROUP else None
    if kind != "AuthenticationConfiguration" or since is None or version < since:
        raise ValueError(
            f'no kind "{kind}" is registered for version "{api}" in scheme '
            '"k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go:787"'
        )
    problems = [*doubled, *_decoding_errors(config, _SHAPE, "")]
    if problems:
        raise ValueError(f"strict decoding error: {', '.join(problems)}")
    return config


def _decoding_errors(value: Any, shape: Any, path: str) -> list[str]:
    if value is None:
        return []
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [_type_error(value, "object", path)]
        problems: list[str] = []
        for name, part in value.items():
            where = f"{path}.{name}" if path else str(name)
            if name in shape:
                problems += _decoding_errors(part, shape[name], where)
            else:
                problems.append(f'unknown field "{where}"')
        return problems
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [_type_error(value, "array", path)]
        parts = (
            _decoding_errors(item, shape[0], f"{path}[{index}]") for index, item in enumerate(value)
        )
        return [text for part in parts for text in part]
    return [] if isinstance(value, shape) else [_type_error(value, _JSON_TYPES[shape], path)]


def _type_error(value: Any, expected: str, path: str) -> str:
    actual = _JSON_TYPES.get(type(value), "object")
    return f"json: cannot unmarshal {actual} into Go struct field {path} of type {expected}"


def issuers(
    config: Object, own: Sequence[str], version: Release, anonymous: tuple[Any] | None = None
) -> list[Settings]:
    """Returns the issuers in order; `own` are those of service account tokens. On a reload,
    `anonymous` is the field's initial value, which may not change. Raises ValueError."""
    problems: list[FieldError] = []
    entries = config.get("jwt") or []
    settings: list[Settings] = []
    if len(entries) > JWT_MAX:
        problems.append(errors.too_many("jwt", len(entries), JWT_MAX))
        entries = []
    urls: list[str] = []
    discovered: list[str] = []
    for index, entry in enumerate(entries):
        path = f"jwt[{index}]"
        settings.append(_Reader(entry, path, problems, version).settings(own))
        issuer = entry.get("issuer") or {}
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        if url in urls:
            problems.append(errors.duplicate(f"{path}.issuer.url", url))
        urls.append(url)
        if discovery and discovery in discovered:
            problems.append(errors.duplicate(f"{path}.issuer.discoveryURL", discovery))
        discovered.append(discovery)
    anonymous_field = config.get("anonymous")
    if anonymous_field is not None and not version.has("AnonymousAuthConfigurableEndpoints"):
        text = "anonymous is not supported when AnonymousAuthConfigurableEnpoints feature gate is disabled"  # noqa: E501
        problems.append(errors.forbidden_value("anonymous", text))
    if anonymous_field and anonymous_field.get("conditions") and not anonymous_field.get("enabled"):
        text = "enabled should be set to true when conditions are defined"
        problems.append(
            errors.invalid_value("anonymous.conditions", anonymous_field["conditions"], text)
        )
    if anonymous is not None and anonymous[0] != anonymous_field:
        text = "changed from initial configuration file"
        problems.append(errors.forbidden_value("anonymous", text))
    if problems:
        message = errors.aggregate([str(problem) for problem in problems])
        raise ValueError(INVALID + message)
    return settings


class _Reader:
    """Reads one entry of `jwt`. Adds errors to `problems`."""

    def __init__(
        self, entry: Object, path: str, problems: list[FieldError], version: Release
    ) -> None:
        self._entry = entry
        self._path = path
        self._problems = problems
        self._version = version
        self._verifies = False  # some expression reads claims.email_verified

    def settings(self, own: Sequence[str]) -> Settings:
        issuer = self._entry.get("issuer") or {}
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
        path, problems = f"{self._path}.issuer", self._problems
        url, discovery = issuer.get("url") or "", issuer.get("discoveryURL") or ""
        if not url:
            problems.append(errors.required(f"{path}.url", "URL is required"))
        else:
            self._url(url, f"{path}.url", own)
        if discovery:
            where = f"{path}.discoveryURL"
            if url and url.rstrip("/") == discovery.rstrip("/"):
                text = "discoveryURL must be different from URL"
                problems.append(errors.invalid_value(where, discovery, text))
            self._url(discovery, where, ())
        self._audiences(issuer, path)
        authority = issuer.get("certificateAuthority") or ""
        if authority and "-----BEGIN CERTIFICATE-----" not in authority:
            text = "data does not contain any valid RSA or ECDSA certificates"
            where = f"{path}.certificateAuthority"
            problems.append(errors.invalid_value(where, "<omitted>", text))

    def _url(self, url: str, path: str, own: Sequence[str]) -> None:
        def report(text: str) -> None:
            self._problems.append(errors.invalid_value(path, url, text))

        if url in own:
            report(f"URL must not overlap with disallowed issuers: [{' '.join(sorted(own))}]")
        try:
            parts = urllib.parse.urlsplit(url)
        except ValueError as error:
            report(f"parse {errors.go_value(url)}: {error}")
            return
        if parts.scheme != "https":
            report("URL scheme must be https")
        if "@" in parts.netloc:
            report("URL must not contain a username or password")
        if parts.query:
            report("URL must not contain a query")
        if parts.fragment:
            report("URL must not contain a fragment")

    def _audiences(self, issuer: Object, path: str) -> None:
        audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy") or ""
        problems = self._problems
        if not audiences:
            where = f"{path}.audiences"
            problems.append(errors.required(where, f"at least one {where} is required"))
            return
        for index, audience in enumerate(audiences):
            where = f"{path}.audiences[{index}]"
            if not audience:
                problems.append(errors.required(where, "audience can't be empty"))
            if audience in audiences[:index]:
                problems.append(errors.duplicate(where, audience))
        where = f"{path}.audienceMatchPolicy"
        if len(audiences) > 1 and policy != "MatchAny":
            text = "audienceMatchPolicy must be MatchAny for multiple audiences"
            problems.append(errors.invalid_value(where, policy, text))
        if len(audiences) == 1 and policy not in ("", "MatchAny"):
            text = "audienceMatchPolicy must be empty or MatchAny for single audience"
            problems.append(errors.invalid_value(where, policy, text))

    # -- rules ----------------------------------------------------------------------------------

    def _claim_rules(self) -> tuple[tuple[Rule, ...], dict[str, str]]:
        rules: list[Rule] = []
        required: dict[str, str] = {}
        seen: list[str] = []
        for index, rule in enumerate(self._entry.get("claimValidationRules") or ()):
            path = f"{self._path}.claimValidationRules[{index}]"
            claim, expression = rule.get("claim") or "", rule.get("expression") or ""
            message, required_value = rule.get("message") or "", rule.get("requiredValue") or ""
            if claim and expression:
                self._problems.append(errors.invalid_value(path, claim, _NOT_BOTH))
            elif not claim and not expression:
                text = "claim or expression is required"
                self._problems.append(errors.required(path, text))
            elif claim:
                if message:
                    text = "message can't be set when claim is set"
                    self._problems.append(errors.invalid_value(f"{path}.message", message, text))
                if claim in required:
                    self._problems.append(errors.duplicate(f"{path}.claim", claim))
                required[claim] = required_value
            else:
                where = f"{path}.expression"
                if required_value:
                    text = "requiredValue can't be set when expression is set"
                    self._problems.append(
                        errors.invalid_value(f"{path}.requiredValue", required_value, text)
                    )
                rules += self._rule(expression, message, where, seen, "claims")
        return tuple(rules), required

    def _user_rules(self) -> tuple[Rule, ...]:
        rules: list[Rule] = []
        seen: list[str] = []
        for index, rule in enumerate(self._entry.get("userValidationRules") or ()):
            where = f"{self._path}.userValidationRules[{index}].expression"
            expression = rule.get("expression") or ""
            if not expression:
                self._problems.append(errors.required(where, "expression is required"))
            else:
                rules += self._rule(expression, rule.get("message") or "", where, seen, "user")
        return tuple(rules)

    def _rule(
        self, expression: str, message: str, where: str, seen: list[str], variable: str
    ) -> list[Rule]:
        if expression in seen:
            self._problems.append(errors.duplicate(where, expression))
            return []
        seen.append(expression)
        holds = self._compile(expression, where, variable, ("bool",))
        return [] if holds is None else [Rule(expression, message, holds)]

    # -- mappings -------------------------------------------------------------------------------

    def _mappings(self) -> dict[str, Any]:
        mappings = self._entry.get("claimMappings") or {}
        path = f"{self._path}.claimMappings"
        result: dict[str, Any] = {"username_claim": ""}
        for name in ("username", "groups"):
            mapping = mappings.get(name) or {}
            result[name] = self._prefixed(mapping, f"{path}.{name}", needed=name == "username")
            result[f"{name}_claim"] = mapping.get("claim") or ""
            result[f"{name}_prefix"] = mapping.get("prefix") or ""
        uid = mappings.get("uid") or {}
        if uid.get("claim") and uid.get("expression"):
            self._problems.append(errors.invalid_value(f"{path}.uid", "", _NOT_BOTH))
        elif uid.get("expression"):
            result["uid"] = self._compile(uid["expression"], f"{path}.uid.expression", "claims")
        result["uid_claim"] = uid.get("claim") or ""
        result["extra"] = self._extra(mappings.get("extra") or (), path)
        expression = (mappings.get("username") or {}).get("expression") or ""
        if result["username"] is not None and _selects_claim(expression, "email"):
            if not self._verifies:
                where = f"{path}.username.expression"
                self._problems.append(errors.invalid_value(where, expression, _VERIFIED))
        return result

    def _prefixed(self, mapping: Object, path: str, *, needed: bool) -> Evaluate | None:
        claim, expression = mapping.get("claim") or "", mapping.get("expression") or ""
        if claim and expression:
            self._problems.append(errors.invalid_value(path, "", _NOT_BOTH))
        elif expression:
            if mapping.get("prefix") is not None:
                text = "prefix can't be set when expression is set"
                self._problems.append(
                    errors.invalid_value(f"{path}.prefix", mapping["prefix"], text)
                )
            return self._compile(expression, f"{path}.expression", "claims")
        elif claim:
            if mapping.get("prefix") is None:
                self._problems.append(errors.required(f"{path}.prefix", _PREFIX))
        elif needed:
            self._problems.append(errors.required(path, "claim or expression is required"))
        return None

    def _extra(self, entries: Sequence[Object], path: str) -> tuple[tuple[str, str, Evaluate], ...]:
        mappings: list[tuple[str, str, Evaluate]] = []
        seen: list[str] = []
        for index, entry in enumerate(entries):
            where = f"{path}.extra[{index}]"
            key, expression = entry.get("key") or "", entry.get("valueExpression") or ""
            self._problems += _key_errors(key, f"{where}.key")
            if key in seen:
                self._problems.append(errors.duplicate(f"{where}.key", key))
                continue
            seen.append(key)
            if not expression:
                text = "valueExpression is required"
                self._problems.append(errors.required(f"{where}.valueExpression", text))
                continue
            value = self._compile(expression, f"{where}.valueExpression", "claims")
            if value is not None:
                mappings.append((key, expression, value))
        return tuple(mappings)

    def _compile(
        self, expression: str, path: str, variable: str, wants: tuple[str, ...] = ()
    ) -> Evaluate | None:
        try:
            program = cel.compile(
                expression,
                (variable,),
                types={variable: _type_of(variable)},
                wants=wants,
                version=self._version,
            )
        except cel.ResultTypeError as error:
            text = str(error).partition(" but got ")[0]
            self._problems.append(errors.invalid_value(path, expression, text))
            return None
        except cel.CompileError as error:
            self._problems.append(errors.invalid_value(path, expression, str(error)))
            return None
        if not path.endswith((".groups.expression", ".uid.expression")):
            self._verifies = self._verifies or _selects_claim(expression, "email_verified")
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


def _selects_claim(expression: str, claim: str) -> bool:
    """Reports whether the expression selects that claim of `claims`."""
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
        problems = [errors.required(path)]
    elif not (domain and slash and rest):
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
        problems = [errors.invalid_value(path, key, text)]
    else:
        messages = names.dns1123_subdomain_errors(domain)
        problems = [errors.invalid_value(path, domain, text) for text in messages]
        if not re.fullmatch(_PATH, rest):
            text = names.pattern_text("Invalid path", _PATH)
            problems.append(errors.invalid_value(path, rest, text))
    if key != key.lower():
        problems.append(errors.invalid_value(path, key, "key must be lowercase"))
    if slash and re.fullmatch(r"(.*\.)?(kubernetes\.io|k8s\.io)", domain):
        problems.append(errors.invalid_value(path, key, _RESERVED))
    return problems
