"""Durations as upstream's HumanDuration writes them."""

import pytest

from apiserver_app.http.tables import duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"), (-1, "0s"), (0, "0s"), (0.9, "0s"), (1, "1s"), (60, "60s"),
        (119, "119s"), (120, "2m"), (4 * MINUTE + 22, "4m22s"), (9 * MINUTE + 59, "9m59s"),
        (10 * MINUTE, "10m"), (19 * MINUTE + 30, "19m"), (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"), (3 * HOUR + 5 * MINUTE, "3h5m"), (7 * HOUR + 59 * MINUTE, "7h59m"),
        (8 * HOUR + 5 * MINUTE, "8h"), (47 * HOUR, "47h"), (48 * HOUR, "2d"),
        (3 * DAY + 8 * HOUR, "3d8h"), (6 * DAY + 7 * HOUR, "6d7h"), (7 * DAY + 23 * HOUR, "7d23h"),
        (8 * DAY + HOUR, "8d"), (729 * DAY, "729d"), (2 * YEAR, "2y"),
        (2 * YEAR + 3 * DAY, "2y3d"), (7 * YEAR + 364 * DAY, "7y364d"), (8 * YEAR, "8y"),
        (20 * YEAR + 9 * DAY, "20y"),
    ],
)  # fmt: skip
def test_duration_is_written_as_upstream_writes_it(seconds: float, text: str) -> None:
    assert duration.human(int(seconds * duration.SECOND)) == text
