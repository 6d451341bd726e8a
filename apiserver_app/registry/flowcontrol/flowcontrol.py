"""Flow schemas and priority levels: what is filled in, and what cannot be.

The ones called `exempt` and `catch-all` are the server's own and stay as it made them.

Models kubernetes pkg/apis/flowcontrol/v1/defaults.go,
pkg/apis/flowcontrol/validation/validation.go,
pkg/registry/flowcontrol/{flowschema,prioritylevelconfiguration}/strategy.go and
pkg/apis/flowcontrol/internalbootstrap/default-internal.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks

Part = Mapping[str, Any]

PRECEDENCE, PRECEDENCE_MAX = 1000, 10_000
SHARES, QUEUES, HAND, LENGTH = 30, 64, 8, 50
QUEUES_MAX = 10_000_000
HASH_BITS_MAX = 60
EXEMPT, CATCH_ALL = "exempt", "catch-all"
_LIMITS = (("queues", QUEUES), ("handSize", HAND), ("queueLengthLimit", LENGTH))
_METHODS = ("ByNamespace", "ByUser")
_VERBS = tuple("create delete deletecollection get list patch proxy update watch".split())
# a subject's kind -> the field that says which one
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
# field of a resource rule, what is said when it is empty, what `*` excludes
_LISTS = (
    ("apiGroups", "resource rules must supply at least one api group", "api groups"),
    ("resources", "resource rules must supply at least one resource", "resources"),
)
_LIMITED_ONLY = "must be nil if the type is not Limited"


class _ConfigurationStrategy(Strategy):
    counts_generation = True

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        obj["status"] = {}

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return _conditions(obj)


class FlowSchemaStrategy(_ConfigurationStrategy):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = PRECEDENCE

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        spec: dict[str, Any] = obj.get("spec") or {}
        errs: list[FieldError] = []
        _precedence(spec.get("matchingPrecedence") or 0, name_of(obj), errs)
        method = spec.get("distinguisherMethod")
        if method is not None and method.get("type") not in _METHODS:
            kind = errors.go_value(method.get("type") or "")
            printed = errors.GoText(f"flowcontrol.FlowDistinguisherMethod{{Type:{kind}}}")
            errs.append(errors.not_supported("spec.distinguisherMethod.type", printed, _METHODS))
        level = (spec.get("priorityLevelConfiguration") or {}).get("name") or ""
        path = "spec.priorityLevelConfiguration.name"
        if not level:
            errs.append(errors.required(path, "must reference a priority level"))
        else:
            checks.named(level, path, names.dns1123_subdomain_errors, errs)
        for index, rule in enumerate(spec.get("rules") or ()):
            _rule(rule, f"spec.rules[{index}]", errs)
        if name_of(obj) in _OWN_SCHEMAS and not _is_own_schema(spec, _OWN_SCHEMAS[name_of(obj)]):
            printed = errors.GoText("flowcontrol.FlowSchemaSpec{...}")
            text = f"spec of '{name_of(obj)}' must equal the fixed value"
            errs.append(errors.invalid_value("spec", printed, text))
        return errs


class PriorityLevelStrategy(_ConfigurationStrategy):
    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        exempt, limited = spec.get("exempt"), spec.get("limited")
        if exempt is not None:
            exempt.setdefault("nominalConcurrencyShares", 0)
            exempt.setdefault("lendablePercent", 0)
        if limited is None:
            return
        if self.info.version == "v1" or "assuredConcurrencyShares" not in limited:
            limited.setdefault("nominalConcurrencyShares", SHARES)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        if queuing is not None:
            for name, value in _LIMITS:
                if not queuing.get(name):
                    queuing[name] = value

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        spec: dict[str, Any] = obj.get("spec") or {}
        name, kind = name_of(obj), spec.get("type") or ""
        limited, exempt = spec.get("limited"), spec.get("exempt")
        errs: list[FieldError] = []
        if (name == EXEMPT) != (kind == "Exempt"):
            text = "type must be 'Exempt' if and only if name is 'exempt'"
            errs.append(errors.invalid_value("spec.type", kind, text))
        if kind == "Exempt":
            if limited is not None:
                errs.append(errors.forbidden_value("spec.limited", _LIMITED_ONLY))
            if exempt is not None:
                _shares(exempt, "spec.exempt", errs)
        elif kind != "Limited":
            errs.append(errors.not_supported("spec.type", kind, ("Exempt", "Limited")))
        else:
            if exempt is not None:
                text = "must be nil if the type is Limited"
                errs.append(errors.forbidden_value("spec.exempt", text))
            if limited is None:
                text = "must not be empty when type is Limited"
                errs.append(errors.required("spec.limited", text))
            else:
                _limited(limited, "spec.limited", errs)
        is_old = "assuredConcurrencyShares" in (limited or {})
        if name == CATCH_ALL and limited != _CATCH_ALL_LIMITS and not is_old:
            printed = errors.GoText("flowcontrol.PriorityLevelConfigurationSpec{...}")
            text = f"spec of '{name}' must equal the fixed value"
            errs.append(errors.invalid_value("spec", printed, text))
        return errs


# -- inside -------------------------------------------------------------------------------------

_CATCH_ALL_LIMITS = {
    "nominalConcurrencyShares": 5,
    "lendablePercent": 0,
    "limitResponse": {"type": "Reject"},
}
# precedence, level and groups of the server's own schemas
_OWN_SCHEMAS = {
    EXEMPT: (1, None, ["system:masters"]),
    CATCH_ALL: (PRECEDENCE_MAX, "ByUser", ["system:unauthenticated", "system:authenticated"]),
}


def _is_own_schema(spec: Part, own: tuple[int, str | None, list[str]]) -> bool:
    """Everything asked by the same groups, at the same place."""
    precedence, method, groups = own
    rules: Sequence[Part] = spec.get("rules") or ({},)
    asked = [(subject.get("group") or {}).get("name") for subject in rules[0].get("subjects") or ()]
    return (
        len(rules) == 1
        and spec.get("matchingPrecedence") == precedence
        and (spec.get("distinguisherMethod") or {}).get("type") == method
        and sorted(map(str, asked)) == sorted(groups)
    )


def _precedence(value: int, name: str, errs: list[FieldError]) -> None:
    path = "spec.matchingPrecedence"
    if value <= 0:
        errs.append(errors.invalid_value(path, value, "must be a positive value"))
    if value > PRECEDENCE_MAX:
        text = f"must not be greater than {PRECEDENCE_MAX}"
        errs.append(errors.invalid_value(path, value, text))
    if value == 1 and name != EXEMPT:
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        errs.append(errors.invalid_value(path, value, text))


def _rule(rule: Part, path: str, errs: list[FieldError]) -> None:
    subjects = rule.get("subjects") or ()
    if not subjects:
        text = "subjects must contain at least one value"
        errs.append(errors.required(f"{path}.subjects", text))
    for index, subject in enumerate(subjects):
        _subject(subject, f"{path}.subjects[{index}]", errs)
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errs.append(errors.required(path, text))
    for index, inner in enumerate(rule.get("resourceRules") or ()):
        _resource_rule(inner, f"{path}.resourceRules[{index}]", errs)
    for index, inner in enumerate(rule.get("nonResourceRules") or ()):
        at = f"{path}.nonResourceRules[{index}]"
        _verbs(inner.get("verbs") or (), f"{at}.verbs", errs)
        _urls(inner.get("nonResourceURLs") or (), f"{at}.nonResourceURLs", errs)


def _subject(subject: Part, path: str, errs: list[FieldError]) -> None:
    kind = subject.get("kind") or ""
    own = _SUBJECTS.get(kind)
    if own is None:
        allowed = tuple(sorted(_SUBJECTS))
        errs.append(errors.not_supported(f"{path}.kind", kind, allowed))
        return
    named, at = subject.get(own), f"{path}.{own}"
    if named is None:
        errs.append(errors.required(at, f"{own} is required when subject kind is '{kind}'"))
    elif not named.get("name"):
        errs.append(errors.required(f"{at}.name"))
    elif kind == "ServiceAccount" and named["name"] != "*":
        checks.named(named["name"], f"{at}.name", names.dns1123_subdomain_errors, errs)
    if named is not None and kind == "ServiceAccount":
        if not named.get("namespace"):
            text = "must specify namespace for service account"
            errs.append(errors.required(f"{at}.namespace", text))
        else:
            space = named["namespace"]
            checks.named(space, f"{at}.namespace", names.dns1123_label_errors, errs)
    for other, field in _SUBJECTS.items():
        if other != kind and subject.get(field) is not None:
            text = f"{field} is forbidden when subject kind is not '{other}'"
            errs.append(errors.forbidden_value(f"{path}.{field}", text))


def _resource_rule(rule: Part, path: str, errs: list[FieldError]) -> None:
    _verbs(rule.get("verbs") or (), f"{path}.verbs", errs)
    for field, empty, word in _LISTS:
        values = rule.get(field) or ()
        if not values:
            errs.append(errors.required(f"{path}.{field}", empty))
        else:
            _everything(values, word, f"{path}.{field}", errs)
    spaces, at = rule.get("namespaces") or (), f"{path}.namespaces"
    if not spaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        errs.append(errors.required(at, text))
    elif not _everything(spaces, "namespaces", at, errs):
        for index, space in enumerate(spaces):
            for text in names.dns1123_label_errors(space):
                text = f"each member of this list must be '*' or a DNS-1123 label; {text}"
                errs.append(errors.invalid_value(f"{at}[{index}]", space, text))


def _everything(values: Sequence[str], word: str, path: str, errs: list[FieldError]) -> bool:
    """Whether `*` is among them, beside which nothing else may stand."""
    if "*" not in values:
        return False
    if len(values) > 1:
        text = f"if '*' is present, must not specify other {word}"
        errs.append(errors.invalid_value(path, list(values), text))
    return True


def _verbs(verbs: Sequence[str], path: str, errs: list[FieldError]) -> None:
    if not verbs:
        errs.append(errors.required(path, "verbs must contain at least one value"))
    elif not _everything(verbs, "verbs", path, errs) and not set(verbs) <= set(_VERBS):
        errs.append(errors.not_supported(path, list(verbs), _VERBS))


def _urls(urls: Sequence[str], path: str, errs: list[FieldError]) -> None:
    if not urls:
        errs.append(errors.required(path, "nonResourceURLs must contain at least one value"))
    elif not _everything(urls, "non-resource URLs", path, errs):
        for index, url in enumerate(urls):
            text = _url_error(url)
            if text:
                errs.append(errors.invalid_value(f"{path}[{index}]", url, text))


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    if stars > 1 or (stars and not url.endswith("/*")):
        return "wildcard can only do suffix matching"
    return ""


def _shares(part: Part, path: str, errs: list[FieldError]) -> None:
    """How much of the server's concurrency, and how much of that may be lent."""
    shares, lends = part.get("nominalConcurrencyShares", 0), part.get("lendablePercent", 0)
    if shares < 0:
        text = "must be a non-negative integer"
        errs.append(errors.invalid_value(f"{path}.nominalConcurrencyShares", shares, text))
    if not 0 <= lends <= 100:
        text = "must be between 0 and 100, inclusive"
        errs.append(errors.invalid_value(f"{path}.lendablePercent", lends, text))


