"""Expressions as trees.

The first mistake of the grammar ends parsing; upstream's parser recovers and may report more.

Models cel-go parser/{parser,macro}.go, ext/comprehensions.go and cel/library.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from apiserver_app.cel.errors import CompileError, Issue
from apiserver_app.cel.syntax import lexer
from apiserver_app.cel.syntax.lexer import END, ESCAPED, IDENT, Token
from apiserver_app.cel.syntax.tree import (
    Bind,
    Call,
    Const,
    Fold,
    Ident,
    ListNode,
    MapNode,
    Node,
    Select,
    Struct,
)
from apiserver_app.cel.values import INT_MAX, UINT_MAX, UInt

DEPTH_MAX = 250
SIZE_MAX = 100_000  # code points
TOO_DEEP = f"expression recursion limit exceeded: {DEPTH_MAX}"

_LITERALS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_EXPRESSION = f"{{'[', '{{', '(', '.', '-', '!', {_LITERALS}"
_MAP = f"{{'[', '{{', '}}', '(', '.', ',', '-', '!', '?', {_LITERALS}"
_RELATIONS = {name: f"_{name}_" for name in "< <= > >= == !=".split()} | {"in": "@in"}
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_LEVELS = (_RELATIONS, _SUMS, _PRODUCTS)
# macro, number of arguments -> how many of them are variables
_FOLDS = {
    (name, args): variables
    for variables, args, macros in (
        (1, 2, "all exists exists_one existsOne map filter"),
        (1, 3, "map"),
        (2, 3, "all exists existsOne exists_one transformList transformMap transformMapEntry"),
        (2, 4, "transformList transformMap transformMapEntry"),
    )
    for name in macros.split()
}


class _Stop(Exception):
    """The grammar was broken; the finding is recorded."""


def parse(source: str) -> Node:
    """The tree of an expression. Raises CompileError."""
    if len(source) > SIZE_MAX:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {SIZE_MAX}"
        raise CompileError(source, [Issue(-1, text)])
    parser = _Parser(source)
    try:
        node = parser.whole()
    except _Stop:
        raise CompileError(source, parser.issues) from None
    if parser.issues:
        raise CompileError(source, parser.issues)
    return node


class _Parser:
    def __init__(self, source: str) -> None:
        self.issues: list[Issue] = []
        self._tokens = lexer.tokens(source, self.issues)
        self._index = 0
        self._depth = 0
        self.token = self._tokens[0]

    def whole(self) -> Node:
        node = self._expression()
        if self.token.kind != END:
            self._fail_end()
        return node

    # -- tokens -----------------------------------------------------------------------------

    def _next(self) -> Token:
        token = self.token
        if token.kind != END:
            self._index += 1
            self.token = self._tokens[self._index]
        return token

    def _take(self, kind: str) -> Token | None:
        return self._next() if self.token.kind == kind else None

    def _expect(self, kind: str) -> Token:
        token = self.token
        if token.kind == kind:
            return self._next()
        behind = self._tokens[self._index + 1].kind if token.kind != END else END
        if behind == kind and token.kind != END:
            self._fail(f"extraneous input '{token.text}' expecting '{kind}'")
        if kind in (")", "]") and token.kind == END:
            self._fail(f"missing '{kind}' at '{END}'")
        self._fail(f"mismatched input '{token.text}' expecting '{kind}'")

    def _fail(self, text: str, at: int = -1) -> NoReturn:
        self.issues.append(Issue(self.token.at if at < 0 else at, f"Syntax error: {text}"))
        raise _Stop

    def _fail_end(self) -> NoReturn:
        text = self.token.text
        last = self._tokens[self._index + 1].kind == END
        word = "extraneous" if last else "mismatched"
        self._fail(f"{word} input '{text}' expecting {END}")

    def _fail_start(self, expected: str = _EXPRESSION) -> NoReturn:
        text = self.token.text
        following = self._tokens[min(self._index + 1, len(self._tokens) - 1)]
        word = "mismatched"
        if self.token.kind != END and following.kind in _STARTS:
            word = "extraneous"
        self._fail(f"{word} input '{text}' expecting {expected}")

    def _report(self, at: int, text: str) -> None:
        self.issues.append(Issue(at, text))

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            self._report(-1, TOO_DEEP)
            raise _Stop

    # -- the grammar ------------------------------------------------------------------------

    def _expression(self) -> Node:
        self._deeper()
        node = self._logical("||", "_||_", self._all)
        mark = self._take("?")
        if mark:
            yes = self._logical("||", "_||_", self._all)
            self._expect(":")
            node = Call(mark.at, "_?_:_", None, [node, yes, self._expression()])
        self._depth -= 1
        return node

    def _all(self) -> Node:
        return self._logical("&&", "_&&_", lambda: self._binary(0))

    def _logical(self, sign: str, name: str, term: Callable[[], Node]) -> Node:
        node = term()
        if self.token.kind != sign:
            return node
        at = self.token.at
        terms = [node]
        while self._take(sign):
            terms.append(term())
        return Call(at, name, None, terms)

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        node = self._binary(level + 1)
        names = _LEVELS[level]
        chained = 0
        while (name := names.get(self.token.kind)) is not None:
            at = self._next().at
            node = Call(at, name, None, [node, self._binary(level + 1)])
            chained += 1
            if chained + self._depth > DEPTH_MAX:
                self._report(-1, TOO_DEEP)
                raise _Stop
        return node

    def _unary(self) -> Node:
        sign = self.token
        if sign.kind not in ("!", "-"):
            return self._member(self._primary())
        count = 0
        while self.token.kind == sign.kind:
            self._next()
            count += 1
        if sign.kind == "-" and self.token.kind in (lexer.INT, lexer.FLOAT):
            operand = self._member(self._number(sign.at))
            count -= 1
        else:
            if self.token.kind in ("!", "-"):
                self._fail_start()
            operand = self._member(self._primary())
        if count % 2 == 0:
            return operand
        return Call(sign.at, "!_" if sign.kind == "!" else "-_", None, [operand])

    def _member(self, node: Node) -> Node:
        links = 0
        while True:
            links += 1
            if links > DEPTH_MAX:
                self._report(-1, TOO_DEEP)
                raise _Stop
            if self.token.kind == ".":
                node = self._selection(node)
            elif self.token.kind == "[":
                at = self._next().at
                name = "_[?_]" if self._take("?") else "_[_]"
                index = self._expression()
                self._expect("]")
                node = Call(at, name, None, [node, index])
            else:
                return node

    def _selection(self, node: Node) -> Node:
        dot = self._next()
        optional = self._take("?") is not None
        name = self.token
        if name.kind not in (IDENT, ESCAPED):
            text = name.text if name.kind not in (END,) else ""
            at = name.at
            self._fail(f"no viable alternative at input '.{text}'", at)
        self._next()
        if name.kind == IDENT and not optional and self.token.kind == "(":
            paren = self.token.at
            args = self._arguments()
            return self._macro(paren, name.text, node, args)
        field = name.text[1:-1] if name.kind == ESCAPED else name.text
        return Select(dot.at, node, field, optional=optional)

    def _arguments(self) -> list[Node]:
        self._expect("(")
        if self._take(")"):
            return []
        args = [self._expression()]
        while self._take(","):
            args.append(self._expression())
        self._expect(")")
        return args

    def _primary(self) -> Node:
        token = self.token
        kind = token.kind
        if kind == "(":
            self._next()
            node = self._expression()
            self._expect(")")
            return node
        if kind == "[":
            return self._list()
        if kind == "{":
            return self._map()
        if kind in (IDENT, "."):
            return self._name()
        if kind in (lexer.INT, lexer.FLOAT, lexer.UINT):
            return self._number(-1)
        if kind in (lexer.STRING, lexer.BYTES):
            return self._text()
        if kind in _CONSTANTS:
            self._next()
            return Const(token.at, _CONSTANTS[kind])
        self._fail_start()

    def _number(self, minus: int) -> Node:
        token = self._next()
        at = token.at if minus < 0 else minus
        sign = -1 if minus >= 0 else 1
        if token.kind == lexer.FLOAT:
            value = float(token.text)
            if value == float("inf"):
                self._report(at, "invalid double literal")
            return Const(at, sign * value)
        digits = token.text.rstrip("uU")
        number = sign * int(digits, 16 if digits.startswith("0x") else 10)
        if token.kind == lexer.UINT:
            if number > UINT_MAX:
                self._report(at, "invalid uint literal")
                number = 0
            return Const(at, UInt(number))
        if not -INT_MAX - 1 <= number <= INT_MAX:
            self._report(at, "invalid int literal")
            number = 0
        return Const(at, number)

    def _text(self) -> Node:
        token = self._next()
        try:
            return Const(token.at, lexer.unquoted(token.text, token.kind == lexer.BYTES))
        except ValueError as error:
            self._report(token.at, str(error))
            return Const(token.at, "")

    def _list(self) -> Node:
        at = self._next().at
        items: list[tuple[Node, bool]] = []
        while self.token.kind != "]":
            optional = self._take("?") is not None
            items.append((self._expression(), optional))
            if not self._take(","):
                break
        self._expect("]")
        return ListNode(at, items)

    def _map(self) -> Node:
        at = self._next().at
        entries: list[tuple[Node, Node, bool]] = []
        if self.token.kind not in _STARTS | {"}", "?", ","}:
            self._fail_start(_MAP)
        while self.token.kind != "}":
            optional = self._take("?") is not None
            key = self._expression()
            self._expect(":")
            entries.append((key, self._expression(), optional))
            if not self._take(","):
                break
        self._expect("}")
        return MapNode(at, entries)

    def _name(self) -> Node:
        """A variable, a global call, or a message such as `Object.spec{...}`."""
        leading = self._take(".")
        token = self.token
        if token.kind != IDENT:
            self._fail(f"no viable alternative at input '.{token.text}'")
        self._next()
        if token.text in lexer.RESERVED:
            self._report(token.at, f"reserved identifier: {token.text}")
        if self.token.kind == "(":
            paren = self.token.at
            return self._global(paren, token.text, self._arguments())
        ahead = self._index
        name = token.text
        while self._tokens[ahead].kind == "." and self._tokens[ahead + 1].kind == IDENT:
            name += "." + self._tokens[ahead + 1].text
            ahead += 2
        if self._tokens[ahead].kind == "{":
            self._index = ahead
            self.token = self._tokens[ahead]
            return self._struct(name)
        return Ident(leading.at if leading else token.at, token.text)

    def _struct(self, name: str) -> Node:
        at = self._next().at
        fields: list[tuple[int, str, Node, bool]] = []
        while self.token.kind != "}":
            optional = self._take("?") is not None
            token = self.token
            if token.kind not in (IDENT, ESCAPED):
                expected = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
                self._fail(f"extraneous input '{token.text}' expecting {expected}")
            self._next()
            field = token.text.strip("`")
            colon = self._expect(":").at
            fields.append((colon, field, self._expression(), optional))
            if not self._take(","):
                break
        self._expect("}")
        return Struct(at, name, fields)

    # -- macros -----------------------------------------------------------------------------

    def _global(self, at: int, name: str, args: list[Node]) -> Node:
        if name == "has" and len(args) == 1:
            arg = args[0]
            if not isinstance(arg, Select) or arg.optional:
                self._report(arg.at, "invalid argument to has() macro")
                return arg
            return Select(at, arg.operand, arg.field, test=True)
        return Call(at, name, None, args)

    def _macro(self, at: int, name: str, target: Node, args: list[Node]) -> Node:
        if name in ("optMap", "optFlatMap") and len(args) == 2:
            return Bind(at, name, self._variable(args[0]), target, args[1])
        variables = _FOLDS.get((name, len(args)))
        if variables is None:
            return Call(at, name, target, args)
        names = [self._variable(arg) for arg in args[:variables]]
        if len(set(names)) < len(names):
            self._report(args[1].at, f"duplicate variable name: {names[0]}")
        rest = args[variables:]
        kind = "existsOne" if name == "exists_one" else name
        return Fold(at, kind, target, names, rest[0] if len(rest) > 1 else None, rest[-1])

    def _variable(self, node: Node) -> str:
        if not isinstance(node, Ident):
            self._report(node.at, "argument must be a simple name")
            return "_"
        return node.name


_CONSTANTS = {"true": True, "false": False, "null": None}
_STARTS = frozenset(
    (
        *"[ { ( . - ! true false null".split(),
        *(lexer.FLOAT, lexer.INT, lexer.UINT, lexer.STRING, lexer.BYTES, IDENT),
    )
)
