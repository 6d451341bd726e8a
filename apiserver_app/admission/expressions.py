"""CEL expressions of policies and matchConditions: variables, cost budget, errors.

Evaluation never awaits: an expression that needs the authorizers is stopped, they are asked, and it
is evaluated again with their answer, which is cached for the request. So its value does not depend
on when they answer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/{compile,activation,
composition,condition}.go and pkg/admission/plugin/webhook/matchconditions/matcher.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from apiserver_app import authprotocols as auth
from apiserver_app import cel
from apiserver_app.admission.plugin import Attributes
from apiserver_app.cel.environment import Compiled, Environment
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, ResourceInfo

OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
# of an expression, for which its task gives others a turn as for one of many things
COST_OF_WORK = 400
_KEPT = tuple(
    """
    name generateName namespace uid resourceVersion generation creationTimestamp deletionTimestamp
    deletionGracePeriodSeconds labels annotations finalizers
    """.split()
)


class OutOfBudget(Exception):
    """The expressions together exceeded the cost budget."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET)


class _Pending(Exception):
    """The authorizers have to be asked first."""

    def __init__(self, asked: auth.Attributes) -> None:
        self.asked = asked


class Outcome(NamedTuple):
    """The value of an expression, or upstream's error."""

    value: Any
    error: str = ""

    @property
    def shown(self) -> Any:
        """Returns the value as plain data, or the error, for the trace."""
        from apiserver_app.cel.values import plain

        try:
            return self.error or plain(self.value)
        except cel.EvaluationError as error:  # no JSON value
            return str(error)


class Activation:
    """The variables of one binding and one parameter for one request, whose current object is
    `obj`."""

    def __init__(
        self,
        environment: Environment,
        attributes: Attributes,
        info: ResourceInfo,
        obj: Object | None,
        *,
        params: Object | None = None,
        namespace: Object | None = None,
        budget: int = cel.RUNTIME_BUDGET,
    ) -> None:
        from apiserver_app.cel.library.authz import Authorizer
        from apiserver_app.cel.values import Lazy

        self.budget = budget
        self._attributes = attributes
        self._environment = environment
        self._decisions = attributes.run.decisions
        self._spent = 0
        authorizer = Authorizer(attributes.user, self._ask)
        requested = attributes.info
        self.bindings: dict[str, Any] = {
            "object": _in_version(obj, attributes, info),
            "oldObject": _in_version(attributes.old, attributes, info),
            "params": params,
            "request": request_of(attributes, info),
            "namespaceObject": _namespace(namespace),
            "authorizer": authorizer,
            "authorizer.requestResource": authorizer.resource(
                requested.group,
                requested.plural,
                attributes.subresource,
                attributes.namespace,
                attributes.name,
            ),
            "variables": Lazy(frozenset(environment.variables), self._variable),
        }

    async def evaluate(self, compiled: Compiled) -> Outcome:
        """Returns the expression's value. Raises OutOfBudget."""
        if compiled.program is None:
            return Outcome(None, f"compilation error: {compiled.error}")
        while True:
            self._spent = 0
            try:
                value, cost = compiled.program.run(self.bindings)
                outcome = Outcome(value)
            except _Pending as pending:
                authorization = self._attributes.authorization
                self._decisions[pending.asked] = await authorization.authorize(pending.asked)
                continue
            except cel.EvaluationError as error:
                cost = error.cost
                text = f"expression '{compiled.text}' resulted in error: {error}"
                outcome = Outcome(None, text)
            cost += self._spent
            self.budget -= cost
            if cost >= COST_OF_WORK and self._attributes.interfaces is not None:
                await self._attributes.interfaces.kernel.spend(cost // COST_OF_WORK)
            if self.budget < 0:
                raise OutOfBudget
            return outcome

    def _variable(self, name: str) -> Any:
        """Evaluates `variables.name` at its first use."""
        compiled = self._environment.variables[name]
        if compiled.program is None:
            raise cel.EvaluationError(
                f'composited variable "{name}" fails to compile: {compiled.error}'
            )
        try:
            value, cost = compiled.program.run(self.bindings)
        except cel.EvaluationError as error:
            self._spent += error.cost
            raise cel.EvaluationError(
                f'composited variable "{name}" fails to evaluate: {error}'
            ) from None
        self._spent += cost
        return value

    def _ask(self, asked: auth.Attributes) -> auth.Decision:
        decision = self._decisions.get(asked)
        if decision is None:
            raise _Pending(asked)
        return decision

    def read(self) -> Object:
        """Returns the evaluated variables as plain data."""
        from apiserver_app.cel.values import plain

        values = self.bindings["variables"]
        return {name: plain(dict.__getitem__(values, name)) for name in dict.keys(values)}


class Matches(NamedTuple):
    """The result of matchConditions: whether all hold, which one does not, or an error."""

    hold: bool
    failed: str = ""
    error: str = ""


async def match(
    conditions: Sequence[tuple[str, Compiled]], activation: Activation, failure_policy: str
) -> Matches:
    """Evaluates all conditions; one that is false decides, whatever errors others have."""
    messages: list[str] = []
    for name, compiled in conditions:
        try:
            outcome = await activation.evaluate(compiled)
        except OutOfBudget as error:
            messages = [str(error)]
            break
        if outcome.error:
            messages.append(outcome.error)
        elif outcome.value is False:
            return Matches(False, name)
    if not messages:
        return Matches(True)
    if failure_policy == "Ignore":
        return Matches(False)
    return Matches(False, "", errors.aggregate(messages))


def request_of(attributes: Attributes, info: ResourceInfo) -> Object:
    """Returns the AdmissionRequest; empty fields are absent."""
    requested, user = attributes.info, attributes.user
    request: Object = {
        "kind": _kind(info),
        "resource": _resource(info),
        "requestKind": _kind(requested),
        "requestResource": _resource(requested),
        "operation": attributes.operation,
        "userInfo": user.info(),
        "dryRun": attributes.dry_run,
    }
    if attributes.subresource:
        request["subResource"] = request["requestSubResource"] = attributes.subresource
    if attributes.name:
        request["name"] = attributes.name
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    if attributes.options:
        request["options"] = attributes.options
    return request


def _in_version(obj: Object | None, attributes: Attributes, info: ResourceInfo) -> Object | None:
    if obj is None or attributes.interfaces is None or info == attributes.info:
        return obj
    return attributes.interfaces.convert(obj, info)


def _kind(info: ResourceInfo) -> Object:
    return {"group": info.group, "version": info.version, "kind": info.kind}


def _resource(info: ResourceInfo) -> Object:
    return {"group": info.group, "version": info.version, "resource": info.plural}


def _namespace(namespace: Object | None) -> Object | None:
    """Returns the fields of a namespace that expressions may read."""
    if namespace is None:
        return None
    from apiserver_app.cel.values import timestamp

    metadata = namespace.get("metadata") or {}
    fields = {name: metadata[name] for name in _KEPT if name in metadata}
    for name in ("creationTimestamp", "deletionTimestamp"):
        if fields.get(name):
            fields[name] = timestamp(fields[name])
    out: Object = {"metadata": fields}
    for part in ("spec", "status"):
        if part in namespace:
            out[part] = namespace[part]
    return out


def namespace_of(attributes: Attributes) -> Object | None:
    """Returns the request's namespace; None for namespaces themselves."""
    if not attributes.namespace or attributes.info.key == "namespaces":
        return None
    return attributes.reader.get("namespaces", "", attributes.namespace)
