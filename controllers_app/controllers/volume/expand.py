"""The expand controller: a bound claim that asks for more than it has waits for somebody outside.

Models kubernetes pkg/controller/volume/expand/expand_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from apiserver_app.machinery.syntax.quantity import Quantity
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.persistentvolumes import CLAIMS, VOLUMES
from controllers_app.runtime.watches import ADDED, UPDATED, For


class ExpandController(Controller):
    """Reconciles bound claims that want more, or have got more."""

    source = "pkg/controller/volume/expand/expand_controller.go syncHandler"
    watches = (
        For(
            CLAIMS,
            on=ADDED | UPDATED,
            when=lambda claim: claim["status"].get("phase") == "Bound",
            changed=lambda old, claim: (
                _requested(old) < _requested(claim) or _capacity(old) < _capacity(claim)
            ),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        claim = self.caches[CLAIMS].get(key)
        if claim is None:
            return Result("is gone")
        volume = await self.client.get(VOLUMES, "", claim["spec"]["volumeName"])
        if (volume["spec"].get("claimRef") or {}).get("uid") != meta.uid_of(claim):
            return Result("has a volume that is bound to another")
        if _requested(claim) <= _capacity(claim):
            return Result("has what it asks for")
        kind = "Normal" if "csi" in volume["spec"] else "Warning"
        message = "waiting for an external controller to expand this PVC"
        self.recorder.event(claim, kind, "ExternalExpanding", message)
        return Result("waits for an external controller")


def _requested(claim: Object) -> Quantity:
    return _storage((claim["spec"].get("resources") or {}).get("requests"))


def _capacity(claim: Object) -> Quantity:
    return _storage(claim["status"].get("capacity"))


def _storage(amounts: dict[str, str] | None) -> Quantity:
    return quantity.parse((amounts or {}).get("storage") or "0")
