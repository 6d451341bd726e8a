"""The matchConditions of a webhook: expressions that all have to hold before it is called.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/
matcher.go and the end of generic/webhook.go (ShouldCallHook).
"""

from __future__ import annotations

import functools

from apiserver_app import cel
from apiserver_app.admission import expressions
from apiserver_app.admission.plugin import Attributes
from apiserver_app.cel.environment import Compiled, Environment, compile_conditions
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release

_Made = tuple[Environment, tuple[tuple[str, Compiled], ...]]


async def failed(
    spec: Object, attributes: Attributes, info: ResourceInfo, obj: Object | None
) -> str | None:
    """None when all hold for the request, taken as one for `info`; otherwise the name of the one
    that does not (empty: it cannot be told, and that is ignored). Raises 403 when it cannot be
    told and that may not be ignored."""
    texts = tuple(
        (str(one.get("name", "")), str(one.get("expression", "")))
        for one in spec["matchConditions"]
    )
    environment, compiled = _compiled(attributes.version, texts)
    activation = expressions.Activation(
        environment, attributes, info, obj, budget=cel.MATCH_CONDITIONS_BUDGET
    )
    found = await expressions.match(compiled, activation, spec.get("failurePolicy") or "Fail")
    if found.error:
        asked = attributes.info
        raise errors.forbidden(asked.group, asked.plural, attributes.name, found.error)
    return None if found.hold else found.failed


@functools.lru_cache(maxsize=256)
def _compiled(version: Release, texts: tuple[tuple[str, str], ...]) -> _Made:
    environment = Environment(version)
    conditions = [{"name": name, "expression": text} for name, text in texts]
    return environment, compile_conditions(conditions, environment)
