"""MutatingAdmissionPolicy: changes that users write in CEL.

An ApplyConfiguration is merged as server-side apply merges, a JSONPatch is carried out; each
mutation sees what those before it changed. When something changed the phase is run once more, and
policies that ask for it are evaluated again.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    """A mutation without an object; upstream's sentence."""


class _Program(NamedTuple):
    """A policy, compiled."""

    environment: Environment
    conditions: tuple[tuple[str, Compiled], ...]
    mutations: tuple[tuple[str, Compiled], ...]  # (type of the patch, its expression)


class _Finding(NamedTuple):
    text: str
    reason: str = ""


@dataclass(slots=True)
class _Remembered:
    """What the first round leaves for the second."""

    invoked: set[tuple[str, ...]] = field(default_factory=set)  # may be evaluated again
    again: set[tuple[str, ...]] = field(default_factory=set)  # something changed after them
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
        kept = attributes.run.remembered.setdefault(self.name, _Remembered())
        if attributes.run.round and not jsonpatch.same(kept.output, before):
            kept.require()
        run = _Run(attributes, kept)
        for applied in self._source.applied(attributes):
            await run.apply(applied)
        kept.output = run.obj
        if run.findings:
            raise _refusal(attributes, run.findings)
        ops = [] if run.obj is before else jsonpatch.diff(before, run.obj)
        if not run.evaluated:
            return _NO_POLICY
        names = ", ".join(dict.fromkeys(run.evaluated))
        return Verdict("change" if ops else "allow", f"applied: {names}", ops)


class _Run:
    """One request through all policies. `obj` is what they made of it so far."""

    def __init__(self, attributes: Attributes, kept: _Remembered) -> None:
        self._attributes = attributes
        self._kept = kept
        self.obj = attributes.obj
        self.findings: list[_Finding] = []
        self.evaluated: list[str] = []

    async def apply(self, applied: Applied) -> None:
        policy = meta.name_of(applied.policy)
        binding = meta.name_of(applied.binding) if applied.binding else ""
        told: Object = {"policy": policy, "binding": binding}
        if applied.error:
            self._attributes.run.policies.append({**told, "error": applied.error})
            self._found(applied, applied.error, "")
            return
        for params in applied.params:
            entry = dict(told)
            key = (policy, binding, meta.key_of(params) if params is not None else "")
            if params is not None:
                entry["params"] = key[2]
            await self._invoke(applied, params, key, entry)

    async def _invoke(
        self, applied: Applied, params: Object | None, key: tuple[str, ...], told: Object
    ) -> None:
        program: _Program = applied.program
        policy = applied.policy["spec"]
        if program.conditions:
            activation = self._activation(applied, params, cel.MATCH_CONDITIONS_BUDGET)
            failures = policy.get("failurePolicy") or "Fail"
            matches = await expressions.match(program.conditions, activation, failures)
            if not matches.hold:
                self._attributes.run.policies.append(told)
                told["matchConditions"] = f"not met: {matches.failed}"
                if matches.error:
                    told["error"] = matches.error
                    self._found(applied, matches.error, "Invalid")
                return
        if self._attributes.run.round and key not in self._kept.again:
            return
        self._attributes.run.policies.append(told)
        self.evaluated.append(key[0])
        before = self.obj
        told["mutations"] = []
        for kind, compiled in program.mutations:
            if self.obj is None:
                break
            note: Object = {"patchType": kind, "expression": compiled.text}
            told["mutations"].append(note)
            try:
                self.obj = await self._mutated(applied, params, kind, compiled, note)
            except _Unusable as error:
                note["error"] = str(error)
                self._found(applied, str(error), "Invalid")
        if self.obj is not before and not jsonpatch.same(self.obj, before):
            self._kept.require()
            self._attributes.run.reinvoke = True
        if policy.get("reinvocationPolicy") == "IfNeeded":
            self._kept.invoked.add(key)

    def _activation(self, applied: Applied, params: Object | None, budget: int) -> Activation:
        program: _Program = applied.program
        return Activation(
            program.environment, self._attributes, applied.info, self.obj, params=params,
            namespace=expressions.namespace_of(self._attributes), budget=budget,
        )  # fmt: skip

    async def _mutated(
        self,
        applied: Applied,
        params: Object | None,
        kind: str,
        compiled: Compiled,
        note: Object,
    ) -> Object:
        """The object with one mutation carried out."""
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
        means, info, asked = self._attributes.means, applied.info, self._attributes.info
        live: Object = activation.bindings["object"]
        try:
            if kind == APPLY:
                patched = _applied(outcome.value, live, self._schema(info))
            else:
                patched = _patched(outcome.value, live)
        except cel.EvaluationError as error:  # a value that JSON has not
            raise _Unusable(str(error)) from error
        if patched is live or means is None:
            return patched if patched is not live else self.obj or {}
        made = means.decode(info, self._attributes.subresource, patched)
        return made if info is asked else means.convert(made, asked)

    def _schema(self, info: ResourceInfo) -> Field | None:
        means = self._attributes.means
        return None if means is None else means.root(info, self._attributes.subresource)

    def _found(self, applied: Applied, text: str, reason: str) -> None:
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
    """The object with an apply configuration merged into it."""
    from apiserver_app.cel.values import plain

    _check_names(value, ("Object",))
    patch = {**plain(value), "apiVersion": live.get("apiVersion"), "kind": live.get("kind")}
    if root is None:
        return jsonpatch.merge(live, patch)
    wrong = typedvalues.findings(root, patch)
    if wrong:
        text = "error applying patch: failed to convert patch object to typed object: "
        raise _Unusable(text + "\n".join(wrong))
    atomic = _atomics(root, patch, "")
    if atomic:
        text = "may not mutate atomic arrays, maps or structs"
        raise _Unusable(
            f"error applying patch: invalid ApplyConfiguration: {text}: {', '.join(atomic)}"
        )
    merged: Object = typedvalues.merge(root, live, patch)
    return merged


