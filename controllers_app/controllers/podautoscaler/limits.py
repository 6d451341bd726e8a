"""How fast an autoscaler may go, and how long it waits before it goes back.

What was recommended and done is remembered for each autoscaler, in memory, as upstream does: after
a restart of the controller manager the windows begin anew.

Models kubernetes pkg/controller/podautoscaler/horizontal.go (normalizeDesiredReplicas and below).
"""

from __future__ import annotations

import math
from collections import deque

import msgspec

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

DOWNSCALE_SECONDS = 300  # --horizontal-pod-autoscaler-downscale-stabilization
REMEMBERED_MAX = 1000
_FACTOR, _LEAST = 2, 4  # without a behavior: it at most doubles, but may always go to four
_TOO_FAST = "the desired replica count is increasing faster than the maximum scale rate"
_TOO_MANY = "the desired replica count is more than the maximum replica count"
_TOO_FAST_DOWN = "the desired replica count is decreasing faster than the maximum scale rate"
_TOO_FEW = "the desired replica count is less than the minimum replica count"
_WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")

Why = tuple[str, str]  # reason and message of a condition
_READY: Why = ("ReadyForNewScale", "recommended size matches current size")
_DOWN_HELD: Why = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent "
    "recommendation",
)
_UP_HELD: Why = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)


def _remembered() -> deque[tuple[int, int]]:
    return deque(maxlen=REMEMBERED_MAX)


class History(msgspec.Struct):
    """Of one autoscaler: what was recommended, and by how much it went up and down, each with
    its moment."""

    recommended: deque[tuple[int, int]] = msgspec.field(default_factory=_remembered)
    up: deque[tuple[int, int]] = msgspec.field(default_factory=_remembered)
    down: deque[tuple[int, int]] = msgspec.field(default_factory=_remembered)

    def begin(self, replicas: int, now: int) -> None:
        """What was there first counts as recommended."""
        if not self.recommended:
            self.recommended.append((now, replicas))

    def scaled(self, before: int, after: int, behavior: Object | None, now: int) -> None:
        if behavior is None:
            return
        events, side = (self.up, "scaleUp") if after > before else (self.down, "scaleDown")
        policies = behavior[side].get("policies") or ()
        longest = max((policy["periodSeconds"] for policy in policies), default=0)
        _forget(events, now - longest * SECOND)
        events.append((now, abs(after - before)))


class Limited(msgspec.Struct, frozen=True):
    """What is allowed of what was wanted, and the conditions that say why."""

    replicas: int
    able: Why
    is_limited: bool
    limited: Why


def limit(
    history: History,
    current: int,
    wanted: int,
    least: int,
    most: int,
    behavior: Object | None,
    now: int,
) -> Limited:
    """Hold back what goes down too soon, then keep it within bounds and rates."""
    if behavior is None:
        steady = _steady(history, wanted, now)
        able = _READY if steady == wanted else _DOWN_HELD
        allowed, why = _within(current, steady, least, most)
    else:
        steady, held = _steady_by(history, current, wanted, behavior, now)
        able = _READY if steady == wanted else held
        allowed, why = _within_rates(history, current, steady, least, most, behavior, now)
    return Limited(allowed, able, allowed != steady, why)


# -- without a behavior -------------------------------------------------------------------------


def _steady(history: History, wanted: int, now: int) -> int:
    """The highest recommendation of the last five minutes."""
    begin = now - DOWNSCALE_SECONDS * SECOND
    _forget(history.recommended, begin)
    highest = max((count for _, count in history.recommended), default=wanted)
    history.recommended.append((now, wanted))
    return max(highest, wanted)


def _within(current: int, wanted: int, least: int, most: int) -> tuple[int, Why]:
    fastest = max(_FACTOR * current, _LEAST)
    highest, why = (most, ("TooManyReplicas", _TOO_MANY))
    if most > fastest:
        highest, why = (fastest, ("ScaleUpLimit", _TOO_FAST))
    if wanted < least:
        return least, ("TooFewReplicas", _TOO_FEW)
    if wanted > highest:
        return highest, why
    return wanted, _WITHIN


# -- with a behavior ----------------------------------------------------------------------------


def _steady_by(
    history: History, current: int, wanted: int, behavior: Object, now: int
) -> tuple[int, Why]:
    """Not above the lowest recommendation of one window, not below the highest of the other."""
    up_begin = now - behavior["scaleUp"].get("stabilizationWindowSeconds", 0) * SECOND
    window = behavior["scaleDown"].get("stabilizationWindowSeconds", DOWNSCALE_SECONDS)
    down_begin = now - window * SECOND
    lowest = highest = wanted
    for at, count in history.recommended:
        if at > up_begin:
            lowest = min(lowest, count)
        if at > down_begin:
            highest = max(highest, count)
    _forget(history.recommended, min(up_begin, down_begin))
    history.recommended.append((now, wanted))
    steady = min(max(current, lowest), highest)
    return steady, _UP_HELD if wanted >= current else _DOWN_HELD


def _within_rates(
    history: History, current: int, wanted: int, least: int, most: int, behavior: Object, now: int
) -> tuple[int, Why]:
    if wanted > current:
        fastest = max(_limit(history, current, behavior["scaleUp"], now, up=True), current)
        if most > fastest:
            highest, why = fastest, ("ScaleUpLimit", _TOO_FAST)
        else:
            highest, why = most, ("TooManyReplicas", _TOO_MANY)
        if wanted > highest:
            return highest, why
    elif wanted < current:
        slowest = min(_limit(history, current, behavior["scaleDown"], now, up=False), current)
        if least < slowest:
            lowest, why = slowest, ("ScaleDownLimit", _TOO_FAST_DOWN)
        else:
            lowest, why = least, ("TooFewReplicas", _TOO_FEW)
        if wanted < lowest:
            return lowest, why
    return wanted, _WITHIN


def _limit(history: History, current: int, rules: Object, now: int, *, up: bool) -> int:
    """How far the policies of one direction let it go."""
    if rules.get("selectPolicy") == "Disabled":
        return current
    sign, rounded = (1, math.ceil) if up else (-1, int)
    proposed = []
    for policy in rules.get("policies") or ():
        before, by = _at_begin(history, current, policy, now), sign * policy["value"]
        proposed.append(
            before + by if policy["type"] == "Pods" else rounded(before * (1 + by / 100))
        )
    choose = max if up != (rules.get("selectPolicy") == "Min") else min
    return choose(proposed, default=current)


def _at_begin(history: History, current: int, policy: Object, now: int) -> int:
    """How many there were when the policy's period began."""
    begin = now - policy["periodSeconds"] * SECOND
    added = sum(count for at, count in history.up if at > begin)
    removed = sum(count for at, count in history.down if at > begin)
    return current - added + removed


def _forget(remembered: deque[tuple[int, int]], begin: int) -> None:
    while remembered and remembered[0][0] < begin:
        remembered.popleft()
