"""An awk program as a tree: rules of a pattern and statements. Pure.

A node is a tuple that begins with its kind. Functions of one's own, getline, pipes and system are
refused by name.

Models busybox editors/awk.c and POSIX.1-2017, Utilities, awk (Grammar).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from controllers_app.shell.commands.filters import ESCAPES
from controllers_app.shell.exits import CommandError

Node = tuple[Any, ...]
DEPTH_MAX = 60  # of what stands inside of something
FUNCTIONS = tuple(
    """
    atan2 close cos exp fflush gsub index int length log match rand sin split sprintf sqrt srand sub
    substr systime tolower toupper
    """.split()
)
_KEYWORDS = frozenset(
    """
    BEGIN END break continue delete do else exit for if in next print printf while
    """.split()
)
_REFUSED = frozenset(("function", "func", "getline", "system", "nextfile"))
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r]|\\\r?\n|#[^\n]*)+)|(?P<newline>\n)"
    r"|(?P<number>(?:\d{1,40}\.?\d{0,40}|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<op>\*\*=|\+\+|--|[-+*/%^]=|\*\*|==|<=|>=|!=|!~|&&|\|\||>>|[{}()\[\];,+\-*/%^!<>|?:~$=])",
    re.DOTALL,
)
_ERE = re.compile(r"/((?:\\.|\[(?:\\.|[^\]\n])+\]|[^/\\\n\[])*)/", re.DOTALL)
_ASSIGN = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^=", "**="))
_STARTS = frozenset(("number", "string", "ere", "name", "$", "!", "(", "-", "+", "++", "--"))


class Token(NamedTuple):
    kind: str  # number, string, ere, name, newline, end; keywords and operators are themselves
    text: str
    line: int
    glued: bool = False  # a name with a parenthesis right after it


class Rule(NamedTuple):
    """`pattern` is BEGIN, END, a node, a pair of nodes or None; `body` None prints the record."""

    pattern: Any
    body: Node | None


def failed(line: int, why: str) -> CommandError:
    return CommandError(f"awk: cmd. line:{line}: {why}", 1)


def parse(source: str) -> list[Rule]:
    """The rules of a program. Raises CommandError."""
    return _Parser(_tokens(source)).program()


def _tokens(source: str) -> list[Token]:
    out: list[Token] = []
    at, line = 0, 1
    while at < len(source):
        before = out[-1].kind if out else ""
        ends_operand = before in ("number", "string", "name", "ere", ")", "]", "$", "++", "--")
        match = None if ends_operand else _ERE.match(source, at)
        if match is not None:
            out.append(Token("ere", match[1].replace("\\/", "/"), line))
        else:
            match = _TOKEN.match(source, at)
            if match is None:
                raise failed(line, "Unexpected token")
            kind, text = str(match.lastgroup), match[0]
            if kind == "name" and text in _REFUSED:
                raise failed(line, f"{text} is not simulated")
            if kind == "string":
                out.append(Token(kind, unescaped(text[1:-1]), line))
            elif kind != "space":
                own = kind == "op" or text in _KEYWORDS
                glued = source[match.end() : match.end() + 1] == "("
                out.append(Token(text if own else kind, text, line, glued))
        line += match[0].count("\n")
        at = match.end()
    return [*out, Token("end", "", line)]


def unescaped(text: str) -> str:
    """A string as it is written in a program."""

    def character(match: re.Match[str]) -> str:
        escape = match[1]
        if escape[0] in "01234567":
            return chr(int(escape, 8) & 255)
        return ESCAPES.get(escape, escape if escape in '"/' else "\\" + escape)

    return re.sub(r"\\([0-7]{1,3}|.)", character, text, flags=re.DOTALL)


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._redirects = False  # inside of print, > is where it goes

    # -- tokens ---------------------------------------------------------------------------------

    @property
    def _next(self) -> str:
        return self._tokens[self._at].kind

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _has(self, *kinds: str) -> bool:
        """Take the next token if it is one of these."""
        if self._next in kinds:
            self._at += 1
            return True
        return False

    def _need(self, kind: str) -> Token:
        if self._next != kind:
            raise failed(self._tokens[self._at].line, "Unexpected token")
        return self._take()

    def _lines(self, *more: str) -> None:
        while self._has("newline", *more):
            pass

    # -- rules and statements -------------------------------------------------------------------

    def program(self) -> list[Rule]:
        rules: list[Rule] = []
        self._lines(";")
        while self._next != "end":
            rules.append(self._rule())
            self._lines(";")
        return rules

    def _rule(self) -> Rule:
        pattern: Any = None
        if self._next in ("BEGIN", "END"):
            pattern = self._take().kind
        elif self._next != "{":
            pattern = self._expression()
            if self._has(","):
                self._lines()
                pattern = [pattern, self._expression()]
        if self._next == "{":
            return Rule(pattern, self._block())
        if pattern in ("BEGIN", "END"):
            self._need("{")
        return Rule(pattern, None)

    def _block(self) -> Node:
        self._need("{")
        statements: list[Node] = []
        self._lines(";")
        while not self._has("}"):
            statements.append(self._statement())
            self._lines(";")
        return ("block", statements)

    def _body(self) -> Node:
        """What belongs to an if or a loop; perhaps on the next line."""
        self._lines()
        if self._has(";"):
            return ("block", [])
        return self._statement()

    def _statement(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise failed(self._tokens[self._at].line, "nested too deep")
        try:
            if self._next == "{":
                return self._block()
            known: dict[str, Callable[[], Node]] = {
                "if": self._if,
                "while": self._while,
                "do": self._do,
                "for": self._for,
            }
            if self._next in known:
                return known[self._take().kind]()
            made = self._simple()
            if self._next not in ("newline", ";", "}", "end"):
                raise failed(self._tokens[self._at].line, "Unexpected token")
            return made
        finally:
            self._depth -= 1

    def _simple(self) -> Node:
        kind = self._next
        if kind in ("next", "break", "continue"):
            return (self._take().kind,)
        if self._has("exit"):
            return ("exit", self._expression() if self._next in _STARTS else None)
        if self._has("delete"):
            name = self._need("name").text
            return ("delete", name, self._subscripts() if self._next == "[" else None)
        if kind in ("print", "printf"):
            return self._print()
        return ("expression", self._expression())

    def _print(self) -> Node:
        kind = self._take().kind
        self._redirects = True
        try:
            if self._next == "(" and self._closes_statement():
                self._take()
                self._redirects = False
                given = self._list(")")
                self._need(")")
            else:
                given = self._list("") if self._next in _STARTS else []
        finally:
            self._redirects = False
        where: Node | None = None
        if self._next in (">", ">>"):
            where = (self._take().kind, self._concatenation())
        elif self._next == "|":
            raise failed(self._tokens[self._at].line, "a pipe is not simulated")
        return (kind, given, where)

    def _closes_statement(self) -> bool:
        """Whether the parenthesis here holds all that is printed."""
        depth, at = 0, self._at
        while self._tokens[at].kind != "end":
            depth += {"(": 1, ")": -1}.get(self._tokens[at].kind, 0)
            at += 1
            if not depth:
                break
        return self._tokens[at].kind in ("newline", ";", "}", "end", ">", ">>", "|")

    def _if(self) -> Node:
        self._need("(")
        condition = self._expression()
        self._need(")")
        body, at = self._body(), self._at
        self._lines(";")
        if self._has("else"):
            return ("if", condition, body, self._body())
        self._at = at
        return ("if", condition, body, ("block", []))

    def _while(self) -> Node:
        self._need("(")
        condition = self._expression()
        self._need(")")
        return ("for", None, condition, None, self._body())

    def _do(self) -> Node:
        body = self._body()
        self._lines(";")
        self._need("while")
        self._need("(")
        condition = self._expression()
        self._need(")")
        return ("block", [("do", body, condition)])

    def _for(self) -> Node:
        self._need("(")
        here = [token.kind for token in self._tokens[self._at : self._at + 4]]
        if here == ["name", "in", "name", ")"]:
            name, _, array, _ = (self._take().text for _ in range(4))
            return ("each", name, array, self._body())
        parts: list[Node | None] = []
        for end in (";", ";", ")"):
            part = None if self._next == end else self._simple()
            self._need(end)
            parts.append(part)
            self._lines()
        first, condition, step = parts
        test = condition[1] if condition is not None else None
        return ("for", first, test, step, self._body())

    # -- expressions, by how strongly they bind ---------------------------------------------------

    def _list(self, end: str) -> list[Node]:
        items: list[Node] = []
        while self._next != end:
            self._lines()
            items.append(self._expression())
            if not self._has(","):
                break
        return items

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise failed(self._tokens[self._at].line, "nested too deep")
        try:
            left = self._or()
            if self._has("?"):
                self._lines()
                first = self._expression()
                self._lines()
                self._need(":")
                self._lines()
                left = ("choose", left, first, self._expression())
            if self._next in _ASSIGN:
                if left[0] not in ("variable", "field", "index"):
                    raise failed(self._tokens[self._at].line, "Unexpected token")
                operator = self._take().kind.replace("**", "^")
                self._lines()
                return ("assign", operator[:-1], left, self._expression())
            return left
        finally:
            self._depth -= 1

    def _or(self) -> Node:
        left = self._and()
        while self._has("||"):
            self._lines()
            left = ("or", left, self._and())
        return left

    def _and(self) -> Node:
        left = self._in()
        while self._has("&&"):
            self._lines()
            left = ("and", left, self._in())
        return left

    def _in(self) -> Node:
        left = self._match()
        while self._has("in"):
            given = left[1] if left[0] == "group" else [left]
            left = ("in", given, self._need("name").text)
        return left

    def _match(self) -> Node:
        left = self._comparison()
        while self._next in ("~", "!~"):
            operator = self._take().kind
            left = ("matches", operator == "~", left, self._comparison())
        return left

    def _comparison(self) -> Node:
        left = self._concatenation()
        known = ("<", "<=", "==", "!=", ">=")
        if self._next in known or (self._next == ">" and not self._redirects):
            operator = self._take().kind
            left = ("compare", operator, left, self._concatenation())
        return left

    def _concatenation(self) -> Node:
        left = self._sum()
        while self._next in _STARTS and self._next not in ("+", "-"):
            left = ("join", left, self._sum())
        return left

    def _sum(self) -> Node:
        left = self._product()
        while self._next in ("+", "-"):
            operator = self._take().kind
            left = ("count", operator, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._unary()
        while self._next in ("*", "/", "%"):
            operator = self._take().kind
            left = ("count", operator, left, self._unary())
        return left

    def _unary(self) -> Node:
        if self._next in ("!", "-", "+"):
            self._depth += 1
            if self._depth > DEPTH_MAX:
                raise failed(self._tokens[self._at].line, "nested too deep")
            operator = self._take().kind
            node = ("not" if operator == "!" else "sign", operator, self._unary())
            self._depth -= 1
            return node
        left = self._step()
        if self._has("^", "**"):
            return ("count", "^", left, self._unary())
        return left

    def _step(self) -> Node:
        if self._next in ("++", "--"):
            operator = self._take().kind[0]
            return ("step", operator, True, self._primary())
        node = self._primary()
        if self._next in ("++", "--") and node[0] in ("variable", "field", "index"):
            return ("step", self._take().kind[0], False, node)
        return node

    def _primary(self) -> Node:
        token = self._take()
        if token.kind == "number":
            return ("constant", float(token.text))
        if token.kind == "string":
            return ("constant", token.text)
        if token.kind == "ere":
            return ("pattern", token.text)
        if token.kind == "$":
            if self._next in ("++", "--"):
                return ("field", self._step())
            return ("field", ("sign", "-", self._primary()) if self._has("-") else self._primary())
        if token.kind == "(":
            redirects, self._redirects = self._redirects, False
            given = self._list(")")
            self._need(")")
            self._redirects = redirects
            return ("group", given)
        if token.kind == "name":
            return self._named(token)
        raise failed(token.line, "Unexpected token")

    def _named(self, token: Token) -> Node:
        if token.text in FUNCTIONS:
            if self._next != "(":
                if token.text == "length":
                    return ("call", "length", [])
                raise failed(token.line, "Unexpected token")
            self._take()
            redirects, self._redirects = self._redirects, False
            given = self._list(")")
            self._need(")")
            self._redirects = redirects
            return ("call", token.text, given)
        if token.glued:
            raise failed(token.line, "Call to undefined function")
        if self._next == "[":
            return ("index", token.text, self._subscripts())
        return ("variable", token.text)

    def _subscripts(self) -> list[Node]:
        self._need("[")
        subscripts = self._list("]")
        self._need("]")
        return subscripts