def _limited(limited: Part, path: str, errs: list[FieldError]) -> None:
    _shares(limited, path, errs)
    borrows = limited.get("borrowingLimitPercent")
    if borrows is not None and borrows < 0:
        text = "if specified, must be a non-negative integer"
        errs.append(errors.invalid_value(f"{path}.borrowingLimitPercent", borrows, text))
    response = limited.get("limitResponse") or {}
    kind, queuing, path = (
        response.get("type") or "",
        response.get("queuing"),
        f"{path}.limitResponse",
    )
    if kind == "Reject":
        if queuing is not None:
            text = "must be nil if limited.limitResponse.type is not Limited"
            errs.append(errors.forbidden_value(f"{path}.queuing", text))
    elif kind != "Queue":
        errs.append(errors.not_supported(f"{path}.type", kind, ("Queue", "Reject")))
    elif queuing is None:
        text = "must not be empty if limited.limitResponse.type is Limited"
        errs.append(errors.required(f"{path}.queuing", text))
    else:
        _queuing(queuing, f"{path}.queuing", errs)


def _queuing(queuing: Part, path: str, errs: list[FieldError]) -> None:
    length = queuing.get("queueLengthLimit", LENGTH)
    queues, hand = queuing.get("queues", QUEUES), queuing.get("handSize", HAND)
    if length <= 0:
        at = f"{path}.queueLengthLimit"
        errs.append(errors.invalid_value(at, length, "must be positive"))
    if queues <= 0:
        errs.append(errors.invalid_value(f"{path}.queues", queues, "must be positive"))
    elif queues > QUEUES_MAX:
        text = f"must not be greater than {QUEUES_MAX}"
        errs.append(errors.invalid_value(f"{path}.queues", queues, text))
    at = f"{path}.handSize"
    if hand <= 0:
        errs.append(errors.invalid_value(at, hand, "must be positive"))
    elif hand > queues:
        text = f"should not be greater than queues ({queues})"
        errs.append(errors.invalid_value(at, hand, text))
    elif math.ceil(math.log2(queues) * hand) > HASH_BITS_MAX:
        text = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be "
            f"greater than {HASH_BITS_MAX}"
        )
        errs.append(errors.invalid_value(at, hand, text))


def _conditions(obj: Object) -> list[FieldError]:
    errs: list[FieldError] = []
    seen: set[str] = set()
    for index, condition in enumerate((obj.get("status") or {}).get("conditions") or ()):
        kind, path = condition.get("type") or "", f"status.conditions[{index}].type"
        if kind in seen:
            errs.append(errors.duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errs.append(errors.required(path, "must not be empty"))
    return errs
