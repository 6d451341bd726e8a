"""Twelve moments of recorded runs look as they did, in each theme, language and width.

The pictures are in tests/golden/page, one file for a moment and a width: light, dark and projector
below each other, English beside Chinese. Each run compares two of the six, drawn by the day, the
long suite all. `--rewrite-pictures` makes them anew; look at them first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, expect

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.trace import archive
from tests.browser import pictures
from tests.browser.pictures import Picture
from tests.browser.sight import Sight
from tests.js import recorded
from tests.lifecycle.hosting.running import REAL, Demo
from tests.suite import seeds

GOLDEN = Path(__file__).parents[1] / "golden" / "page"
Size = tuple[int, int]
Links = dict[str, tuple[int, str]]
SIZES: tuple[Size, ...] = ((390, 2000), (1280, 800), (1920, 1080))  # of the column most at once
THEMES = ("light", "dark", "projector")
LANGUAGES = ("en", "zh")
DRESSES = [(theme, language) for theme in THEMES for language in LANGUAGES]
DRESSES_DRAWN = 2  # of each moment and size; `make test-long` sees all of them
Tiles = dict[tuple[str, str], Picture]
# the same on every machine; tests/setup installs them
FONTS = """:root {
  --sans: 'DejaVu Sans', 'WenQuanYi Micro Hei' !important;
  --mono: 'DejaVu Sans Mono', 'WenQuanYi Micro Hei' !important;
}"""
CELLS_MAX = 15  # of a picture; the name of a node and of its pod are more
DRESS = """([theme, language]) => {
  const bar = document.getElementById('bar');
  if (!document.documentElement.lang.startsWith(language))
    bar.querySelector("button[aria-label*='中文'], button[aria-label*='English']").click();
  document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('resize'));
}"""
SPOKEN = "([language]) => document.documentElement.lang.startsWith(language)"
NOTHING_OVER_IT = "() => document.activeElement.blur()"

Records = list[dict[str, Any]]


def last(records: Records, **fields: Any) -> int:
    """The last record with these fields, or the last of all."""
    return next(
        int(record["seq"])
        for record in reversed(records)
        if all(record.get(name) == value for name, value in fields.items())
    )


@dataclass(frozen=True)
class Moment:
    story: str
    at: dict[str, Any]
    query: str = ""
    act: Callable[[Sight], None] = lambda sight: None


def begun(sight: Sight) -> None:
    sight.page.locator(".brand").click()
    expect(sight.page.get_by_role("dialog")).to_be_visible()  # it is loaded first


MOMENTS = {
    "admission": Moment("full", {"kind": "plugin", "plugin": "ServiceAccount"}),
    "starting": Moment("full", {"kind": "kubelet", "step": "image", "state": "begin"}),
    "at-rest": Moment("full", {}),
    "found": Moment("full", {}, "q=kind:pod+verb:create"),
    "begin": Moment("full", {}, "", begun),
    "refused": Moment("refused", {}),
    "decision": Moment("scheduling", {}),
    "preemption": Moment("preemption", {"kind": "schedule", "phase": "preempt"}),
    "crash-loop": Moment("crash", {}, "sel=pod/default/crash&tab=story"),
    "pending": Moment("pending", {}, "sel=pod/default/huge"),
    "rollout": Moment("surge", {"kind": "kubelet", "step": "container", "state": "end"}),
    "job": Moment("jobs", {}, "sel=object/jobs.batch/default/broken&tab=object"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A demo for its page and its library; what its own cluster does is not looked at."""
    with Demo(tmp_path_factory.mktemp("library") / "data", driver=REAL) as demo:
        yield demo


@pytest.fixture(scope="module")
def links(library: Demo, tmp_path_factory: pytest.TempPathFactory) -> Links:
    """The record and the query of each moment, of runs that are the same each time."""
    folder = tmp_path_factory.mktemp("traces")
    found: Links = {}
    for story in dict.fromkeys(one.story for one in MOMENTS.values()):
        session = Session(default_inputs(seed=7))
        recorded.STORIES[story](session)
        records = session.records()
        file = folder / f"{story}.jsonl.gz"
        archive.write_file(file, session.header(), records)
        answer = library.ask("POST", "/viz/v1/traces/import", file.read_bytes())
        trace = json.loads(answer.read())["id"]
        for name, moment in MOMENTS.items():
            if moment.story == story:
                found[name] = last(records, **moment.at), f"trace={trace}&{moment.query}"
    return found


@pytest.fixture(scope="module")
def window(chromium: Browser, library: Demo, links: Links) -> Iterator[tuple[Sight, CDPSession]]:
    sight = Sight(
        chromium,
        library.endpoints["page"],
        query=links["at-rest"][1],
        timezone_id="UTC",
        reduced_motion="reduce",
    )
    yield sight, sight.context.new_cdp_session(sight.page)
    sight.close()


