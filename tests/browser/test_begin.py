"""What one can begin with opens at any time, and runs whatever is there already."""

from __future__ import annotations

import json

from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

DEMO = ("--speed", "max")
STUDENT = "Why does a student get 403?"


def test_run_it_takes_a_name_that_is_free(look: Look, demo: Demo) -> None:
    asking.run(demo, "nginx", 1)
    sight = look(COMPACT)

    begin(sight).get_by_role("button", name="Run it").click()

    sight.says(sight.page.get_by_role("log"), "deployment.apps/nginx-2 created")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    assert {"nginx", "nginx-2"} <= {*asking.objects(demo, "deployments")}


def test_a_question_is_ticked_once_it_was_asked_and_runs_again(look: Look) -> None:
    sight = look(COMPACT)
    question = begin(sight).get_by_role("button", name=STUDENT)
    expect(question.get_by_role("img", name="asked before")).to_have_count(0)
    assert_laid_out(sight)

    for _ in range(2):
        question.click()
        log = sight.page.get_by_role("log")
        sight.says(log, "Error from server (Forbidden)")
        begin(sight)
        expect(question.get_by_role("img", name="asked before")).to_be_visible()
    assert_laid_out(sight)
    sight.press("Escape")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)


def test_a_question_runs_though_the_cluster_is_held_by_the_one_before(
    look: Look, demo: Demo
) -> None:
    sight = look()
    begin(sight).get_by_role("button", name="Who put a token").click()
    asking.until(lambda: held(demo) == "plugin")

    begin(sight).get_by_role("button", name="Why this node").click()

    asking.until(lambda: held(demo) == "schedule")
    sight.says(sight.moment, "paused at a breakpoint")
    asking.free(demo, "max")


def test_in_chinese_by_keyboard(look: Look) -> None:
    sight = look(COMPACT, query="theme=dark&lang=zh")
    sight.button("开始").focus()
    sight.press("Enter")

    sight.says(sight.page.get_by_role("dialog"), "学生为什么得到 403？")
    assert_laid_out(sight)


def begin(sight: Sight) -> Locator:
    """The panel, opened by the mark."""
    sight.button("Begin").click()
    return sight.page.get_by_role("dialog", name="Begin")


def held(demo: Demo) -> str:
    """The kind of record at which the cluster is held."""
    return str((asking.state(demo)["held"] or {}).get("kind"))


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
