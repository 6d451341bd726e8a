"""Common parts of validating and mutating policies: which apply, with which parameters.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/generic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from apiserver_app.admission import matching
from apiserver_app.admission.plugin import Attributes
from apiserver_app.cel import stepping
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import labels

NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"


_CLUSTER_WIDE = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
_NO_NAMESPACE = (
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
)

# (apiVersion, kind) -> the resource, if it is served
ResourceOf = Callable[[str, str], ResourceInfo | None]


class ConfigurationError(Exception):
    """A policy or binding that cannot be applied; the message is upstream's."""


class Applied(NamedTuple):
    """A policy that matches the request with one of its bindings, or why it cannot be applied."""

    policy: Object
    program: Any
    binding: Object | None
    info: ResourceInfo
    params: Sequence[Object | None]
    error: str = ""


class Source:
    """The compiled policies of one kind with their bindings; recompiled when one changes."""

    def __init__(
        self,
        policies: str,
        bindings: str,
        compile_: Callable[[Object, Release], Any],
        resource_of: ResourceOf,
    ) -> None:
        self._policies = policies
        self._bindings = bindings
        self._compile = compile_
        self._resource_of = resource_of
        self._generations = (-1, -1)
        self._hooks: tuple[tuple[Object, Any, tuple[Object, ...]], ...] = ()
        self._compiled: dict[tuple[str, str], Any] = {}

    def is_empty(self, reader: Reader) -> bool:
        return not reader.list(self._bindings)

    async def prepare(self, attributes: Attributes) -> None:
        """Compiles what has changed, in steps."""
        interfaces = attributes.interfaces
        if interfaces is not None:
            await stepping.in_steps(
                interfaces.kernel.pause, lambda: self.hooks(attributes.reader, attributes.version)
            )

    def hooks(
        self, reader: Reader, version: Release
    ) -> tuple[tuple[Object, Any, tuple[Object, ...]], ...]:
        """Returns (policy, compiled program, bindings), ordered by name."""
        now = (reader.generation(self._policies), reader.generation(self._bindings))
        if now != self._generations:
            self._hooks = tuple(self._read(reader, version))
            self._generations = now
        return self._hooks

    def _read(
        self, reader: Reader, version: Release
    ) -> Iterator[tuple[Object, Any, tuple[Object, ...]]]:
        by_policy: dict[str, list[Object]] = {}
        for binding in reader.list(self._bindings):
            by_policy.setdefault((binding.get("spec") or {}).get("policyName", ""), []).append(
                binding
            )
        previous, compiled = self._compiled, {}
        for name in sorted(by_policy):
            policy = reader.get(self._policies, "", name)
            if policy is None:
                continue
            key = (name, str(policy["metadata"].get("resourceVersion", id(policy))))
            program = previous.get(key)
            if program is None:
                program = self._compile(policy, version)
            compiled[key] = program
            yield policy, program, tuple(sorted(by_policy[name], key=meta.name_of))
        self._compiled = compiled

    def applied(self, attributes: Attributes) -> Iterator[Applied]:
        """Yields the policies and bindings that match the request, in order."""
        for policy, program, bindings in self.hooks(attributes.reader, attributes.version):
            spec = policy["spec"]
            try:
                info = matching.matched(spec.get("matchConstraints") or {}, attributes)
            except ApiError as error:
                yield Applied(policy, program, None, attributes.info, (), _policy(error))
                continue
            if info is None:
                continue
            for binding in bindings:
                narrower = (binding.get("spec") or {}).get("matchResources")
                try:
                    if narrower and matching.matched(narrower, attributes) is None:
                        continue
                    params = self._params(spec.get("paramKind"), binding, attributes)
                except (ApiError, ConfigurationError) as error:
                    text = f"failed to configure binding: {error}"
                    yield Applied(policy, program, binding, info, (), text)
                    continue
                yield Applied(policy, program, binding, info, params)

    def _params(
        self, kind: Object | None, binding: Object, attributes: Attributes
    ) -> Sequence[Object | None]:
        """Returns the parameters of a binding; a single None when it takes none."""
        ref = (binding.get("spec") or {}).get("paramRef")
        if not kind or not ref:
            return (None,)
        info = self._resource_of(str(kind.get("apiVersion", "")), str(kind.get("kind", "")))
        if info is None:
            printed = f"&ParamKind{{APIVersion:{kind.get('apiVersion')},Kind:{kind.get('kind')},}}"
            raise ConfigurationError(f"paramKind kind `{printed}` not known")
        namespace = ref.get("namespace", "")
        if not info.namespaced and namespace:
            raise ConfigurationError(_CLUSTER_WIDE)
        if info.namespaced:
            namespace = namespace or attributes.namespace
            if not namespace:
                raise ConfigurationError(_NO_NAMESPACE)
        params = _find_params(ref, info, namespace, attributes.reader)
        if not params and ref.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError(NO_PARAMS)
        return params


def _policy(error: ApiError) -> str:
    return f"failed to configure policy: {error.message}"


def _find_params(ref: Object, info: ResourceInfo, namespace: str, reader: Reader) -> list[Object]:
    if ref.get("name"):
        obj = reader.get(info.key, namespace, ref["name"])
        return [] if obj is None else [_typed(obj, info)]
    selector = labels.from_label_selector(ref.get("selector"))
    return [
        _typed(obj, info)
        for obj in reader.list(info.key, namespace)
        if selector.matches(meta.labels_of(obj))
    ]


def _typed(obj: Object, info: ResourceInfo) -> Object:
    if "kind" in obj:
        return obj
    return {"apiVersion": info.api_version, "kind": info.kind, **obj}
