"""The words in which each release tells that an image was pulled and a container made."""

from __future__ import annotations

import re

import pytest

from tests.controllers_app.podlab import cluster, create, events, pod

SIZE = r" Image size: 40980000 bytes\."


@pytest.mark.parametrize(
    ("version", "pulled", "made"),
    [
        ("1.18", "", "Created container c"),
        ("1.22", r" in [0-9]+\.[0-9]{4,6}s", "Created container c"),
        ("1.26", r" in [0-9.]+s \([0-9.]+s including waiting\)", "Created container c"),
        ("1.30", r" in [0-9.]+s \([0-9.]+s including waiting\)\." + SIZE, "Created container c"),
        ("1.32", r" in [0-9.]+s \([0-9.]+s including waiting\)\." + SIZE, "Created container: c"),
    ],
)
def test_a_release_tells_a_pull_in_its_own_words(version: str, pulled: str, made: str) -> None:
    session = cluster(nodes=1, version=version)
    create(session, pod("words", "redis:7"))
    words = {reason: message for _, reason, message in events(session, "words")}
    assert re.fullmatch(rf'Successfully pulled image "redis:7"{pulled}', words["Pulled"])
    assert words["Created"] == made
