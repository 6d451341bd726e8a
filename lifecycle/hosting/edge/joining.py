"""Joins the modules and the style sheets of the page, so that a browser asks for few files.

Each module keeps its lines and a scope of its own: it becomes a block that ends by naming what it
exports, behind the blocks of what it imports. Comments and blank space are left out; a source map
leads back to file and line. What is loaded later, by import('...'), is joined by itself; modules of
the page that it imports are handed to it in a global object. What the page's modules do not do is
refused: to export what changes, to import in a circle, to import what is loaded later as well.

Follows ECMA-262 section 16.2 (modules) and ECMA-426 (source maps).
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from lifecycle.hosting.edge import scripts
from lifecycle.hosting.edge.scripts import Unreadable

Place = tuple[str, int, int]  # file, line, column
Edit = tuple[int, int, str]  # from, to, what stands there instead
Address = Callable[[str, str], str]  # of a file with this name and this text

_NAMES = r"\{(?P<names>[^{}]*)\}"
_QUOTED = r"'[^'\\]+'|\"[^\"\\]+\""
_IMPORT = re.compile(
    rf"import\s*(?:(?:{_NAMES}|\*\s*as\s+(?P<all>[\w$]+)\s|(?P<default>[\w$]+)\s)\s*from\s*)?"
    rf"(?P<from>{_QUOTED})\s?;"
)
_DECLARED = re.compile(r"export\s+(?=(?:const|class|(?:async\s+)?function\s*\*?)\s*([\w$]+))")
_DEFAULT = re.compile(r"export\s+default(?![\w$])\s*(?!(?:async|function|class)(?![\w$]))")
_LISTED = re.compile(rf"export\s*{_NAMES}\s?;")
_NAME = re.compile(r"([\w$]+)(?:\s+as\s+([\w$]+))?")
_LOADED = re.compile(_QUOTED)
_OURS = re.compile(r"\$(?:m\d|(?:default|shared)(?![\w$]))")
_SHEET_PART = re.compile(
    r"(?P<gap>(?:[ \t\r\n]+|/\*.*?\*/)+)"
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|[^ \t\r\n'\"/]+|/",
    re.DOTALL,
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_SHEET_IMPORT = re.compile(rf"@import ({_QUOTED});")
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


class Script(msgspec.Struct, frozen=True):
    """Modules in one: of each its name, and its source as it was read."""

    text: str
    sources: list[tuple[str, scripts.Source]]

    def origins(self) -> Iterator[Place | None]:
        """Yields of each line where it is written, or None: then it is ours."""
        for name, source in self.sources:
            yield None
            for line, column in zip(source.lines, source.columns, strict=True):
                yield name, line, column
            yield None

    def source_map(self, prefix: str) -> str:
        """Returns what leads from each line to where it is written, in a file behind `prefix`."""
        number = {name: at for at, (name, _) in enumerate(self.sources)}
        lines, before = [], (0, 0, 0)
        for origin in self.origins():
            if origin is None:
                lines.append("")
                continue
            place = (number[origin[0]], origin[1], origin[2])
            steps = (new - old for new, old in zip(place, before, strict=True))
            lines.append("A" + "".join(map(_digits, steps)))  # A: from the line's begin
            before = place
        sources = [prefix + name for name in number]
        source_map = {"version": 3, "sources": sources, "names": [], "mappings": ";".join(lines)}
        return json.dumps(source_map, separators=(",", ":"))


class _Module(msgspec.Struct):
    variable: str
    source: scripts.Source
    exports: dict[str, str]  # what is called so outside is called so inside
    edits: list[Edit]
    loads: list[tuple[re.Match[str], str]]  # what it loads later: where it says so, its name
    is_shared: bool = False  # imported by what is loaded later


def script(root: Path, name: str, address: Address) -> dict[str, Script]:
    """Joins the module of that name below `root` and all that it imports. What is loaded later is
    in the answer, too, by its name. Raises Unreadable."""
    return _Join(root, address, {}).join(name)


def sheet(root: Path, name: str) -> str:
    """Joins the style sheet of that name and those it imports. Raises Unreadable."""
    text = "".join(_sheet_parts((root / name).read_text(encoding="utf-8")))
    if "url(" in text:
        raise Unreadable(f"{name}: url() would lead elsewhere")
    return _SHEET_IMPORT.sub(lambda match: sheet(root, _beside(name, match[1])), text)


def _sheet_parts(text: str) -> Iterator[str]:
    for part in _SHEET_PART.finditer(text):
        gap = part["gap"]
        if gap is None:
            yield part.group()
        else:
            bare = _COMMENT.sub("", gap)  # what parts two words, and is no space, stays
            yield "\n" if "\n" in bare else " " if bare else "/**/"


class _Join:
    """One script. `page` has the modules of the page when this is loaded later than they are."""

    def __init__(self, root: Path, address: Address, page: dict[str, _Module]) -> None:
        self._root = root
        self._address = address
        self._page = page
        self._modules: dict[str, _Module] = {}  # each behind those it imports
        self._under_way: list[str] = []
        self._later: dict[str, Script] = {}
        self._of_later: set[str] = set()  # modules

    def join(self, name: str) -> dict[str, Script]:
        self._add(name)
        for module in self._modules.values():
            for _, other in module.loads:
                self._add_later(other)
        shares = any(module.is_shared for module in self._modules.values())
        parts, begin = [], "globalThis.$shared={};" if shares else ""
        for module in self._modules.values():
            text = self._text(module)
            parts += [f"{begin}let {module.variable};{{", text, f";{_ending(module)}}}"]
            begin = ""
        sources = [(each, module.source) for each, module in self._modules.items()]
        parts += [_outside(self._modules[name]), f"//# sourceMappingURL={_last(name)}.map\n"]
        return {**self._later, name: Script("\n".join(parts), sources)}

    def _add(self, name: str) -> None:
        if name in self._modules or name in self._page:
            return
        if name in self._under_way:
            raise Unreadable(f"{name} imports itself, by way of {self._under_way[-1]}")
        self._under_way.append(name)
        with _naming(name):
            source = scripts.read((self._root / name).read_text(encoding="utf-8"))
            if _OURS.search(source.text):
                raise Unreadable("a name that is used here is ours")
            imports, edits, exports = _statements(source)
            loads = [_quoted(source.text, at) for at in source.loads]
            needs = [_beside(name, match["from"]) for match in imports]
            later = [_beside(name, match.group()) for match in loads]
        for other in needs:
            self._add(other)
        with _naming(name):
            edits += [
                _edit(match, self._bind(match, other))
                for match, other in zip(imports, needs, strict=True)
            ]
        variable = f"$m{len(self._modules)}"
        module = _Module(variable, source, exports, edits, [*zip(loads, later, strict=True)])
        self._modules[self._under_way.pop()] = module

    def _add_later(self, name: str) -> None:
        page = self._page or self._modules
        if name in page:
            raise Unreadable(f"{name} is imported, and loaded later as well")
        if name in self._later:
            return
        join = _Join(self._root, self._address, page)
        self._later.update(join.join(name))
        if twice := (self._of_later | {*self._modules}) & {*join._modules}:
            raise Unreadable(f"{min(twice)} is loaded later with {name}, and with another")
        self._of_later |= {*join._modules} | join._of_later

    def _text(self, module: _Module) -> str:
        """Returns what the module becomes, once it is known where the others are."""
        edits = [
            _edit(match, f"'{self._address(other, self._later[other].text)}'")
            for match, other in module.loads
        ]
        module.source.text = _edited(module.source.text, module.edits + edits)
        return module.source.text

    def _bind(self, match: re.Match[str], other: str) -> str:
        """Returns what stands for that import."""
        if other in self._page:
            module = self._page[other]
            module.is_shared = True
            variable = f"$shared.{module.variable}"
        else:
            module = self._modules[other]
            variable = module.variable
        if match["all"]:
            return f"const {match['all']}={variable};"
        names = {"default": match["default"]} if match["default"] else _names(match["names"] or "")
        if missing := names.keys() - module.exports.keys():
            raise Unreadable(f"{other} does not export {min(missing)}")
        return f"const {{{_pairs(names)}}}={variable};" if names else ""


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        raise Unreadable(f"{name}: {error}") from error


def _statements(source: scripts.Source) -> tuple[list[re.Match[str]], list[Edit], dict[str, str]]:
    """Returns the imports, what becomes of the exports, and the names that are exported."""
    imports, edits, exports = [], list[Edit](), dict[str, str]()
    for at in source.statements:
        if match := _IMPORT.match(source.text, at):
            imports.append(match)
        elif match := _DECLARED.match(source.text, at):
            exports[match[1]] = match[1]
            edits.append(_edit(match, ""))
        elif match := _DEFAULT.match(source.text, at):
            exports["default"] = "$default"
            edits.append(_edit(match, "const $default="))
        elif match := _LISTED.match(source.text, at):
            exports |= {out: inside for inside, out in _names(match["names"]).items()}
            edits.append(_edit(match, ""))
        else:
            line = source.lines[source.text.count("\n", 0, at)] + 1
            raise Unreadable(f"line {line}: {source.text[at : at + 40]!r}")
    return imports, edits, exports


def _names(listed: str) -> dict[str, str]:
    """{ one, other as another } -> what each is there, and is called here."""
    names = {}
    for part in filter(None, (item.strip() for item in listed.split(","))):
        match = _NAME.fullmatch(part)
        if match is None:
            raise Unreadable(f"the name {part!r}")
        names[match[1]] = match[2] or match[1]
    return names


def _quoted(text: str, at: int) -> re.Match[str]:
    match = _LOADED.match(text, at)
    if match is None:
        raise Unreadable(f"import({text[at : at + 40]!r}")
    return match


def _edit(match: re.Match[str], instead: str) -> Edit:
    """Lines stay as many."""
    return match.start(), match.end(), instead + "\n" * match.group().count("\n")


def _edited(text: str, edits: list[Edit]) -> str:
    for begin, end, instead in sorted(edits, reverse=True):
        text = text[:begin] + instead + text[end:]
    return text


def _pairs(names: dict[str, str]) -> str:
    return ",".join(name if name == other else f"{name}:{other}" for name, other in names.items())


def _ending(module: _Module) -> str:
    shared = f"$shared.{module.variable}=" if module.is_shared else ""
    return f"{module.variable}={shared}{{{_pairs(module.exports)}}}"


def _outside(module: _Module) -> str:
    """Exports what the last module does."""
    mine = {out: f"$out{at}" for at, out in enumerate(module.exports)}
    named = ",".join(f"{inside} as {out}" for out, inside in mine.items())
    return f"const {{{_pairs(mine)}}}={module.variable};export{{{named}}};" if mine else ""


def _beside(name: str, quoted: str) -> str:
    """Returns the file that `name` means by './other.js'."""
    other = quoted[1:-1]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), other))
    if path.startswith(("..", "/")):
        raise Unreadable(f"{other} lies outside")
    return path


def _last(name: str) -> str:
    return posixpath.basename(name)


def _digits(value: int) -> str:
    """A number as source maps write it: base 64, five bits a digit, the sign in the lowest."""
    rest, digits = value << 1 if value >= 0 else (-value << 1) | 1, ""
    while True:
        rest, low = rest >> 5, rest & 31
        digits += _DIGITS[low | 32 if rest else low]
        if not rest:
            return digits
