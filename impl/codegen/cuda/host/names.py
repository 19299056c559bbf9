"""
Names of the CPU part
=====================

What a name of the program stands for in C: a number of control, data in memory, a tensor map, or a value that a scalar
argument was given. Names are kept as they are, unless C or this generator has a word of that spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from soundline.spec.dtypes import DType, bool_, float32, float64
from soundline.spec.spork.language.expressions import Expr, Name
from soundline.spec.spork.library.memories import Memory
from soundline.spec.spork.static.windows import Window

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
asm typeof main errno NULL NAN INFINITY memcpy malloc free abort exit and or not xor alignas alignof class new
delete this template typename operator namespace public private protected virtual friend using try catch throw
device error end launch args tasks memset sqrt sqrtf trunc truncf
"""
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""What a name of the program is not called in C, where it would mean something else."""

_LIBRARY = """
abs labs llabs div ldiv lldiv atoi atof atol rand srand random srandom qsort bsearch system getenv setenv putenv
exit abort atexit malloc calloc realloc free select index rindex memcpy memmove memset memcmp memchr strlen strcmp
strcpy strcat strchr strstr strtok strdup acos asin atan atan2 cos sin tan cosh sinh tanh acosh asinh atanh exp exp2
expm1 log log10 log1p log2 logb ilogb ldexp frexp modf scalbn scalb pow sqrt cbrt hypot erf erfc lgamma tgamma gamma
ceil floor nearbyint rint lrint round lround trunc fmod remainder remquo copysign nan nextafter fdim fmax fmin fabs
fma drem significand finite j0 j1 jn y0 y1 yn swab main
"""
LIBRARY: Final = frozenset(_LIBRARY.split())
"""What a function of a program is not called, since a header of C has a function of that name."""


@dataclass(frozen=True, slots=True)
class Number:
    """An integer or bool of control."""

    text: str
    """An operand: a name, a literal, or an expression in parentheses."""
    least: int | None = None
    """What it is known not to be less than."""
    expression: Expr | None = None
    """What it is in terms of the C names of arguments and iterators, for comparisons before a run."""
    flag: bool = False
    """Whether it is a bool."""

    @property
    def natural(self) -> bool:
        """Whether it is known not to be negative."""
        return self.least is not None and self.least >= 0

    @property
    def known(self) -> Expr:
        """What it is, or its C text as a name of its own."""
        return Name(self.text) if self.expression is None else self.expression


@dataclass(frozen=True, slots=True)
class Storage:
    """Data in memory, or a scalar in a variable."""

    place: str
    """A pointer to the first element; of a scalar the lvalue itself."""
    dtype: DType
    memory: Memory
    sizes: tuple[Number, ...]
    strides: tuple[str, ...]
    """In elements."""
    window: Window
    """What it is of what was declared, with indices of C names."""
    constant: bool = False
    """Whether the program never writes it."""


@dataclass(frozen=True, slots=True)
class Map:
    """A tensor map."""

    place: str
    """The map itself, an lvalue."""
    dtype: DType
    memory: Memory
    window: Window
    """What the map was made of."""
    part: bool = False
    """Whether it stands for a part of what the map covers."""


@dataclass(frozen=True, slots=True)
class Given:
    """An expression for a scalar argument, with the names in it: it is evaluated wherever the argument is read."""

    expression: Expr
    dtype: DType
    names: Names


Meaning = Number | Storage | Map | Given | None
"""None is a barrier, which means nothing on the CPU."""


@dataclass(frozen=True, slots=True)
class Names:
    """What the names in scope stand for."""

    meanings: dict[str, Meaning] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Meaning:
        return self.meanings[name]

    def with_(self, name: str, meaning: Meaning) -> Names:
        """The names with one more."""
        return replace(self, meanings={**self.meanings, name: meaning})

    def storage(self, name: str) -> Storage:
        """The storage that a name stands for; the static law has seen to it that it is one."""
        found = self.meanings[name]
        assert isinstance(found, Storage)
        return found


@dataclass(slots=True)
class Spellings:
    """The names that a C function has used: none means two things, since an inlined proc sees those around it."""

    taken: set[str] = field(default_factory=set)

    def take(self, name: str) -> str:
        """A C name for a name of the program."""
        found = spelled(name)
        stem, number = found, 2
        while found in self.taken:
            found, number = f"{stem}_{number}", number + 1
        self.taken.add(found)
        return found

    def release(self, names: Iterable[str]) -> None:
        """Names whose block has ended."""
        self.taken.difference_update(names)


def spelled(name: str) -> str:
    """A name that C can have; Python's may have letters that C's have not.

    >>> spelled("tile"), spelled("float"), spelled("soundline_x"), spelled("größe")
    ('tile', 'float_', 'soundline_x_', 'gru00f6u00dfe')
    """
    plain = "".join(c if c.isascii() else f"u{ord(c):04x}" for c in name)
    reserved = plain in KEYWORDS or plain.startswith(("soundline", "sl_", "SOUNDLINE", "_"))
    return f"{plain}_" if reserved else plain


def function_name(name: str) -> str:
    """What the C function of a proc is called.

    >>> function_name("gemm"), function_name("double"), function_name("round")
    ('gemm', 'double_', 'round_')
    """
    return f"{name}_" if name in LIBRARY else spelled(name)


def c_type(dtype: DType) -> str:
    """The C type of data in memory; floats without one are stored as their bits."""
    if dtype is bool_:
        return "bool"
    if dtype.is_float:
        return {float32: "float", float64: "double"}.get(dtype, f"uint{dtype.bits}_t")
    return f"{dtype.name}_t"


def row_major(sizes: Sequence[Number]) -> tuple[str, ...]:
    """The strides of an array without gaps."""
    found = ["1"] if sizes else []
    for size in reversed(sizes[1:]):
        found.append(times(size.text, found[-1]))
    return tuple(reversed(found))


def times(a: str, b: str) -> str:
    """A product as an operand."""
    if "1" in (a, b):
        return b if a == "1" else a
    if a.isdecimal() and b.isdecimal():
        return str(int(a) * int(b))
    return "0" if "0" in (a, b) else f"({a} * {b})"


def total(terms: Iterable[str]) -> str:
    """A sum as an operand."""
    kept = [t for t in terms if t != "0"]
    return "0" if not kept else kept[0] if len(kept) == 1 else f"({' + '.join(kept)})"


def bare(text: str) -> str:
    """An operand without parentheses around all of it, where it stands alone.

    >>> bare("(a + b)"), bare("(a) * (b)")
    ('a + b', '(a) * (b)')
    """
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text
