"""Bytes of objects, lists and watch events, as Go's encoder leaves them."""

from pathlib import Path

import orjson
import yaml

from apiserver_app.http import encode
from apiserver_app.http.negotiation import Accepted

GOLDEN = Path(__file__).parents[2] / "golden"


def test_object_is_compact_json_and_a_newline() -> None:
    obj = orjson.loads((GOLDEN / "deployment-1.22.json").read_bytes())
    body = encode.stored(orjson.dumps(obj))
    assert len(body) == 1585  # the Content-Length of the recorded answer
    assert body == encode.document(obj)


def test_markup_and_line_separators_are_escaped_as_go_escapes_them() -> None:
    text = "a<b>&c\u2028\u2029\u201cq\u201d"
    body = encode.document({"x": text})
    assert body == '{"x":"a\\u003cb\\u003e\\u0026c\\u2028\\u2029\u201cq\u201d"}\n'.encode()
    assert orjson.loads(body) == {"x": text}


def test_list_is_spliced_from_stored_bytes() -> None:
    items = [b'{"metadata":{"name":"a"}}', b'{"metadata":{"name":"b"}}']
    assert encode.list_form("PodList", "v1", "7", "tok", 3).compact(items) == (
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"tok",'
        b'"remainingItemCount":3},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}\n'
    )
    assert encode.list_form("PodList", "v1", "7").compact([]) == (
        b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}\n'
    )


def test_watch_event_is_one_line() -> None:
    assert encode.watch_line("ADDED", b'{"a":1}') == b'{"type":"ADDED","object":{"a":1}}\n'


def test_bookmark_carries_only_the_revision() -> None:
    marked = encode.bookmark_object("Pod", "v1", "7")
    assert orjson.loads(encode.watch_event("BOOKMARK", marked, Accepted())) == {
        "type": "BOOKMARK",
        "object": {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "creationTimestamp": None},
        },
    }
    end = encode.bookmark_object("Pod", "v1", "7", initial_end=True)
    assert end["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_pretty_json_is_indented_by_two_without_a_newline() -> None:
    assert encode.pretty(b'{"a":{"b":"<"}}\n') == (b'{\n  "a": {\n    "b": "\\u003c"\n  }\n}')


def test_yaml_has_sorted_keys_no_anchors_and_lines_folded_as_goyaml_folds() -> None:
    shared = {"k": "v"}
    obj = {"b": shared, "a": shared, "text": "word " * 60}
    body = encode.as_yaml(obj)
    assert body.startswith(b"a:\n  k: v\nb:\n  k: v\n")
    assert yaml.safe_load(body) == obj
    assert max(map(len, body.splitlines())) <= 90
    assert encode.as_yaml({"a": "1", "b": "x\ny\n"}) == b'a: "1"\nb: |\n  x\n  y\n'
