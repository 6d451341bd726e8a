"""The request as admission sees it.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/attributes.go.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CONNECT, Attributes
from apiserver_app.handlers.input import options
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object


def of(request: Request, obj: Object | None) -> Attributes:
    """With `obj` as the object that admission may look at, and change."""
    operation, cluster = request.operation.admits, request.cluster
    name = request.name or (meta.name_of(obj) if obj and operation != CONNECT else "")
    return Attributes(
        operation=operation,
        info=request.info,
        subresource=request.subresource,
        namespace=request.namespace,
        name=name,
        obj=obj,
        old=request.old,
        user=request.user,
        reader=cluster.cache,
        rand=cluster.rand,
        now=cluster.kernel.now,
        version=cluster.version,
        dry_run=request.dry_run,
        warnings=request.warnings,
        options=options.of_operation(request.call, operation),
        interfaces=cluster.admission.interfaces,
        annotations=request.annotations,
        authorization=cluster.access.authorization,
    )
