"""ResourceQuota: limits the objects and resources of a namespace.

Usage is computed from the objects in the watch cache, so a refusal is exact at that moment. What
the object will use is written into the quota's status, by a request of the server to itself, before
the object is stored; the resource quota controller puts right what is not stored then.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from apiserver_app.admission.plugin import (
    CREATE,
    RESOURCES,
    SKIP,
    UPDATE,
    Attributes,
    Given,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.apis import quotas
from apiserver_app.apis.podresources import Amounts, add, amounts
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import ZERO, Quantity

_NONE = Verdict("allow", "no ResourceQuota here")
_UNTOUCHED = Verdict("allow", "no ResourceQuota counts this")
IGNORED = frozenset(
    (
        "bindings",
        "componentstatuses",
        "tokenreviews.authentication.k8s.io",
        "selfsubjectreviews.authentication.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
        "selfsubjectaccessreviews.authorization.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io",
        "events",
        "events.events.k8s.io",
    )
)


class ResourceQuota(Plugin):
    name = "ResourceQuota"
    concern = RESOURCES
    handles = (CREATE, UPDATE)
    validates = True
    reads = ("resourcequotas",)
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go"

    def __init__(
        self,
        limited: Sequence[Object] = (),
        write_quota: Callable[[Object], Awaitable[None]] | None = None,
    ) -> None:
        self._limited = limited
        self._write_quota = write_quota

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.config.of(cls.name).get("limitedResources") or (), given.write_quota)

    def validate(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        namespace, resource = attributes.namespace, attributes.info.key
        if not namespace or attributes.obj is None or resource in ("namespaces", *IGNORED):
            return SKIP
        in_namespace = attributes.reader.list("resourcequotas", namespace)
        if not in_namespace and not self._limited:
            return _NONE
        evaluator = quotas.evaluator_for(resource)
        if not evaluator.handles(
            attributes.operation, attributes.subresource, attributes.obj, attributes.old
        ):
            return SKIP
        counted = [quota for quota in in_namespace if self._counts(attributes, evaluator, quota)]
        self._check_limited(attributes, evaluator, counted)
        if not counted:
            return _UNTOUCHED
        charged = [self._charge(attributes, evaluator, quota) for quota in counted]
        changed = [(quota, used) for quota, used in zip(counted, charged, strict=True) if used]
        if not changed:
            return Verdict("allow", "uses nothing more")
        notes = "; ".join(_note(quota, used) for quota, used in changed)
        if attributes.dry_run or self._write_quota is None:
            return Verdict("allow", notes)
        return self._written(changed, Verdict("allow", notes), self._write_quota)

    async def _written(
        self,
        changed: Sequence[tuple[Object, Amounts]],
        verdict: Verdict,
        write: Callable[[Object], Awaitable[None]],
    ) -> Verdict:
        for quota, used in changed:
            status = quota.get("status") or {}
            known = status.get("used") or {}
            now = {**known, **{name: str(amount) for name, amount in used.items()}}
            if status and now != known:
                await write({**quota, "status": {**status, "used": now}})
        return verdict

    def _check_limited(
        self, attributes: Attributes, evaluator: quotas.Evaluator, counted: Sequence[Object]
    ) -> None:
        """Refuses configured limited resources that no quota covers."""
        assert attributes.obj is not None
        info, obj = attributes.info, attributes.obj
        uncovered: set[str] = set()
        scopes: list[Object] = []
        for limited in self._limited:
            if (limited.get("apiGroup", ""), limited.get("resource")) != (info.group, info.plural):
                continue
            parts = limited.get("matchContains") or ()
            for name, amount in self._delta(attributes, evaluator, {}).items():
                if not amount.is_zero and any(part in name for part in parts):
                    uncovered.add(name)
            for term in limited.get("matchScopes") or ():
                if quotas.in_scope({"spec": _only(term)}, info.key, obj):
                    scopes.append(term)
        for quota in counted:
            uncovered -= set(_hard(quota))
            spec = quota.get("spec") or {}
            named = [term.get("scopeName") for term in
                     (spec.get("scopeSelector") or {}).get("matchExpressions") or ()]  # fmt: skip
            named += spec.get("scopes") or ()
            scopes = [term for term in scopes if term.get("scopeName") not in named]
        if uncovered:
            names = ",".join(sorted(uncovered))
            raise forbidden(attributes, f"insufficient quota to consume: {names}")
        if scopes:
            listed = " ".join(
                f"{{{term.get('scopeName')} {term.get('operator')} "
                f"[{' '.join(term.get('values') or ())}]}}"
                for term in scopes
            )
            raise forbidden(attributes, f"insufficient quota to match these scopes: [{listed}]")

    def _counts(self, attributes: Attributes, evaluator: quotas.Evaluator, quota: Object) -> bool:
        """Reports whether the quota applies to the object, which must then specify its usage."""
        assert attributes.obj is not None
        hard = _hard(quota)
        relevant = evaluator.relevant(hard)
        if not relevant or not quotas.in_scope(quota, attributes.info.key, attributes.obj):
            return False
        missing = evaluator.missing(relevant, attributes.obj)
        if missing:
            raise forbidden(attributes, f"failed quota: {meta.name_of(quota)}: {missing}")
        return True

    def _charge(
        self, attributes: Attributes, evaluator: quotas.Evaluator, quota: Object
    ) -> Amounts:
        """Returns what is used of it then; raises the refusal when it exceeds the quota."""
        hard = _hard(quota)
        requested = self._delta(attributes, evaluator, quota)
        requested = {name: amount for name, amount in requested.items()
                  if name in hard and not amount.is_zero}  # fmt: skip
        if not requested:
            return {}
        used = self._used(attributes, evaluator, quota, requested)
        over = [name for name in sorted(requested) if used[name] + requested[name] > hard[name]]
        if over:
            raise forbidden(
                attributes,
                f"exceeded quota: {meta.name_of(quota)}, requested: {_pretty(requested, over)}, "
                f"used: {_pretty(used, over)}, limited: {_pretty(hard, over)}",
            )
        return {name: used[name] + amount for name, amount in requested.items()}

    def _delta(self, attributes: Attributes, evaluator: quotas.Evaluator, quota: Object) -> Amounts:
        assert attributes.obj is not None
        usage = evaluator.usage(attributes.obj)
        old = attributes.old
        if attributes.operation != UPDATE or old is None:
            return usage
        if not quotas.in_scope(quota, attributes.info.key, old):
            return usage
        before = evaluator.usage(old)
        more = {name: amount - before.get(name, ZERO) for name, amount in usage.items()}
        return {name: max(amount, ZERO) for name, amount in more.items()}

    def _used(
        self,
        attributes: Attributes,
        evaluator: quotas.Evaluator,
        quota: Object,
        requested: Mapping[str, Quantity],
    ) -> Amounts:
        used: Amounts = dict.fromkeys(requested, ZERO)
        resource = attributes.info.key
        for obj in attributes.reader.list(resource, attributes.namespace):
            if quotas.in_scope(quota, resource, obj):
                spent = evaluator.usage(obj)
                add(used, {name: spent[name] for name in requested if name in spent})
        return used


def _note(quota: Object, used: Amounts) -> str:
    name = min(used)
    return f"{meta.name_of(quota)}: {name} {used[name]} of {_hard(quota)[name]}"


def _only(term: Object) -> Object:
    return {"scopeSelector": {"matchExpressions": [term]}}


def _hard(quota: Object) -> Amounts:
    """Returns the limits in force: the status's, or the spec's until there is a status."""
    status = (quota.get("status") or {}).get("hard")
    return amounts(status or (quota.get("spec") or {}).get("hard"))


def _pretty(values: Mapping[str, Quantity], names: Sequence[str]) -> str:
    return ",".join(f"{name}={values[name]}" for name in names)
