"""The matchConditions of a webhook: all must hold before it is called.

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
    """Returns None when all hold for the request as seen by `info`, else the name of the first that
    does not (empty after an ignored error). Raises 403 on an error that is not ignored."""
    conditions = tuple(
        (str(condition.get("name", "")), str(condition.get("expression", "")))
        for condition in spec["matchConditions"]
    )
    environment, compiled = _compiled(attributes.version, conditions)
    activation = expressions.Activation(
        environment, attributes, info, obj, budget=cel.MATCH_CONDITIONS_BUDGET
    )
    matches = await expressions.match(compiled, activation, spec.get("failurePolicy") or "Fail")
    if matches.error:
        requested = attributes.info
        raise errors.forbidden(requested.group, requested.plural, attributes.name, matches.error)
    return None if matches.hold else matches.failed


@functools.lru_cache(maxsize=256)
def _compiled(version: Release, pairs: tuple[tuple[str, str], ...]) -> _Made:
    environment = Environment(version)
    conditions = [{"name": name, "expression": text} for name, text in pairs]
    return environment, compile_conditions(conditions, environment)
