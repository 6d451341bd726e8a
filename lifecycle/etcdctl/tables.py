"""The answers that etcdctl prints as tables, and how a table is drawn. Pure.

Models etcd etcdctl/ctlv3/command/printer_table.go and printer.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Answer = Mapping[str, Any]
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
_STATUS_HEAD = (
    *("ENDPOINT", "ID", "VERSION", "DB SIZE", "IS LEADER", "IS LEARNER"),
    *("RAFT TERM", "RAFT INDEX", "RAFT APPLIED INDEX", "ERRORS"),
)


def drawn(table: Table) -> list[str]:
    head, rows = table
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    upper = [cell.upper() for cell in head]
    title = "|" + "|".join(f" {_middle(cell, w)} " for cell, w in zip(upper, widths, strict=True))
    lines = [rule, title + "|", rule]
    for row in rows:
        cells = (f" {cell.rjust(w)} " for cell, w in zip(row, widths, strict=True))
        lines.append("|" + "|".join(cells) + "|")
    return [*lines, rule]


def _middle(text: str, width: int) -> str:
    left = (width - len(text)) // 2
    return " " * left + text + " " * (width - len(text) - left)


def _size(count: int) -> str:
    """As humanize.Bytes says it: 1.2 MB, 20 kB."""
    value, units = float(count), ["B", "kB", "MB", "GB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return (
        f"{value:.1f} {units[0]}" if value < 10 and units[0] != "B" else f"{value:.0f} {units[0]}"
    )


def _members(answer: Answer) -> Table:
    return ("ID", "STATUS", "NAME", "PEER ADDRS", "CLIENT ADDRS", "IS LEARNER"), [
        (
            f"{member['ID']:x}",
            "started" if member.get("name") else "unstarted",
            member.get("name") or "",
            ",".join(member["peerURLs"]),
            ",".join(member.get("clientURLs") or ()),
            str(bool(member.get("isLearner"))).lower(),
        )
        for member in answer["members"]
    ]


def _health(answer: Answer) -> Table:
    return ("ENDPOINT", "HEALTH", "TOOK", "ERROR"), [
        (entry["endpoint"], str(entry["health"]).lower(), entry["took"], "")
        for entry in answer["list"]
    ]


def _status(answer: Answer) -> Table:
    return _STATUS_HEAD, [
        _status_row(entry["Endpoint"], entry["Status"]) for entry in answer["list"]
    ]


def _status_row(endpoint: str, status: Answer) -> Sequence[str]:
    return (
        endpoint,
        f"{status['header']['member_id']:x}",
        status["version"],
        _size(status["dbSize"]),
        str(status["leader"] == status["header"]["member_id"]).lower(),
        str(bool(status.get("isLearner"))).lower(),
        str(status["raftTerm"]),
        str(status["raftIndex"]),
        str(status["raftAppliedIndex"]),
        "",
    )


def _hashes(answer: Answer) -> Table:
    rows = [(entry["Endpoint"], str(entry["HashKV"]["hash"])) for entry in answer["list"]]
    return ("ENDPOINT", "HASH"), rows


def _snapshot(answer: Answer) -> Table:
    head: tuple[str, ...] = ("HASH", "REVISION", "TOTAL KEYS", "TOTAL SIZE")
    row = (
        f"{answer['hash']:x}",
        str(answer["revision"]),
        str(answer["totalKey"]),
        _size(answer["totalSize"]),
    )
    if "version" in answer:
        return (*head, "VERSION"), [(*row, answer["version"])]
    return head, [row]


TABLES: dict[str, Callable[[Answer], Table]] = {
    "members": _members,
    "health": _health,
    "status": _status,
    "hashkv": _hashes,
    "snapshot": _snapshot,
}
