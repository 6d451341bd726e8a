"""MutatingAdmissionPolicy: users' changes in CEL.

An ApplyConfiguration is merged as in server-side apply, a JSONPatch is applied; each mutation sees
the changes of the previous ones. After a change the phase runs once more, and policies that ask for
it are evaluated again.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, NamedTuple

import msgspec

from apiserver_app import cel
from apiserver_app.admission import expressions, policies
from apiserver_app.admission.expressions import Activation, OutOfBudget
from apiserver_app.admission.plugin import (
    CONNECT,
    CREATE,
    EXTENSION,
    SKIP,
    UPDATE,
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
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.patch import jsonpatch, typedvalues
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types.schema import Field

APPLY, JSON_PATCH = "ApplyConfiguration", "JSONPatch"
POLICIES = f"mutatingadmissionpolicies.{GROUP}"
BINDINGS = f"mutatingadmissionpolicybindings.{GROUP}"
_NO_POLICY = Verdict("allow", "no policy matches")
_TEST_FAILED = "testing value"


class _Unusable(Exception):
    """A mutation that yields no object; the message is upstream's."""


class _Program(NamedTuple):
    """A compiled policy."""

    environment: Environment
    conditions: tuple[tuple[str, Compiled], ...]
    mutations: tuple[tuple[str, Compiled], ...]  # (patch type, expression)


class _Finding(NamedTuple):
    text: str
    reason: str = ""


class _Remembered(msgspec.Struct):
    """State that the first round keeps for the second."""

    invoked: set[tuple[str, ...]] = msgspec.field(default_factory=set)  # asked for reinvocation
    again: set[tuple[str, ...]] = msgspec.field(default_factory=set)  # something changed after them
    output: Object | None = None

    def require(self) -> None:
        self.again |= self.invoked
        self.invoked = set()


