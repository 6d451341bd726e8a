"""Answers that are kept for who asks the same again."""

from __future__ import annotations

from apiserver_app.machinery.memos import make_room

SIZE = 100


def hits(questions: int) -> float:
    """How often the answer was there when that many questions came in turn, again and again."""
    memo: dict[int, int] = {}
    found = asked = 0
    for turn in range(10):
        for question in range(questions):
            if question in memo:
                found += turn > 0
            else:
                make_room(memo, SIZE)
                memo[question] = question
            asked += turn > 0
        assert len(memo) <= SIZE
    return found / asked


def test_a_memo_that_is_a_little_too_small_still_knows_most_answers() -> None:
    assert hits(SIZE) == 1.0
    assert hits(SIZE + SIZE // 10) > 0.7
    assert hits(2 * SIZE) > 0.1
