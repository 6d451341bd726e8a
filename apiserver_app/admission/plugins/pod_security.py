"""PodSecurity: the namespace's labels say how much a pod may ask of its node.

Without labels the configured defaults hold, which are privileged unless the file says else.
`enforce` refuses pods, `warn` warns about pods and about what makes pods, `audit` annotates the
request. The configuration exempts users, namespaces and runtime classes.

Models kubernetes staging/src/k8s.io/pod-security-admission/admission/admission.go and
api/helpers.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.admission import standards
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
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

PREFIX = "pod-security.kubernetes.io/"
PRIVILEGED, BASELINE, RESTRICTED = standards.LEVELS
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
        given = configuration or {}
        self.defaults = _defaults(given.get("defaults") or {})
        exempt = given.get("exemptions") or {}
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


def _defaults(given: Object) -> Policy:
    """The policy of namespaces that say nothing."""
    levels: dict[str, Level] = {}
    for mode in ("enforce", "audit", "warn"):
        name, version = given.get(mode) or PRIVILEGED, given.get(f"{mode}-version") or "latest"
        if name not in standards.LEVELS:
            words = f"must be one of {', '.join(standards.LEVELS)}"
            wrong = errors.invalid_value(f"defaults.{mode}", name, words)
            raise ConfigurationError(PodSecurity.name, str(wrong))
        if not standards.is_version(version):
            why = 'must be "latest" or "v1.x"'
            wrong = errors.invalid_value(f"defaults.{mode}-version", version, why)
            raise ConfigurationError(PodSecurity.name, str(wrong))
        levels[mode] = Level(name, version)
    return Policy(**levels)


def _exempt(attributes: Attributes, word: str) -> Verdict:
    attributes.annotations[f"{PREFIX}exempt"] = word
    return Verdict("allow", f"exempt: {word}")


def _template(key: str, obj: Object) -> Object | None:
    """The pod template in a workload; None when it has none."""
    template: Object | None = obj
    for step in _TEMPLATES[key]:
        template = (template or {}).get(step)
    return template if template and template.get("spec") else None


def policy_of(
    labels: dict[str, str], defaults: Policy = _OPEN
) -> tuple[Policy, list[errors.FieldError]]:
    """The policy a namespace's labels ask for, and what is wrong with them. A bad level is
    restricted for enforce and privileged for the others."""
    if not any(key.startswith(PREFIX) for key in labels):
        return defaults, []
    found: list[errors.FieldError] = []
    levels = {
        mode: _level(labels, mode, default, found)
        for mode, default in zip(("enforce", "audit", "warn"), defaults, strict=True)
    }
    enforce, warn = levels["enforce"], levels["warn"]
    valid = labels.get(f"{PREFIX}enforce") in standards.LEVELS
    if valid and f"{PREFIX}warn" not in labels and enforce.strictness > warn.strictness:
        has_version = f"{PREFIX}warn-version" in labels
        warn = Level(enforce.name, warn.version if has_version else enforce.version)
    return Policy(enforce, levels["audit"], warn), found


def _level(
    labels: dict[str, str], mode: str, default: Level, found: list[errors.FieldError]
) -> Level:
    key = f"{PREFIX}{mode}"
    name = labels.get(key, default.name)
    if name not in standards.LEVELS:
        words = ", ".join(standards.LEVELS)
        found.append(
            errors.invalid_value(f"metadata.labels[{key}]", name, f"must be one of {words}")
        )
        name = RESTRICTED if mode == "enforce" else PRIVILEGED
    version = labels.get(f"{key}-version", "latest" if key in labels else default.version)
    if not standards.is_version(version):
        found.append(
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
    found = standards.violations(policy.enforce.name, policy.enforce.version, pod)
    _audit(attributes, policy.audit, pod)
    if found:
        raise errors.forbidden(
            "", "pods", attributes.name or meta.name_of(pod),
            f'violates PodSecurity "{policy.enforce}": {standards.describe(found)}',
        )  # fmt: skip
    if policy.warn != policy.enforce:
        _warn(attributes, policy.warn, pod)
    return Verdict("allow", f"meets {policy.enforce.name}")


def _controller(attributes: Attributes, policy: Policy, template: Object) -> Verdict:
    _audit(attributes, policy.audit, template)
    if _warn(attributes, policy.warn, template):
        return Verdict("allow", f"its pods would violate {policy.warn.name}: warned")
    return Verdict("allow", "its pods would be let in")


def _would(level: Level, pod: Object) -> str:
    found = standards.violations(level.name, level.version, pod)
    if not found:
        return ""
    return f'would violate PodSecurity "{level}": {standards.describe(found)}'


def _audit(attributes: Attributes, level: Level, pod: Object) -> None:
    text = _would(level, pod)
    if text:
        attributes.annotations[f"{PREFIX}audit-violations"] = text


def _warn(attributes: Attributes, level: Level, pod: Object) -> bool:
    text = _would(level, pod)
    if text:
        attributes.warnings.append(text)
    return bool(text)


def _is_significant(pod: Object, old: Object) -> bool:
    """Whether an update changes what is run: images, or the number of containers."""
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
    """Labels must be valid when they are set; a stricter level warns of the pods that are there."""
    new, wrong = policy_of(meta.labels_of(namespace), defaults)
    old, old_wrong = policy_of(meta.labels_of(attributes.old or {}), defaults)
    creating = attributes.operation == CREATE
    if wrong and (creating or wrong != old_wrong):
        raise errors.invalid("", "Namespace", meta.name_of(namespace), wrong)
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
    word = "warned of pods that are there" if warnings else "the pods that are there meet it"
    return Verdict("allow", f"now {new.enforce.name}: {word}")


def _short(policy: Policy) -> str:
    modes = zip(("enforce", "audit", "warn"), policy, strict=True)
    return ", ".join(f"{mode}={level}" for mode, level in modes if level.name != PRIVILEGED)


def _existing(attributes: Attributes, namespace: str, level: Level) -> list[str]:
    """Pods already there that the new level would refuse, those with the same fault together."""
    pods = attributes.reader.list("pods", namespace)
    faulty: dict[str, list[str]] = {}
    for pod in pods[:PODS_CHECKED_MAX]:
        found = standards.violations(level.name, level.version, pod)
        if found:
            reasons = ", ".join(one.reason for one in found)
            faulty.setdefault(reasons, []).append(meta.name_of(pod))
    out: list[str] = []
    if len(pods) > PODS_CHECKED_MAX:
        out.append(
            f"new PodSecurity enforce level only checked against the first {PODS_CHECKED_MAX} "
            f"of {len(pods)} existing pods"
        )
    if faulty:
        out.append(
            f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce '
            f'level "{level}"'
        )
    lines = []
    for reasons, names in faulty.items():
        others = len(names) - 1
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        lines.append(f"{min(names)}{more}: {reasons}")
    return out + sorted(lines)
