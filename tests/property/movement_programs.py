"""Random movement programs whose sizes are symbols, with the numbers that the symbols stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hypothesis import strategies as st

from soundline.spec.arrays.arrays import Array
from soundline.spec.dtypes import index, int32
from soundline.spec.ops.node import Op, Shape, Size, UOp
from soundline.spec.ops.sizes import product
from soundline.spec.uop import const, expand, pad, param, reshape, shrink

MOVES = (
    "permute",
    "flip",
    "reshape",
    "merge",
    "back",
    "expand",
    "pad",
    "shrink",
    "index",
    "stack",
    "negate",
    "twice",
)


@dataclass
class Program:
    """A program under construction: the node so far, and what its symbols are."""

    draw: st.DrawFn
    values: dict[str, int] = field(default_factory=dict)
    """The number of every symbol."""
    symbols: dict[str, UOp] = field(default_factory=dict)
    node: UOp = field(default_factory=lambda: const(0, int32))
    numbers: tuple[int, ...] = ()
    """The shape of the node, in numbers."""
    past: list[tuple[Shape, tuple[int, ...]]] = field(default_factory=list)
    """Shapes that the program has had."""

    def symbol(self, value: int, stem: str = "n") -> Size:
        """A size or offset of this value: the number, a symbol that had it before, or a new one."""
        known = [self.symbols[n] for n, v in self.values.items() if v == value and n.startswith(stem)]
        choice = self.draw(st.integers(0, 2))
        if choice == 0:
            return value
        if choice == 1 and known:
            return self.draw(st.sampled_from(known))
        name = f"{stem}{len(self.values)}"
        self.values[name] = value
        self.symbols[name] = param(len(self.values), index)
        return self.symbols[name]

    def shape(self, numbers: tuple[int, ...]) -> Shape:
        """Symbols for a shape."""
        return tuple(self.symbol(n) for n in numbers)

    def start(self) -> None:
        """The input: Param 0, whose elements are 1, 2, 3 …"""
        self.numbers = tuple(self.draw(st.lists(st.integers(1, 3), max_size=3)))
        self.node = param(0, int32, self.shape(self.numbers))
        self.symbols["x"] = self.node
        self.elements = Array(int32, self.numbers, tuple(range(1, math.prod(self.numbers) + 1)))

    def became(self, node: UOp, numbers: tuple[int, ...]) -> None:
        """The program goes on with this node."""
        assert self.node.shape is not None
        self.past.append((self.node.shape, self.numbers))
        self.node, self.numbers = node, numbers

    # moves ------------------------------------------------------------------------------------------------------

    def move(self, kind: str) -> None:
        """One more op."""
        getattr(self, kind)()

    def permute(self) -> None:
        order = tuple(self.draw(st.permutations(range(len(self.numbers)))))
        self.became(Op.Permute(self.node, arg=order), tuple(self.numbers[k] for k in order))

    def flip(self) -> None:
        flags = tuple(
            self.draw(st.lists(st.booleans(), min_size=len(self.numbers), max_size=len(self.numbers)))
        )
        self.became(Op.Flip(self.node, arg=flags), self.numbers)

    def reshape(self) -> None:
        rest, numbers = math.prod(self.numbers), []
        while rest > 1 and len(numbers) < 3:
            factor = self.draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
            numbers.append(factor)
            rest //= factor
        whole = (*numbers, rest) if rest > 1 or not numbers else tuple(numbers)
        self.became(reshape(self.node, self.shape(whole)), whole)

    def merge(self) -> None:
        """Neighbouring axes become one, whose size is the product of theirs."""
        assert self.node.shape is not None
        start = self.draw(st.integers(0, len(self.numbers)))
        end = self.draw(st.integers(start, len(self.numbers)))
        sizes, numbers = self.node.shape, self.numbers
        joined = (*sizes[:start], product(sizes[start:end]), *sizes[end:])
        self.became(
            reshape(self.node, joined), (*numbers[:start], math.prod(numbers[start:end]), *numbers[end:])
        )

    def back(self) -> None:
        """A shape that the program had before."""
        fitting = [(s, n) for s, n in self.past if math.prod(n) == math.prod(self.numbers)]
        if fitting:
            sizes, numbers = self.draw(st.sampled_from(fitting))
            self.became(reshape(self.node, sizes), numbers)

    def expand(self) -> None:
        assert self.node.shape is not None
        new: list[tuple[Size, int]] = []
        for size, number in zip(self.node.shape, self.numbers, strict=True):
            other = self.draw(st.integers(1, 3)) if number == 1 else number
            keep = other == number and self.draw(st.booleans())
            new.append((size if keep else self.symbol(other), other))
        self.became(expand(self.node, tuple(s for s, _ in new)), tuple(n for _, n in new))

    def pad(self) -> None:
        offsets = [self.draw(st.integers(0, 2)) for _ in self.numbers]
        numbers = tuple(
            n + o + self.draw(st.integers(0, 1)) for n, o in zip(self.numbers, offsets, strict=True)
        )
        if math.prod(numbers) <= 64:
            offset = tuple(self.symbol(o, "o") for o in offsets)
            self.became(pad(self.node, offset, self.shape(numbers)), numbers)

    def shrink(self) -> None:
        offsets = [self.draw(st.integers(0, n - 1)) for n in self.numbers]
        numbers = tuple(self.draw(st.integers(1, n - o)) for n, o in zip(self.numbers, offsets, strict=True))
        offset = tuple(self.symbol(o, "o") for o in offsets)
        self.became(shrink(self.node, offset, self.shape(numbers)), numbers)

    def index(self) -> None:
        if self.numbers:
            at = self.symbol(self.draw(st.integers(0, self.numbers[0] - 1)), "o")
            node = at if isinstance(at, UOp) else const(at, index)
            self.became(Op.Index(self.node, node), self.numbers[1:])

    def stack(self) -> None:
        if math.prod(self.numbers) <= 32:
            other = Op.Neg(self.node) if self.draw(st.booleans()) else self.node
            self.became(Op.Stack(self.node, other), (2, *self.numbers))

    def negate(self) -> None:
        self.became(Op.Neg(self.node), self.numbers)

    def twice(self) -> None:
        turned = Op.Flip(self.node, arg=(True,) * len(self.numbers))
        self.became(Op.Sub(self.node, turned), self.numbers)


@st.composite
def programs(draw: st.DrawFn, most: int = 5) -> Program:
    """A program of a few moves."""
    made = Program(draw)
    made.start()
    for kind in draw(st.lists(st.sampled_from(MOVES), max_size=most)):
        made.move(kind)
    return made
