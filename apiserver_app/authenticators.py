"""Builds the authenticators that the flags configure, in upstream's order and nesting.

Built once at start: front proxy, passwords (old versions), client certificates; then tokens, local
ones before remote ones: file, service accounts from Secrets and bound ones, bootstrap, OpenID
Connect, webhook.

Models kubernetes pkg/kubeapiserver/authenticator/config.go and
pkg/kubeapiserver/options/authentication.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

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
from apiserver_app.authprotocols import Authenticator, TokenAuthenticator
from apiserver_app.egress import kubeconfigs
from apiserver_app.flags import CLUSTERS, FlagError, Flags
from apiserver_app.machinery import releases
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.task import Task


class Dependencies(msgspec.Struct, frozen=True):
    """What the authenticators need. `ask` calls external services."""

    kernel: Kernel
    reader: Reader
    tokens: jwt.Tokens
    ca_pem: str = ""
    version: Release = releases.DEFAULT
    loopback_token: str = ""
    ask: oidc.Ask | None = None
    mark_used: Mark = lambda namespace, secret, day: None


def audiences(flags: Flags) -> tuple[str, ...]:
    """Returns the API server's own audiences: --api-audiences, or the service accounts' issuer."""
    return flags.api_audiences or flags.service_account_issuer[:1]


def proxy_headers(flags: Flags) -> tuple[str, ...]:
    """Returns the lower-case prefixes of the headers that a front proxy may set."""
    if not flags.requestheader_client_ca_file:
        return ()
    names = (
        *flags.requestheader_username_headers,
        *flags.requestheader_uid_headers,
        *flags.requestheader_group_headers,
        *flags.requestheader_extra_headers_prefix,
    )
    return tuple(name.lower() for name in names)


def build(flags: Flags, dependencies: Dependencies) -> Union:
    """Builds the union. FlagError when flags contradict each other."""
    check(flags, dependencies.version)
    settings, anonymous = _structured(flags, dependencies.version)
    tokens = _tokens(flags, dependencies, settings)
    takes = tokens or flags.authentication_config.name  # a reload may add issuers
    return Union(
        _requests(flags, dependencies),
        BearerTokens(tokens, audiences=audiences(flags)) if takes else None,
        anonymous,
        Loopback(dependencies.loopback_token),
    )


def initialize(union: Union, kernel: Kernel) -> list[Task]:
    """Starts the background discovery of the OIDC issuers."""
    authenticators = union.tokens.authenticators if union.tokens is not None else ()
    return spawn_discovery(
        [authenticator for authenticator in authenticators if isinstance(authenticator, oidc.Oidc)],
        kernel,
    )


def spawn_discovery(issuers: Sequence[oidc.Oidc], kernel: Kernel) -> list[Task]:
    """Spawns a task per issuer that fetches its discovery document until it succeeds."""
    return [
        kernel.spawn(
            f"apiserver/oidc {issuer.settings.issuer}",
            issuer.initialize(kernel),
            background=True,
            span=0,
        )
        for issuer in issuers
    ]


class LoadError(FlagError):
    """The file cannot be parsed as a configuration."""


def reloaded(flags: Flags, text: str, dependencies: Dependencies) -> list[oidc.Oidc]:
    """Returns the issuers that the file names now. Raises LoadError or FlagError."""
    from apiserver_app.auth.authn import config

    try:
        configuration = config.load(text, dependencies.version)
    except ValueError as error:
        raise LoadError(str(error)) from error
    before = config.load(flags.authentication_config, dependencies.version).get("anonymous")
    try:
        settings = config.issuers(
            configuration, flags.service_account_issuer, dependencies.version, anonymous=(before,)
        )
    except ValueError as error:
        raise FlagError(str(error).removeprefix(config.INVALID)) from error
    return (
        [oidc.Oidc(issuer, dependencies.ask) for issuer in settings]
        if dependencies.ask is not None
        else []
    )


def replace_issuers(union: Union, issuers: Sequence[oidc.Oidc]) -> None:
    """Replaces the configured OIDC issuers."""
    assert union.tokens is not None, "a server with such a file always takes tokens"
    others = [
        authenticator
        for authenticator in union.tokens.authenticators
        if not isinstance(authenticator, oidc.Oidc)
    ]
    index = next(
        (index for index, authenticator in enumerate(others) if isinstance(authenticator, Webhook)),
        len(others),
    )
    union.tokens.replace([*others[:index], *issuers, *others[index:]])


def check(flags: Flags, version: Release) -> None:
    """Refuses flags that contradict each other, in upstream's words."""
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


def _requests(flags: Flags, dependencies: Dependencies) -> list[Authenticator]:
    authenticators: list[Authenticator] = []
    if flags.requestheader_client_ca_file:
        proxy = RequestHeader(
            flags.requestheader_client_ca_file,
            flags.requestheader_allowed_names,
            user=flags.requestheader_username_headers,
            uid=flags.requestheader_uid_headers,
            group=flags.requestheader_group_headers,
            extra=flags.requestheader_extra_headers_prefix,
        )
        authenticators.append(proxy)
    if flags.basic_auth_file and dependencies.version.has("BasicAuthentication"):
        authenticators.append(BasicAuth(flags.basic_auth_file))
    if flags.client_ca_file:
        own = flags.client_ca_file == CLUSTERS
        authenticators.append(X509(dependencies.ca_pem if own else flags.client_ca_file))
    return authenticators


