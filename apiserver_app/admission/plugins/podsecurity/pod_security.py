"""PodSecurity: namespace labels limit the privileges of pods.

Without labels the configured defaults apply, which are privileged unless configured otherwise.
`enforce` refuses pods, `warn` warns about pods and workloads, `audit` annotates the request. The
configuration exempts users, namespaces and runtime classes.

Models kubernetes staging/src/k8s.io/pod-security-admission/admission/admission.go and
api/helpers.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.admission.config import ConfigurationError
from apiserver_app.admission.plugin import (
    CREATE,
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
    Given,
    Plugin,
    Verdict,
)
from apiserver_app.admission.plugins.podsecurity import standards
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

PREFIX = "pod-security.kubernetes.io/"
PRIVILEGED, _, RESTRICTED = standards.LEVELS
PODS_CHECKED_MAX = 3000
_TEMPLATES: dict[str, tuple[str, ...]] = {
    "replicationcontrollers": ("spec", "template"),
    "podtemplates": ("template",),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
_PRIVILEGED = Verdict("allow", "this namespace is privileged")


class Level(NamedTuple):
    name: str = PRIVILEGED
    version: str = "latest"

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"

    @property
    def strictness(self) -> int:
        return standards.LEVELS.index(self.name)


class Policy(NamedTuple):
    enforce: Level = Level()
    audit: Level = Level()
    warn: Level = Level()


_OPEN = Policy()


class PodSecurity(Plugin):
    name = "PodSecurity"
    concern = SECURITY
    resources = ("pods", "pods/ephemeralcontainers", "pods/resize", "namespaces", *_TEMPLATES)
    validates = True
    reads = ("namespaces", "pods")
    source = "staging/src/k8s.io/pod-security-admission/admission/admission.go"

    def __init__(self, configuration: Object | None = None) -> None:
        options = configuration or {}
        self.defaults = _defaults(options.get("defaults") or {})
        exempt = options.get("exemptions") or {}
        self._users = frozenset(exempt.get("usernames") or ())
        self._namespaces = frozenset(exempt.get("namespaces") or ())
        self._runtimes = frozenset(exempt.get("runtimeClasses") or ())

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.config.of(cls.name))

    def validate(self, attributes: Attributes) -> Verdict:
        obj = attributes.obj
        if obj is None:
            return SKIP
        key = attributes.info.key
        if key == "namespaces":
            if attributes.subresource:
                return SKIP
            exempt = meta.name_of(obj) in self._namespaces
            return _namespace(attributes, obj, self.defaults, exempt)
        if attributes.namespace in self._namespaces:
            return _exempt(attributes, "namespace")
        if attributes.user.name in self._users:
            return _exempt(attributes, "user")
        namespace = attributes.reader.get("namespaces", "", attributes.namespace)
        policy, _ = policy_of(meta.labels_of(namespace) if namespace else {}, self.defaults)
        if policy == _OPEN:
            return _PRIVILEGED
        pod = obj if key == "pods" else _template(key, obj)
        if pod is None:
            return SKIP
        if pod["spec"].get("runtimeClassName") in self._runtimes:
            return _exempt(attributes, "runtimeClass")
        if key == "pods":
            return _pod(attributes, policy, pod)
        return _controller(attributes, policy, pod)


def _defaults(options: Object) -> Policy:
    """Returns the policy of namespaces without labels."""
    levels: dict[str, Level] = {}
    for mode in ("enforce", "audit", "warn"):
        name, version = options.get(mode) or PRIVILEGED, options.get(f"{mode}-version") or "latest"
        if name not in standards.LEVELS:
            message = f"must be one of {', '.join(standards.LEVELS)}"
            problem = errors.invalid_value(f"defaults.{mode}", name, message)
            raise ConfigurationError(PodSecurity.name, str(problem))
        if not standards.is_version(version):
            message = 'must be "latest" or "v1.x"'
            problem = errors.invalid_value(f"defaults.{mode}-version", version, message)
            raise ConfigurationError(PodSecurity.name, str(problem))
        levels[mode] = Level(name, version)
    return Policy(**levels)


def _exempt(attributes: Attributes, dimension: str) -> Verdict:
    attributes.annotations[f"{PREFIX}exempt"] = dimension
    return Verdict("allow", f"exempt: {dimension}")


def _template(key: str, obj: Object) -> Object | None:
    """Returns a workload's pod template; None when it has none."""
    template: Object | None = obj
    for step in _TEMPLATES[key]:
        template = (template or {}).get(step)
    return template if template and template.get("spec") else None


def policy_of(
    labels: dict[str, str], defaults: Policy = _OPEN
) -> tuple[Policy, list[errors.FieldError]]:
    """Returns the policy in a namespace's labels, and their errors. An invalid level counts as
    restricted for enforce and as privileged for the others."""
    if not any(key.startswith(PREFIX) for key in labels):
        return defaults, []
    problems: list[errors.FieldError] = []
    levels = {
        mode: _level(labels, mode, default, problems)
        for mode, default in zip(("enforce", "audit", "warn"), defaults, strict=True)
    }
    enforce, warn = levels["enforce"], levels["warn"]
    valid = labels.get(f"{PREFIX}enforce") in standards.LEVELS
    if valid and f"{PREFIX}warn" not in labels and enforce.strictness > warn.strictness:
        has_version = f"{PREFIX}warn-version" in labels
        warn = Level(enforce.name, warn.version if has_version else enforce.version)
    return Policy(enforce, levels["audit"], warn), problems


