"""The audit policy: the first matching rule sets a request's level.

Models kubernetes staging/src/k8s.io/apiserver/pkg/audit/policy/{checker,reader}.go and
pkg/apis/audit/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from apiserver_app.authprotocols import Attributes
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names

LEVELS = ("None", "Metadata", "Request", "RequestResponse")
RECEIVED, STARTED, COMPLETE, PANIC = (
    "RequestReceived",
    "ResponseStarted",
    "ResponseComplete",
    "Panic",
)
STAGES = (RECEIVED, STARTED, COMPLETE, PANIC)
API_VERSION = "audit.k8s.io/v1"
_MIXED = "rules cannot apply to both regular resources and non-resource URLs"


class Finding(msgspec.Struct, frozen=True):
    """What to log of a request. `rule` counts from 1; 0 when none matches."""

    rule: int
    level: str
    omitted: frozenset[str]  # stages
    without_managers: bool


class Policy:
    """A parsed policy file. Raises ValueError with upstream's message when invalid."""

    def __init__(self, text: str, path: str) -> None:
        try:
            policy = _load(text)
        except ValueError as error:
            raise ValueError(f"loading audit policy file: {error}: from file {path}") from error
        omitted = frozenset(policy.get("omitStages") or ())
        managers = bool(policy.get("omitManagedFields"))
        self._rules: list[tuple[Object, Finding]] = []
        for number, rule in enumerate(policy["rules"], 1):
            own_setting = rule.get("omitManagedFields")
            finding = Finding(
                number,
                rule["level"],
                omitted | frozenset(rule.get("omitStages") or ()),
                managers if own_setting is None else bool(own_setting),
            )
            self._rules.append((rule, finding))
        self._otherwise = Finding(0, "None", omitted, managers)

    def find(self, attributes: Attributes | None, request: Attributes) -> Finding:
        """Returns the finding for a request; `attributes` is None while the user is unknown."""
        for rule, finding in self._rules:
            if _matches(rule, attributes is not None, request):
                return finding
        return self._otherwise


def _matches(rule: Object, known: bool, request: Attributes) -> bool:
    users, groups = rule.get("users"), rule.get("userGroups")
    if users and not (known and request.user.name in users):
        return False
    if groups and not (known and any(group in groups for group in request.user.groups)):
        return False
    if rule.get("verbs") and request.verb not in rule["verbs"]:
        return False
    if rule.get("namespaces") or rule.get("resources"):
        return _matches_resources(rule, request)
    if rule.get("nonResourceURLs"):
        return not request.is_resource and any(
            _is_path(request.path, url) for url in rule["nonResourceURLs"]
        )
    return True


def _is_path(path: str, pattern: str) -> bool:
    if pattern in ("*", path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def _matches_resources(rule: Object, request: Attributes) -> bool:
    if not request.is_resource:
        return False
    if rule.get("namespaces") and request.namespace not in rule["namespaces"]:
        return False
    resources = rule.get("resources")
    return not resources or any(_is_resource(entry, request) for entry in resources)


def _is_resource(entry: Object, request: Attributes) -> bool:
    if (entry.get("group") or "") not in (request.group, "*"):
        return False
    if not entry.get("resources"):
        return True
    resource_names = entry.get("resourceNames")
    if resource_names and request.name not in resource_names:
        return False
    combined = (
        f"{request.resource}/{request.subresource}" if request.subresource else request.resource
    )
    accepted = ["*", combined, f"{request.resource}/*"]
    if request.subresource:
        accepted.append(f"*/{request.subresource}")
    return any(pattern in accepted for pattern in entry["resources"])


# -- reading -------------------------------------------------------------------------------------


def _load(text: str) -> Mapping[str, Any]:
    import yaml  # only needed with a policy

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
    problems = _stages(policy.get("omitStages") or (), "omitStages")
    for index, rule in enumerate(rules):
        problems += _rule(rule, f"rules[{index}]")
    if problems:
        raise ValueError(errors.aggregate([str(problem) for problem in problems]))
    if not rules:
        raise ValueError("loaded illegal policy with 0 rules")
    return {**policy, "rules": rules}


def _rule(rule: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    level = rule.get("level")
    if not level:
        problems.append(errors.required(f"{path}.level"))
    elif level not in LEVELS:
        problems.append(errors.not_supported(f"{path}.level", level, LEVELS))
    urls = rule.get("nonResourceURLs") or []
    for index, url in enumerate(urls):
        where = f"{path}.nonResourceURLs[{index}]"
        if url != "*" and not url.startswith("/"):
            text = "non-resource URL rules must begin with a '/' character"
            problems.append(errors.invalid_value(where, url, text))
        if url != "*" and "*" in url[:-1]:
            text = "non-resource URL wildcards '*' must be the final character of the rule"
            problems.append(errors.invalid_value(where, url, text))
    for resource in rule.get("resources") or ():
        problems += _resource(resource, f"{path}.resources")
    problems += _stages(rule.get("omitStages") or (), f"{path}.omitStages")
    if urls and (rule.get("resources") or rule.get("namespaces")):
        problems.append(errors.invalid_value(f"{path}.nonResourceURLs", list(urls), _MIXED))
    return problems


def _resource(entry: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    group = entry.get("group") or ""
    if group not in ("", "*"):
        messages = names.dns1123_subdomain_errors(group)
        if messages:
            problems.append(errors.invalid_value(f"{path}.group", group, ",".join(messages)))
    if entry.get("resourceNames") and not entry.get("resources"):
        text = "using resourceNames requires at least one resource"
        problems.append(errors.invalid_value(f"{path}.resourceNames", entry["resourceNames"], text))
    return problems


def _stages(listed: Sequence[str], path: str) -> list[FieldError]:
    text = f"allowed stages are {','.join(STAGES)}"
    return [
        errors.invalid_value(f"{path}[{index}]", stage, text)
        for index, stage in enumerate(listed)
        if stage not in STAGES
    ]
