"""
Where the elements of a movement op come from, as formulas
==========================================================

The laws of `spec.arrays.movement`, read on names: what they compute is the text of a formula. So the formula on the
page of an op is the statement that the evaluator, lowering and the prover read too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from soundline.spec.arrays.movement import LAWS, Axes, Given, digits, index_parts
from soundline.spec.dtypes import int32
from soundline.spec.ops.node import Op

SUM, PRODUCT, ATOM = range(3)
"""How tightly the parts of a term hold together."""


@dataclass(frozen=True)
class Name:
    """A number that is written down."""

    text: str
    binds: int = ATOM

    def _joined(self, sign: str, other: Name | int, binds: int) -> Name:
        right = _written(other)
        return Name(f"{self.within(binds)} {sign} {right.within(binds + 1)}", binds)

    def within(self, binds: int) -> str:
        """The text, in parentheses where it holds together less than is asked."""
        return self.text if self.binds >= binds else f"({self.text})"

    def __add__(self, other: Name | int) -> Name:
        return _written(other) if self == ZERO else self._joined("+", other, SUM)

    def __sub__(self, other: Name | int) -> Name:
        return self._joined("-", other, SUM)

    def __mul__(self, other: Name | int) -> Name:
        return self if self == ZERO else self._joined(r"\cdot", other, PRODUCT)

    def __floordiv__(self, other: Name) -> Name:
        return Name(rf"\lfloor {self.within(PRODUCT)} / {other.within(ATOM)} \rfloor")

    def __mod__(self, other: Name) -> Name:
        return self._joined(r"\bmod", other, PRODUCT)


def _written(number: Name | int) -> Name:
    return number if isinstance(number, Name) else Name(str(number))


ZERO = Name("0")


class Names:
    """The algebra of names: nothing is known of them, so every condition is written down."""

    def number(self, value: int) -> Name:
        return _written(value)

    def same(self, a: Name, b: Name) -> bool:
        return a == b

    def equal(self, a: Name, b: Name) -> str:
        return f"{a.text} = {b.text}"

    def inside(self, i: Name, size: Name) -> str:
        return rf"0 \le {i.text} < {size.text}"

    def every(self, conditions: Iterable[str]) -> str:
        return r" \;\wedge\; ".join(conditions)

    def one_of(self, *cases: tuple[str, Name]) -> Name:
        return Name(_cases((found.text, rf"\text{{if }} {condition}") for condition, found in cases))

    def groups(self, old: Sequence[Name], new: Sequence[Name]) -> list[tuple[Axes, Axes]]:
        return [(range(len(old)), range(len(new)))]

    def digits(self, number: Name, sizes: Sequence[Name]) -> tuple[Name, ...]:
        return digits(number, sizes)


def _cases(rows: Iterable[tuple[str, str]]) -> str:
    lines = r" \\ ".join(f"{{}}{value} & {condition}" for value, condition in rows)
    return rf"\begin{{cases}} {lines} \end{{cases}}"


def _row(name: str, rank: int) -> tuple[Name, ...]:
    return tuple(Name(f"{name}[{k}]") for k in range(rank))


SHOWN: dict[Op, tuple[str, Given[Any]]] = {
    Op.Permute: ("for π = (1, 2, 0)", Given((_row("s_T", 3),), (1, 2, 0))),
    Op.Flip: ("for f = (True, False)", Given((_row("s_T", 2),), (True, False))),
    Op.Reshape: ("from rank 2 to rank 2", Given((_row("s_T", 2),), numbers=(_row("s'", 2),))),
    Op.Expand: ("at rank 1", Given((_row("s_T", 1),), numbers=(_row("s'", 1),))),
    Op.Pad: ("at rank 1", Given((_row("s_T", 1),), numbers=(_row("o", 1), _row("s'", 1)))),
    Op.Shrink: ("at rank 2", Given((_row("s_T", 2),), numbers=(_row("o", 2), _row("s'", 2)))),
    Op.Index: ("for one index of shape (k,) into rank 2", Given((_row("s_T", 2), (Name("k"),)))),
    Op.Stack: ("of two sources of rank 1", Given((_row("s_T", 1), _row("s_T", 1)))),
}
"""For what each op is shown: a choice of rank and arg that stands for all."""


def section(op: Op) -> str:
    """Where each element of the result comes from, as reStructuredText; nothing for an op that has no such law."""
    if op not in SHOWN:
        return ""
    when, _ = SHOWN[op]
    meant = "where the element at position p comes from, and the shape of the result"
    return (
        f"As a formula, {when}: {meant}. It is the law of :doc:`/chapters/spec.arrays.movement`, read on names.\n\n"
        f".. math::\n\n   {formula(op)}\n\n.. math::\n\n   {shape(op)}\n"
    )


def shape(op: Op) -> str:
    """The shape of the result."""
    _, given = SHOWN[op]
    sizes = ", ".join(_written(size).text for size in LAWS[op].shape(given))
    return f"s = ({sizes})"


def formula(op: Op) -> str:
    """The element at a position of the result."""
    law, (_, given) = LAWS[op], SHOWN[op]
    at = _row("p", len(law.shape(given)))
    if op is Op.Index:
        held = (Name(f"i_0[{_listed(part)}]") for part in index_parts(given, at))
        given = Given(given.shapes, numbers=tuple((i,) for i in held))
    names = Names()
    index = law.index(names, given, at)
    source = f"T_{{{at[0].text}}}" if op is Op.Stack else "T"
    read, inside = f"{source}[{_listed(index)}]", law.inside(names, given, index)
    if inside:
        other = r"\bot" if law.fill is None else str(law.fill(int32))
        read = _cases([(read, rf"\text{{if }} {inside}"), (other, r"\text{else}")])
    return f"x[{_listed(at)}] = {read}"


def _listed(numbers: Iterable[Name]) -> str:
    return ", ".join(n.text for n in numbers)
