"""The arithmetic of rollouts: fenceposts, proportions, revisions, equal templates.

Pure functions of a deployment and its replica sets; nothing here writes.

Models kubernetes pkg/controller/deployment/util/deployment_util.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

HASH_LABEL = "pod-template-hash"
PREFIX = "deployment.kubernetes.io/"
REVISION = PREFIX + "revision"
REVISION_HISTORY = PREFIX + "revision-history"
DESIRED_REPLICAS = PREFIX + "desired-replicas"
MAX_REPLICAS = PREFIX + "max-replicas"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ROLLBACK_TO = "deprecated.deployment.rollback.to"
NOT_COPIED = frozenset(
    (LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO)
)
REVISION_HISTORY_CHARS_MAX = 2000
NO_LIMIT = 2**31 - 1


# -- sizes --------------------------------------------------------------------------------------


def replicas_of(workload: Object) -> int:
    """spec.replicas; 1 when it is not set."""
    replicas = workload["spec"].get("replicas")
    return 1 if replicas is None else int(replicas)


def count_of(obj: Object, name: str) -> int:
    """A count of the status; 0 when it is omitted."""
    return int((obj.get("status") or {}).get(name) or 0)


def total_replicas(sets: Iterable[Object]) -> int:
    return sum(replicas_of(item) for item in sets)


def total(sets: Iterable[Object], name: str) -> int:
    return sum(count_of(item, name) for item in sets)


def is_rolling(deployment: Object) -> bool:
    return bool((deployment["spec"].get("strategy") or {}).get("type") != "Recreate")


def max_surge(deployment: Object) -> int:
    if not is_rolling(deployment):
        return 0
    return _fenceposts(deployment)[0]


def max_unavailable(deployment: Object) -> int:
    replicas = replicas_of(deployment)
    if not is_rolling(deployment) or replicas == 0:
        return 0
    return min(_fenceposts(deployment)[1], replicas)


def _fenceposts(deployment: Object) -> tuple[int, int]:
    """(max surge, max unavailable) as numbers: rounded up and down, never both 0."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    replicas = replicas_of(deployment)
    surge = scaled_value(rolling.get("maxSurge", "25%"), replicas, up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", "25%"), replicas, up=False)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    return surge, unavailable


def scaled_value(value: Any, of: int, *, up: bool) -> int:
    """The value of an IntOrString: a number, or a percentage of `of` rounded up or down."""
    if isinstance(value, str):
        percent = int(value.rstrip("%") or 0)
        return math.ceil(percent * of / 100) if up else percent * of // 100
    return int(value)


def new_set_size(deployment: Object, sets: Iterable[Object], new: Object) -> int:
    """The size the new replica set may have now."""
    replicas = replicas_of(deployment)
    if not is_rolling(deployment):
        return replicas
    room = replicas + max_surge(deployment) - total_replicas(sets)
    if room <= 0:
        return replicas_of(new)
    return replicas_of(new) + min(room, replicas - replicas_of(new))


def proportion(deployment: Object, item: Object, to_add: int, added: int) -> int:
    """The change of one replica set in a proportional scaling."""
    if replicas_of(item) == 0 or to_add in (0, added):
        return 0
    share = _fraction(deployment, item)
    allowed = to_add - added
    return min(share, allowed) if to_add > 0 else max(share, allowed)


def _fraction(deployment: Object, item: Object) -> int:
    if replicas_of(deployment) == 0:
        return -replicas_of(item)
    before = _number(meta.annotations_of(item).get(MAX_REPLICAS)) or count_of(
        deployment, "replicas"
    )
    if before == 0:
        return 0
    size = replicas_of(item) * (replicas_of(deployment) + max_surge(deployment)) / before
    return int(size + 0.5) - replicas_of(item)


# -- which replica set is which -----------------------------------------------------------------


def active(sets: Iterable[Object]) -> list[Object]:
    """The replica sets whose desired size is not 0."""
    return [item for item in sets if replicas_of(item) > 0]


def oldest_first(sets: Iterable[Object]) -> list[Object]:
    return sorted(sets, key=_age_key)


def _age_key(item: Object) -> tuple[str, str]:
    return str(item["metadata"].get("creationTimestamp") or ""), meta.name_of(item)


def by_size(sets: Iterable[Object], *, newest_first: bool) -> list[Object]:
    """Largest first; of equal ones the newest or the oldest first."""
    aged = sorted(sets, key=_age_key, reverse=newest_first)
    return sorted(aged, key=replicas_of, reverse=True)


def by_revision(sets: Iterable[Object]) -> list[Object]:
    return sorted(sets, key=lambda item: (revision_of(item), _age_key(item)))


def find_new(deployment: Object, sets: Iterable[Object]) -> Object | None:
    """The oldest replica set whose template is the deployment's."""
    template = deployment["spec"]["template"]
    for item in oldest_first(sets):
        if same_template(item["spec"]["template"], template):
            return item
    return None


def active_or_latest(new: Object | None, old: Sequence[Object]) -> Object | None:
    """The only replica set to scale; None when several are active."""
    active_sets = active([*old, new] if new is not None else old)
    if len(active_sets) == 1:
        return active_sets[0]
    if active_sets:
        return None
    if new is not None:
        return new
    return oldest_first(old)[-1] if old else None


def is_saturated(deployment: Object, item: Object | None) -> bool:
    """Whether the replica set has the deployment's size and all its pods are available."""
    if item is None:
        return False
    replicas = replicas_of(deployment)
    desired = _number(meta.annotations_of(item).get(DESIRED_REPLICAS), -1)
    return desired == replicas_of(item) == count_of(item, "availableReplicas") == replicas


def same_template(left: Object, right: Object) -> bool:
    """Whether the templates are equal apart from the hash label."""
    if left["spec"] != right["spec"] and _canonical(left["spec"]) != _canonical(right["spec"]):
        return False
    return bool(_template_metadata(left) == _template_metadata(right))


def _template_metadata(template: Object) -> Any:
    metadata = dict(template.get("metadata") or {})
    labels = dict(metadata.get("labels") or {})
    labels.pop(HASH_LABEL, None)
    metadata["labels"] = labels
    return _canonical(metadata)


def _canonical(value: Any) -> Any:
    """Drops null and empty values, which upstream's semantic equality ignores."""
    if isinstance(value, dict):
        slim = {name: _canonical(item) for name, item in value.items()}
        return {name: item for name, item in slim.items() if item not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    return value


# -- annotations --------------------------------------------------------------------------------


def revision_of(item: Object) -> int:
    """The replica set's revision; 0 when it is missing or invalid."""
    return _number(meta.annotations_of(item).get(REVISION))


def _number(text: str | None, default: int = 0) -> int:
    try:
        return int(text) if text else default
    except ValueError:
        return default


def desired_of(item: Object) -> int | None:
    """The deployment's size when it last scaled this replica set, from the annotation."""
    text = meta.annotations_of(item).get(DESIRED_REPLICAS)
    return None if text is None else _number(text)


def replicas_annotations(deployment: Object) -> dict[str, str]:
    replicas = replicas_of(deployment)
    return {DESIRED_REPLICAS: str(replicas), MAX_REPLICAS: str(replicas + max_surge(deployment))}


def new_set_annotations(
    deployment: Object, known: dict[str, str], revision: int, *, exists: bool
) -> dict[str, str]:
    """Returns the annotations of the new replica set, given its present ones."""
    out = dict(known)
    for name, value in meta.annotations_of(deployment).items():
        if name not in NOT_COPIED:
            out[name] = value
    had = known.get(REVISION)
    old_revision = _number(had)
    if old_revision < revision:
        out[REVISION] = str(revision)
        if had is not None:
            out[REVISION_HISTORY] = _history(known.get(REVISION_HISTORY, ""), had)
    if not exists:
        out.update(replicas_annotations(deployment))
    return out


def _history(history: str, revision: str) -> str:
    """Adds a former revision of the replica set; drops the oldest ones when it gets too long."""
    revisions = [item for item in history.split(",") if item]
    revisions.append(revision)
    while len(revisions) > 1 and len(",".join(revisions)) > REVISION_HISTORY_CHARS_MAX:
        revisions.pop(0)
    return ",".join(revisions)
