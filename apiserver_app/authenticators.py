"""The authenticators that the flags ask for, in upstream's order, and how they are nested.

Read once at start: front proxy, passwords (of old versions), client certificates; then tokens,
those known here before those somebody else is asked about: file, service accounts from Secrets and
bound ones, bootstrap, OpenID Connect, webhook.

Models kubernetes pkg/kubeapiserver/authenticator/config.go and
pkg/kubeapiserver/options/authentication.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apiserver_app.auth import reviewing
from apiserver_app.auth import tokens as jwt
from apiserver_app.auth.authn import oidc
from apiserver_app.auth.authn.anonymous import Anonymous
from apiserver_app.auth.authn.basic import BasicAuth
from apiserver_app.auth.authn.bearer import BearerTokens
from apiserver_app.auth.authn.bootstrap_token import BootstrapTokens
from apiserver_app.auth.authn.claims import ClaimMappings
from apiserver_app.auth.authn.legacy_account import LegacyServiceAccounts, Mark
from apiserver_app.auth.authn.loopback import Loopback
from apiserver_app.auth.authn.request_header import RequestHeader
from apiserver_app.auth.authn.service_account import ServiceAccounts
from apiserver_app.auth.authn.token_file import TokenFile
from apiserver_app.auth.authn.union import Union
from apiserver_app.auth.authn.webhook import Webhook
from apiserver_app.auth.authn.x509 import X509
from apiserver_app.auth.protocols import Authenticator, TokenAuthenticator
from apiserver_app.egress import kubeconfigs
from apiserver_app.flags import CLUSTERS, FlagError, Flags
from apiserver_app.machinery import releases
from apiserver_app.machinery.kernel import Kernel, Task
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the authenticators work with. `ask` is the way to others."""

    kernel: Kernel
    reader: Reader
    tokens: jwt.Tokens
    ca_pem: str = ""
    version: Release = releases.DEFAULT
    loopback_token: str = ""
    ask: oidc.Ask | None = None
    mark_used: Mark = lambda namespace, secret, day: None


def audiences(flags: Flags) -> tuple[str, ...]:
    """The API server's own: --api-audiences, or the service accounts' issuer."""
    return flags.api_audiences or flags.service_account_issuer[:1]


def proxy_headers(flags: Flags) -> tuple[str, ...]:
    """Beginnings of the headers that a front proxy may set, lower-case."""
    if not flags.requestheader_client_ca_file:
        return ()
    names = (
        *flags.requestheader_username_headers,
        *flags.requestheader_uid_headers,
        *flags.requestheader_group_headers,
        *flags.requestheader_extra_headers_prefix,
    )
    return tuple(name.lower() for name in names)


def build(flags: Flags, around: Surroundings) -> Union:
    """The union. FlagError when flags do not go together."""
    check(flags, around.version)
    settings, anonymous = _structured(flags, around.version)
    tokens = _tokens(flags, around, settings)
    takes = tokens or flags.authentication_config.name  # issuers may come with the next reading
    return Union(
        _requests(flags, around),
        BearerTokens(tokens, audiences=audiences(flags)) if takes else None,
        anonymous,
        Loopback(around.loopback_token),
    )


def initialize(union: Union, kernel: Kernel) -> list[Task]:
    """What those who ask somebody outside do before they know anything."""
    listed = union.tokens.authenticators if union.tokens is not None else ()
    return ask([one for one in listed if isinstance(one, oidc.Oidc)], kernel)


def ask(issuers: Sequence[oidc.Oidc], kernel: Kernel) -> list[Task]:
    """Have issuers asked for their keys until they tell."""
    return [
        kernel.spawn(
            f"apiserver/oidc {one.settings.issuer}", one.initialize(kernel),
            background=True, span=0,
        )
        for one in issuers
    ]  # fmt: skip


class LoadError(FlagError):
    """A file that cannot even be read as a configuration."""