class MutatingAdmissionPolicy(Plugin):
    name = "MutatingAdmissionPolicy"
    concern = EXTENSION
    handles = (CREATE, UPDATE, CONNECT)
    mutates = True
    reads = (POLICIES, BINDINGS, "namespaces")
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/plugin.go"

    def __init__(self, resource_of: ResourceOf) -> None:
        self._source = policies.Source(POLICIES, BINDINGS, _compile, resource_of)

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.resource_of)

    def admit(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        if self._source.is_empty(attributes.reader):
            return _NO_POLICY
        if is_exempt(attributes):
            return SKIP
        return self._admit(attributes)

    async def _admit(self, attributes: Attributes) -> Verdict:
        before = attributes.obj
        state = attributes.run.remembered.setdefault(self.name, _Remembered())
        if attributes.run.round and not jsonpatch.same(state.output, before):
            state.require()
        run = _Run(attributes, state)
        await self._source.prepare(attributes)
        for applied in self._source.applied(attributes):
            await run.apply(applied)
        state.output = run.obj
        if run.findings:
            raise _refusal(attributes, run.findings)
        ops = [] if run.obj is before else jsonpatch.diff(before, run.obj)
        if not run.evaluated:
            return _NO_POLICY
        names = ", ".join(dict.fromkeys(run.evaluated))
        return Verdict("change" if ops else "allow", f"applied: {names}", ops)


class _Run:
    """Runs one request through all policies; `obj` is the current object."""

    def __init__(self, attributes: Attributes, state: _Remembered) -> None:
        self._attributes = attributes
        self._state = state
        self.obj = attributes.obj
        self.findings: list[_Finding] = []
        self.evaluated: list[str] = []

    async def apply(self, applied: Applied) -> None:
        policy = meta.name_of(applied.policy)
        binding = meta.name_of(applied.binding) if applied.binding else ""
        record: Object = {"policy": policy, "binding": binding}
        if applied.error:
            self._attributes.run.policies.append({**record, "error": applied.error})
            self._add_finding(applied, applied.error, "")
            return
        for params in applied.params:
            entry = dict(record)
            key = (policy, binding, meta.key_of(params) if params is not None else "")
            if params is not None:
                entry["params"] = key[2]
            await self._invoke(applied, params, key, entry)

    async def _invoke(
        self, applied: Applied, params: Object | None, key: tuple[str, ...], record: Object
    ) -> None:
        program: _Program = applied.program
        policy = applied.policy["spec"]
        if program.conditions:
            activation = self._activation(applied, params, cel.MATCH_CONDITIONS_BUDGET)
            failures = policy.get("failurePolicy") or "Fail"
            matches = await expressions.match(program.conditions, activation, failures)
            if not matches.hold:
                self._attributes.run.policies.append(record)
                record["matchConditions"] = f"not met: {matches.failed}"
                if matches.error:
                    record["error"] = matches.error
                    self._add_finding(applied, matches.error, "Invalid")
                return
        if self._attributes.run.round and key not in self._state.again:
            return
        self._attributes.run.policies.append(record)
        self.evaluated.append(key[0])
        before = self.obj
        record["mutations"] = []
        for kind, compiled in program.mutations:
            if self.obj is None:
                break
            note: Object = {"patchType": kind, "expression": compiled.text}
            record["mutations"].append(note)
            try:
                self.obj = await self._mutated(applied, params, kind, compiled, note)
            except _Unusable as error:
                note["error"] = str(error)
                self._add_finding(applied, str(error), "Invalid")
        if self.obj is not before and not jsonpatch.same(self.obj, before):
            self._state.require()
            self._attributes.run.reinvoke = True
        if policy.get("reinvocationPolicy") == "IfNeeded":
            self._state.invoked.add(key)

    def _activation(self, applied: Applied, params: Object | None, budget: int) -> Activation:
        program: _Program = applied.program
        return Activation(
            program.environment,
            self._attributes,
            applied.info,
            self.obj,
            params=params,
            namespace=expressions.namespace_of(self._attributes),
            budget=budget,
        )

    async def _mutated(
        self, applied: Applied, params: Object | None, kind: str, compiled: Compiled, note: Object
    ) -> Object:
        """Returns the object after one mutation."""
        if compiled.program is None:
            raise _Unusable(compiled.error)
        activation = self._activation(applied, params, cel.RUNTIME_BUDGET)
        try:
            outcome = await activation.evaluate(compiled)
        except OutOfBudget as error:
            raise _Unusable(str(error)) from error
        note["result"] = outcome.shown
        if outcome.error:
            raise _Unusable(outcome.error)
        attributes, info = self._attributes, applied.info
        services, requested = attributes.interfaces, attributes.info
        live: Object = activation.bindings["object"]
        try:
            if kind == APPLY:
                patched = _applied(outcome.value, live, self._schema(info))
            else:
                patched = _patched(outcome.value, live)
        except cel.EvaluationError as error:  # no JSON value
            raise _Unusable(str(error)) from error
        if patched is live or services is None:
            return patched if patched is not live else self.obj or {}
        decoded = services.decode(info, self._attributes.subresource, patched)
        return decoded if info is requested else services.convert(decoded, requested)

    def _schema(self, info: ResourceInfo) -> Field | None:
        services = self._attributes.interfaces
        return None if services is None else services.root(info, self._attributes.subresource)

    def _add_finding(self, applied: Applied, text: str, reason: str) -> None:
        if applied.policy["spec"].get("failurePolicy") == "Ignore":
            return
        policy = meta.name_of(applied.policy)
        if applied.binding is None:
            whole = f'policy "{policy}" denied request: {text}'
        else:
            binding = meta.name_of(applied.binding)
            whole = f"policy '{policy}' with binding '{binding}' denied request: {text}"
        self.findings.append(_Finding(whole, reason))


def _applied(value: Any, live: Object, root: Field | None) -> Object:
    """Merges an apply configuration into the object."""
    from apiserver_app.cel.values import plain

    _check_names(value, ("Object",))
    patch = {**plain(value), "apiVersion": live.get("apiVersion"), "kind": live.get("kind")}
    if root is None:
        return jsonpatch.merge(live, patch)
    problems = typedvalues.findings(root, patch)
    if problems:
        text = "error applying patch: failed to convert patch object to typed object: "
        raise _Unusable(text + "\n".join(problems))
    atomic = _atomics(root, patch, "")
    if atomic:
        text = "may not mutate atomic arrays, maps or structs"
        raise _Unusable(
            f"error applying patch: invalid ApplyConfiguration: {text}: {', '.join(atomic)}"
        )
    merged: Object = typedvalues.merge(root, live, patch)
    return merged


def _atomics(field_: Field, value: Any, path: str) -> list[str]:
    """Returns the paths at which a value would replace part of an atomic field."""
    paths: list[str] = []
    if isinstance(value, dict) and field_.kind in ("struct", "map"):
        if field_.atomic:
            paths.append(path)
        for name, item in value.items():
            paths += _atomics(typedvalues.part(field_, name), item, f"{path}.{name}")
    elif isinstance(value, list) and field_.kind == "list":
        if field_.atomic or field_.list_type not in ("map", "set"):
            paths.append(path)
        if field_.item is not None:
            for index, item in enumerate(value):
                paths += _atomics(field_.item, item, f"{path}[{index}]")
    return paths


def _patched(value: Any, live: Object) -> Object:
    """Applies a JSON patch; the object stays unchanged when a test of the patch fails."""
    from apiserver_app.cel.values import Message, plain

    ops: list[Object] = []
    for op in value:
        operation = dict(op)
        if isinstance(operation.get("value"), Message):
            _check_names(operation["value"], (operation["value"].type_name,))
        ops.append({name: plain(item) for name, item in operation.items()})
    try:
        return jsonpatch.apply_json_patch(live, ops)
    except ApiError as error:
        reason = str(error.__cause__ or error.message)
        if _TEST_FAILED in reason:
            return live
        raise _Unusable(f"JSON Patch: {reason}") from error


def _check_names(value: Any, path: tuple[str, ...]) -> None:
    """Checks that `Object.spec{}` only stands where the field spec is."""
    from apiserver_app.cel.values import Message

    problems: list[str] = []

    def visit(message: Any, expected: str) -> None:
        if isinstance(message, Message):
            if message.type_name != expected:
                problems.append(
                    f'unexpected type name "{message.type_name}", expected "{expected}", which '
                    "matches field name path from root Object type"
                )
            for name, item in message.items():
                visit(item, f"{expected}.{name}")
        elif isinstance(message, list):
            for item in message:
                visit(item, expected)

    visit(value, ".".join(path))
    if problems:
        text = "\n".join(problems)
        raise _Unusable(f"type mismatch: {text}")


def _refusal(attributes: Attributes, findings: list[_Finding]) -> ApiError:
    """Returns the first finding's message and reason, and all findings as causes."""
    error = forbidden(attributes, "admission request denied by policy")
    details: dict[str, Any] = {
        **error.details,
        "causes": [{"message": finding.text} for finding in findings],
    }
    first = findings[0]
    return ApiError(error.code, first.reason or error.reason, first.text, details=details)


_EXPRESSIONS = {
    APPLY: ("applyConfiguration", "Object"),
    JSON_PATCH: ("jsonPatch", "list(JSONPatch)"),
}


def _compile(policy: Object, version: Release) -> _Program:
    spec = policy["spec"]
    environment = Environment(
        version,
        params=bool(spec.get("paramKind")),
        variables=spec.get("variables") or (),
        patches=True,
    )
    mutations: list[tuple[str, Compiled]] = []
    for mutation in spec.get("mutations") or ():
        name, result_type = _EXPRESSIONS[mutation["patchType"]]
        text = (mutation.get(name) or {}).get("expression", "")
        mutations.append((mutation["patchType"], environment.compile(text, (result_type,))))
    conditions = compile_conditions(spec.get("matchConditions") or (), environment)
    return _Program(environment, conditions, tuple(mutations))
