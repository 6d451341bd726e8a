"""Refusals and headers on the wire."""

import orjson

from apiserver_app.http import statuses
from apiserver_app.http.negotiation import Accepted
from apiserver_app.machinery import errors


def test_refusal_is_a_whole_status_as_json() -> None:
    code, headers, body = statuses.render(errors.not_found("", "pods", "web"))
    assert (code, headers) == (404, [("Content-Type", "application/json")])
    assert body == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",'
        b'"message":"pods \\"web\\" not found","reason":"NotFound",'
        b'"details":{"name":"web","kind":"pods"},"code":404}\n'
    )


def test_refusal_that_may_be_tried_again_says_when() -> None:
    _, headers, body = statuses.render(errors.too_many_requests("slow down", 3))
    assert ("Retry-After", "3") in headers
    assert orjson.loads(body)["details"]["retryAfterSeconds"] == 3


def test_refusal_is_yaml_for_clients_that_accept_it() -> None:
    _, headers, body = statuses.render(errors.unauthorized(), Accepted("application/yaml"))
    assert headers == [("Content-Type", "application/yaml")]
    assert body.startswith(b"apiVersion: v1\ncode: 401\nkind: Status\n")


def test_refusal_is_json_for_people_when_nothing_asked_for_can_be_sent() -> None:
    _, headers, body = statuses.render(errors.unauthorized(), None)
    assert headers == [("Content-Type", "application/json")]
    assert body.startswith(b'{\n  "kind": "Status"') and body.endswith(b"}")


def test_every_answer_has_upstreams_headers() -> None:
    assert statuses.common_headers("id", ("f", "p"), ["old", "old"]) == [
        ("Audit-Id", "id"),
        ("Cache-Control", "no-cache, private"),
        ("Warning", '299 - "old"'),
        ("X-Kubernetes-Pf-Flowschema-Uid", "f"),
        ("X-Kubernetes-Pf-Prioritylevel-Uid", "p"),
    ]
    assert statuses.common_headers("") == [("Cache-Control", "no-cache, private")]


def test_an_answers_own_header_stands_for_the_common_one() -> None:
    common = statuses.common_headers("id")
    assert statuses.merged(common, [("Cache-Control", "public")]) == [
        ("Audit-Id", "id"),
        ("Cache-Control", "public"),
    ]


def test_warning_is_quoted_and_has_no_control_characters() -> None:
    assert statuses.warning('unknown field "spec.x"\n\\') == (
        '299 - "unknown field \\"spec.x\\" \\\\"'
    )


def test_warnings_of_one_answer_are_bounded() -> None:
    few = statuses.warnings(["x" * 1000])
    many = statuses.warnings([f"{number:04d}" + "x" * 996 for number in range(40)])
    assert len(few[0][1]) > 1000
    assert len(many) == statuses.WARNING_TOTAL_MAX // statuses.WARNING_TEXT_MAX
    assert all(len(value) < 300 for _, value in many)