def _atomics(field_: Field, value: Any, path: str) -> list[str]:
    """Where a value replaces what can only be replaced as a whole."""
    found: list[str] = []
    if isinstance(value, dict) and field_.kind in ("struct", "map"):
        if field_.atomic:
            found.append(path)
        for name, item in value.items():
            found += _atomics(typedvalues.part(field_, name), item, f"{path}.{name}")
    elif isinstance(value, list) and field_.kind == "list":
        if field_.atomic or field_.list_type not in ("map", "set"):
            found.append(path)
        if field_.item is not None:
            for index, item in enumerate(value):
                found += _atomics(field_.item, item, f"{path}[{index}]")
    return found


def _patched(value: Any, live: Object) -> Object:
    """The object with a JSON patch carried out; as it is when a test of the patch fails."""
    from apiserver_app.cel.values import Message, plain

    ops: list[Object] = []
    for op in value:
        made = dict(op)
        if isinstance(made.get("value"), Message):
            _check_names(made["value"], (made["value"].type_name,))
        ops.append({name: plain(item) for name, item in made.items()})
    try:
        return jsonpatch.apply_json_patch(live, ops)
    except ApiError as error:
        why = str(error.__cause__ or error.message)
        if _TEST_FAILED in why:
            return live
        raise _Unusable(f"JSON Patch: {why}") from error


def _check_names(value: Any, path: tuple[str, ...]) -> None:
    """`Object.spec{}` may only stand where the field spec is."""
    from apiserver_app.cel.values import Message

    wrong: list[str] = []

    def visit(one: Any, wanted: str) -> None:
        if isinstance(one, Message):
            if one.type_name != wanted:
                wrong.append(
                    f'unexpected type name "{one.type_name}", expected "{wanted}", which matches '
                    "field name path from root Object type"
                )
            for name, item in one.items():
                visit(item, f"{wanted}.{name}")
        elif isinstance(one, list):
            for item in one:
                visit(item, wanted)

    visit(value, ".".join(path))
    if wrong:
        text = "\n".join(wrong)
        raise _Unusable(f"type mismatch: {text}")


def _refusal(attributes: Attributes, findings: list[_Finding]) -> ApiError:
    """The first finding's sentence and reason, and all of them as causes."""
    error = forbidden(attributes, "admission request denied by policy")
    details: dict[str, Any] = {
        **error.details,
        "causes": [{"message": one.text} for one in findings],
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
        version, params=bool(spec.get("paramKind")), variables=spec.get("variables") or (),
        patches=True,
    )  # fmt: skip
    mutations: list[tuple[str, Compiled]] = []
    for one in spec.get("mutations") or ():
        name, wanted = _EXPRESSIONS[one["patchType"]]
        text = (one.get(name) or {}).get("expression", "")
        mutations.append((one["patchType"], environment.compile(text, (wanted,))))
    conditions = compile_conditions(spec.get("matchConditions") or (), environment)
    return _Program(environment, conditions, tuple(mutations))
