"""A trace told in lines of text: what changed, what was refused, what was decided. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_READS = ("get", "list", "watch")


class Line(NamedTuple):
    t: int  # µs since the trace's epoch
    where: str
    text: str


def tell(records: Iterable[dict[str, Any]], everything: bool = False) -> Iterator[Line]:
    """Lines in order. Reads, leases and successful gates are left out unless asked for."""
    requests: dict[int, dict[str, Any]] = {}
    for record in records:
        kind = record["kind"]
        if kind == "request":
            requests[record["seq"]] = record
        teller = _TELLERS.get(kind)
        if teller is None:
            continue
        line = teller(record, requests.get(record["span"], {}), everything)
        if kind == "response":
            requests.pop(record["span"], None)
        if line:
            yield Line(record["t"], *line)


Told = tuple[str, str] | None


def _gate(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    if record["verdict"] != "deny":
        return None
    if not everything and record["gate"] == "etcd" and request.get("verb") in _READS:
        return None  # something that is not there yet
    detail = record["detail"]
    where = f"{request.get('verb', '')} {request.get('resource', '')}"
    return "refused", f"{where} at {record['gate']}: {detail.get('message', '')}"


def _write(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    if record["resource"].startswith("leases") and not everything:
        return None
    name = "/".join(part for part in (record["namespace"], record["name"]) if part)
    sub = f" ({record['subresource']})" if record["subresource"] else ""
    who = request.get("client", "")
    text = f"{record['rev']} {record['op']} {record['resource']} {name}{sub} by {who}"
    return "etcd", text


def _response(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    if not everything and (request.get("verb") in _READS or not request.get("outside")):
        return None
    text = f"{request.get('verb')} {request.get('path')} -> {record['code']}"
    return str(request.get("client", ""))[:18], text


def _done(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    if not record["said"]:
        return None
    return record["result"], record["said"]


def _schedule(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    detail = record["detail"]
    if record["phase"] == "preempt" and detail.get("node"):
        text = f"{', '.join(detail['victims'])} must leave {detail['node']} for {record['pod']}"
        return "scheduler", text
    if record["phase"] != "select":
        return None
    return "scheduler", f"{record['pod']} goes to {detail['node']}: {detail['why']}"


def _kubelet(record: dict[str, Any], request: dict[str, Any], everything: bool) -> Told:
    if record["state"] == "begin" and not everything:
        return None
    return record["node"], f"{record['pod']} {record['step']} {record['state']}"


_TELLERS = {
    "gate": _gate,
    "write": _write,
    "response": _response,
    "done": _done,
    "schedule": _schedule,
    "kubelet": _kubelet,
}
