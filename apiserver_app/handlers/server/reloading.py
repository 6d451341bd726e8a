"""The configuration files of authentication and authorization, read again while the server runs.

What stands in a file now is handed in; nothing here reads one. A file that cannot be used is told
of and counted, and what was read before stays in force. Issuers have a minute to be reached: until
all of them are, the old ones count, and an issuer that is not is tried again a minute later.

Models kubernetes pkg/kubeapiserver/options/authentication.go (ApplyTo),
pkg/kubeapiserver/authenticator/config.go (updateAuthenticationConfig),
pkg/kubeapiserver/authorizer/reload.go and
staging/src/k8s.io/apiserver/pkg/server/options/{authentication,authorization}config/metrics.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import msgspec

from apiserver_app import authenticators, flags
from apiserver_app.auth import reviewing
from apiserver_app.auth.authn import union as authn_union
from apiserver_app.auth.authz import config as authz_config
from apiserver_app.auth.authz import union as authz_union
from apiserver_app.handlers.server.counters import Counters
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.task import Task
from apiserver_app.machinery.waiting import Lock

AUTHENTICATION, AUTHORIZATION = "authentication-config", "authorization-config"
HEALTH_SECONDS, UPDATE_SECONDS, AGAIN_SECONDS = 10, 60, 60
_READ_FIRST = {
    AUTHENTICATION: "failed to read authentication config file",
    AUTHORIZATION: "reloading authorization config",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """What files are read again for."""

    given: flags.Flags
    authentication: authn_union.Union
    authorization: authz_union.Union
    around: authenticators.Dependencies
    options: authz_config.Options
    world: reviewing.Transport
    counters: Counters
    probe: Probe
    log: Callable[[str], None] = lambda line: None


def watched(given: flags.Flags, version: Release) -> dict[str, flags.FileText]:
    """The files that are read again when they change, by the flag that named them."""
    if not version.has("StructuredAuthenticationConfiguration"):
        return {}
    both = {AUTHENTICATION: given.authentication_config, AUTHORIZATION: given.authorization_config}
    return {name: text for name, text in both.items() if text.name}


class Reloads:
    """Those of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._kernel: Kernel = server.around.kernel
        self._lock = Lock(self._kernel)
        self._now: dict[str, flags.FileText] = dict(watched(server.given, server.around.version))
        self._asking: list[Task] = []  # issuers for what they are
        self._authorizers: Object = {}
        self._started: tuple[str, ...] = ()
        if AUTHORIZATION in self._now:
            self._authorizers = authz_config.load(server.options)
            self._started = tuple(
                authorizer["type"] for authorizer in self._authorizers["authorizers"]
            )

    def start(self) -> None:
        """Ask the issuers that were configured at the start."""
        self._asking = authenticators.initialize(self._server.authentication, self._kernel)

    def changed(self, name: str, text: flags.FileText) -> None:
        """The file that the flag `name` names says this now."""
        if name not in self._now or text == self._now[name]:
            return
        self._now[name] = text
        if name == AUTHENTICATION:
            self._kernel.spawn(f"apiserver/{name}", self._issuers(text), background=True, span=0)
        else:
            self._modes(text)

    def unreadable(self, name: str, why: str) -> None:
        """The file could not be read."""
        if name in self._now:
            self._failed(name, _READ_FIRST[name], why)

    # -- authorization ----------------------------------------------------------------------------

    def _modes(self, text: flags.FileText) -> None:
        server = self._server
        server.log('"found new authorization config data"')
        options = msgspec.structs.replace(
            server.options,
            config=text,
            kubeconfigs=getattr(text, "files", {}),
            started=self._started,
        )
        try:
            config = authz_config.load(options)
            built = authz_config.build(options, server.around.reader, server.world)
        except ValueError as error:
            self._failed(AUTHORIZATION, "reloading authorization config", str(error))
            return
        if config == self._authorizers:
            return
        self._authorizers = config
        server.authorization.replace(built)
        modes = [name for name in built.names if name != authz_config.ALWAYS_FIRST]
        self._done(AUTHORIZATION, "reloaded authz config", {"authorizers": modes})

    # -- authentication ---------------------------------------------------------------------------

    async def _issuers(self, text: flags.FileText) -> None:
        """Until the file's issuers are in force, or cannot be, or it says something else."""
        while self._now[AUTHENTICATION] is text:
            async with self._lock:
                if self._now[AUTHENTICATION] is not text or await self._tried(text):
                    return
            await self._kernel.sleep(AGAIN_SECONDS)

    async def _tried(self, text: flags.FileText) -> bool:
        """Whether nothing more is to be done for the file."""
        server, kernel = self._server, self._kernel
        try:
            built = authenticators.reloaded(server.given, text, server.around)
        except authenticators.LoadError as error:
            self._failed(AUTHENTICATION, "failed to load authentication config", str(error))
            return True
        except ValueError as error:
            self._failed(AUTHENTICATION, "failed to validate authentication config", str(error))
            return True
        asking = authenticators.spawn_discovery(built, kernel)
        end = kernel.now + UPDATE_SECONDS * SECOND
        while missing := [
            authenticator.settings.issuer
            for authenticator in built
            if not authenticator.is_initialized
        ]:
            if kernel.now >= end:
                for task in asking:
                    kernel.cancel(task)
                messages = [
                    f'oidc: authenticator for issuer "{issuer}" is not initialized'
                    for issuer in missing
                ]
                why = errors.aggregate([*messages, "context deadline exceeded"])
                self._failed(AUTHENTICATION, "failed to update authentication config", why)
                return False
            await kernel.sleep(HEALTH_SECONDS)
        for task in self._asking:
            kernel.cancel(task)
        self._asking = asking
        authenticators.replace_issuers(server.authentication, built)
        named = [authenticator.settings.issuer for authenticator in built]
        self._done(AUTHENTICATION, "reloaded authentication config", {"issuers": named})
        return True

    # -- reporting it ------------------------------------------------------------------------------

    def _done(self, name: str, message: str, detail: Object) -> None:
        self._tell(name, "synced", "success", {"message": message, **detail})
        self._server.log(f'"{message}"')

    def _failed(self, name: str, message: str, why: str) -> None:
        self._tell(name, "failed", "failure", {"message": message, "why": why})
        self._server.log(f"{errors.go_value(message)} err={errors.go_value(why)}")

    def _tell(self, name: str, state: str, status: str, detail: Object) -> None:
        now = self._kernel.now
        self._server.counters.reloaded(name.partition("-")[0], status, now)
        self._server.probe.tell("component", f"apiserver/{name}", state, detail, span=0)
