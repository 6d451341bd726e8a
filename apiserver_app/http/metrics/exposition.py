"""Prometheus' text format: families of counters, gauges and histograms as lines.

Models prometheus/common expfmt/text_create.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apiserver_app.machinery.histograms import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"

Labels = Mapping[str, object]
Rows = Iterable[tuple[Labels, object]]


class Page:
    """Lines that grow, one family after the other."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, text: str, rows: Rows) -> None:
        self._family(name, "counter", text, rows)

    def gauge(self, name: str, text: str, rows: Rows) -> None:
        self._family(name, "gauge", text, rows)

    def histogram(self, name: str, text: str, rows: Iterable[tuple[Labels, Histogram]]) -> None:
        for index, (labels, row) in enumerate(rows):
            if not index:  # a family without series is not shown
                self._head(name, "histogram", text)
            running = 0
            for bound, count in zip((*map(_number, row.bounds), "+Inf"), row.buckets, strict=True):
                running += count
                self._lines.append(f"{name}_bucket{_labels({**labels, 'le': bound})} {running}")
            self._lines.append(f"{name}_sum{_labels(labels)} {_number(row.total)}")
            self._lines.append(f"{name}_count{_labels(labels)} {row.count}")

    def text(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _family(self, name: str, kind: str, text: str, rows: Rows) -> None:
        lines = [f"{name}{_labels(labels)} {_value(value)}" for labels, value in rows]
        if lines:  # a family without series is not shown
            self._head(name, kind, text)
        self._lines += lines

    def _head(self, name: str, kind: str, text: str) -> None:
        self._lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = (f'{key}="{_escaped(str(value))}"' for key, value in sorted(labels.items()))
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _value(value: object) -> str:
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: float) -> str:
    return f"{value:.9g}"
