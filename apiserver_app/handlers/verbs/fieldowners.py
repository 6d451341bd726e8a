"""Who set which field: metadata.managedFields of an update, and what a server-side apply makes.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/managedfields and
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.handlers.input import patching
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import managedfields, sententries
from apiserver_app.machinery.syntax import goprint
from apiserver_app.machinery.types import fieldshapes

_APPLY = "application/apply-patch"
_SPOILED = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an "
    "outdated mutating admission controller; please fix your requests"
)


def manager_of(request: Request) -> str:
    """The field manager: as asked, or the user agent up to its slash."""
    call = request.call
    return call.param("fieldManager") or call.agent.split("/", 1)[0][:128] or "unknown"


def track(request: Request, obj: Object, old: Object | None) -> None:
    """Note in metadata.managedFields who set what; an apply has done so itself."""
    cluster, info = request.cluster, request.info
    if not cluster.options.manages_fields:
        obj["metadata"].pop("managedFields", None)
        return
    if request.content_type.startswith(_APPLY):
        return
    schema = cluster.types.schema(info.definition)
    if info.custom is not None and not managedfields.fits(schema, obj, old):
        obj["metadata"].pop("managedFields", None)  # validation will say what is wrong
        return
    # the entry of a scale has no time: what is translated to the object keeps only the object's
    time = "" if request.subresource == "scale" else meta.rfc3339(cluster.kernel.now)
    try:
        entries = managedfields.track(
            old,
            obj,
            manager=manager_of(request),
            operation="Update",
            time=time,
            api_version=info.api_version,
            subresource=request.subresource,
            schema=schema,
            versions=_versions(request, old, obj),
        )
    except fieldshapes.NoKey:  # upstream gives up on all fields
        entries = []
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _versions(request: Request, old: Object | None, obj: Object) -> Sequence[str]:
    """The API versions that the entries a client sent may be of; empty for any."""
    info, sent = request.info, obj["metadata"].get("managedFields")
    before = old["metadata"].get("managedFields") if old is not None else None
    if info.custom is not None or not sent or sent == before:
        return ()
    return [
        other.api_version
        for other in request.cluster.resources.all
        if (other.storage, other.kind) == (info.storage, info.kind)
    ]


def applied(request: Request, info: ResourceInfo, old: Object | None) -> Object:
    """What a server-side apply makes of the stored object, if there is one."""
    cluster = request.cluster
    try:
        made = managedfields.apply(
            old,
            request.patch,
            manager=manager_of(request),
            force=request.call.param("force") == "true",
            subresource=request.subresource,
            now=meta.rfc3339(cluster.kernel.now),
            schema=cluster.types.schema(info.definition),
        )
    except errors.ApiError as error:
        if not cluster.version.has("ApplyErrorsAreFormats"):
            error.message = goprint.unformatted(error.message)
        raise
    patching.check_applied(request)
    return made


def mend(request: Request, obj: Object, before: Any) -> None:
    """Put back entries that an admission plugin spoiled."""
    after = obj["metadata"].get("managedFields")
    if after is not before:
        why = sententries.finding(after)
        if why:
            obj["metadata"]["managedFields"] = before
            request.warnings.append(f"{_SPOILED}: {why}")
