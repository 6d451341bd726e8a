"""Definitions with rules, defaults and conversions, and policies whose expressions nobody would
write: refused or stored, never a bug; what is stored reads back, and requests are answered.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.apiextensions.crontab import (
    CRONTABS,
    DEFINITION,
    DEFINITIONS,
    NAME,
    crontab,
    session_with_crontabs,
)
from tests.apiserver_app.cluster import APPLY, CONFIGMAPS, MERGE, bare_session, configmap
from tests.conftest import FUZZ
from tests.fuzz import servererrors

QUIET = hypothesis.settings(
    max_examples=40 * FUZZ,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.generate],
)
GROUP = "/apis/admissionregistration.k8s.io/v1"
JSON = {"content-type": "application/json"}

# -- expressions --------------------------------------------------------------------------------

BOOLS = (
    "true", "{b} && {b}", "{b} || {b}", "!{b}", "{i} < {i}", "{s} == {s}", "{l}.all(x, {b})",
    "{l}.exists(x, x == {i})", "{s}.matches({s})", "{s}.startsWith({s})", "{i} in {l}",
    "has(self.text)", "has(self.gone)", "self.?inner.hasValue()", "{l}.isSorted()", "isURL({s})",
    "isIP({s})", "isCIDR({s})", "isQuantity({s})", "isSemver({s})", "dyn({a}) == dyn({a})",
    "format.dns1123Label().validate({s}).hasValue()", "{l}.exists_one(i, v, v > i)",
    "cidr({s}).containsIP({s})", "quantity({s}).isGreaterThan(quantity({s}))", "oldSelf == self",
    "type({a}) == type({a})", "self == oldSelf", "{i} < 1.5", "authorizer.path({s}).check('get')"
    ".allowed()", "{l} == {l}", "sets.contains({l}, {l})", "request.dryRun", "variables.one",
    "oldSelf.hasValue()", "timestamp({s}) < timestamp('2020-01-01T00:00:00Z')", "self.no.such",
)  # fmt: skip
INTS = (
    "1", "-3", "0", "9223372036854775807", "self.whole", "size({l})", "size({s})", "{i} + {i}",
    "{i} * {i}", "{i} / {i}", "{i} % {i}", "{l}[{i}]", "{l}.sum()", "{l}.max()", "int({s})",
    "{s}.indexOf({s})", "{b} ? {i} : {i}", "duration({s}).getSeconds()", "-({i})",
    "url({s}).getPort().size()", "quantity({s}).asInteger()", "semver({s}).major()",
    "{l}.indexOf({i})", "int(2.5e18)", "oldSelf.orValue(self).whole", "object.metadata.generation",
)  # fmt: skip
TEXTS = (
    "'a'", "''", "'1'", "'(a+)+$'", "'[::1]:80'", "'10.0.0.0/8'", "'1Gi'", "'1.2.3'", "'1h'",
    "self.text", "{s} + {s}", "string({i})", "{s}.replace({s}, {s})", "{s}.substring({i})",
    "'%s %d %f %x %e %b'.format([{a}, {i}, 1.5, {s}, 2.5, {b}])", "{s}.format([{a}])",
    "{s}.split({s}).join({s})", "{s}.find({s})", "{s}.charAt({i})", "'%s'.format([{a}])",
    "b'\\xff'", "string(b'\\xff')", "'\U0001f600'", "request.userInfo.username", "'%'", "'%.9f'",
    "object.metadata.name", "{s}.upperAscii().trim()", "jsonpatch.escapeKey({s})", "params.a",
)  # fmt: skip
LISTS = (
    "[]", "[1, 2, 3]", "self.items", "{l} + {l}", "{l}.map(x, {i})", "{l}.filter(x, {b})",
    "self.items.map(x, x * {i})", "{l}.transformList(i, v, i + v)", "[{i}, {i}]", "{l}.flatten()",
    "lists.range({i})", "[?optional.none()]", "{s}.findAll({s}).map(x, size(x))",
    "{l}.map(x, {l}.map(y, x + y).sum())",
    "{l}.slice({i}, {i})",
)  # fmt: skip
ANYS = ("{b}", "{i}", "{s}", "{l}", "null", "1.5", "{{'a': {i}}}", "self", "self.free", "1u",
        "{{1: {s}}}.transformMap(k, v, k)", "[{b}, {i}]", "optional.of({i})", "self.inner",
        "duration('1s')", "timestamp(0)", "ip({s})", "authorizer", "object",
        "Object{{}}")  # fmt: skip
FORMS = {"b": BOOLS, "i": INTS, "s": TEXTS, "l": LISTS, "a": ANYS}


@st.composite
def expressions(draw: st.DrawFn, kind: str, depth: int = 3) -> str:
    """An expression that is grammatical, and of that type as far as what is in it is."""
    forms = FORMS[kind]
    form = draw(st.sampled_from(forms if depth else [one for one in forms if "{" not in one]))
    if "{" not in form:
        return form
    out = form.replace("{{", "\x00").replace("}}", "\x01")
    for name in FORMS:
        while f"{{{name}}}" in out:
            inner = draw(expressions(name, depth - 1)) if depth else "1"
            out = out.replace(f"{{{name}}}", f"({inner})", 1)
    return out.replace("\x00", "{").replace("\x01", "}")


# what may stand where an expression of some type is wanted, sometimes of the wrong one
def wanted(kind: str) -> st.SearchStrategy[str]:
    return st.one_of(
        expressions(kind),
        expressions(kind, 2),
        expressions(kind, 1),
        expressions(kind, 1),
        expressions("a"),
        st.text(max_size=6),
        st.sampled_from(("", "  ", "self", "(" * 300, "x" * 3000)),
    )


def asked(kind: str) -> st.SearchStrategy[str]:
    """Of an object of admission, where there is no self."""
    return wanted(kind).map(
        lambda text: text.replace("oldSelf", "oldObject").replace(
            "self", "object.?data.orValue({})"
        )
    )


# -- definitions --------------------------------------------------------------------------------

VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-2, 2),
    st.text(max_size=4),
    st.sampled_from(([], {}, [1], ["a", "a"], {"whole": 1}, {"a": {"b": None}}, 2**63 - 1, 2**70)),
)
RULE = st.fixed_dictionaries(
    {"rule": wanted("b")},
    optional={
        "message": st.sampled_from(("no", "", " ", "a\nb")), "messageExpression": wanted("s"),
        "reason": st.sampled_from(("FieldValueInvalid", "FieldValueForbidden",
                                   "FieldValueRequired", "FieldValueDuplicate", "Odd", "")),
        "fieldPath": st.sampled_from((".text", ".inner.whole", ".no", ".items[0]", "text", "",
                                      ".free['a.b']", ".labels['a']", ".inner", "." * 40)),
        "optionalOldSelf": st.booleans() | st.none(),
    },
)  # fmt: skip
RULES = st.lists(RULE, max_size=2)
LEAVES = {
    "text": {"type": "string", "maxLength": 20},
    "whole": {"type": "integer"},
    "items": {"type": "array", "items": {"type": "integer"}, "maxItems": 5},
    "free": {"x-kubernetes-preserve-unknown-fields": True, "type": "object"},
    "gone": {"type": "string", "nullable": True},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3},
    "port": {"x-kubernetes-int-or-string": True},
    "when": {"type": "string", "format": "date-time"},
    "long": {"type": "string", "format": "duration"},
    "share": {"type": "number"},
    "key": {"type": "string", "format": "byte"},
}
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "maxLength": st.integers(-1, 9),
        "maxItems": st.integers(-1, 9),
        "default": VALUES,
        "nullable": st.booleans(),
        "enum": st.lists(VALUES, max_size=2),
        "maxProperties": st.integers(0, 9),
        "minimum": st.floats(-1, 1) | st.integers(-1, 1),
        "pattern": st.sampled_from(("a", "(", "^(a+)+$", "")),
        "x-kubernetes-list-type": st.sampled_from(("set", "map", "atomic", "odd")),
        "x-kubernetes-validations": RULES,
        "required": st.sampled_from((["whole"], ["no"], [])),
        "format": st.sampled_from(("date", "duration", "byte", "int64", "odd")),
    },
)
BOUNDS_OF_SOME = st.dictionaries(st.sampled_from((*LEAVES, "inner", "")), BOUNDS, max_size=2)
CONVERSIONS = st.sampled_from((
    None, None, None, {"strategy": "None"}, {"strategy": "Webhook"}, {"strategy": "Odd"}, {},
    {"strategy": "None", "webhook": {}},
    {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                                        "clientConfig": {"url": "https://127.0.0.1:1/"}}},
    {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v9"], "clientConfig": {}}},
))  # fmt: skip
SPECS = st.dictionaries(
    st.sampled_from((*LEAVES, "inner")),
    VALUES | st.sampled_from(("2020-01-01T00:00:00Z", "1h", "YQ==", {"text": "x", "gone": None})),
    max_size=5,
)


def schema_of(bounds: dict[str, Any], rules: list[Any]) -> dict[str, Any]:
    inner = {"type": "object", "properties": copy.deepcopy(LEAVES)}
    spec = {"type": "object", "properties": {**copy.deepcopy(LEAVES), "inner": inner}}
    for name, more in bounds.items():
        (spec["properties"][name] if name else spec).update(more)  # type: ignore[index]
    if rules:
        inner["x-kubernetes-validations"] = rules
    return spec


def send(session: Session, method: str, path: str, body: Any, headers: Any = None) -> Answer:
    """JSON as the standard library writes it: with numbers of any size."""
    sent = json.dumps(body).encode()
    answer = session.request(method, path, sent, headers=headers or JSON)
    assert answer.done, f"{method} {path}: no answer to {body!r}"
    assert answer.status < 500 or servererrors.is_upstreams(method, answer.text), (
        f"{method} {path} {body!r}: {answer.text!r}"
    )
    assert b"Traceback" not in answer.text, answer.text
    return answer


@pytest.fixture(scope="module")
def crontabs() -> Session:
    session = session_with_crontabs()
    assert session.request("POST", CRONTABS, crontab("there")).status == 201
    return session


def replaced(session: Session, schema: dict[str, Any], conversion: Any) -> bool:
    """Whether the definition was taken, with a second version that is converted."""
    found = session.request("GET", f"{DEFINITIONS}/{NAME}").json()
    first = {**copy.deepcopy(DEFINITION["spec"]["versions"][0]), "subresources": {"status": {}}}
    first["schema"]["openAPIV3Schema"]["properties"]["spec"] = schema
    second = {**first, "name": "v2", "storage": False}
    spec = {**DEFINITION["spec"], "versions": [first, second]}
    if conversion is not None:
        spec["conversion"] = conversion
    body = {**found, "spec": spec}
    return send(session, "PUT", f"{DEFINITIONS}/{NAME}", body).status == 200


def test_rules_defaults_and_conversions_are_refused_or_asked(crontabs: Session) -> None:
    taken = []

    @QUIET
    @hypothesis.given(BOUNDS_OF_SOME, RULES, CONVERSIONS, SPECS, SPECS)
    def run(bounds: Any, rules: Any, conversion: Any, one: Any, other: Any) -> None:
        if not replaced(crontabs, schema_of(bounds, rules), conversion):
            return
        taken.append(1)
        crontabs.wait(1)
        if (conversion or {}).get("strategy") != "Webhook":
            answer = crontabs.request("GET", CRONTABS.replace("/v1/", "/v2/"))
            assert answer.status == 200, answer.text
        crontabs.request("DELETE", f"{CRONTABS}/any")
        body = {**crontab("any"), "spec": one}
        if send(crontabs, "POST", CRONTABS, body).status == 201:
            assert crontabs.request("GET", f"{CRONTABS}/any").status == 200
            send(crontabs, "PATCH", f"{CRONTABS}/any", {"spec": other}, MERGE)
            send(crontabs, "PATCH", f"{CRONTABS}/any?fieldManager=f&force=true", body, APPLY)
        send(crontabs, "PATCH", f"{CRONTABS}/there", {"spec": other}, MERGE)
        assert crontabs.request("GET", f"{CRONTABS}/there").status == 200

    run()
    assert len(taken) > 3  # else this is a test of refusals only


# -- policies -----------------------------------------------------------------------------------

CONDITIONS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(("a", "b", "-")), "expression": asked("b")}),
    max_size=1,
)
VARIABLES = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(("one", "two", "1")), "expression": asked("a")}),
    max_size=2,
)
VALIDATION = st.fixed_dictionaries(
    {"expression": asked("b")},
    optional={
        "messageExpression": asked("s"),
        "message": st.text(max_size=3),
        "reason": st.sampled_from(("Forbidden", "Invalid", "Unauthorized", "Odd")),
    },
)
OBJECTS = st.sampled_from((
    "Object{{}}", "Object{{metadata: Object.metadata{{labels: {{'a': {}}}}}}}",
    "Object{{data: Object.data{{a: {}}}}}", "Object{{spec: {}}}", "Object{{data: {}}}", "{}",
    "Object{{metadata: Object.metadata{{?name: optional.of({})}}}}", "Object{{kind: {}}}",
    "Object{{metadata: Object.metadata{{finalizers: [{}]}}}}",
))  # fmt: skip
PATCHES = st.sampled_from((
    "[JSONPatch{{op: 'add', path: '/data/a', value: {}}}]", "[JSONPatch{{op: {}, path: '/'}}]",
    "[JSONPatch{{op: 'remove', path: {}}}]", "[]", "JSONPatch{{}}", "{}",
    "[JSONPatch{{op: 'test', path: '/metadata', value: {}}}, JSONPatch{{op: 'move', from: '/data', "
    "path: '/data/a/b'}}]", "[JSONPatch{{op: 'replace', path: '', value: {}}}]",
))  # fmt: skip
MUTATION = st.one_of(
    st.builds(
        lambda form, text: {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": form.format(text)},
        },
        OBJECTS,
        asked("a"),
    ),
    st.builds(
        lambda form, text: {
            "patchType": "JSONPatch",
            "jsonPatch": {"expression": form.format(text)},
        },
        PATCHES,
        asked("a"),
    ),
)
CONSTRAINTS = {
    "resourceRules": [
        {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    ]
}


@pytest.fixture(scope="module")
def policed() -> Session:
    session = bare_session(version="1.36")
    assert session.request("POST", CONFIGMAPS, configmap("there", a="b")).status == 201
    for kind, more in (("Validating", {"validationActions": ["Deny", "Audit"]}), ("Mutating", {})):
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}AdmissionPolicyBinding",
            "metadata": {"name": "fuzzed"},
            "spec": {"policyName": "fuzzed", **more},
        }
        answer = session.request("POST", f"{GROUP}/{kind.lower()}admissionpolicybindings", body)
        assert answer.status == 201, answer.text
    return session


def police(session: Session, kind: str, spec: dict[str, Any]) -> bool:
    """Whether the policy was taken; and what it has to do with requests."""
    path = f"{GROUP}/{kind.lower()}admissionpolicies"
    session.request("DELETE", f"{path}/fuzzed")
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}AdmissionPolicy",
        "metadata": {"name": "fuzzed"},
        "spec": {"matchConstraints": CONSTRAINTS, **spec},
    }
    if send(session, "POST", path, body).status != 201:
        return False
    assert session.request("GET", f"{path}/fuzzed").status == 200
    session.wait(1)  # its status, with what the type checker finds
    session.request("DELETE", f"{CONFIGMAPS}/any")
    send(session, "POST", CONFIGMAPS, configmap("any", a="b", labels={"app": "x"}))
    send(session, "PATCH", f"{CONFIGMAPS}/there", {"data": {"c": "d"}}, MERGE)
    session.request("DELETE", f"{path}/fuzzed")
    found = session.request("GET", CONFIGMAPS)
    assert found.status == 200 and len(found.json()["items"]) >= 1
    return True


def test_validating_policies_are_refused_or_asked(policed: Session) -> None:
    taken = []

    @QUIET
    @hypothesis.given(
        st.lists(VALIDATION, min_size=1, max_size=2),
        VARIABLES,
        CONDITIONS,
        st.lists(
            st.fixed_dictionaries({"key": st.just("k"), "valueExpression": asked("s")}), max_size=1
        ),
        st.sampled_from(("Fail", "Ignore")),
    )
    def run(validations: Any, variables: Any, conditions: Any, notes: Any, fails: str) -> None:
        taken.append(
            police(
                policed,
                "Validating",
                {
                    "validations": validations,
                    "variables": variables,
                    "matchConditions": conditions,
                    "auditAnnotations": notes,
                    "failurePolicy": fails,
                },
            )
        )

    run()
    assert sum(taken) > 3


def test_mutating_policies_are_refused_or_asked(policed: Session) -> None:
    taken = []

    @QUIET
    @hypothesis.given(
        st.lists(MUTATION, min_size=1, max_size=2),
        VARIABLES,
        CONDITIONS,
        st.sampled_from(("Fail", "Ignore")),
        st.sampled_from(("Never", "IfNeeded")),
    )
    def run(mutations: Any, variables: Any, conditions: Any, fails: str, again: str) -> None:
        taken.append(
            police(
                policed,
                "Mutating",
                {
                    "mutations": mutations,
                    "variables": variables,
                    "matchConditions": conditions,
                    "failurePolicy": fails,
                    "reinvocationPolicy": again,
                },
            )
        )

    run()
    assert sum(taken) > 3
