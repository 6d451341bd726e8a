"""The audit policy: the first rule that is about a request says how much of it is logged.

Models kubernetes staging/src/k8s.io/apiserver/pkg/audit/policy/{checker,reader}.go and
pkg/apis/audit/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apiserver_app.auth.protocols import Attributes
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names

LEVELS = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, COMPLETE, PANIC = (
    "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic",
)  # fmt: skip
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)
API_VERSION = "audit.k8s.io/v1"
_MIXED = "rules cannot apply to both regular resources and non-resource URLs"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is logged of a request. `rule` counts from 1; 0 when none is about it."""

    rule: int
    level: str
    omitted: frozenset[str]  # stages
    without_managers: bool


class Policy:
    """One policy file. ValueError, with upstream's sentence, when it is none."""

    def __init__(self, text: str, path: str) -> None:
        try:
            policy = _load(text)
        except ValueError as error:
            raise ValueError(f"loading audit policy file: {error}: from file {path}") from error
        omitted = frozenset(policy.get("omitStages") or ())
        managers = bool(policy.get("omitManagedFields"))
        self._rules: list[tuple[Object, Finding]] = []
        for number, rule in enumerate(policy["rules"], 1):
            own = rule.get("omitManagedFields")
            found = Finding(
                number, rule["level"], omitted | frozenset(rule.get("omitStages") or ()),
                managers if own is None else bool(own),
            )  # fmt: skip
            self._rules.append((rule, found))
        self._otherwise = Finding(0, "None", omitted, managers)

    def find(self, attributes: Attributes | None, asked: Attributes) -> Finding:
        """`attributes` is None while nobody knows who asks."""
        for rule, found in self._rules:
            if _matches(rule, attributes is not None, asked):
                return found
        return self._otherwise


def _matches(rule: Object, known: bool, asked: Attributes) -> bool:
    users, groups = rule.get("users"), rule.get("userGroups")
    if users and not (known and asked.user.name in users):
        return False
    if groups and not (known and any(one in groups for one in asked.user.groups)):
        return False
    if rule.get("verbs") and asked.verb not in rule["verbs"]:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return _is_about(rule, asked)
    if rule.get("nonResourceURLs"):
        return not asked.is_resource and any(
            _is_path(asked.path, one) for one in rule["nonResourceURLs"]
        )
    return True


def _is_path(path: str, wanted: str) -> bool:
    if wanted in ("*", path):
        return True
    return wanted.endswith("*") and path.startswith(wanted.rstrip("*"))


def _is_about(rule: Object, asked: Attributes) -> bool:
    if not asked.is_resource:
        return False
    if rule.get("namespaces") and asked.namespace not in rule["namespaces"]:
        return False
    resources = rule.get("resources")
    return not resources or any(_is_resource(one, asked) for one in resources)


def _is_resource(wanted: Object, asked: Attributes) -> bool:
    if (wanted.get("group") or "") not in (asked.group, "*"):
        return False
    if not wanted.get("resources"):
        return True
    listed = wanted.get("resourceNames")
    if listed and asked.name not in listed:
        return False
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    taken = ["*", whole, f"{asked.resource}/*"]
    if asked.subresource:
        taken.append(f"*/{asked.subresource}")
    return any(one in taken for one in wanted["resources"])


# -- reading -------------------------------------------------------------------------------------


def _load(text: str) -> Mapping[str, Any]:
    import yaml  # only who has a policy needs it

    try:
        policy = yaml.safe_load(text)
    except yaml.YAMLError as error:
        problem = str(error).replace("\n", " ")
        raise ValueError(f"failed decoding: {problem}") from error
    if not isinstance(policy, dict) or not policy.get("kind"):
        raise ValueError("failed decoding: Object 'Kind' is missing in the policy")
    version, kind = policy.get("apiVersion") or "", policy["kind"]
    if version != API_VERSION or kind != "Policy":
        raise ValueError(
            f'failed decoding: no kind "{kind}" is registered for version "{version}" in scheme '
            '"k8s.io/apiserver/pkg/audit/scheme.go:30"'
        )
    rules = policy.get("rules") or []
    found = _stages(policy.get("omitStages") or (), "omitStages")
    for index, rule in enumerate(rules):
        found += _rule(rule, f"rules[{index}]")
    if found:
        raise ValueError(errors.aggregate([str(one) for one in found]))
    if not rules:
        raise ValueError("loaded illegal policy with 0 rules")
    return {**policy, "rules": rules}


def _rule(rule: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    level = rule.get("level")
    if not level:
        found.append(errors.required(f"{path}.level"))
    elif level not in LEVELS:
        found.append(errors.not_supported(f"{path}.level", level, LEVELS))
    urls = rule.get("nonResourceURLs") or []
    for index, url in enumerate(urls):
        where = f"{path}.nonResourceURLs[{index}]"
        if url != "*" and not url.startswith("/"):
            text = "non-resource URL rules must begin with a '/' character"
            found.append(errors.invalid_value(where, url, text))
        if url != "*" and "*" in url[:-1]:
            text = "non-resource URL wildcards '*' must be the final character of the rule"
            found.append(errors.invalid_value(where, url, text))
    for one in rule.get("resources") or ():
        found += _resource(one, f"{path}.resources")
    found += _stages(rule.get("omitStages") or (), f"{path}.omitStages")
    if urls and (rule.get("resources") or rule.get("namespaces")):
        found.append(errors.invalid_value(f"{path}.nonResourceURLs", list(urls), _MIXED))
    return found


def _resource(one: Object, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    group = one.get("group") or ""
    if group not in ("", "*"):
        wrong = names.dns1123_subdomain_errors(group)
        if wrong:
            found.append(errors.invalid_value(f"{path}.group", group, ",".join(wrong)))
    if one.get("resourceNames") and not one.get("resources"):
        text = "using resourceNames requires at least one resource"
        found.append(errors.invalid_value(f"{path}.resourceNames", one["resourceNames"], text))
    return found


def _stages(listed: Sequence[str], path: str) -> list[FieldError]:
    text = f"allowed stages are {','.join(STAGES)}"
    return [
        errors.invalid_value(f"{path}[{index}]", stage, text)
        for index, stage in enumerate(listed)
        if stage not in STAGES
    ]