def shown(window: tuple[Sight, CDPSession], link: tuple[int, str], moment: Moment) -> None:
    sight, _ = window
    seq, query = link
    sight.page.goto(f"{sight.url}/?theme=light&lang=en&h={seq}&{query}")
    expect(sight.page.get_by_role("slider")).to_have_attribute("aria-valuenow", str(seq))
    expect(sight.page.locator("body")).to_have_attribute("aria-busy", "false")
    sight.page.add_style_tag(content=FONTS)
    moment.act(sight)
    sight.page.evaluate(NOTHING_OVER_IT)


def sized(window: tuple[Sight, CDPSession], size: Size) -> None:
    window[0].page.set_viewport_size({"width": size[0], "height": size[1]})


def seen(
    window: tuple[Sight, CDPSession],
    size: Size,
    theme: str,
    language: str,
    golden: Picture | None = None,
) -> Picture:
    """What the window shows once it is as the golden picture, or nothing is drawn anew any more."""
    sight, wire = window
    sight.page.evaluate(DRESS, [theme, language])
    sight.until(SPOKEN, language)
    sight.settle()
    one, other = None, pictures.take(wire, *size)
    while one != other and (golden is None or pictures.differing(other, golden) > CELLS_MAX):
        one, other = other, pictures.take(wire, *size)
    return other


@pytest.mark.parametrize("name", MOMENTS)
def test_a_moment_looks_as_it_did(
    window: tuple[Sight, CDPSession],
    links: Links,
    name: str,
    pytestconfig: pytest.Config,
    tmp_path: Path,
) -> None:
    shown(window, links[name], MOMENTS[name])
    wrong: list[str] = []
    for size in SIZES:
        sized(window, size)
        file = GOLDEN / f"{name}-{size[0]}.png"
        rewrites = pytestconfig.getoption("rewrite_pictures")
        if rewrites:
            sheet = {dress: seen(window, size, *dress) for dress in DRESSES}
            lines = [[sheet[theme, language] for language in LANGUAGES] for theme in THEMES]
            pictures.write(file, pictures.joined(lines))
            continue
        golden = tiles_of(file, size)
        drawn = seeds.draw(f"picture {file.stem}", DRESSES, DRESSES_DRAWN)
        taken = {dress: seen(window, size, *dress, golden[dress]) for dress in drawn}
        for dress, picture in taken.items():
            pictures.write(tmp_path / f"{file.stem}-{'-'.join(dress)}.png", picture)
        wrong += differences(file.name, taken, golden)
    assert not wrong, "\n".join([f"with the fonts of tests/setup; see {tmp_path}", *wrong])


def tiles_of(file: Path, size: Size) -> Tiles:
    width, height = (round(pixels * pictures.SCALE) for pixels in size)
    lines = pictures.parted(pictures.read(file), (width, height), len(LANGUAGES), len(THEMES))
    return dict(zip(DRESSES, (tile for line in lines for tile in line), strict=True))


def differences(name: str, taken: Tiles, golden: Tiles) -> list[str]:
    return [
        f"{name}, {' '.join(dress)}: {cells} cells are not as they were"
        for dress, one in taken.items()
        if (cells := pictures.differing(one, golden[dress])) > CELLS_MAX
    ]


# -- that it can fail ---------------------------------------------------------------------------

HARMS = {
    "a panel is missing": ".map .node { visibility: hidden; }",
    "a button is missing": "#bar .main { visibility: hidden; }",
    "one lies on another": ".map .tape { translate: 0 -5rem; }",
    "a line is missing": "#inspector h1 { visibility: hidden; }",
    "another colour": ":root { --allow: #d00 !important; }",
}


@pytest.mark.parametrize("size", SIZES)
def test_a_page_that_is_harmed_or_dressed_otherwise_looks_different(
    window: tuple[Sight, CDPSession], links: Links, size: Size
) -> None:
    sight, _ = window
    shown(window, links["at-rest"], MOMENTS["at-rest"])
    sized(window, size)
    before = seen(window, size, "light", "en")
    found = {}
    for harm, rules in HARMS.items():
        style = sight.page.add_style_tag(content=rules)
        found[harm] = pictures.differing(before, seen(window, size, "light", "en"))
        style.evaluate("(style) => style.remove()")
    for dress in (("light", "zh"), ("dark", "en"), ("projector", "en")):
        found[", ".join(dress)] = pictures.differing(before, seen(window, size, *dress))
    assert pictures.differing(before, seen(window, size, "light", "en")) <= CELLS_MAX
    assert {name: n for name, n in found.items() if n <= CELLS_MAX} == {}, found
