"""The notation of the role tables: `verbs | groups | resources | names`, one rule per line.

`core` is the core group; the group `url` makes the third column non-resource URLs. Words in
capitals stand for lists of verbs. Lists come out sorted, as upstream builds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery.meta import Object

_VERBS = {
    "READ": "get list watch",
    "WRITE": "create update patch delete deletecollection",
    "ALL": "get list watch create update patch delete deletecollection",
}
EVENTS = "create update patch | core events.k8s.io | events"


def rules(lines: Sequence[str]) -> list[Object]:
    """Parses the lines into PolicyRules."""
    return [_rule(line) for line in lines]


def _rule(line: str) -> Object:
    columns = [column.split() for column in line.split("|")]
    verbs = sorted(word for verb in columns[0] for word in _VERBS.get(verb, verb).split())
    if columns[1] == ["url"]:
        return {"nonResourceURLs": sorted(columns[2]), "verbs": verbs}
    out: Object = {"apiGroups": sorted("" if group == "core" else group for group in columns[1])}
    if len(columns) > 3:
        out["resourceNames"] = sorted(columns[3])
    out["resources"] = sorted(columns[2])
    out["verbs"] = verbs
    return out
