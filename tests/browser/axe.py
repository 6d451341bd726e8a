"""axe-core in a window: what it finds amiss with what is shown, in a theme and a language.

It is a dependency of the tests alone (tests/js/package.json); its rules are all on.
"""

from __future__ import annotations

import functools
import subprocess

from tests.browser.sight import Sight
from tests.suite import seeds
from tests.tidy import sources

PHONE = (390, 844)
INSTALLED = "tests/js/node_modules/.installed"
LOOKS = (("light", "en"), ("dark", "zh"), ("projector", "en"))
LOOKS_DRAWN = 1  # of each moment; `make test-long` sees all of them
# without a selector for each element, which nobody reads, and without fetching the style sheets
# again, which no rule that is on looks at
VIOLATIONS = """() => axe.run(document, {
  resultTypes: ['violations'], selectors: false, preload: { assets: ['media'] },
}).then((found) =>
  found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`)))"""
DRESS = """([theme, language]) => {
  document.documentElement.dataset.theme = theme;
  if (document.documentElement.lang.startsWith(language)) return;
  document.querySelector("#bar button[aria-label*='中文'], #bar button[aria-label*='English']")
    .click();
}"""
SPOKEN = "([language]) => document.documentElement.lang.startsWith(language)"


@functools.cache
def program() -> str:
    file = sources.ROOT / "tests/js/node_modules/axe-core/axe.min.js"
    if not file.is_file():
        subprocess.run(["make", "--silent", INSTALLED], cwd=sources.ROOT, check=True)
    return file.read_text()


def looks_of(moment: str) -> list[tuple[str, str]]:
    """As what a moment is looked at in this run."""
    return seeds.draw(f"axe {moment}", LOOKS, LOOKS_DRAWN)


def violations(sight: Sight, dress: tuple[str, str]) -> list[str]:
    if not sight.page.evaluate("'axe' in window"):
        sight.page.evaluate(program())
    dressed(sight, dress)
    sight.settle()
    return [str(one) for one in sight.page.evaluate(VIOLATIONS)]


def dressed(sight: Sight, dress: tuple[str, str]) -> None:
    sight.page.evaluate(DRESS, dress)
    sight.until(SPOKEN, dress[1])
