"""What definitions must look like, in upstream's sentences."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.apiextensions.crontab import DEFINITION, DEFINITIONS, NAME, define
from tests.apiserver_app.cluster import MERGE, server_session
from tests.apiserver_app.registry.kinds import strategies

AT = "spec.validation.openAPIV3Schema"
SPEC = f"{AT}.properties[spec]"


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def of_spec(schema: Any) -> dict[str, Any]:
    """A definition whose spec has this schema."""
    body = copy.deepcopy(DEFINITION)
    version = body["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
    del version["subresources"]["scale"]
    return body


def with_(path: str, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(DEFINITION)
    at: Any = body
    *steps, last = path.split(".")
    for step in steps:
        at = at[int(step)] if step.isdigit() else at[step]
    at[last] = value
    return body


OBJECT = {"type": "object"}
ITEM = {"type": "object", "properties": {"name": {"type": "string"}}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    (with_("metadata.name", "x.y"), "metadata.name: Invalid value: \"x.y\": must be "
     "spec.names.plural+\".\"+spec.group"),
    (with_("spec.group", "plain"), 'spec.group: Invalid value: "plain": should be a domain with '
     "at least one dot"),
    (with_("spec.scope", "Galaxy"), 'spec.scope: Unsupported value: "Galaxy": supported values: '
     '"Cluster", "Namespaced"'),
    (with_("spec.names.kind", "Cron Tab"), 'spec.names.kind: Invalid value: "Cron Tab": may have '
     "mixed case, but should otherwise match: a DNS-1035 label"),
    (with_("spec.versions.0.storage", False), "must have exactly one version marked as storage "
     "version"),
    (with_("spec.versions.0.schema", {}), "spec.versions[0].schema.openAPIV3Schema: Required "
     "value: schemas are required"),
    (with_("spec.versions.0.schema.openAPIV3Schema.type", ""), f"{AT}.type: Required value: must "
     "not be empty at the root"),
    (with_("spec.preserveUnknownFields", True), "spec.preserveUnknownFields: Invalid value: true: "
     "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
     "spec.versions[*].schema instead"),
    (with_("spec.versions.0.deprecationWarning", "old"), "spec.versions[0].deprecationWarning: "
     'Invalid value: "old": can only be set for deprecated versions'),
    (with_("spec.versions.0.subresources.scale.specReplicasPath", ".status.x"),
     'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path '
     "under .spec"),
    (with_("spec.versions.0.additionalPrinterColumns.0.type", "text"),
     'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of '
     "boolean,date,integer,number,string"),
    (with_("spec.conversion", {"strategy": "Webhook"}), "spec.conversion.webhookClientConfig: "
     "Required value: required when strategy is set to Webhook"),
    (with_("spec.versions.0.selectableFields", [{"jsonPath": ".spec.none"}]),
     'spec.selectableFields[0].jsonPath: Invalid value: ".spec.none": is an invalid path: does not '
     "refer to a valid field"),
    (of_spec({"type": "object", "properties": {"a": {}}}), f"{SPEC}.properties[a].type: Required "
     "value: must not be empty for specified object fields"),
    (of_spec({"type": "object", "properties": {"a": {"type": "array"}}}),
     f"{SPEC}.properties[a].items: Required value: must be specified"),
    (of_spec({"type": "array", "items": {}}), f"{SPEC}.items.type: Required value: must not be "
     "empty for specified array items"),
    (of_spec({"type": "text"}), f'{SPEC}.type: Unsupported value: "text": supported values: '
     '"array", "boolean", "integer", "number", "object", "string"'),
    (of_spec({**OBJECT, "anyOf": [{"type": "object"}]}), f"{SPEC}.anyOf[0].type: Forbidden: must "
     "be empty to be structural"),
    (with_("spec.versions.0.schema.openAPIV3Schema.anyOf", [{"properties": {"b": {}}}]),
     f"{AT}.properties[b]: Required value: because it is defined in {AT}.anyOf[0].properties[b]"),
    (of_spec({**OBJECT, "properties": {"a": OBJECT}, "additionalProperties": OBJECT}),
     f"{SPEC}.additionalProperties: Forbidden: additionalProperties and properties are mutual "
     "exclusive"),
    (of_spec({"type": "array", "items": OBJECT, "uniqueItems": True}), f"{SPEC}.uniqueItems: "
     "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"),
    (of_spec({"type": "array", "items": ITEM, "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"]}),
     f"{SPEC}.items.properties[name].default: Required value: this property is in "
     "x-kubernetes-list-map-keys, so it must have a default or be a required property"),
    (of_spec({"type": "array", "items": ITEM, "x-kubernetes-list-type": "set"}),
     "must be atomic as item of a list with x-kubernetes-list-type=set"),
    (of_spec({**OBJECT, "properties": {"a": {"type": "integer", "default": "x"}}}),
     f'{SPEC}.properties[a].default: Invalid value: "string": '),
    (of_spec({**OBJECT, "properties": {"a": {**OBJECT, "default": {"b": 1}}}}),
     "must not have unknown fields"),
    (of_spec({"type": "string", "pattern": "("}), f'{SPEC}.pattern: Invalid value: "(": must be a '
     "valid regular expression, but isn't"),
    (of_spec({**OBJECT, "x-kubernetes-validations": [{"rule": "self.none == 1"}]}),
     "undefined field 'none'"),
    (of_spec({**OBJECT, "x-kubernetes-validations": [{"rule": "1 + 1"}]}),
     "cel expression must evaluate to a bool"),
    (of_spec({**OBJECT, "x-kubernetes-validations": [{"rule": ""}]}),
     f"{SPEC}.x-kubernetes-validations[0].rule: Required value: rule is not specified"),
    (of_spec({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [
        {"rule": "self == oldSelf"}]}}),
     "oldSelf cannot be used on the uncorrelatable portion of the schema within " + SPEC),
]  # fmt: skip


@pytest.mark.parametrize(("body", "said"), REFUSED, ids=[case[1][-40:] for case in REFUSED])
def test_a_definition_that_is_not_right_is_refused(
    session: Session, body: dict[str, Any], said: str
) -> None:
    answer = session.request("POST", DEFINITIONS, body)
    assert answer.status == 422, answer.text
    assert said in answer.json()["message"]


def test_groups_of_the_community_need_an_approval(session: Session) -> None:
    body = with_("spec.group", "things.k8s.io")
    body["metadata"]["name"] = "crontabs.things.k8s.io"
    said = session.request("POST", DEFINITIONS, body).json()["message"]
    assert said.endswith(
        "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must "
        'have approval annotation "api-approved.kubernetes.io", see '
        "https://github.com/kubernetes/enhancements/pull/1111"
    )
    body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    assert define(session, body).status == 201
    found = session.request("GET", f"{DEFINITIONS}/crontabs.things.k8s.io").json()["status"]
    condition = next(
        one for one in found["conditions"] if one["type"].startswith("KubernetesAPIApproval")
    )
    assert (condition["status"], condition["reason"]) == ("False", "UnapprovedAnnotation")


def test_what_names_and_stores_a_resource_cannot_change() -> None:
    session = server_session()
    define(session)
    path = f"{DEFINITIONS}/{NAME}"
    answer = session.request("PATCH", path, {"spec": {"scope": "Cluster"}}, headers=MERGE)
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in answer.json()["message"]
    version = {**DEFINITION["spec"]["versions"][0], "name": "v2"}
    answer = session.request("PATCH", path, {"spec": {"versions": [version]}}, headers=MERGE)
    said = 'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was '
    assert said in answer.json()["message"]


# -- what rules may cost -------------------------------------------------------------------------

TOO_MUCH = (
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
    "maps, and strings are declared)"
)


def listing(rule: str, **more: Any) -> dict[str, Any]:
    """A definition with a list of texts in its spec, and a rule about it."""
    names = {"type": "array", "items": {"type": "string"}, **more}
    names["x-kubernetes-validations"] = [{"rule": rule}]
    return of_spec({"type": "object", "properties": {"names": names}})


def test_a_rule_that_may_cost_too_much_is_refused_until_its_schema_is_bounded(
    session: Session,
) -> None:
    rule = "self.all(x, self.all(y, x == y))"
    at = f"{SPEC}.properties[names]"
    answer = define(session, listing(rule))
    assert answer.status == 422
    causes = [(cause["field"], cause["message"]) for cause in answer.json()["details"]["causes"]]
    assert causes == [
        (
            f"{at}.x-kubernetes-validations[0].rule",
            f"Forbidden: estimated rule cost exceeds budget by factor of more than 100x{TOO_MUCH}",
        ),
        (
            f"{at}.x-kubernetes-validations[0].rule",
            "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire "
            "OpenAPIv3 schema",
        ),
        (
            AT,
            "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 "
            f"schema exceeds budget by factor of more than 100x{TOO_MUCH}",
        ),
    ]
    bounded = listing(rule, maxItems=64, items={"type": "string", "maxLength": 63})
    answer = session.request("POST", f"{DEFINITIONS}?dryRun=All", bounded)
    assert answer.status == 201, answer.text


def test_the_factor_is_told_and_grows_with_the_places_a_rule_is_asked_at(session: Session) -> None:
    text = {"type": "string", "x-kubernetes-validations": [{"rule": "self.contains('abcd')"}]}
    answer = define(session, of_spec({"type": "array", "maxItems": 50, "items": text}))
    said = answer.json()["details"]["causes"][0]["message"]
    assert said.startswith("Forbidden: estimated rule cost exceeds budget by factor of 1.6x (try")


# -- where things are found wrong ------------------------------------------------------------------


def of_versions(*changes: dict[str, Any]) -> list[str]:
    """What is wrong with a definition of these versions, each a change of the documentation's."""
    body = copy.deepcopy(DEFINITION)
    first = body["spec"]["versions"][0]
    body["spec"]["versions"] = [
        {**copy.deepcopy(first), "name": f"v{number}", "storage": number == 1, **change}
        for number, change in enumerate(changes, 1)
    ]
    return of_definition(body)


