"""ValidatingAdmissionPolicy: users' rules in CEL.

Every matching policy is evaluated for each matching binding and parameter; the first denial gives
the refusal its message and reason. A cluster without bindings pays for one cache lookup.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, NamedTuple

from apiserver_app import cel
from apiserver_app.admission import expressions, policies
from apiserver_app.admission.expressions import Activation, OutOfBudget
from apiserver_app.admission.plugin import (
    EVERY,
    EXTENSION,
    SKIP,
    Attributes,
    Given,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.admission.policies import Applied, ResourceOf
from apiserver_app.admission.webhooks.hooks import GROUP, is_exempt
from apiserver_app.cel.environment import Compiled, Environment, compile_conditions
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release

MESSAGE_BYTES_MAX = 5 * 1024
ANNOTATION_BYTES_MAX = 10 * 1024
FAILURES_MAX = 50
FAILURES_KEY = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
POLICIES = f"validatingadmissionpolicies.{GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
_NO_POLICY = Verdict("allow", "no policy matches")


class _Program(NamedTuple):
    """A compiled policy."""

    environment: Environment
    conditions: tuple[tuple[str, Compiled], ...]
    validations: tuple[Compiled, ...]
    messages: tuple[Compiled | None, ...]
    annotations: tuple[tuple[str, Compiled], ...]


class _Denial(NamedTuple):
    policy: str
    binding: str
    message: str
    reason: str = ""

    @property
    def text(self) -> str:
        binding = f" with binding '{self.binding}'" if self.binding else ""
        return f"ValidatingAdmissionPolicy '{self.policy}'{binding} denied request: {self.message}"


class _Decision(NamedTuple):
    """The result of one validation; an error has no reason."""

    denies: bool
    message: str = ""
    reason: str = ""


class ValidatingAdmissionPolicy(Plugin):
    name = "ValidatingAdmissionPolicy"
    concern = EXTENSION
    handles = EVERY
    validates = True
    reads = (POLICIES, BINDINGS, "namespaces")
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/validating/plugin.go"

    def __init__(self, resource_of: ResourceOf) -> None:
        self._source = policies.Source(POLICIES, BINDINGS, _compile, resource_of)

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.resource_of)

    def validate(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        if self._source.is_empty(attributes.reader):
            return _NO_POLICY
        if is_exempt(attributes):
            return SKIP
        return self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> Verdict:
        run = _Run(attributes)
        await self._source.prepare(attributes)
        for applied in self._source.applied(attributes):
            await run.apply(applied)
        run.publish()
        if run.denials:
            raise _refusal(attributes, run.denials[0])
        if not run.evaluated:
            return _NO_POLICY
        return Verdict("allow", f"passed: {', '.join(dict.fromkeys(run.evaluated))}")


class _Run:
    """Runs one request through all policies."""

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes
        self.denials: list[_Denial] = []
        self.evaluated: list[str] = []
        self._failures: list[Object] = []
        self._annotations: dict[str, list[str]] = {}

    async def apply(self, applied: Applied) -> None:
        policy = meta.name_of(applied.policy)
        binding = meta.name_of(applied.binding) if applied.binding else ""
        record: Object = {"policy": policy, "binding": binding}
        if applied.error:
            self.attributes.run.policies.append({**record, "error": applied.error})
            if applied.policy["spec"].get("failurePolicy") != "Ignore":
                self.denials.append(_Denial(policy, binding, applied.error))
            return
        self.evaluated.append(policy)
        for params in applied.params:
            entry = dict(record)
            if params is not None:
                entry["params"] = meta.key_of(params)
            self.attributes.run.policies.append(entry)
            await self._evaluate(applied, params, entry)

    async def _evaluate(self, applied: Applied, params: Object | None, record: Object) -> None:
        program: _Program = applied.program
        ignores = applied.policy["spec"].get("failurePolicy") == "Ignore"
        namespace = expressions.namespace_of(self.attributes)
        evaluation = _Evaluation(self.attributes, applied, params, namespace, ignores, record)
        if program.conditions:
            conditions = evaluation.activation(cel.MATCH_CONDITIONS_BUDGET)
            matches = await expressions.match(
                program.conditions, conditions, "Ignore" if ignores else "Fail"
            )
            if matches.error:
                record["error"] = matches.error
                self._decided(applied, 0, _Decision(not ignores, matches.error))
                return
            if not matches.hold:
                record["matchConditions"] = f"not met: {matches.failed}"
                return
        for index, decision in enumerate(await evaluation.decisions()):
            self._decided(applied, index, decision)
        for key, value, error in await evaluation.annotations():
            policy, binding = meta.name_of(applied.policy), meta.name_of(applied.binding or {})
            if error:
                self.denials.append(_Denial(policy, binding, error))
                continue
            values = self._annotations.setdefault(f"{policy}/{key}", [])
            if value not in values:
                values.append(value)

    def _decided(self, applied: Applied, index: int, decision: _Decision) -> None:
        """Handles a failed validation by the binding's actions."""
        if not decision.denies:
            return
        assert applied.binding is not None
        policy, binding = meta.name_of(applied.policy), meta.name_of(applied.binding)
        actions = applied.binding["spec"].get("validationActions") or ()
        for action in actions:
            if action == "Deny":
                self.denials.append(_Denial(policy, binding, decision.message, decision.reason))
            elif action == "Audit":
                self._failures.append(
                    {
                        "message": decision.message,
                        "policy": policy,
                        "binding": binding,
                        "expressionIndex": index,
                        "validationActions": list(actions),
                    }
                )
            elif action == "Warn":
                self.attributes.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding "
                    f"'{binding}': {decision.message}"
                )

    def publish(self) -> None:
        """Adds the audit annotations."""
        for key, values in self._annotations.items():
            self.attributes.annotations[key] = ", ".join(values)
        if self._failures:
            self.attributes.annotations[FAILURES_KEY] = json.dumps(
                self._failures[:FAILURES_MAX], separators=(",", ":"), ensure_ascii=False
            )


