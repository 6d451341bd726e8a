"""Durations as people read them: `4m22s`, `19m`, `6d7h`, `2y3d`.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/duration/duration.go.
"""

from __future__ import annotations

SECOND = 1_000_000
_MINUTE, _HOUR, _YEAR = 60, 3600, 365


def human(micros: int) -> str:
    """The duration in one or two units, coarser the longer it is."""
    seconds = micros // SECOND if micros >= 0 else -(-micros // SECOND)
    if seconds < 0:
        return "<invalid>" if seconds < -1 else "0s"
    if seconds < 2 * _MINUTE:
        return f"{seconds}s"
    minutes = seconds // _MINUTE
    if minutes < 10:
        return _two(minutes, "m", seconds % _MINUTE, "s")
    if minutes < 3 * 60:
        return f"{minutes}m"
    hours = seconds // _HOUR
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * _YEAR:
        return f"{days}d"
    if days < 8 * _YEAR:
        return _two(days // _YEAR, "y", days % _YEAR, "d")
    return f"{days // _YEAR}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    if small == 0:
        return f"{large}{large_unit}"
    return f"{large}{large_unit}{small}{small_unit}"
