"""The establishing controller: a definition whose names are accepted is established.

The one API server need not wait for others, so there is no delay.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/establish/
establishing_controller.go.
"""

from __future__ import annotations

import base64
import binascii

from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object
from controllers_app.apiextensions.definitions import DefinitionController
from controllers_app.runtime.controller import Result


class EstablishingController(DefinitionController):
    """Reconciles definitions: the condition Established."""

    source = (
        "staging/src/k8s.io/apiextensions-apiserver/pkg/controller/establish/"
        "establishing_controller.go sync"
    )

    async def reconcile(self, key: str) -> Result | None:
        definition = self.definitions.get(key)
        if definition is None:
            return Result("is gone")
        if customresources.is_true(definition, "Established"):
            return Result("is established")
        if not customresources.is_true(definition, "NamesAccepted"):
            return Result("its names are not accepted yet")
        if _has_bad_bundle(definition):
            status, reason = "False", "InvalidCABundle"
            message = "The conversion webhook CABundle is invalid"
        else:
            status, reason = "True", "InitialNamesAccepted"
            message = "the initial names have been accepted"
        changed = self.with_condition(definition, "Established", status, reason, message)
        if changed != definition and await self.write_status(changed) is None:
            return Result("changed meanwhile")
        return Result(f"{reason}: {message}")


def _has_bad_bundle(definition: Object) -> bool:
    """Whether a conversion webhook names a CA that is no certificate."""
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    if not bundle:
        return False
    try:
        return b"-----BEGIN CERTIFICATE-----" not in base64.b64decode(bundle, validate=True)
    except (binascii.Error, ValueError):
        return True
