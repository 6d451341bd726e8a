"""ResourceQuota: limits the objects and resources of a namespace.

What is used of a quota is in its status, until then what the objects in the watch cache use. What
the object will use is written there, by a request of the server to itself, before the object is
stored; the resource quota controller puts right what is not stored then.

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
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import ZERO, Quantity
from apiserver_app.machinery.waiting import Lock

RETRIES_MAX = 4  # of a charge, when a quota changed meanwhile
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
        kernel: Kernel | None = None,
    ) -> None:
        self._limited = limited
        self._write_quota = write_quota
        self._kernel = kernel
        self._locks: dict[str, Lock] = {}  # by namespace: its requests are charged one by one

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(
            given.config.of(cls.name).get("limitedResources") or (), given.write_quota, given.kernel
        )

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
        if self._kernel is not None and in_namespace and not attributes.dry_run:
            return self._charged(attributes, evaluator, self._kernel)
        return self._judged(attributes, evaluator)[0]

    def _judged(
        self, attributes: Attributes, evaluator: quotas.Evaluator
    ) -> tuple[Verdict, list[tuple[Object, Amounts]]]:
        """The verdict, and what is used then of the quotas of which something is. Raises 403."""
        in_namespace = attributes.reader.list("resourcequotas", attributes.namespace)
        counted = [quota for quota in in_namespace if self._counts(attributes, evaluator, quota)]
        self._check_limited(attributes, evaluator, counted)
        if not counted:
            return _UNTOUCHED, []
        charged = [self._charge(attributes, evaluator, quota) for quota in counted]
        changed = [(quota, used) for quota, used in zip(counted, charged, strict=True) if used]
        if not changed:
            return Verdict("allow", "uses nothing more"), []
        notes = "; ".join(_note(quota, used) for quota, used in changed)
        return Verdict("allow", notes), changed

    async def _charged(
        self, attributes: Attributes, evaluator: quotas.Evaluator, kernel: Kernel
    ) -> Verdict:
        """Charges the quotas one request after another, and again when a quota changed
        meanwhile."""
        lock = self._locks.setdefault(attributes.namespace, Lock(kernel))
        try:
            async with lock:
                return await self._charge_all(attributes, evaluator)
        finally:
            if lock.is_free:
                self._locks.pop(attributes.namespace, None)

    async def _charge_all(self, attributes: Attributes, evaluator: quotas.Evaluator) -> Verdict:
        written: set[str] = set()
        for _ in range(RETRIES_MAX):
            verdict, changed = self._judged(attributes, evaluator)
            try:
                for quota, used in changed:
                    if meta.name_of(quota) not in written:
                        await self._write(quota, used)
                        written.add(meta.name_of(quota))
                return verdict
            except ApiError as error:
                if error.reason != "Conflict":
                    raise
                conflict = error
        raise conflict

    async def _write(self, quota: Object, used: Amounts) -> None:
        status = quota.get("status") or {}
        known = status.get("used") or {}
        now = {**known, **{name: str(amount) for name, amount in used.items()}}
        if status and now != known and self._write_quota is not None:
            await self._write_quota({**quota, "status": {**status, "used": now}})

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
            named = [
                term.get("scopeName")
                for term in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
            ]
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
        requested = {
            name: amount
            for name, amount in requested.items()
            if name in hard and not amount.is_zero
        }
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
        used = amounts((quota.get("status") or {}).get("used"))
        if all(name in used for name in requested):
            return used
        used, resource = dict.fromkeys(requested, ZERO), attributes.info.key
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