def _level(
    labels: dict[str, str], mode: str, default: Level, problems: list[errors.FieldError]
) -> Level:
    key = f"{PREFIX}{mode}"
    name = labels.get(key, default.name)
    if name not in standards.LEVELS:
        names = ", ".join(standards.LEVELS)
        problems.append(
            errors.invalid_value(f"metadata.labels[{key}]", name, f"must be one of {names}")
        )
        name = RESTRICTED if mode == "enforce" else PRIVILEGED
    version = labels.get(f"{key}-version", "latest" if key in labels else default.version)
    if not standards.is_version(version):
        problems.append(
            errors.invalid_value(
                f"metadata.labels[{key}-version]", version, 'must be "latest" or "v1.x"'
            )
        )
        version = "latest"
    return Level(name, version)


def _pod(attributes: Attributes, policy: Policy, pod: Object) -> Verdict:
    if attributes.operation == UPDATE and not _is_significant(pod, attributes.old or {}):
        return Verdict("allow", "no image changes")
    attributes.annotations[f"{PREFIX}enforce-policy"] = str(policy.enforce)
    violations = standards.violations(policy.enforce.name, policy.enforce.version, pod)
    _audit(attributes, policy.audit, pod)
    if violations:
        raise errors.forbidden(
            "",
            "pods",
            attributes.name or meta.name_of(pod),
            f'violates PodSecurity "{policy.enforce}": {standards.describe(violations)}',
        )
    if policy.warn != policy.enforce:
        _warn(attributes, policy.warn, pod)
    return Verdict("allow", f"meets {policy.enforce.name}")


def _controller(attributes: Attributes, policy: Policy, template: Object) -> Verdict:
    _audit(attributes, policy.audit, template)
    if _warn(attributes, policy.warn, template):
        return Verdict("allow", f"its pods would violate {policy.warn.name}: warned")
    return Verdict("allow", "its pods would be let in")


def _would_violate(level: Level, pod: Object) -> str:
    violations = standards.violations(level.name, level.version, pod)
    if not violations:
        return ""
    return f'would violate PodSecurity "{level}": {standards.describe(violations)}'


def _audit(attributes: Attributes, level: Level, pod: Object) -> None:
    text = _would_violate(level, pod)
    if text:
        attributes.annotations[f"{PREFIX}audit-violations"] = text


def _warn(attributes: Attributes, level: Level, pod: Object) -> bool:
    text = _would_violate(level, pod)
    if text:
        attributes.warnings.append(text)
    return bool(text)


def _is_significant(pod: Object, old: Object) -> bool:
    """Reports whether an update changes images or the number of containers."""
    spec, before = pod["spec"], old.get("spec") or {}
    for field in ("containers", "initContainers"):
        images = [container.get("image") for container in spec.get(field) or ()]
        if images != [container.get("image") for container in before.get(field) or ()]:
            return True
    known = {c["name"]: c.get("image") for c in before.get("ephemeralContainers") or ()}
    return any(
        container["name"] not in known or known[container["name"]] != container.get("image")
        for container in spec.get("ephemeralContainers") or ()
    )


# -- namespaces ---------------------------------------------------------------------------------


def _namespace(
    attributes: Attributes, namespace: Object, defaults: Policy, exempt: bool
) -> Verdict:
    """Validates changed labels; a stricter level warns about existing pods."""
    new, problems = policy_of(meta.labels_of(namespace), defaults)
    old, old_problems = policy_of(meta.labels_of(attributes.old or {}), defaults)
    creating = attributes.operation == CREATE
    if problems and (creating or problems != old_problems):
        raise errors.invalid("", "Namespace", meta.name_of(namespace), problems)
    if exempt:
        if new not in (_OPEN, defaults):
            attributes.warnings.append(
                f'namespace "{meta.name_of(namespace)}" is exempt from Pod Security, and the '
                f"policy ({_short(new)}) will be ignored"
            )
        return Verdict("allow", "this namespace is exempt")
    if creating or new.enforce == old.enforce or new.enforce.name == PRIVILEGED:
        return Verdict("allow", f"pods must meet {new.enforce.name}")
    relaxed = new.enforce.strictness <= old.enforce.strictness
    if relaxed and new.enforce.version == old.enforce.version:
        return Verdict("allow", f"relaxed to {new.enforce.name}")
    warnings = _existing(attributes, meta.name_of(namespace), new.enforce)
    attributes.warnings += warnings
    result = "warned of pods that are there" if warnings else "the pods that are there meet it"
    return Verdict("allow", f"now {new.enforce.name}: {result}")


def _short(policy: Policy) -> str:
    modes = zip(("enforce", "audit", "warn"), policy, strict=True)
    return ", ".join(f"{mode}={level}" for mode, level in modes if level.name != PRIVILEGED)


def _existing(attributes: Attributes, namespace: str, level: Level) -> list[str]:
    """Returns warnings about existing pods that violate the new level, grouped by violation."""
    pods = attributes.reader.list("pods", namespace)
    faulty: dict[str, list[str]] = {}
    for pod in pods[:PODS_CHECKED_MAX]:
        violations = standards.violations(level.name, level.version, pod)
        if violations:
            reasons = ", ".join(violation.reason for violation in violations)
            faulty.setdefault(reasons, []).append(meta.name_of(pod))
    messages: list[str] = []
    if len(pods) > PODS_CHECKED_MAX:
        messages.append(
            f"new PodSecurity enforce level only checked against the first {PODS_CHECKED_MAX} "
            f"of {len(pods)} existing pods"
        )
    if faulty:
        messages.append(
            f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
            f'level "{level}"'
        )
    lines = []
    for reasons, names in faulty.items():
        others = len(names) - 1
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        lines.append(f"{min(names)}{more}: {reasons}")
    return messages + sorted(lines)
