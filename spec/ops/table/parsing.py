r"""
Reading the textual form
========================

`parse` reads what `text` writes, and what a person writes by the same grammar::

    program  = { name "=" node } "return" [ operand { "," operand } ]
    node     = op "(" [ operand { "," operand } ] [ ";" arg ] ")"
    operand  = name | constant | shape | node
    shape    = "[" [ size { "," size } ] "]"
    size     = integer | operand
    constant = value ":" dtype
    arg      = field { "," field } | value
    field    = word "=" value
    value    = number | string | bytes | word | constant | "(" [ value { "," value } [ "," ] ] ")"

A name is ``%`` and letters, digits or underscores. A word is the name of a dtype, an op or an AxisType, or ``True``,
``False``, ``None``; numbers, strings and bytes are Python's, and ``inf`` and ``nan`` are numbers. A shape is a Stack of
index scalars, an integer in it an index constant. ``#`` begins a comment; line ends mean nothing else.

Text that is not a program raises ``TextError`` with line and column; a node that breaks a law is refused with the law's
id.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from soundline.spec.dtypes import BY_NAME, DType, is_element
from soundline.spec.errors import IllFormed, TextError
from soundline.spec.ops.node import AxisType, ConstArg, Op, UOp
from soundline.spec.ops.sizes import as_node
from soundline.spec.ops.table.entries import TABLE

TOKEN = re.compile(
    r"""(?P<space>[\s]+|\#[^\n]*)
    | (?P<name>%\w+)
    | (?P<bytes>b'(?:[^'\\\n]|\\.)*'|b"(?:[^"\\\n]|\\.)*")
    | (?P<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
    | (?P<number>-?(?:inf|nan)\b|-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[A-Za-z_]\w*)
    | (?P<sign>[=();,:\[\]])
    | (?P<end>\Z)""",
    re.VERBOSE,
)

WORDS: dict[str, object] = {
    "True": True,
    "False": False,
    "None": None,
    **BY_NAME,
    **{op.name: op for op in Op},
    **{kind.name: kind for kind in AxisType},
}
"""What a word stands for in an arg."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, and where it begins."""

    kind: str
    text: str
    at: int


def parse(text: str) -> tuple[UOp, ...]:
    """The results of a program; raises ``TextError``, with the id of the law where a node is ill formed."""
    try:
        return Reader(text).program()
    except RecursionError:
        raise TextError("nodes are nested too deeply", hint="give them names on separate lines") from None


class Reader:
    """Reads a program from its tokens, one function for each form of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [t for t in self._split() if t.kind != "space"]
        self.position = 0
        self.named: dict[str, UOp] = {}

    def _split(self) -> list[Token]:
        found: list[Token] = []
        at = 0
        while not found or found[-1].kind != "end":
            match = TOKEN.match(self.text, at)
            if match is None:
                self.refuse(f"{self.text[at]!r} begins nothing", at)
            found.append(Token(str(match.lastgroup), match.group(), at))
            at = match.end()
        return found

    # tokens

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.position]

    def take(self, kind: str, text: str | None = None) -> Token:
        """The next token, which must be of this kind, and this one."""
        token = self.next
        if token.kind != kind or (text is not None and token.text != text):
            wanted = f"{text!r}" if text else f"a {kind}"
            self.refuse(f"expected {wanted}, got {token.text or 'the end'!r}", token.at)
        self.position += 1
        return token

    def skips(self, text: str) -> bool:
        """Whether the next token is this sign or word, which is then taken."""
        found = self.next.kind in ("sign", "word") and self.next.text == text
        self.position += found
        return found

    def refuse(self, why: str, at: int, rule: str | None = None) -> NoReturn:
        """Raise ``TextError`` with the line, and a caret below the place."""
        line = self.text.count("\n", 0, at) + 1
        begin = self.text.rfind("\n", 0, at) + 1
        shown = self.text[begin:].split("\n", 1)[0]
        raise TextError(why, line=line, column=at - begin + 1, excerpt=shown, rule=rule)

    # programs and nodes

    def program(self) -> tuple[UOp, ...]:
        """Lines, and what is returned."""
        while not self.skips("return"):
            name = self.take("name")
            if name.text in self.named:
                self.refuse(f"{name.text} has been made before", name.at)
            self.take("sign", "=")
            self.named[name.text] = self.node()
        results = () if self.next.kind == "end" else self.separated(self.operand)
        self.take("end")
        return results

    def separated(self, one: Any) -> tuple[Any, ...]:
        """One or more, with commas between them."""
        found = [one()]
        while self.skips(","):
            found.append(one())
        return tuple(found)

    def node(self) -> UOp:
        """An op with its operands and arg."""
        word = self.take("word")
        if word.text not in Op.__members__:
            self.refuse(f"{word.text} is not an op", word.at)
        op = Op[word.text]
        self.take("sign", "(")
        sources = () if self.next.text in (")", ";") else self.separated(self.operand)
        arg = self.arg(op) if self.skips(";") else None
        self.take("sign", ")")
        return self.made(op, sources, arg, word.at)

    def made(self, op: Op, sources: tuple[UOp, ...], arg: object, at: int) -> UOp:
        """The node, or an error that says where the law is broken."""
        try:
            return UOp(op, sources, arg)
        except IllFormed as error:
            self.refuse(f"{op.name}: {error.message}", at, error.rule)

    def operand(self) -> UOp:
        """A name, a shape, a constant or a node."""
        token = self.next
        if token.kind == "name":
            self.position += 1
            if token.text not in self.named:
                self.refuse(f"{token.text} has not been made", token.at)
            return self.named[token.text]
        if self.skips("["):
            sizes = () if self.next.text == "]" else self.separated(self.size)
            self.take("sign", "]")
            return self.made(Op.Stack, sizes, None, token.at)
        if token.kind == "word" and token.text in Op.__members__:
            return self.node()
        constant = self.value()
        if not isinstance(constant, ConstArg):
            self.refuse("expected a name, a constant with its dtype, a shape or an op", token.at)
        return self.made(Op.Const, (), constant, token.at)

    def size(self) -> UOp:
        """An operand, or an integer as an index constant."""
        after = self.tokens[self.position + 1] if self.next.kind == "number" else None
        if after is None or after.text == ":":
            return self.operand()
        token = self.take("number")
        if not re.fullmatch(r"-?\d+", token.text):
            self.refuse("a size is an integer", token.at)
        return as_node(int(token.text))

    # args and values

    def arg(self, op: Op) -> object:
        """The fields of an arg that has fields, or one value."""
        kinds = [kind for kind in TABLE[op].arg_types if hasattr(kind, "__dataclass_fields__")]
        kinds = [kind for kind in kinds if kind not in (DType, ConstArg)]
        if not kinds:
            return self.value()
        begin = self.next.at
        fields = () if self.next.text == ")" else self.separated(self.field)
        try:
            if len(dict(fields)) == len(fields):
                return kinds[0](**dict(fields))
            self.refuse("a field is given twice", begin)
        except TypeError:
            known = ", ".join(kinds[0].__dataclass_fields__)
            self.refuse(f"the arg of {op.name} has the fields {known}", begin)

    def field(self) -> tuple[str, object]:
        """A name and its value."""
        word = self.take("word")
        self.take("sign", "=")
        return word.text, self.value()

    def value(self) -> Any:
        """A value; with a colon and a dtype after it, a constant."""
        token = self.next
        found = self.plain()
        if not self.skips(":"):
            return found
        dtype = WORDS.get(self.take("word").text)
        if not isinstance(dtype, DType):
            self.refuse("expected a dtype after the colon", self.tokens[self.position - 1].at)
        exact = float(found) if dtype.is_float and type(found) is int else found
        if not is_element(dtype, exact):
            self.refuse(f"{token.text} is not a value of {dtype}", token.at, "uop-const-c1")
        return ConstArg(exact, dtype)

    def plain(self) -> Any:
        """A number, string, word or tuple."""
        token = self.next
        self.position += 1
        if token.kind == "number":
            return int(token.text) if re.fullmatch(r"-?\d+", token.text) else float(token.text)
        if token.kind in ("string", "bytes"):
            return self.literal(token)
        if token.kind == "word" and token.text in WORDS:
            return WORDS[token.text]
        if token.text == "(" and token.kind == "sign":
            return self.tuple()
        return self.refuse(f"expected a value, got {token.text or 'the end'!r}", token.at)

    def literal(self, token: Token) -> object:
        """A string, or bytes, as Python reads them."""
        try:
            return ast.literal_eval(token.text)
        except (SyntaxError, ValueError):
            return self.refuse(f"{token.text} is not a literal", token.at)

    def tuple(self) -> tuple[object, ...]:
        """Values up to the closing parenthesis."""
        found: list[object] = []
        while not self.skips(")"):
            found.append(self.value())
            if not self.skips(","):
                self.take("sign", ")")
                break
        return tuple(found)
