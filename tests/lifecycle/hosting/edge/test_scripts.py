"""What is left of a script without its comments is the same script."""

from __future__ import annotations

import itertools
import json
import operator
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.hosting.edge import scripts
from tests.suite import waiting
from tests.tidy import sources

PARSER = sources.ROOT / "tests/js/parsed.mjs"
# gaps between two words, and what becomes of them
GAPS = {
    " ": " ", "\t  ": " ", " /* a 'b` ${ { // */ ": " ", " /* a */": " ", "\n": "\n",
    "\r\n\n   ": "\n", " // it's `a ${ /* b\n": "\n", "\n/*\n * } /a/ \n */": "\n",
    " /**/ //\n ": "\n",
}  # fmt: skip
VALUES = [
    "one", "$two_", "7", "0.5", "1e3", "'a // b'", '"a /* b */"', r"'it\'s'", r'"\\"',
    "`a // ${ b } /* c */`", r"`\` \${ ${ { a: `${ 1 }` } } $`", "/a/g", r"/[/\]]\/ \/\/'/u",
    "/[`'\"]/", "( a )", "[ 'b' ]", "this", "a.return", "x++",
]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "&&", "??", "=", "<"]
ENDS = {"f (": ");", "[": "];", "b => {": "};"}
STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["a =", "return", "typeof", "case", "void", "await", *ENDS]),
        st.sampled_from(VALUES),
        st.lists(st.tuples(st.sampled_from(OPERATORS), st.sampled_from(VALUES)), max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("a; // b\nc;", "a;\nc;"),
        ("/** @type {X} */ (a).b", "(a).b"),
        ("a /* b\n */ c", "a\nc"),
        ("'// a' + \"/* b */\" + `// c`", "'// a'+\"/* b */\"+`// c`"),
        ("`a ${ /* b */ c /* } */ } // d`", "`a ${c} // d`"),
        ("`${ `${ /* a */ b }` }  c`", "`${`${b}`}  c`"),
        ("a / b / c // d", "a / b / c "),
        ("x = /[/*]/ /* a */ / 2", "x=/[/*]/ / 2"),
        ("return /'/ // a", "return /'/ "),
        ("a++ / 2 /* ' */", "a++ / 2 "),
        ("(a) / 2 // '", "(a)/ 2 "),
        ("a.return / 2 // '", "a.return / 2 "),
        ("  a\n\n\n    b", " a\nb"),
        ("a = b ? [c, d] : { e: f => 'g' + -h - - 1 };", "a=b?[c,d]:{e:f=>'g'+ -h - - 1};"),
        ("return [a] in { b } || typeof (c)", "return[a]in{b}||typeof(c)"),
        ("`  a\n\n    b`", "`  a\n\n    b`"),
    ],
)
def test_comments_and_blank_space_are_left_out_and_nothing_else(written: str, left: str) -> None:
    assert scripts.read(written).text == left


def test_each_line_tells_where_it_was_written() -> None:
    source = scripts.read("// a\n/* b\n */\n  c = `d\n  e`;\n\n    f;\n")

    assert source.text == "\nc=`d\n  e`;\nf;\n"
    assert list(zip(source.lines, source.columns, strict=True)) == [
        (0, 0),
        (3, 2),
        (4, 0),
        (6, 4),
        (7, 0),
    ]


@pytest.mark.parametrize(
    "written",
    ["if (a) /b/.test(c)", "{ a }\n/b/.test(c)", "'a\n'", "`a", "/a\n/", "}", "{", "`${ a",
     "/* a", "import(a)", "import( /* a */ 'b')"],
)  # fmt: skip
def test_what_cannot_be_told_for_sure_is_refused(written: str) -> None:
    with pytest.raises(scripts.Unreadable):
        scripts.read(written)


@given(STATEMENTS, st.lists(st.sampled_from(sorted(GAPS)), min_size=1, max_size=8))
def test_a_script_is_read_the_same_whatever_stands_between_its_words(
    statements: list[tuple[str, str, list[tuple[str, str]]]], gaps: list[str]
) -> None:
    words = [
        word
        for first, value, rest in statements
        for word in (first, value, *(part for pair in rest for part in pair), ENDS.get(first, ";"))
    ]
    between = list(itertools.islice(itertools.cycle(gaps), len(words)))
    written = "".join(map(operator.add, words, between))

    left = "".join(map(operator.add, words, (GAPS[one] for one in between)))
    assert scripts.read(written).text == scripts.read(left).text


def test_every_script_of_the_page_is_the_same_program_without_its_comments() -> None:
    files = [path for path in sources.scripts() if path.is_relative_to(sources.ROOT / "static")]
    texts = {sources.name(path): path.read_text() for path in files if path.suffix == ".js"}
    assert len(texts) > 140
    read = {name: scripts.read(text).text for name, text in texts.items()}
    assert sum(map(len, read.values())) < 0.75 * sum(map(len, texts.values()))

    assert differing([[name, text, read[name]] for name, text in texts.items()]) == []


def test_a_program_that_is_another_is_told_from_its_like() -> None:
    assert differing([["a", "x = 'a b';", "x = 'a  b';"], ["b", "a + b", "a +"]]) == [
        "a: another program",
        "b: Expression expected. at 3",
    ]


def differing(pairs: list[list[str]]) -> list[str]:
    node = shutil.which("node")
    assert node, "these tests need node on the PATH: tests/setup installs it"
    ran = subprocess.run(
        [node, str(PARSER)],
        input=json.dumps(pairs),
        capture_output=True,
        text=True,
        timeout=waiting.seconds(),
    )
    assert ran.returncode == 0, ran.stderr
    told: list[str] = json.loads(ran.stdout)
    return told
