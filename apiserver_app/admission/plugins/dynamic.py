"""The extension points: webhooks that users configure.

They match requests as upstream does, but nothing outside the cluster is called: a configuration
that matches and may not be ignored refuses the request by name, one with failurePolicy Ignore lets
it pass with a word about it. Match conditions are taken to hold.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from apiserver_app.admission import matching
from apiserver_app.admission.plugin import (
    CONNECT,
    CREATE,
    DELETE,
    EXTENSION,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object

GROUP = "admissionregistration.k8s.io"
_EVERY = (CREATE, UPDATE, DELETE, CONNECT)
_NO_WEBHOOK = Verdict("allow", "no webhook configuration matches")


class _Webhooks(Plugin):
    handles = _EVERY
    configurations = ""
    word = ""

    def ask(self, attributes: Attributes) -> Verdict:
        found = attributes.reader.list(self.configurations)
        if not found:
            return _NO_WEBHOOK
        if attributes.info.group == GROUP:
            return SKIP
        ignored: list[str] = []
        for webhook in _webhooks(found):
            if not matching.matches(webhook, webhook.get("rules") or (), attributes):
                continue
            name = webhook["name"]
            if webhook.get("failurePolicy") != "Ignore":
                raise errors.internal(
                    f'failed calling webhook "{name}": calling {self.word} webhooks is not '
                    "simulated yet"
                )
            ignored.append(name)
        if ignored:
            return Verdict("allow", f"not called, failures are ignored: {', '.join(ignored)}")
        return _NO_WEBHOOK


class MutatingAdmissionWebhook(_Webhooks):
    name = "MutatingAdmissionWebhook"
    concern = EXTENSION
    mutates = True
    configurations = f"mutatingwebhookconfigurations.{GROUP}"
    word = "mutating"
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/mutating/plugin.go"

    def admit(self, attributes: Attributes) -> Verdict:
        return self.ask(attributes)


class ValidatingAdmissionWebhook(_Webhooks):
    name = "ValidatingAdmissionWebhook"
    concern = EXTENSION
    validates = True
    configurations = f"validatingwebhookconfigurations.{GROUP}"
    word = "validating"
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/validating/plugin.go"

    def validate(self, attributes: Attributes) -> Verdict:
        return self.ask(attributes)


def _webhooks(configurations: Iterable[Object]) -> Iterator[Object]:
    for configuration in configurations:
        yield from configuration.get("webhooks") or ()