class _Evaluation:
    """One policy with one binding and one parameter."""

    def __init__(
        self,
        attributes: Attributes,
        applied: Applied,
        params: Object | None,
        namespace: Object | None,
        ignores: bool,
        record: Object,
    ) -> None:
        self._attributes = attributes
        self._applied = applied
        self._program: _Program = applied.program
        self._params = params
        self._namespace = namespace
        self._ignores = ignores
        self._record = record

    def activation(self, budget: int = cel.RUNTIME_BUDGET) -> Activation:
        return Activation(
            self._program.environment,
            self._attributes,
            self._applied.info,
            self._attributes.obj,
            params=self._params,
            namespace=self._namespace,
            budget=budget,
        )

    async def decisions(self) -> list[_Decision]:
        activation = self.activation()
        rules = self._applied.policy["spec"].get("validations") or ()
        validations: list[Object] = []
        self._record["validations"] = validations
        results: list[_Decision] = []
        try:
            outcomes = [
                await activation.evaluate(validation) for validation in self._program.validations
            ]
        except OutOfBudget as error:
            self._record["error"] = str(error)
            return [_Decision(not self._ignores, str(error))]
        for rule, outcome, message in zip(rules, outcomes, self._program.messages, strict=True):
            validations.append({"expression": rule.get("expression", ""), "result": outcome.shown})
            if outcome.error:
                results.append(_Decision(not self._ignores, outcome.error))
            elif outcome.value is True:
                results.append(_Decision(False))
            else:
                text = await self._message(rule, message, activation)
                validations[-1]["message"] = text
                results.append(_Decision(True, text, rule.get("reason") or "Invalid"))
        variables = activation.read()
        if variables:
            self._record["variables"] = variables
        return results

    async def _message(self, rule: Object, message: Compiled | None, by: Activation) -> str:
        """Returns the message: by its expression, the fixed one, or from the rule."""
        text = ""
        if message is not None:
            try:
                outcome = await by.evaluate(message)
            except OutOfBudget as error:
                return f"failed messageExpression: {error}"
            if isinstance(outcome.value, str):
                text = outcome.value.strip()
            if "\n" in text or len(text.encode()) > MESSAGE_BYTES_MAX:
                text = ""
        text = text or (rule.get("message") or "").strip()
        return text or f"failed expression: {rule.get('expression', '').strip()}"

    async def annotations(self) -> list[tuple[str, str, str]]:
        """Returns (key, value, error) of the annotations to publish."""
        if not self._program.annotations:
            return []
        activation = self.activation()
        published: list[tuple[str, str, str]] = []
        values: Object = {}
        for key, compiled in self._program.annotations:
            try:
                outcome = await activation.evaluate(compiled)
            except OutOfBudget as error:
                outcome = expressions.Outcome(None, str(error))
            values[key] = outcome.shown
            if outcome.error:
                if not self._ignores:
                    published.append((key, "", outcome.error))
            elif isinstance(outcome.value, str) and outcome.value.strip():
                published.append((key, outcome.value.strip()[:ANNOTATION_BYTES_MAX], ""))
        self._record["auditAnnotations"] = values
        return published


def _refusal(attributes: Attributes, denial: _Denial) -> ApiError:
    """Returns the first denial's message, with its reason and that reason's code."""
    error = forbidden(attributes, denial.text)
    reason = denial.reason or "Invalid"
    details: dict[str, Any] = {**error.details, "causes": [{"message": denial.text}]}
    return ApiError(_CODES.get(reason, 422), reason, error.message, details=details)


def _compile(policy: Object, version: Release) -> _Program:
    spec = policy["spec"]
    rules = spec.get("validations") or ()
    environment = Environment(
        version, params=bool(spec.get("paramKind")), variables=spec.get("variables") or ()
    )
    return _Program(
        environment,
        compile_conditions(spec.get("matchConditions") or (), environment),
        tuple(environment.compile(rule.get("expression", ""), ("bool",)) for rule in rules),
        tuple(
            environment.compile(rule["messageExpression"], ("string",), authorizer=False)
            if rule.get("messageExpression")
            else None
            for rule in rules
        ),
        tuple(
            (
                annotation.get("key", ""),
                environment.compile(annotation["valueExpression"], ("string", "null")),
            )
            for annotation in spec.get("auditAnnotations") or ()
        ),
    )
