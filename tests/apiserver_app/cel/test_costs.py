"""What rules may cost at worst: upstream's numbers, without bounds in the schema and with them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.cel import program
from apiserver_app.cel.cost import bounds
from apiserver_app.machinery.releases import Release

MANY = 10_000_000  # the limit: more than that is refused
NUMBER, TEXT, BOOL = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
EITHER = {"x-kubernetes-int-or-string": True}
PAIR = {
    "type": "object",
    "required": ["required"],
    "properties": {"required": TEXT, "optional": TEXT},
}


def form(name: str) -> dict[str, Any]:
    return {"type": "string", "format": name}


def items(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


def values(of: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of}


def fields(**of: Any) -> dict[str, Any]:
    return {"type": "object", "properties": of}


def bounded(schema: Any, most: int, *, deep: bool) -> Any:
    """The same schema with bounds: at the top only, or wherever there can be one."""
    out = dict(schema)
    if out.get("type") == "array":
        out["maxItems"] = most
    elif "additionalProperties" in out:
        out["maxProperties"] = most
    elif out.get("type") == "string" and "maxLength" not in out:
        out["maxLength"] = most
    if not deep:
        return out
    for name in ("items", "additionalProperties"):
        if name in out:
            out[name] = bounded(out[name], most, deep=True)
    if "properties" in out:
        out["properties"] = {
            name: bounded(one, most, deep=True) for name, one in out["properties"].items()
        }
    return out


def cost(schema: Any, rule: str) -> int:
    shown = {"self": schema, "oldSelf": schema}
    return program.estimated(
        rule, {}, shown, Release(33), lambda path: bounds.largest(schema, path, is_resource=False)
    )


@pytest.mark.parametrize(
    ("schema", "rule", "unbounded", "most", "within"),
    [
        (items(NUMBER), "self.all(x, true)", 4718591, 10, 32),
        (items(TEXT), "self.all(x, true)", 3145727, 20, 62),
        (items(BOOL), "self.all(x, true)", 1887437, 5, 17),
        (items(items(NUMBER)), "self.all(x, true)", 3145727, 100, 302),
        (items(PAIR), "self.all(x, true)", 555128, 50, 152),
        (values(NUMBER), "self.all(x, true)", 1348169, 10, 32),
        (values(NUMBER), "has(self.x)", 1, 100, 1),
        (values(TEXT), "self.all(x, true)", 1179647, 3, 11),
        (values(BOOL), "self.all(x, true)", 943718, 100, 302),
        (TEXT, "self.contains('test')", 314574, 10, 5),
        (TEXT, "self.startsWith('test')", 2, 15, 2),
        (TEXT, "self.endsWith('test')", 2, 30, 2),
        (TEXT, 'size(self + "hello") > size("hello")', 314578, 4, 7),
        (items(NUMBER), "self[1] == 0.0", 2, 5000, 2),
        (items(TEXT), "self[1] == self[1]", 314577, 8, 314577),
        (items(NUMBER), "self.all(x, self.all(y, true))", MANY, 10, 352),
        (items(NUMBER), "self.all(x, self.all(y, self.all(z, true)))", MANY, 10, 3552),
        (TEXT, 'self.matches("x")', 314574, 50, 22),
        (TEXT, '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
        (TEXT, 'self.matches("")', 1, 100, 1),
        (items(NUMBER), "self[3] == 0.0", 2, 0, 2),
        (values(NUMBER), 'self["x"] == 0.0', 2, 0, 2),
        (TEXT, 'self == "x"', 2, 0, 1),
        (form("byte"), 'self == b"x"', 2, 0, 1),
        (items(NUMBER), "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
        (items(values(PAIR)), 'self.all(x, x["y"].required == "z")', 7340027, 10, 72),
        (items(EITHER), "self.all(x, true)", 4718591, 10, 32),
        (items(EITHER), "self[0] == 5", 3, 10, 3),
        (items(BOOL), "self[0] == false", 2, 25, 2),
        (items(PAIR), "self[0] == null", 2, 422, 2),
        (items(items(NUMBER)), "self[0][0] == -1.0", 3, 51, 3),
        (items(values(NUMBER)), "self.all(x, x.y == 25.2)", 6291452, 12, 74),
        (items(values(NUMBER)), "self[0].x > 2.0", 4, 3000, 4),
        (items(form("duration")), "self.all(x, true)", 2359295, 5, 17),
        (items(form("duration")), "self[0].getHours() == 2", 4, 525, 4),
        (items(form("date")), "self.all(x, true)", 725936, 15, 47),
        (items(form("date")), "self[2].getDayOfMonth() == 13", 4, 42, 4),
        (items(form("date-time")), "self.all(x, true)", 428963, 25, 77),
        (items(form("date-time")), "self[2].getMinutes() == 45", 4, 99, 4),
        (values(EITHER), "self.all(x, true)", 1348169, 15, 47),
        (values(PAIR), "self.all(x, true)", 428963, 20, 62),
        (values(values(NUMBER)), "self.all(x, true)", 1179647, 10, 32),
        (values(items(NUMBER)), "self.all(x, true)", 1179647, 25, 77),
        (values(form("duration")), "self.all(x, true)", 1048577, 5, 17),
        (values(form("date")), "self.all(x, true)", 524288, 10, 32),
        (values(form("date-time")), "self.all(x, true)", 349526, 25, 77),
        (TEXT, "self.find('[0-9]+') == ''", 629147, 10, 11),
        (TEXT, "self.lowerAscii() == 'lower!'", 314575, 10, 6),
        (values({"type": "integer"}), "oldSelf.size() == self.size()", 5, 10, 5),
        (values(form("date-time")), 'self["a"] == self["b"]', 8, 7, 8),
        (values(form("duration")), 'self["c"] == self["d"]', 8, 42, 8),
        ({**TEXT, "enum": ["A", "B", "C", "LongValue"]}, "self.contains('A')", 2, 1000, 401),
    ],
)
def test_a_rule_costs_what_upstream_says(
    schema: Any, rule: str, unbounded: int, most: int, within: int
) -> None:
    found = cost(schema, rule)
    assert found > MANY if unbounded == MANY else found == unbounded
    assert cost(bounded(schema, most, deep=False), rule) == within


@pytest.mark.parametrize(
    ("schema", "rule", "unbounded", "most", "within"),
    [
        (values(TEXT), "self.all(x, x.contains(self[x]))", 2752507, 10, 72),
        (items(TEXT), "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
        (items(TEXT), "self.isSorted() == true", 329854432052, 10, 52),
        (
            fields(str=TEXT, before={**TEXT, "maxLength": 2}, after={**TEXT, "maxLength": 4}),
            "self.str.replace(self.before, self.after) == 'does not matter'",
            629154,
            4,
            12,
        ),
        (fields(str=TEXT, separator=TEXT), "self.str.split(self.separator) == []", 629160, 10, 22),
    ],
)
def test_bounds_further_down_count_too(
    schema: Any, rule: str, unbounded: int, most: int, within: int
) -> None:
    assert cost(schema, rule) == unbounded
    assert cost(bounded(schema, most, deep=True), rule) == within


@pytest.mark.parametrize(
    "rule",
    [
        "self.filter(x, x.startsWith('a')).size() < 3",
        "self.map(x, x + 'b').exists(y, y == 'ab')",
        "self.exists_one(x, x == 'a') || self.existsOne(x, x == 'b')",
        "self.transformList(i, x, i > 0, x).size() > 0",
        "oldSelf.size() > 0 ? self[?0].orValue('') == '' : size([1, 2] + [3]) in {3: true}",
        "self.all(x, self.exists(y, y == x))",
        "optional.of(self).optMap(l, l.size()).orValue(0) == 0",
        "dyn(self) + dyn(self) == dyn(self)",
    ],
)
def test_every_sort_of_expression_has_a_cost(rule: str) -> None:
    assert 0 < cost(bounded(items(TEXT), 3, deep=True), rule) <= cost(items(TEXT), rule)