def reloaded(flags: Flags, text: str, around: Surroundings) -> list[oidc.Oidc]:
    """The issuers that the file names now. LoadError or FlagError when it cannot be."""
    from apiserver_app.auth.authn import config

    try:
        given = config.load(text, around.version)
    except ValueError as error:
        raise LoadError(str(error)) from error
    before = config.load(flags.authentication_config, around.version).get("anonymous")
    try:
        found = config.issuers(
            given, flags.service_account_issuer, around.version, anonymous=(before,)
        )
    except ValueError as error:
        raise FlagError(str(error).removeprefix(config.INVALID)) from error
    return [oidc.Oidc(one, around.ask) for one in found] if around.ask is not None else []


def replace_issuers(union: Union, issuers: Sequence[oidc.Oidc]) -> None:
    """Ask these in the place of those that were configured before."""
    assert union.tokens is not None, "a server with such a file always takes tokens"
    others = [one for one in union.tokens.authenticators if not isinstance(one, oidc.Oidc)]
    at = next((at for at, one in enumerate(others) if isinstance(one, Webhook)), len(others))
    union.tokens.replace([*others[:at], *issuers, *others[at:]])


def check(flags: Flags, version: Release) -> None:
    """What cannot be, in upstream's words."""
    if version.has("OIDCFlagsTogether") and bool(flags.oidc_issuer_url) != bool(
        flags.oidc_client_id
    ):
        raise FlagError(
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags "
            "are set"
        )
    if flags.service_account_key_file and not flags.service_account_issuer:
        raise FlagError("service-account-issuer is a required flag")
    webhook = flags.authentication_token_webhook_version
    if webhook not in ("v1", "v1beta1"):
        raise FlagError(
            f'unsupported authentication webhook version "{webhook}", supported versions are '
            '"v1", "v1beta1"'
        )


def _requests(flags: Flags, around: Surroundings) -> list[Authenticator]:
    found: list[Authenticator] = []
    if flags.requestheader_client_ca_file:
        proxy = RequestHeader(
            flags.requestheader_client_ca_file,
            flags.requestheader_allowed_names,
            user=flags.requestheader_username_headers,
            uid=flags.requestheader_uid_headers,
            group=flags.requestheader_group_headers,
            extra=flags.requestheader_extra_headers_prefix,
        )
        found.append(proxy)
    if flags.basic_auth_file and around.version.has("BasicAuthentication"):
        found.append(BasicAuth(flags.basic_auth_file))
    if flags.client_ca_file:
        own = flags.client_ca_file == CLUSTERS
        found.append(X509(around.ca_pem if own else flags.client_ca_file))
    return found


def _structured(flags: Flags, version: Release) -> tuple[list[oidc.Settings], Anonymous | None]:
    """The issuers, and who nobody is: by a file, or by flags."""
    try:
        if flags.authentication_config.name:
            # loaded with the first file: it brings the language of expressions along
            from apiserver_app.auth.authn import config

            given = config.load(flags.authentication_config, version)
            found = config.issuers(given, flags.service_account_issuer, version)
            anonymous = given.get("anonymous")
            if anonymous is not None:
                paths = [one.get("path") or "" for one in anonymous.get("conditions") or ()]
                return found, Anonymous(paths) if anonymous.get("enabled") else None
        else:
            both = flags.oidc_issuer_url and flags.oidc_client_id
            found = [_oidc_settings(flags)] if both else []
    except ValueError as error:
        raise FlagError(str(error)) from error
    return found, Anonymous() if flags.anonymous_auth else None


def _tokens(
    flags: Flags, around: Surroundings, settings: Sequence[oidc.Settings]
) -> list[TokenAuthenticator]:
    found: list[TokenAuthenticator] = []
    own = audiences(flags)
    if flags.token_auth_file:
        found.append(TokenFile(flags.token_auth_file))
    if flags.service_account_key_file:
        legacy = LegacyServiceAccounts(
            around.tokens, around.reader, own, around.mark_used,
            lookup=flags.service_account_lookup,
        )  # fmt: skip
        found += [legacy, ServiceAccounts(around.tokens, around.reader, own)]
    if flags.enable_bootstrap_token_auth:
        found.append(BootstrapTokens(around.reader))
    if around.ask is not None:
        found += _remote(flags, around, settings, around.ask)
    return found


