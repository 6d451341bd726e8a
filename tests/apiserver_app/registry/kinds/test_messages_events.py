"""What events, flow schemas and priority levels are refused for, word for word.

The rows are facts of kubernetes pkg/apis/core/validation/events.go and
pkg/apis/flowcontrol/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

CORE, NEW = "events", "events.events.k8s.io"
WHEN = "2026-01-01T00:00:00.000000Z"
ABOUT = {"kind": "Pod", "namespace": "default", "name": "web"}


def event(**fields: object) -> Object:
    plain: dict[str, Any] = {
        "eventTime": WHEN, "reportingController": "example.com/c", "reportingInstance": "c-1",
        "action": "Run", "reason": "Ran", "type": "Normal", "regarding": ABOUT, **fields,
    }  # fmt: skip
    given = {name: value for name, value in plain.items() if value is not None}
    return strategies.named("Event", "events.k8s.io/v1", **given)


def old_event(**fields: object) -> Object:
    given: dict[str, Any] = {"involvedObject": ABOUT, **fields}
    return strategies.named("Event", "v1", **given)


EVENTS: tuple[tuple[str, Object, list[str]], ...] = (
    (NEW, event(), []),
    (CORE, old_event(), []),
    (CORE, old_event(type="Odd", firstTimestamp="2026-01-01T00:00:00Z", count=3), []),
    (
        CORE,
        old_event(involvedObject={"namespace": "other"}),
        ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ),
    (
        NEW,
        event(eventTime=None, type="Odd", deprecatedCount=2, deprecatedSource={"host": "n"},
              deprecatedFirstTimestamp="2026-01-01T00:00:00Z"),
        ["eventTime: Required value",
         'type: Invalid value: "": has invalid value: Odd',
         'firstTimestamp: Invalid value: "": needs to be unset',
         'count: Invalid value: "": needs to be unset',
         'source: Invalid value: "": needs to be unset'],
    ),
    (
        NEW,
        event(series={"count": 1}),
        ['series.count: Invalid value: "": should be at least 2',
         "series.lastObservedTime: Required value"],
    ),
    (
        NEW,
        event(reportingController=None, reportingInstance="i" * 129, reason=None,
              note="n" * 1025),
        ["reportingController: Required value",
         'reportingController: Invalid value: "": name part must be non-empty',
         'reportingController: Invalid value: "": name part must consist of alphanumeric '
         "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
         "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
         'reportingInstance: Invalid value: "": can have at most 128 characters',
         "reason: Required value",
         'message: Invalid value: "": can have at most 1024 characters'],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("key", "obj", "messages"), EVENTS)
def test_an_event_is_told_what_is_wrong(key: str, obj: Object, messages: list[str]) -> None:
    assert strategies.create_errors(key, obj) == messages


def test_an_event_goes_on_as_a_series_and_does_not_change() -> None:
    old = strategies.created(NEW, event())
    again = {**old, "series": {"count": 2, "lastObservedTime": WHEN}}
    other = {**old, "note": "x", "regarding": {**ABOUT, "name": "api"}, "reason": "Ended"}

    assert strategies.update_errors(NEW, again, old) == []
    assert strategies.update_errors(NEW, other, old) == [
        'involvedObject: Invalid value: core.ObjectReference{Kind:"Pod", Namespace:"default", '
        'Name:"api", UID:"", APIVersion:"", ResourceVersion:"", FieldPath:""}: '
        "field is immutable",
        'reason: Invalid value: "Ended": field is immutable',
        'message: Invalid value: "x": field is immutable',
    ]


def test_an_event_of_the_core_group_may_be_rewritten() -> None:
    old = strategies.created(CORE, old_event(reason="Ran"))

    assert strategies.update_errors(CORE, {**old, "reason": "Ended", "count": 9}, old) == []


SCHEMAS, LEVELS = (
    f"{plural}.flowcontrol.apiserver.k8s.io"
    for plural in ("flowschemas", "prioritylevelconfigurations")
)
USER = {"kind": "User", "user": {"name": "alice"}}
RULE = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def schema(name: str = "mine", **spec: Any) -> Object:
    fields = {"priorityLevelConfiguration": {"name": "workload-low"}, **spec}
    return strategies.named(
        "FlowSchema", "flowcontrol.apiserver.k8s.io/v1", name, namespace=None, spec=fields
    )


def level(name: str = "mine", **spec: Any) -> Object:
    return strategies.named(
        "PriorityLevelConfiguration",
        "flowcontrol.apiserver.k8s.io/v1",
        name,
        namespace=None,
        spec=spec,
    )


def queued(**queuing: int) -> dict[str, Any]:
    return {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}}


AT = "spec.rules[0]"
FLOWS: tuple[tuple[str, Object, list[str]], ...] = (
    (SCHEMAS, schema(rules=[{"subjects": [USER], "nonResourceRules": [RULE]}]), []),
    (
        SCHEMAS,
        schema(matchingPrecedence=1, priorityLevelConfiguration={},
               distinguisherMethod={"type": "ByDay"}),
        ["spec.matchingPrecedence: Invalid value: 1: "
         "only the schema named 'exempt' may have matchingPrecedence 1",
         "spec.distinguisherMethod.type: Unsupported value: "
         'flowcontrol.FlowDistinguisherMethod{Type:"ByDay"}: '
         'supported values: "ByNamespace", "ByUser"',
         "spec.priorityLevelConfiguration.name: Required value: must reference a priority level"],
    ),
    (
        SCHEMAS,
        schema(rules=[{"subjects": [
            {"kind": "Robot"}, {"kind": "User", "group": {"name": "g"}},
            {"kind": "ServiceAccount", "serviceAccount": {"name": "*"}},
            {"kind": "Group", "group": {}}]}]),
        [f'{AT}.subjects[0].kind: Unsupported value: "Robot": '
         'supported values: "Group", "ServiceAccount", "User"',
         f"{AT}.subjects[1].user: Required value: user is required when subject kind is 'User'",
         f"{AT}.subjects[1].group: Forbidden: group is forbidden when subject kind is not 'Group'",
         f"{AT}.subjects[2].serviceAccount.namespace: Required value: "
         "must specify namespace for service account",
         f"{AT}.subjects[3].group.name: Required value",
         f"{AT}: Required value: "
         "at least one of resourceRules and nonResourceRules has to be non-empty"],
    ),
    (
        SCHEMAS,
        schema(rules=[{"subjects": [USER], "resourceRules": [
            {"verbs": ["get", "*"], "apiGroups": ["*", ""], "resources": []},
            {"verbs": ["fly"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["A"]}],
            "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["a", "/a//b", "/a*"]}]}]),
        [f'{AT}.resourceRules[0].verbs: Invalid value: []string{{"get", "*"}}: '
         "if '*' is present, must not specify other verbs",
         f'{AT}.resourceRules[0].apiGroups: Invalid value: []string{{"*", ""}}: '
         "if '*' is present, must not specify other api groups",
         f"{AT}.resourceRules[0].resources: Required value: "
         "resource rules must supply at least one resource",
         f"{AT}.resourceRules[0].namespaces: Required value: resource rules that are not cluster "
         "scoped must supply at least one namespace",
         f'{AT}.resourceRules[1].verbs: Unsupported value: []string{{"fly"}}: supported values: '
         '"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", '
         '"watch"',
         f'{AT}.resourceRules[1].namespaces[0]: Invalid value: "A": each member of this list must '
         "be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case "
         "alphanumeric characters or '-', and must start and end with an alphanumeric character "
         "(e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
         f'{AT}.nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": '
         "must start with slash",
         f'{AT}.nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a//b": '
         "must not contain double slash",
         f'{AT}.nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/a*": '
         "wildcard can only do suffix matching"],
    ),
    (
        SCHEMAS,
        schema("catch-all", matchingPrecedence=10_000, rules=[]),
        ["spec: Invalid value: flowcontrol.FlowSchemaSpec{...}: "
         "spec of 'catch-all' must equal the fixed value"],
    ),
    (LEVELS, level(**queued()), []),
    (
        LEVELS,
        level(type="Exempt", limited={}),
        ["spec.type: Invalid value: \"Exempt\": "
         "type must be 'Exempt' if and only if name is 'exempt'",
         "spec.limited: Forbidden: must be nil if the type is not Limited"],
    ),
    (LEVELS, level(type="Limited"),
     ["spec.limited: Required value: must not be empty when type is Limited"]),
    (
        LEVELS,
        level(type="Limited", exempt={}, limited={
            "nominalConcurrencyShares": -1, "lendablePercent": 101, "borrowingLimitPercent": -1,
            "limitResponse": {"type": "Reject", "queuing": {}}}),
        ["spec.exempt: Forbidden: must be nil if the type is Limited",
         "spec.limited.nominalConcurrencyShares: Invalid value: -1: "
         "must be a non-negative integer",
         "spec.limited.lendablePercent: Invalid value: 101: "
         "must be between 0 and 100, inclusive",
         "spec.limited.borrowingLimitPercent: Invalid value: -1: "
         "if specified, must be a non-negative integer",
         "spec.limited.limitResponse.queuing: Forbidden: "
         "must be nil if limited.limitResponse.type is not Limited"],
    ),
    (
        LEVELS,
        level(**queued(queues=1024, handSize=7, queueLengthLimit=-1)),
        ["spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: "
         "must be positive",
         "spec.limited.limitResponse.queuing.handSize: Invalid value: 7: required entropy bits "
         "of deckSize 1024 and handSize 7 should not be greater than 60"],
    ),
    (
        LEVELS,
        level(**queued(queues=4, handSize=5)),
        ["spec.limited.limitResponse.queuing.handSize: Invalid value: 5: "
         "should not be greater than queues (4)"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("key", "obj", "messages"), FLOWS)
def test_a_flow_schema_or_level_is_told_what_is_wrong(
    key: str, obj: Object, messages: list[str]
) -> None:
    assert strategies.create_errors(key, obj) == messages


def test_schemas_and_levels_count_their_generations_and_start_without_status() -> None:
    for key, obj in ((SCHEMAS, schema()), (LEVELS, level(**queued()))):
        made = strategies.created(key, {**obj, "status": {"conditions": [{"type": "x"}]}})
        changed = strategies.updated(key, strategies.with_spec(made, matchingPrecedence=7), made)

        assert (made["metadata"]["generation"], made["status"]) == (1, {})
        assert changed["metadata"]["generation"] == 2