def of_definition(body: dict[str, Any]) -> list[str]:
    key = "customresourcedefinitions.apiextensions.k8s.io"
    return strategies.create_errors(key, body)


def typed(kind: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": {"type": kind}}}
    return {
        "schema": {"openAPIV3Schema": schema},
        "subresources": None,
        "selectableFields": None,
        "additionalPrinterColumns": None,
    }


def test_what_versions_say_alike_is_found_wrong_once_and_else_where_it_stands() -> None:
    types = '"array", "boolean", "integer", "number", "object", "string"'
    wrong = f'.type: Unsupported value: "text": supported values: {types}'

    assert of_versions(typed("text"), typed("text")) == [
        f"spec.validation.openAPIV3Schema.properties[spec]{wrong}"
    ]
    assert of_versions(typed("string"), typed("text")) == [
        f"spec.versions[1].schema.openAPIV3Schema.properties[spec]{wrong}"
    ]
    columns = {"additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": "x"}]}
    at = 'JSONPath: Invalid value: "x": must be a simple json path starting with .'
    one = typed("string")
    assert of_versions({**one, **columns}) == [f"spec.additionalPrinterColumns[0].{at}"]
    assert of_versions(one, {**one, **columns}) == [
        f"spec.versions[1].additionalPrinterColumns[0].{at}"
    ]