def _structured(flags: Flags, version: Release) -> tuple[list[oidc.Settings], Anonymous | None]:
    """Returns the issuers and the anonymous authenticator, from a file or from flags."""
    try:
        if flags.authentication_config.name:
            # loaded only when needed: it imports CEL
            from apiserver_app.auth.authn import config

            configuration = config.load(flags.authentication_config, version)
            settings = config.issuers(configuration, flags.service_account_issuer, version)
            anonymous = configuration.get("anonymous")
            if anonymous is not None:
                paths = [
                    condition.get("path") or "" for condition in anonymous.get("conditions") or ()
                ]
                return settings, Anonymous(paths) if anonymous.get("enabled") else None
        else:
            is_configured = flags.oidc_issuer_url and flags.oidc_client_id
            settings = [_oidc_settings(flags)] if is_configured else []
    except ValueError as error:
        raise FlagError(str(error)) from error
    return settings, Anonymous() if flags.anonymous_auth else None


def _tokens(
    flags: Flags, dependencies: Dependencies, settings: Sequence[oidc.Settings]
) -> list[TokenAuthenticator]:
    authenticators: list[TokenAuthenticator] = []
    own = audiences(flags)
    if flags.token_auth_file:
        authenticators.append(TokenFile(flags.token_auth_file))
    if flags.service_account_key_file:
        legacy = LegacyServiceAccounts(
            dependencies.tokens,
            dependencies.reader,
            own,
            dependencies.mark_used,
            lookup=flags.service_account_lookup,
        )
        authenticators += [legacy, ServiceAccounts(dependencies.tokens, dependencies.reader, own)]
    if flags.enable_bootstrap_token_auth:
        authenticators.append(BootstrapTokens(dependencies.reader))
    if dependencies.ask is not None:
        authenticators += _remote(flags, dependencies, settings, dependencies.ask)
    return authenticators


def _remote(
    flags: Flags, dependencies: Dependencies, settings: Sequence[oidc.Settings], ask: oidc.Ask
) -> list[TokenAuthenticator]:
    """Returns the authenticators that call an external service."""
    authenticators: list[TokenAuthenticator] = []
    try:
        authenticators += [oidc.Oidc(issuer, ask) for issuer in settings]
        kubeconfig = flags.authentication_token_webhook_config_file
        if kubeconfig:
            target = kubeconfigs.target(kubeconfig)
            transport = reviewing.Transport(
                ask, lambda: dependencies.kernel.now, dependencies.kernel.sleep
            )
            authenticators.append(
                Webhook(
                    target,
                    transport,
                    audiences(flags),
                    flags.authentication_token_webhook_version,
                    flags.authentication_token_webhook_cache_ttl,
                )
            )
    except ValueError as error:
        raise FlagError(str(error)) from error
    return authenticators


def _oidc_settings(flags: Flags) -> oidc.Settings:
    issuer, prefix = flags.oidc_issuer_url, flags.oidc_username_prefix
    if not issuer.startswith("https://"):
        raise FlagError(f'issuer.url: Invalid value: "{issuer}": URL scheme must be https')
    if not prefix and flags.oidc_username_claim != "email":
        prefix = f"{issuer}#"  # so that names cannot collide with other users
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
    """Returns the signer and verifier of service account tokens."""
    key_file = flags.service_account_key_file
    verify_pem = "" if key_file == CLUSTERS else key_file
    return jwt.Tokens(private_key_pem, flags.service_account_issuer, verify_pem)


def describe(union: Union) -> list[Any]:
    """Describes the nested union for the start-up record."""
    inner: list[Any] = [_described(authenticator) for authenticator in union.authenticators]
    tokens = union.tokens
    if tokens is not None:
        cached: dict[str, Any] = {
            "name": "TokenCache",
            "success_seconds": tokens.cache.success_seconds,
            "failure_seconds": tokens.cache.failure_seconds,
            "of": [
                {
                    "name": "TokenUnion",
                    "of": [_described(authenticator) for authenticator in tokens.authenticators],
                }
            ],
        }
        inner += [{"name": "BearerToken", "of": [cached]}, {"name": "WebSocket", "of": [cached]}]
    outer: list[Any] = []
    if inner:
        groups = {"name": "AuthenticatedGroupAdder", "of": [{"name": "Union", "of": inner}]}
        outer.append(groups)
    if union.anonymous is not None:
        anonymous: dict[str, Any] = {"name": union.anonymous.name}
        if union.anonymous.paths:
            anonymous["paths"] = list(union.anonymous.paths)
        outer = [{"name": "FailOnError", "of": [*outer, anonymous]}] if outer else [anonymous]
    return outer


def _described(authenticator: Authenticator | TokenAuthenticator) -> dict[str, Any]:
    """Names an authenticator, wrapped when it does not check audiences."""
    description: dict[str, Any] = {"name": authenticator.name}
    if isinstance(authenticator, oidc.Oidc):
        description["issuer"] = authenticator.settings.issuer
    if isinstance(authenticator, (RequestHeader, BasicAuth)) or getattr(
        authenticator, "audience_agnostic", False
    ):
        return {"name": "AudienceAgnostic", "of": [description]}
    return description
