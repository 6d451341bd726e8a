"""PodSecurity: the namespace's labels say how much a pod may ask of its node.

Without labels everything is privileged. `enforce` refuses pods, `warn` warns about pods and about
what makes pods; `audit` is parsed but kept nowhere, as there is no audit log to annotate.

Models kubernetes staging/src/k8s.io/pod-security-admission/admission/admission.go and
api/helpers.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.admission import standards
from apiserver_app.admission.plugin import (
    CREATE,
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
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
    source = "staging/src/k8s.io/pod-security-admission/admission/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        key = attributes.info.key
        if key == "namespaces":
            return _namespace(attributes, attributes.obj)
        namespace = attributes.reader.get("namespaces", "", attributes.namespace)
        policy, _ = policy_of(meta.labels_of(namespace) if namespace else {})
        if policy == _OPEN:
            return _PRIVILEGED
        if key == "pods":
            return _pod(attributes, policy, attributes.obj)
        return _controller(attributes, policy, attributes.obj)


def policy_of(labels: dict[str, str]) -> tuple[Policy, list[errors.FieldError]]:
    """The policy a namespace's labels ask for, and what is wrong with them. A bad level is
    restricted for enforce and privileged for the others."""
    if not any(key.startswith(PREFIX) for key in labels):
        return _OPEN, []
    found: list[errors.FieldError] = []
    levels = {mode: _level(labels, mode, found) for mode in ("enforce", "audit", "warn")}
    enforce, warn = levels["enforce"], levels["warn"]
    valid = labels.get(f"{PREFIX}enforce") in standards.LEVELS
    if valid and f"{PREFIX}warn" not in labels and enforce.strictness > warn.strictness:
        has_version = f"{PREFIX}warn-version" in labels
        warn = Level(enforce.name, warn.version if has_version else enforce.version)
    return Policy(enforce, levels["audit"], warn), found


def _level(labels: dict[str, str], mode: str, found: list[errors.FieldError]) -> Level:
    key = f"{PREFIX}{mode}"
    name = labels.get(key, PRIVILEGED)
    if name not in standards.LEVELS:
        words = ", ".join(standards.LEVELS)
        found.append(
            errors.invalid_value(f"metadata.labels[{key}]", name, f"must be one of {words}")
        )
        name = RESTRICTED if mode == "enforce" else PRIVILEGED
    version = labels.get(f"{key}-version", "latest")
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
    found = standards.violations(policy.enforce.name, policy.enforce.version, pod)
    if found:
        raise errors.forbidden(
            "", "pods", attributes.name or meta.name_of(pod),
            f'violates PodSecurity "{policy.enforce}": {standards.describe(found)}',
        )  # fmt: skip
    if policy.warn != policy.enforce:
        _warn(attributes, policy.warn, pod)
    return Verdict("allow", f"meets {policy.enforce.name}")


def _controller(attributes: Attributes, policy: Policy, obj: Object) -> Verdict:
    template: Object | None = obj
    for step in _TEMPLATES[attributes.info.key]:
        template = (template or {}).get(step)
    if not template or not template.get("spec"):
        return SKIP
    if _warn(attributes, policy.warn, template):
        return Verdict("allow", f"its pods would violate {policy.warn.name}: warned")
    return Verdict("allow", "its pods would be let in")


def _warn(attributes: Attributes, level: Level, pod: Object) -> bool:
    found = standards.violations(level.name, level.version, pod)
    if not found:
        return False
    attributes.warnings.append(f'would violate PodSecurity "{level}": {standards.describe(found)}')
    return True


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


def _namespace(attributes: Attributes, namespace: Object) -> Verdict:
    """Labels must be valid when they are set; a stricter level warns of the pods that are there."""
    new, wrong = policy_of(meta.labels_of(namespace))
    old, old_wrong = policy_of(meta.labels_of(attributes.old or {}))
    creating = attributes.operation == CREATE
    if wrong and (creating or wrong != old_wrong):
        raise errors.invalid("", "Namespace", meta.name_of(namespace), wrong)
    if creating or new.enforce == old.enforce or new.enforce.name == PRIVILEGED:
        return Verdict("allow", f"pods must meet {new.enforce.name}")
    relaxed = new.enforce.strictness <= old.enforce.strictness
    if relaxed and new.enforce.version == old.enforce.version:
        return Verdict("allow", f"relaxed to {new.enforce.name}")
    warnings = _existing(attributes, meta.name_of(namespace), new.enforce)
    attributes.warnings += warnings
    word = "warned of pods that are there" if warnings else "the pods that are there meet it"
    return Verdict("allow", f"now {new.enforce.name}: {word}")


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
