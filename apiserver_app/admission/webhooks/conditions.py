"""The matchConditions of a webhook: expressions that all have to hold for it to be called.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions/
matcher.go.
"""

from __future__ import annotations

import functools

from apiserver_app import cel
from apiserver_app.admission import expressions
from apiserver_app.admission.expressions import Activation, Compiled, Environment
from apiserver_app.admission.plugin import Attributes
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, ResourceInfo

COMPILED_MAX = 128


async def hold(
    name: str, spec: Object, attributes: Attributes, info: ResourceInfo, obj: Object | None
) -> bool:
    """Whether all conditions hold for the request, taken as one for `info`. Raises ApiError when
    that cannot be told and failures count."""
    listed = tuple(
        (one.get("name", ""), one.get("expression", "")) for one in spec["matchConditions"]
    )
    environment, conditions = _compiled(attributes.version, listed)
    activation = Activation(environment, attributes, info, obj, budget=cel.MATCH_CONDITIONS_BUDGET)
    matches = await expressions.match(conditions, activation, spec.get("failurePolicy") or "Fail")
    if matches.error:
        asked = attributes.info
        raise errors.forbidden(asked.group, asked.plural, attributes.name, matches.error)
    if not matches.hold:
        attributes.policies.append({"webhook": name, "notMet": matches.failed or "not known"})
    return matches.hold


@functools.lru_cache(COMPILED_MAX)
def _compiled(
    version: str, conditions: tuple[tuple[str, str], ...]
) -> tuple[Environment, tuple[tuple[str, Compiled], ...]]:
    environment = Environment(version)
    return environment, tuple(
        (name, environment.compile(text, ("bool",))) for name, text in conditions
    )