def test_a_definition_is_looked_at_in_upstreams_order() -> None:
    body = with_("spec.group", "plain")
    body["spec"] |= {"scope": "", "conversion": {"strategy": "Some"}, "names": {"plural": "a"}}
    body["metadata"]["name"] = "a.plain"
    version = body["spec"]["versions"][0]
    version |= {"name": "V1", "storage": False, "deprecationWarning": ""} | typed("null")

    found = [one.partition(": ")[0] for one in of_definition(body)]

    assert found == [
        "spec.group",
        "spec.scope",
        "spec.versions[0].name",
        "spec.versions[0].deprecationWarning",
        "spec.versions",
        "spec.version",
        "spec.names.singular",
        "spec.names.kind",
        "spec.names.listKind",
        "spec.validation.openAPIV3Schema.properties[spec].type",
        "spec.validation.openAPIV3Schema.properties[spec].type",
        "spec.conversion.strategy",
        "status.storedVersions",
    ]


def test_selectable_fields_that_versions_share_need_a_schema_that_they_share() -> None:
    fields = {"selectableFields": [{"jsonPath": ".spec"}]}
    other = {**typed("string"), **fields}
    other["schema"]["openAPIV3Schema"]["description"] = "other"

    assert of_versions({**typed("string"), **fields}, other) == [
        'spec.selectableFields: Invalid value: "": selectableFields may only be set when '
        "validations.schema is included"
    ]


