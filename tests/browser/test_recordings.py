"""A trace is saved, replayed while the cluster stays as it is, and files are checked on import."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Route, expect

from tests.browser import asking
from tests.browser.sight import Look, Sight
from tests.lifecycle.hosting.running import Demo

REFUSED = "status of 400"  # Chromium itself notes the server's refusal of a bad file


@pytest.fixture(scope="module", autouse=True)
def saved(demo: Demo) -> dict[str, Any]:
    """A saved trace of a pod's life; the cluster stands still behind it."""
    assert asking.apply(demo, asking.pod("lone"))[0]["code"] == 201
    asking.until(lambda: asking.objects(demo, "pods")["lone"]["status"].get("phase") == "Running")
    asking.control(demo, action="pause")
    body = json.dumps({"name": "a pod", "cluster": "demo"}).encode()
    answer = demo.ask("POST", "/viz/v1/traces", body, Content_Type="application/json")
    return dict(json.loads(answer.read()))


def test_a_recording_is_saved_replayed_to_its_end_and_left(look: Look, demo: Demo) -> None:
    sight = look()
    sight.button("Recordings").click()
    dialog(sight).get_by_role("textbox", name="Name").fill("my lesson")
    waiting: list[Route] = []

    def late(route: Route) -> None:
        if route.request.method == "POST":
            waiting.append(route)
        else:
            route.continue_()

    sight.page.route("**/viz/v1/traces", late)
    sight.button("Save this one").click()
    expect(sight.button("Saving…")).to_have_attribute("aria-disabled", "true")
    # the handler runs while Playwright waits for the page
    (route,) = asking.until(lambda: waiting if sight.until("() => true") else [])
    route.continue_()
    row = dialog(sight).get_by_role("listitem").filter(has_text="my lesson")
    expect(row).to_be_visible()
    before = asking.state(demo)

    row.get_by_role("button", name="Open").click()
    sight.says(sight.moment, "recording")
    expect(sight.page.locator(".brand")).to_be_visible()
    expect(sight.page.locator(".fact").nth(1)).to_contain_text(before["version"])
    start = place(sight)
    sight.press("ArrowRight")
    sight.until(
        "([at]) => Number(document.querySelector('[role=slider]').ariaValueNow) > at", start
    )
    sight.button("Forward one request").click()
    sight.press("ArrowLeft", "ArrowLeft")
    sight.settle()
    sight.button("Speed ×1").click()
    sight.button("×10").click()
    sight.button("Go on").click()
    sight.says(sight.moment, "end of the recording")
    sight.says(sight.page.locator(".tape"), "The recording ends here.")
    sight.says(sight.page.get_by_role("region", name="Requests and objects"), "Pod lone")
    assert sight.button("0 breakpoints").is_enabled()  # they stop what is shown
    # scrub back
    box = sight.page.get_by_role("slider").bounding_box()
    assert box
    sight.page.mouse.click(box["x"] + 4, box["y"] + box["height"] - 4)
    sight.settle()
    assert place(sight) < before["seq"]

    after = asking.state(demo)
    assert {k: after[k] for k in ("seq", "revision", "now")} == {
        k: before[k] for k in ("seq", "revision", "now")
    }, "the cluster was not touched"
    sight.button("Recordings").click()
    sight.button("Back to the live cluster").click()
    sight.says(sight.moment, "paused")
    expect(sight.button("0 breakpoints")).to_be_enabled()


def test_a_recording_of_several_pages_is_played_once_all_are_there(
    look: Look, saved: dict[str, Any]
) -> None:
    late: list[Route] = []

    def in_pages(route: Route) -> None:
        if "from=1&" in route.request.url:
            route.continue_(url=route.request.url.replace("limit=5000", "limit=100"))
        elif late:
            route.continue_()
        else:
            late.append(route)

    sight = look(before=lambda page: page.route(re.compile("/traces/.*/records"), in_pages))
    sight.button("Recordings").click()
    row = dialog(sight).get_by_role("listitem").filter(has_text="a pod")
    row.get_by_role("button", name="Open").click()
    sight.says(sight.moment, "opening")
    sight.says(sight.headline, "Loading the trace: 100 records so far.")
    sight.press("ArrowRight", "Space")
    expect(sight.page.locator(".tape")).not_to_contain_text("The recording ends here.")

    # the handler runs while Playwright waits for the page
    (route,) = asking.until(lambda: late if sight.until("() => true") else [])
    route.continue_()

    sight.says(sight.moment, "recording")
    sight.settle()
    assert 100 < place(sight) < saved["last"], "where the command begins"
    expect(sight.button("Go on")).to_be_visible()


