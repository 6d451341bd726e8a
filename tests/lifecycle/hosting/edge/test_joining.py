"""Joined modules do what they do one by one, and an error in them leads to where it was written."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lifecycle.hosting.edge import joining, making, scripts
from tests.lifecycle.hosting.edge import test_scripts
from tests.suite import waiting
from tests.tidy import sources

STATIC = sources.ROOT / "static"
MODULES = {
    "main.js": """// what is here is run last
        import first from './one/first.js'; // with a comment
        import { made as done } from './one/first.js';
        import * as all from './one/all.js';
        import {
          Late,
          /* a name with a comment */ one,
        } from './two.js';
        const hidden = 'main';
        const { told } = await import('./later/words.js');
        console.log(first, done(2), all.hidden(), new Late().name, one, hidden, told);
        console.log(typeof this, text());
        function text() {
          return `a // b
              ${/* c */ one} /* d */`;
        }
    """,
    "one/first.js": """import { one } from '../two.js';
        import './all.js';
        /** Something. */
        export default { import: one };
        export const made = (n) => n * one;
    """,
    "one/all.js": """const secret = 'all';
        console.log('all is run');
        function hidden() { return secret; }
        export { hidden, secret as other };
    """,
    "two.js": """export const one = before();
        export class Late { name = 'late' }
        function before() { return 3; }
        export async function* never() { yield /[`'"]/g.exec('`'); }
    """,
    "later/words.js": """import words from './table.js';
        import { one, Late as Imported } from '../two.js';
        import * as all from '../one/all.js';
        export const told = { ...words, one, all: all.hidden(), late: new Imported().name };
    """,
    "later/table.js": "export default { hello: 'world' };\n",
}
TOLD = """all is run
{ import: 3 } 6 all late 3 main { hello: 'world', one: 3, all: 'all', late: 'late' }
undefined a // b
              3 /* d */
"""


def test_joined_modules_do_what_they_do_one_by_one(tmp_path: Path) -> None:
    written, joined = tmp_path / "written", tmp_path / "joined"
    put(written, MODULES)

    files = joining.script(written, "main.js", lambda name, _text: f"./{name}")

    assert sorted(files) == ["later/words.js", "main.js"]
    put(joined, {name: file.text for name, file in files.items()})
    assert run(written / "main.js").stdout == run(joined / "main.js").stdout == TOLD


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"two.js": "import one, { two } from './one/first.js';"}, 'two.js: line 1: "import one'),
        ({"two.js": "import './main.js';"}, "main.js imports itself, by way of two.js"),
        ({"two.js": "export let one = 1;"}, "two.js: line 1: 'export let one=1;'"),
        ({"two.js": "var one = 1;"}, "two.js: line 1: 'var one=1;'"),
        ({"two.js": "export * from './one/all.js';"}, "two.js: line 1"),
        ({"two.js": "export const { one } = {};"}, "two.js: line 1"),
        ({"two.js": "export const two = 2;"}, "one/first.js: two.js does not export one"),
        ({"two.js": "import '../../etc/passwd';"}, "two.js: ../../etc/passwd lies outside"),
        ({"two.js": "const $m3 = 1;"}, "two.js: a name that is used here is ours"),
        ({"two.js": "const a = '"}, "two.js: line 1"),
        ({"two.js": "const a = (b) => import(b);"}, "two.js: line 1: import() of a name"),
        (
            {"main.js": "import './later/table.js';import('./later/table.js');"},
            "later/table.js is imported, and loaded later as well",
        ),
        ({"later/words.js": "import { two } from '../two.js';"}, "later/words.js: two.js does not"),
        (
            {"one/all.js": "import('../later/2.js');", "later/2.js": "import './table.js';"},
            "later/table.js is loaded later with later/words.js, and with another",
        ),
        ({"later/words.js": "const $shared = 1;"}, "later/words.js: a name that is used here"),
    ],
)
def test_what_the_page_does_not_do_is_refused_with_file_and_reason(
    tmp_path: Path, change: dict[str, str], why: str
) -> None:
    put(tmp_path, {**MODULES, **change})

    with pytest.raises(scripts.Unreadable) as refused:
        joining.script(tmp_path, "main.js", lambda name, _text: name)

    assert str(refused.value).startswith(why)


def test_an_error_in_the_joined_page_leads_to_the_line_it_was_written_on(tmp_path: Path) -> None:
    """Of the page itself, which has no document here."""
    file = joining.script(STATIC, making.SCRIPT, lambda name, _text: f"./{name}")["js/main.js"]
    put(tmp_path, {"main.js": file.text, "main.js.map": file.source_map("/static/")})
    written = (STATIC / "js/main.js").read_text().splitlines()
    line = next(at for at, text in enumerate(written, 1) if "document.getElementById" in text)

    ran = run(tmp_path / "main.js")

    assert "ReferenceError: document is not defined" in ran.stderr
    assert f"(/static/js/main.js:{line}:" in ran.stderr


def test_each_line_of_the_joined_page_names_its_file_and_line() -> None:
    file = joining.script(STATIC, making.SCRIPT, lambda name, _text: name)["js/main.js"]
    lines = file.text.split("\n")
    known = 0
    for text, origin in zip(lines, file.origins(), strict=False):
        if origin is None or not text.strip() or re.match(r"const.*=\$m\d+;", text):
            continue
        name, line, column = origin
        written = (STATIC / name).read_text().split("\n")[line][column:]
        word = max(re.findall(r"[\w$]+|\S", text), key=len)
        assert word in written, (text, name, line + 1)
        known += 1
    assert known > 10_000


def test_the_joined_page_is_a_program() -> None:
    files = joining.script(STATIC, making.SCRIPT, lambda name, _text: name)
    later = [
        "core/commands/generators", "i18n/addons/en", "i18n/addons/zh", "i18n/chinese",
        "i18n/english", "views/bench/addons", "views/inspector/service", "views/page/dialogs",
    ]  # fmt: skip
    assert {*files} == {f"js/{name}.js" for name in [*later, "main"]}
    pairs = [[name, file.text, file.text] for name, file in files.items()]
    assert test_scripts.differing(pairs) == []


def test_style_sheets_are_joined_in_their_order_without_comments(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "all.css": "/* all */\n@import 'a.css';\n@import 'more/b.css';\n",
            "a.css": "a/**/.b /* c */ .d {\n  content: '/* e */';\n  /* f */ top: 1px;\n}\n",
            "more/b.css": '@import "../c.css";\n.b { }\n',
            "c.css": ".c{}",
        },
    )

    assert joining.sheet(tmp_path, "all.css").split("\n") == [
        "",
        "a/**/.b .d {",
        "content: '/* e */';",
        "top: 1px;",
        "}",
        "",
        ".c{}",
        ".b { }",
        "",
        "",
    ]


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in {"package.json": '{"type": "module"}', **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(file: Path) -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    assert node, "these tests need node on the PATH: tests/setup installs it"
    return subprocess.run(
        [node, "--enable-source-maps", str(file)],
        capture_output=True,
        text=True,
        timeout=waiting.seconds(),
    )