NULL = "Forbidden: type cannot be set to null, use nullable as an alternative"
STATUS_ROOT = "fields are allowed at the root of the schema if the status subresource is enabled"
OLD = [{"rule": "self == oldSelf"}]
IN_SCHEMAS: list[tuple[dict[str, Any], list[str]]] = [
    ({"type": "object", "anyOf": [{"type": "integer"}, {"type": "string"}]}, []),
    ({"type": "null"}, [
        '.type: Unsupported value: "null": supported values: "array", "boolean", "integer", '
        '"number", "object", "string"', f".type: {NULL}",
    ]),
    ({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
        "a": {"type": "string", "maxLength": 9, "x-kubernetes-validations": OLD}}}, [
        '.properties[a].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf'
        f" cannot be used on the uncorrelatable portion of the schema within {SPEC}",
    ]),
    ({"type": "object", "x-kubernetes-validations": [{"rule": "1", "reason": "FieldValueInvalid"}]},
     [
        ".x-kubernetes-validations[0].rule: Invalid value: apiextensions.ValidationRule{"
        'Rule:"1", Message:"", MessageExpression:"", '
        "Reason:(*apiextensions.FieldValueErrorReason)(0xc000000000), "
        'FieldPath:"", OptionalOldSelf:(*bool)(nil)}: cel expression must evaluate to a bool',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "found"), IN_SCHEMAS)
def test_what_a_schema_may_not_say(schema: dict[str, Any], found: list[str]) -> None:
    assert of_definition(of_spec(schema)) == [f"{SPEC}{one}" for one in found]


def test_parts_that_are_refused_as_a_whole_are_looked_at_nevertheless() -> None:
    schema = {"type": "object", "definitions": {"d": {"type": "null"}}}

    found = of_definition(of_spec(schema))

    assert f"{SPEC}.definitions: Forbidden: definitions is not supported" in found
    assert f"{SPEC}.definitions[d].type: {NULL}" in found


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({"minProperties": 0}, False),
        ({"default": False}, False),
        ({"title": ""}, True),
        ({"x-kubernetes-embedded-resource": False}, True),
    ],
)
def test_the_root_says_little_where_the_status_stands_alone(
    change: dict[str, Any], allowed: bool
) -> None:
    version = typed("string") | {"subresources": {"status": {}}}
    version["schema"]["openAPIV3Schema"] |= change

    assert any(one.endswith(STATUS_ROOT) for one in of_versions(version)) is not allowed


def test_definitions_that_keep_unknown_fields_have_no_defaults_and_are_not_converted() -> None:
    version = typed("string")
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["default"] = "a"
    body = with_("spec.preserveUnknownFields", True)
    body["spec"]["versions"][0] |= version
    webhook = {"clientConfig": {"url": "https://a/"}, "conversionReviewVersions": ["v1"]}
    body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}

    assert of_definition(body) == [
        "spec.preserveUnknownFields: Invalid value: true: must be false in order to use defaults "
        "in the schema",
        'spec.conversion.strategy: Invalid value: "Webhook": must be None if '
        "spec.preserveUnknownFields is true",
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
        "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
    ]


def test_a_conversion_webhook_is_reached_as_any_other() -> None:
    body = with_(
        "spec.conversion",
        {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"service": {"name": "a", "path": "x", "port": 0}},
                "conversionReviewVersions": ["v1"],
            },
        },
    )
    at = "spec.conversion.webhookClientConfig.service"

    assert of_definition(body) == [
        f"{at}.name: Required value: service name is required",
        f"{at}.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
        f"{at}.path: Invalid value: \"x\": must start with a '/'",
        f'{at}.path: Invalid value: "x": segment[0] may not be empty',
    ]


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        ("none", "unable to parse bytes as PEM block"),
        (
            "-----BEGIN KEY-----\nAAAA\n-----END KEY-----\n",
            "no valid certificate authority data seen",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "failed to parse certificate: x509: malformed certificate",
        ),
    ],
)
def test_an_established_definition_needs_certificates_that_are_some(bundle: str, why: str) -> None:
    key = "customresourcedefinitions.apiextensions.k8s.io"
    old = strategies.created(key, with_("spec.conversion", {"strategy": "None"}))
    client = {"url": "https://a/", "caBundle": base64.b64encode(bundle.encode()).decode()}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    new = strategies.with_spec(old, conversion={"strategy": "Webhook", "webhook": webhook})

    assert strategies.update_errors(key, new, old) == []
    condition = {"type": "Established", "status": "True"}
    established = {**old, "status": {**old["status"], "conditions": [condition]}}
    [said] = strategies.update_errors(key, new, established)
    shown = ", ".join(f"{byte:#x}" for byte in bundle.encode())
    assert said == (
        f"spec.conversion.webhookClientConfig.caBundle: Invalid value: []byte{{{shown}}}: unable "
        f"to load root certificates: {why}"
    )