def _remote(
    flags: Flags, around: Surroundings, settings: Sequence[oidc.Settings], ask: oidc.Ask
) -> list[TokenAuthenticator]:
    """Those that have to ask somebody."""
    found: list[TokenAuthenticator] = []
    try:
        found += [oidc.Oidc(one, ask) for one in settings]
        kubeconfig = flags.authentication_token_webhook_config_file
        if kubeconfig:
            target = kubeconfigs.target(kubeconfig)
            world = reviewing.World(ask, lambda: around.kernel.now, around.kernel.sleep)
            found.append(
                Webhook(
                    target, world, audiences(flags),
                    flags.authentication_token_webhook_version,
                    flags.authentication_token_webhook_cache_ttl,
                )
            )  # fmt: skip
    except ValueError as error:
        raise FlagError(str(error)) from error
    return found


def _oidc_settings(flags: Flags) -> oidc.Settings:
    issuer, prefix = flags.oidc_issuer_url, flags.oidc_username_prefix
    if not issuer.startswith("https://"):
        raise FlagError(f'issuer.url: Invalid value: "{issuer}": URL scheme must be https')
    if not prefix and flags.oidc_username_claim != "email":
        prefix = f"{issuer}#"  # so that nobody is taken for a user of another kind
    mappings = ClaimMappings(
        username_claim=flags.oidc_username_claim,
        username_prefix="" if prefix == "-" else prefix,
        groups_claim=flags.oidc_groups_claim,
        groups_prefix=flags.oidc_groups_prefix,
        required=dict(pair.split("=", 1) for pair in flags.oidc_required_claim if "=" in pair),
    )
    return oidc.Settings(
        issuer, (flags.oidc_client_id,), mappings, flags.oidc_signing_algs, flags.oidc_ca_file
    )


def signer(flags: Flags, private_key_pem: bytes) -> jwt.Tokens:
    """Who signs and verifies service account tokens."""
    given = flags.service_account_key_file
    verify_pem = "" if given == CLUSTERS else given
    return jwt.Tokens(private_key_pem, flags.service_account_issuer, verify_pem)


def describe(union: Union) -> list[Any]:
    """The union as it is nested, for the record of the start."""
    inner: list[Any] = [_named(one) for one in union.authenticators]
    tokens = union.tokens
    if tokens is not None:
        cached: dict[str, Any] = {
            "name": "TokenCache",
            "success_seconds": tokens.cache.success_seconds,
            "failure_seconds": tokens.cache.failure_seconds,
            "of": [{"name": "TokenUnion", "of": [_named(one) for one in tokens.authenticators]}],
        }
        inner += [{"name": "BearerToken", "of": [cached]}, {"name": "WebSocket", "of": [cached]}]
    found: list[Any] = []
    if inner:
        groups = {"name": "AuthenticatedGroupAdder", "of": [{"name": "Union", "of": inner}]}
        found.append(groups)
    if union.anonymous is not None:
        anonymous: dict[str, Any] = {"name": union.anonymous.name}
        if union.anonymous.paths:
            anonymous["paths"] = list(union.anonymous.paths)
        found = [{"name": "FailOnError", "of": [*found, anonymous]}] if found else [anonymous]
    return found


def _named(one: Authenticator | TokenAuthenticator) -> dict[str, Any]:
    """An authenticator that knows no audiences stands behind a wrapper that does."""
    named: dict[str, Any] = {"name": one.name}
    if isinstance(one, oidc.Oidc):
        named["issuer"] = one.settings.issuer
    if isinstance(one, (RequestHeader, BasicAuth)) or getattr(one, "audience_agnostic", False):
        return {"name": "AudienceAgnostic", "of": [named]}
    return named