def test_an_imported_file_is_kept_and_played(
    look: Look, demo: Demo, saved: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "lesson.jsonl.gz"
    header, *records = lines_of(demo, saved)
    header = header | {"cluster": "elsewhere", "name": "from a colleague"}
    write(file, [header, *records])
    sight = look()

    choose(sight, file)

    sight.says(sight.moment, "recording")
    sight.says(sight.page.locator(".fact").first, "elsewhere")
    sight.button("Recordings").click()
    expect(
        dialog(sight).get_by_role("listitem").filter(has_text="from a colleague")
    ).to_be_visible()
    sight.button("Back to the live cluster").click()
    sight.says(sight.page.locator(".fact").first, "demo")
    sight.says(sight.moment, "paused")


@pytest.mark.parametrize(
    ("language", "ends", "stays"),
    [
        ("en", "the file was cut here", "The file was cut here, at record {n:,} of {of:,}."),
        ("zh", "文件在此被截断", "文件在此被截断：第 {n:,} 条记录，共 {of:,} 条。"),
    ],
)
def test_a_file_that_was_cut_is_played_to_the_cut_and_says_so(
    look: Look,
    demo: Demo,
    saved: dict[str, Any],
    tmp_path: Path,
    language: str,
    ends: str,
    stays: str,
) -> None:
    packed = demo.get(f"/viz/v1/traces/{saved['id']}").read()
    file = tmp_path / "cut.jsonl.gz"
    file.write_bytes(packed[: len(packed) * 3 // 4])
    sight = look(query=f"theme=light&lang={language}")
    sight.button("Recordings" if language == "en" else "录像").click()

    sight.page.get_by_role("dialog").locator("input[type=file]").set_input_files(file)

    slider = sight.page.get_by_role("slider")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)
    kept = json.loads(demo.get("/viz/v1/traces").read())["traces"]
    last = next(one["last"] for one in kept if one.get("cut") == saved["last"])
    assert 0 < last < saved["last"]
    expect(slider).to_have_attribute("aria-valuemax", str(last))
    sight.press("l")
    sight.says(sight.moment, ends)
    sight.says(sight.page.locator(".tape"), stays.format(n=last, of=saved["last"]))


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_who_only_watches_plays_a_file_of_their_own_up_to_where_it_was_cut(
    chromium: Browser, demo: Demo, saved: dict[str, Any], tmp_path: Path, part: float
) -> None:
    packed = demo.get(f"/viz/v1/traces/{saved['id']}").read()
    file = tmp_path / "cut.jsonl.gz"
    file.write_bytes(packed[: int(len(packed) * part)])
    sight = Sight(chromium, demo.endpoints["viewer_page"])
    choose(sight, file)

    sight.says(sight.moment, "recording")
    expect(dialog(sight)).to_have_count(0)
    sight.press("l")
    sight.says(sight.moment, "the file was cut here")
    told = re.compile(rf"The file was cut here, at record ([\d,]+) of {saved['last']:,}\.")
    sight.says(sight.page.locator(".tape"), told)
    found = told.search(sight.page.locator(".tape").inner_text())
    assert found
    last = int(found[1].replace(",", ""))
    assert 0 < last < saved["last"]
    expect(sight.page.get_by_role("slider")).to_have_attribute("aria-valuemax", str(last))
    sight.close()


@pytest.mark.parametrize("case", ["not a trace", "a wrong line"])
@pytest.mark.parametrize("page", ["page", "viewer_page"])
def test_a_bad_file_is_refused_with_one_clear_sentence(
    chromium: Browser, demo: Demo, saved: dict[str, Any], tmp_path: Path, case: str, page: str
) -> None:
    file = tmp_path / "bad.jsonl.gz"
    lines = lines_of(demo, saved)
    if case == "not a trace":
        file.write_text("hello\n")
    else:
        write(file, [*lines[:5], {"seq": 5, "kind": "nothing known"}, *lines[6:]])
    sight = Sight(chromium, demo.endpoints[page], expects=REFUSED)
    shown = sight.headline.inner_text()

    choose(sight, file)

    alert = dialog(sight).get_by_role("alert")
    expect(alert).to_be_visible()
    said = alert.inner_text()
    assert said.startswith("That did not work: ") and "\n" not in said and len(said) < 200, said
    for internal in ("Error:", "Unexpected", "undefined", "JSON at position", "HTTP"):
        assert internal not in said
    assert ("line 6" if case == "a wrong line" else "line 1") in said
    sight.button("Close").click()
    assert sight.headline.inner_text() == shown, "the live cluster stays on view"
    sight.says(sight.moment, "paused")
    sight.close()


def dialog(sight: Sight) -> Locator:
    return sight.page.get_by_role("dialog", name="Recordings")


def choose(sight: Sight, file: Path) -> None:
    sight.button("Recordings").click()
    dialog(sight).locator("input[type=file]").set_input_files(file)


def place(sight: Sight) -> int:
    return int(sight.page.get_by_role("slider").get_attribute("aria-valuenow") or 0)


def lines_of(demo: Demo, saved: dict[str, Any]) -> list[dict[str, Any]]:
    packed = demo.get(f"/viz/v1/traces/{saved['id']}").read()
    return [json.loads(line) for line in gzip.decompress(packed).splitlines()]


def write(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_bytes(gzip.compress(b"".join(json.dumps(line).encode() + b"\n" for line in lines)))
