"""The token webhook: an external service is sent the token and answers whose it is.

Its answers, positive or negative, are cached for a while; failures are not.

Models kubernetes staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.auth import reviewing
from apiserver_app.auth.authn.bearer import TokenCache
from apiserver_app.authprotocols import Answer, Try
from apiserver_app.egress import outbound
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.machinery.meta import User

SOURCE = "staging/src/k8s.io/apiserver/plugin/pkg/authenticator/token/webhook/webhook.go"
TIMEOUT_SECONDS = 10.0


class Webhook:
    name = "Webhook"
    audience_agnostic = False

    def __init__(
        self,
        target: Target,
        transport: reviewing.Transport,
        audiences: tuple[str, ...],
        version: str = "v1beta1",
        cache_seconds: float = 120.0,
    ) -> None:
        self._target = target
        self._transport = transport
        self._audiences = audiences
        self._version = version
        self._cache = TokenCache(cache_seconds, cache_seconds)

    def authenticate_token(self, token: str, now: int, audiences: tuple[str, ...]) -> Answer:
        known = self._cache.get(token, audiences, now)
        return known if known is not None else self._ask(token, now, audiences)

    async def _ask(self, token: str, now: int, audiences: tuple[str, ...]) -> Try:
        try:
            status, by = await self._review(token, audiences)
        except outbound.CallFailed as error:
            return Try(self.name, "deny", str(error), source=SOURCE)
        answer = self._answer(status, by, audiences)
        self._cache.put(token, audiences, now, answer)
        return answer

    async def _review(self, token: str, audiences: tuple[str, ...]) -> tuple[dict[str, Any], str]:
        review = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._version}",
            "metadata": {"creationTimestamp": None},
            "spec": {"token": token, "audiences": list(audiences)},
            "status": {"user": {}},
        }
        resource = "tokenreviews.authentication.k8s.io"
        return await reviewing.ask(self._transport, self._target, review, resource, TIMEOUT_SECONDS)

    def _answer(self, status: dict[str, Any], by: str, audiences: tuple[str, ...]) -> Try:
        detail: dict[str, Any] = {"by": by, "authenticated": bool(status.get("authenticated"))}
        good = tuple(
            audience
            for audience in status.get("audiences") or self._audiences
            if audience in audiences
        )
        if audiences and not good:
            return self._try("skip", "it knows the token, but not for these audiences", detail)
        if not status.get("authenticated"):
            error = status.get("error")
            message = str(error) if error else "it does not know the token"
            return self._try("deny" if error else "skip", message, detail)
        info = status.get("user") or {}
        extra = {str(key): tuple(values) for key, values in (info.get("extra") or {}).items()}
        user = User(
            str(info.get("username") or ""),
            tuple(info.get("groups") or ()),
            str(info.get("uid") or ""),
            extra,
        )
        why = f'it says the token is of "{user.name}"'
        return Try(self.name, "allow", why, user=user, detail=detail, source=SOURCE, audiences=good)

    def _try(self, verdict: str, why: str, detail: dict[str, Any]) -> Try:
        return Try(self.name, verdict, why, detail=detail, source=SOURCE)
